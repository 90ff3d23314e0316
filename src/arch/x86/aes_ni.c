/* SPDX-License-Identifier: MIT */
/*
 * AES-128 and CMAC with AES-NI.
 *
 * The CBC-MAC chain is serial, so a block costs ten AESENC latencies and whatever else lies on the chain. Nothing else
 * does: the last round's key addition, the XOR of the next message block p and the first key addition of its encryption
 * are all XORs of things known beforehand, and AESENCLAST XORs its operand last. With s = k0 ^ h ^ p[0] at the start,
 *     s <- AESENCLAST(middle(s), (k10 ^ k0) ^ p[i])
 * leaves k0 ^ E(...) ^ p[i], which is where the next block starts; the last block takes k10 alone.
 */
#include "../../kernels.h"
#include "../../cpu.h"
#include "../../key.h"
#include "aes_ni.h"

#ifdef SMB3SIGN_X86_AES_NI

#define ISA TARGET("aes,ssse3")

/*
 * FIPS 197 5.2. The last word of the round key, rotated, goes into all four columns: then ShiftRows moves nothing and
 * AESENCLAST is SubWord and the XOR with the round constant. The running XOR w0, w0^w1, ... is two shifted XORs.
 */
ISA static void expand(void *rk, const uint8_t key[16])
{
	static const uint8_t rcon[10] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36};
	const __m128i rotate = _mm_set1_epi32(0x0c0f0e0d);
	__m128i k = load(key);

	store(rk, k);
	for (int i = 0; i < 10; i++) {
		__m128i t = _mm_aesenclast_si128(_mm_shuffle_epi8(k, rotate), _mm_set1_epi32(rcon[i]));

		k = _mm_xor_si128(k, _mm_slli_si128(k, 4));
		k = _mm_xor_si128(k, _mm_slli_si128(k, 8));
		k = _mm_xor_si128(k, t);
		store((uint8_t *)rk + 16 * (i + 1), k);
	}
	store((uint8_t *)rk + 16 * AES_NI_K10_K0, _mm_xor_si128(k, load(rk)));
}

ISA static void encrypt(const void *rk, const uint8_t in[16], uint8_t out[16])
{
	store(out, aes_ni_encrypt(rk, load(in)));
}

/* A chain under way: s is k0 ^ the chaining value ^ the block that came last. */
struct chain {
	const void *rk;
	__m128i k10_k0, s;
};

ISA INLINE void chain_start(struct chain *c, const void *rk, __m128i block)
{
	c->rk = rk;
	c->k10_k0 = aes_ni_rk(rk, AES_NI_K10_K0);
	c->s = _mm_xor_si128(aes_ni_rk(rk, 0), block);
}

ISA INLINE void chain_next(struct chain *c, __m128i block)
{
	c->s = _mm_aesenclast_si128(aes_ni_middle(c->rk, c->s), _mm_xor_si128(c->k10_k0, block));
}

ISA INLINE __m128i chain_end(const struct chain *c)
{
	return _mm_aesenclast_si128(aes_ni_middle(c->rk, c->s), aes_ni_rk(c->rk, 10));
}

#include "../cmac_template.h"

const struct smb3sign_aes smb3sign_aes_ni = {
	.name = "ni",
	.needs = SMB3SIGN_CPU_AES | SMB3SIGN_CPU_SSSE3,
	.rk_size = AES_NI_RK_SIZE,
	.expand = expand,
	.encrypt = encrypt,
	.cbcmac = cbcmac,
	.cmac = cmac,
#ifdef SMB3SIGN_X86_AES_LANES
	.cbcmac_lanes = smb3sign_cbcmac_lanes_ni,
	.width = 8,
#endif
};

#ifdef SMB3SIGN_X86_VAES
/* VAES helps several messages at once, nothing else. */
const struct smb3sign_aes smb3sign_aes_vaes = {
	.name = "vaes",
	.needs = SMB3SIGN_CPU_AES | SMB3SIGN_CPU_SSSE3 | SMB3SIGN_CPU_VPCLMUL | SMB3SIGN_CPU_AVX2,
	.rk_size = AES_NI_RK_SIZE,
	.expand = expand,
	.encrypt = encrypt,
	.cbcmac = cbcmac,
	.cmac = cmac,
	.cbcmac_lanes = smb3sign_cbcmac_lanes_vaes,
	.width = 16,
};
#endif

#endif
