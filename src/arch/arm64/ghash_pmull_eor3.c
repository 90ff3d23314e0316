/* SPDX-License-Identifier: MIT */
/* GHASH and GMAC with PMULL and EOR3, of Armv8.2's SHA3 extension: see ghash_template.h. */
#include "../../cpu.h"
#include "../../kernels.h"
#include "../../key.h"
#include "../../smb2.h"
#include "aes_ce.h"

#ifdef SMB3SIGN_ARM64_SHA3

INLINE uint8x16_t xor3(uint8x16_t a, uint8x16_t b, uint8x16_t c)
{
	return veor3q_u8(a, b, c);
}

#include "ghash_template.h"

const struct smb3sign_ghash smb3sign_ghash_pmull_eor3 = {
	.name = "pmull-eor3",
	.needs = SMB3SIGN_CPU_PMULL | SMB3SIGN_CPU_SHA3,
	.table_size = sizeof(struct table),
	.setkey = setkey,
	.blocks = blocks,
	.gmac = gmac,
	.aes = &smb3sign_aes_ce,
};

#endif
