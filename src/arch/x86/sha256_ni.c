/* SPDX-License-Identifier: MIT */
/* SHA-256 and HMAC-SHA256 of one message with the SHA extensions. */
#include "../../kernels.h"
#include "../../cpu.h"
#include "../../key.h"
#include "sha256_ni.h"

#ifdef SMB3SIGN_X86_SHA_NI

/* The 64 rounds of FIPS 180-4 6.2.2; w0..w3 hold the block as sixteen host-order words. */
SHA_NI INLINE void rounds64(struct sha_ni_state *s, __m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
	const uint32_t *k = smb3sign_sha256_k;

	sha_ni_rounds4(s, w0, k);
	sha_ni_rounds4(s, w1, k + 4);
	sha_ni_rounds4(s, w2, k + 8);
	sha_ni_rounds4(s, w3, k + 12);
#pragma GCC unroll 3
	for (size_t i = 4; i < 16; i += 4) {
		w0 = sha_ni_schedule(w0, w1, w2, w3);
		sha_ni_rounds4(s, w0, k + 4 * i);
		w1 = sha_ni_schedule(w1, w2, w3, w0);
		sha_ni_rounds4(s, w1, k + 4 * (i + 1));
		w2 = sha_ni_schedule(w2, w3, w0, w1);
		sha_ni_rounds4(s, w2, k + 4 * (i + 2));
		w3 = sha_ni_schedule(w3, w0, w1, w2);
		sha_ni_rounds4(s, w3, k + 4 * (i + 3));
	}
}

SHA_NI INLINE void compress(struct sha_ni_state *s, __m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
	const struct sha_ni_state before = *s;

	rounds64(s, w0, w1, w2, w3);
	sha_ni_add(s, before);
}

SHA_NI INLINE __m128i words(__m128i v)
{
	return sha_ni_words(v, sha_ni_swap);
}

SHA_NI INLINE void compress_block(struct sha_ni_state *s, const uint8_t *p)
{
	compress(s, words(load(p)), words(load(p + 16)), words(load(p + 32)), words(load(p + 48)));
}

SHA_NI static void blocks(uint32_t state[8], const uint8_t *p, size_t nblk)
{
	struct sha_ni_state s = sha_ni_load(state);

	for (; nblk; nblk--, p += 64)
		compress_block(&s, p);
	sha_ni_store(state, &s);
}

/*
 * The first block behind one of the key's states. The state is read again for the final addition: kept meanwhile it would
 * be spilled, and a copy on the stack outlives the key.
 */
SHA_NI INLINE struct sha_ni_state compress_from(const uint32_t h[8], __m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
	struct sha_ni_state s = sha_ni_load(h);

	rounds64(&s, w0, w1, w2, w3);
	PIN_POINTER(h);
	sha_ni_add(&s, sha_ni_load(h));
	return s;
}

/* Bytes 16i .. 16i+15 of the last n < 64 bytes of a message, with the padding's first bit behind them. */
SHA_NI INLINE __m128i padded_piece(const uint8_t *p, size_t n, size_t i)
{
	if (n >= 16 * i + 16)
		return load(p + 16 * i);
	if (n > 16 * i)
		return _mm_or_si128(load_partial(p + 16 * i, n - 16 * i), pad_mark(n - 16 * i));
	return n == 16 * i ? pad_mark(0) : _mm_setzero_si128();
}

/* The last n < 64 bytes, padding and bit length: one block, or two if the length does not fit behind the padding. */
SHA_NI INLINE void compress_tail(struct sha_ni_state *s, const uint8_t *p, size_t n, uint64_t bits)
{
	__m128i w0 = words(padded_piece(p, n, 0)), w1 = words(padded_piece(p, n, 1));
	__m128i w2 = words(padded_piece(p, n, 2)), w3 = words(padded_piece(p, n, 3));
	__m128i length = _mm_set_epi64x((int64_t)(bits << 32 | bits >> 32), 0);

	if (n >= 56) {
		compress(s, w0, w1, w2, w3);
		w0 = w1 = w2 = w3 = _mm_setzero_si128();
	}
	compress(s, w0, w1, w2, _mm_or_si128(w3, length));
}

SHA_NI static struct smb3sign_tag hmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				       const uint8_t *body, size_t len)
{
	const struct hmac_secret *secret = hmac_secret(key);
	size_t nblk = len / 64;
	__m128i abcd, efgh;
	struct sha_ni_state s;

	/* The header is one block, and its last quarter is the zeroed Signature. */
	s = compress_from(secret->inner, words(load(hdr)), words(load_flags(hdr, set_flags)), words(load(hdr + 32)),
			  _mm_setzero_si128());
	for (size_t i = 0; i < nblk; i++)
		compress_block(&s, body + 64 * i);
	/* The inner pad block and the header are 128 bytes before the body. */
	compress_tail(&s, body + 64 * nblk, len % 64, (128 + (uint64_t)len) * 8);
	sha_ni_join(&s, &abcd, &efgh);

	/* The outer block: the inner hash's words as they are, padding, and 64 + 32 bytes in bits. */
	s = compress_from(secret->outer, abcd, efgh, _mm_set_epi32(0, 0, 0, INT32_MIN),
			  _mm_set_epi32((64 + 32) * 8, 0, 0, 0));
	sha_ni_join(&s, &abcd, &efgh);
	return tag_of(words(abcd));
}

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
