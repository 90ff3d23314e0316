/* SPDX-License-Identifier: MIT */
/* SHA-256 and HMAC-SHA256 of one message with the Cryptography Extension: see hmac_template.h. */
#include "../../kernels.h"
#include "../../cpu.h"
#include "../../key.h"
#include "sha256_ce.h"

#ifdef SMB3SIGN_ARM64_CE

/*
 * The 64 rounds of FIPS 180-4 6.2.2; w0..w3 hold the block as sixteen host-order words. The constants are read for each
 * block: half of all registers, if the compiler kept them there.
 */
INLINE void rounds64(struct sha_state *s, uint32x4_t w0, uint32x4_t w1, uint32x4_t w2, uint32x4_t w3)
{
	const uint32_t *k = smb3sign_sha256_k;

	__asm__("" : "+r"(k), "+w"(s->abcd)); /* PIN_POINTER, for each block anew */
	sha_rounds4(s, &w0, k);
	sha_rounds4(s, &w1, k + 4);
	sha_rounds4(s, &w2, k + 8);
	sha_rounds4(s, &w3, k + 12);
#pragma GCC unroll 3
	for (int i = 0; i < 3; i++) {
		k += 16;
		w0 = sha_schedule(w0, w1, w2, w3);
		sha_rounds4(s, &w0, k);
		w1 = sha_schedule(w1, w2, w3, w0);
		sha_rounds4(s, &w1, k + 4);
		w2 = sha_schedule(w2, w3, w0, w1);
		sha_rounds4(s, &w2, k + 8);
		w3 = sha_schedule(w3, w0, w1, w2);
		sha_rounds4(s, &w3, k + 12);
	}
}

#define ISA
#include "../hmac_template.h"

const struct smb3sign_sha256 smb3sign_sha256_ce = {
	.name = "ce",
	.needs = SMB3SIGN_CPU_SHA2,
	.blocks = blocks,
	.hmac = hmac,
	.blocks_lanes = smb3sign_sha256_ce_lanes,
	.width = SHA_CE_LANES,
};

#endif
