/* SPDX-License-Identifier: MIT */
/*
 * AES-128 and CMAC with the Cryptography Extension.
 *
 * The CBC-MAC chain is serial, so a block costs ten latencies of AESE, nine of them with AESMC, and whatever else lies
 * on the chain. Nothing else does: AESE XORs its operand first, so the last round's key, the next message block and the
 * first round's key are one operand, known beforehand. With E(x) = z ^ k10, where z is what the tenth AESE leaves,
 *     E(x) ^ p[i] ^ k0 = z ^ (k10 ^ k0 ^ p[i]),
 * and AESE(z, (k10 ^ k0) ^ p[i]) is the first of the next block; only the end of the chain takes k10 alone.
 *
 * The nine round keys in the loop stay in registers, of which there are plenty: nothing is spilled.
 */
#include "../../kernels.h"
#include "../../cpu.h"
#include "../../key.h"
#include "aes_ce.h"

#ifdef SMB3SIGN_ARM64_CE

/*
 * FIPS 197 5.2. The last word of the round key, rotated, goes into all four columns: then ShiftRows moves nothing and
 * AESE with a zero key is SubWord. The running XOR w0, w0^w1, ... is two shifted XORs.
 */
static void expand(void *rk, const uint8_t key[16])
{
	static const uint8_t rcon[10] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36};
	const uint8x16_t rotate = vreinterpretq_u8_u32(vdupq_n_u32(0x0c0f0e0d));
	uint8x16_t k = load(key);

	store(rk, k);
	for (int i = 0; i < 10; i++) {
		uint8x16_t t = vaeseq_u8(vqtbl1q_u8(k, rotate), zero());

		k = veorq_u8(k, vextq_u8(zero(), k, 12));
		k = veorq_u8(k, vextq_u8(zero(), k, 8));
		k = veorq_u8(k, veorq_u8(t, vreinterpretq_u8_u32(vdupq_n_u32(rcon[i]))));
		store((uint8_t *)rk + 16 * (i + 1), k);
	}
}

static void encrypt(const void *rk, const uint8_t in[16], uint8_t out[16])
{
	store(out, aes_ce_encrypt(rk, load(in)));
}

/* A chain under way: next ^ s is what the next encryption starts with, k0 added. */
struct chain {
	const void *rk;
	uint8x16_t k10_k0, s, next;
};

INLINE void chain_start(struct chain *c, const void *rk, uint8x16_t block)
{
	c->rk = rk;
	c->k10_k0 = veorq_u8(aes_ce_rk(rk, 10), aes_ce_rk(rk, 0));
	PIN_VECTOR(c->k10_k0);
	c->s = zero();
	c->next = veorq_u8(aes_ce_rk(rk, 0), block);
}

INLINE void chain_next(struct chain *c, uint8x16_t block)
{
	c->s = aes_ce_rounds(c->rk, c->s, c->next);
	c->next = veorq_u8(c->k10_k0, block);
}

INLINE uint8x16_t chain_end(const struct chain *c)
{
	return veorq_u8(aes_ce_rounds(c->rk, c->s, c->next), aes_ce_rk(c->rk, 10));
}

#define ISA
#include "../cmac_template.h"

const struct smb3sign_aes smb3sign_aes_ce = {
	.name = "ce",
	.needs = SMB3SIGN_CPU_AES,
	.rk_size = AES_CE_RK_SIZE,
	.expand = expand,
	.encrypt = encrypt,
	.cbcmac = cbcmac,
	.cmac = cmac,
	.cbcmac_lanes = smb3sign_cbcmac_lanes_ce,
	.width = 16,
};

#endif
