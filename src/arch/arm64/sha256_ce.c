/* SPDX-License-Identifier: MIT */
/* SHA-256 and HMAC-SHA256 of one message with the Cryptography Extension. */
#include "../../kernels.h"
#include "../../cpu.h"
#include "../../key.h"
#include "sha256_ce.h"

#ifdef SMB3SIGN_ARM64_CE

/*
 * The 64 rounds of FIPS 180-4 6.2.2; w0..w3 hold the block as sixteen host-order words. The constants are read for each
 * block: half of all registers, if the compiler kept them there.
 */
INLINE void rounds64(struct sha_ce_state *s, uint32x4_t w0, uint32x4_t w1, uint32x4_t w2, uint32x4_t w3)
{
	const uint32_t *k = smb3sign_sha256_k;

	__asm__("" : "+r"(k), "+w"(s->abcd)); /* PIN_POINTER, for each block anew */
	sha_ce_rounds4(s, &w0, k);
	sha_ce_rounds4(s, &w1, k + 4);
	sha_ce_rounds4(s, &w2, k + 8);
	sha_ce_rounds4(s, &w3, k + 12);
#pragma GCC unroll 3
	for (int i = 0; i < 3; i++) {
		k += 16;
		w0 = sha_ce_schedule(w0, w1, w2, w3);
		sha_ce_rounds4(s, &w0, k);
		w1 = sha_ce_schedule(w1, w2, w3, w0);
		sha_ce_rounds4(s, &w1, k + 4);
		w2 = sha_ce_schedule(w2, w3, w0, w1);
		sha_ce_rounds4(s, &w2, k + 8);
		w3 = sha_ce_schedule(w3, w0, w1, w2);
		sha_ce_rounds4(s, &w3, k + 12);
	}
}

INLINE void compress(struct sha_ce_state *s, uint32x4_t w0, uint32x4_t w1, uint32x4_t w2, uint32x4_t w3)
{
	const struct sha_ce_state before = *s;

	rounds64(s, w0, w1, w2, w3);
	sha_ce_add(s, before);
}

INLINE void compress_block(struct sha_ce_state *s, const uint8_t *p)
{
	compress(s, sha_ce_words(load(p)), sha_ce_words(load(p + 16)), sha_ce_words(load(p + 32)),
		 sha_ce_words(load(p + 48)));
}

static void blocks(uint32_t state[8], const uint8_t *p, size_t nblk)
{
	struct sha_ce_state s = sha_ce_load(state);

	for (; nblk; nblk--, p += 64)
		compress_block(&s, p);
	sha_ce_store(state, s);
}

/*
 * The first block behind one of the key's states. The state is read again for the final addition: kept meanwhile it
 * might be spilled, and a copy on the stack outlives the key.
 */
INLINE struct sha_ce_state compress_from(const uint32_t h[8], uint32x4_t w0, uint32x4_t w1, uint32x4_t w2,
					 uint32x4_t w3)
{
	struct sha_ce_state s = sha_ce_load(h);

	rounds64(&s, w0, w1, w2, w3);
	PIN_POINTER(h);
	sha_ce_add(&s, sha_ce_load(h));
	return s;
}

/* Bytes 16i .. 16i+15 of the last n < 64 bytes of a message, with the padding's first bit behind them. */
INLINE uint8x16_t padded_piece(const uint8_t *p, size_t n, size_t i)
{
	if (n >= 16 * i + 16)
		return load(p + 16 * i);
	if (n > 16 * i)
		return vorrq_u8(load_partial(p + 16 * i, n - 16 * i), pad_mark(n - 16 * i));
	return n == 16 * i ? pad_mark(0) : zero();
}

/* The last n < 64 bytes, padding and bit length: one block, or two if the length does not fit behind the padding. */
INLINE void compress_tail(struct sha_ce_state *s, const uint8_t *p, size_t n, uint64_t bits)
{
	uint32x4_t w0 = sha_ce_words(padded_piece(p, n, 0)), w1 = sha_ce_words(padded_piece(p, n, 1));
	uint32x4_t w2 = sha_ce_words(padded_piece(p, n, 2)), w3 = sha_ce_words(padded_piece(p, n, 3));
	uint32x4_t length = vreinterpretq_u32_u8(of_words(0, bits << 32 | bits >> 32));

	if (n >= 56) {
		compress(s, w0, w1, w2, w3);
		w0 = w1 = w2 = w3 = vdupq_n_u32(0);
	}
	compress(s, w0, w1, w2, vorrq_u32(w3, length));
}

static struct smb3sign_tag hmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				const uint8_t *body, size_t len)
{
	/* The outer block's padding; 64 + 32 bytes in bits. */
	static const uint32_t padding[8] = {0x80000000, 0, 0, 0, 0, 0, 0, (64 + 32) * 8};
	const struct hmac_secret *secret = hmac_secret(key);
	size_t nblk = len / 64;
	struct sha_ce_state s;

	/* The header is one block, and its last quarter is the zeroed Signature. */
	s = compress_from(secret->inner, sha_ce_words(load(hdr)), sha_ce_words(load_flags(hdr, set_flags)),
			  sha_ce_words(load(hdr + 32)), vdupq_n_u32(0));
	for (size_t i = 0; i < nblk; i++)
		compress_block(&s, body + 64 * i);
	/* The inner pad block and the header are 128 bytes before the body. */
	compress_tail(&s, body + 64 * nblk, len % 64, (128 + (uint64_t)len) * 8);

	/* The inner hash's words as they are. */
	s = compress_from(secret->outer, s.abcd, s.efgh, vld1q_u32(padding), vld1q_u32(padding + 4));
	return tag_of(vrev32q_u8(vreinterpretq_u8_u32(s.abcd)));
}

const struct smb3sign_sha256 smb3sign_sha256_ce = {
	.name = "ce",
	.needs = SMB3SIGN_CPU_SHA2,
	.blocks = blocks,
	.hmac = hmac,
	.blocks_lanes = smb3sign_sha256_ce_lanes,
	.width = SHA_CE_LANES,
};

#endif
