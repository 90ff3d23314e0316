/* SPDX-License-Identifier: MIT */
/* SHA-256 and HMAC-SHA256 of one message with the SHA extensions: see hmac_template.h. */
#include "../../kernels.h"
#include "../../cpu.h"
#include "../../key.h"
#include "sha256_ni.h"

#ifdef SMB3SIGN_X86_SHA_NI

/* The 64 rounds of FIPS 180-4 6.2.2; w0..w3 hold the block as sixteen host-order words. */
SHA_NI INLINE void rounds64(struct sha_state *s, __m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
	const uint32_t *k = smb3sign_sha256_k;

	sha_rounds4(s, w0, k);
	sha_rounds4(s, w1, k + 4);
	sha_rounds4(s, w2, k + 8);
	sha_rounds4(s, w3, k + 12);
#pragma GCC unroll 3
	for (size_t i = 4; i < 16; i += 4) {
		w0 = sha_schedule(w0, w1, w2, w3);
		sha_rounds4(s, w0, k + 4 * i);
		w1 = sha_schedule(w1, w2, w3, w0);
		sha_rounds4(s, w1, k + 4 * (i + 1));
		w2 = sha_schedule(w2, w3, w0, w1);
		sha_rounds4(s, w2, k + 4 * (i + 2));
		w3 = sha_schedule(w3, w0, w1, w2);
		sha_rounds4(s, w3, k + 4 * (i + 3));
	}
}

#define ISA SHA_NI
#include "../hmac_template.h"

const struct smb3sign_sha256 smb3sign_sha256_ni = {
	.name = "ni",
	.needs = SMB3SIGN_CPU_SHA | SMB3SIGN_CPU_SSE41 | SMB3SIGN_CPU_SSSE3,
	.blocks = blocks,
	.hmac = hmac,
#ifdef SHA_NI_LANES
	.blocks_lanes = smb3sign_sha256_ni_lanes,
	.width = SHA_NI_LANES,
#endif
};

#endif
