/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 and HMAC-SHA256 with the SHA extensions (Intel SDM volume 2B, SHA256RNDS2).
 *
 * SHA256RNDS2 does two rounds on the state split as (A, B, E, F) and (C, D, G, H), and hands back the new (A, B, E, F); the
 * old one becomes (C, D, G, H). So a block is 32 of them in a row, which is the limit: the message schedule of the coming
 * rounds runs beside them.
 */
#include "../../kernels.h"
#include "../../cpu.h"
#include "../../key.h"
#include "x86.h"

#ifdef SMB3SIGN_X86_SHA_NI

#define ISA TARGET("sha,sse4.1")

struct state {
	__m128i abef, cdgh;
};

/* Four rounds with the schedule words w; i counts fours. */
ISA INLINE void rounds4(struct state *s, __m128i w, size_t i)
{
	__m128i wk = _mm_add_epi32(w, load(smb3sign_sha256_k + 4 * i));

	s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, wk);
	s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(wk, 0x0e));
}

/* W[t..t+3] from the sixteen words before: s0 of W[t-15..] + W[t-16..] + W[t-7..], then s1 of the two before each. */
ISA INLINE __m128i schedule(__m128i w0, __m128i w4, __m128i w8, __m128i w12)
{
	__m128i w9 = _mm_alignr_epi8(w12, w8, 4);

	return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w0, w4), w9), w12);
}

/* The 64 rounds of FIPS 180-4 6.2.2; w0..w3 hold the block as sixteen host-order words. */
ISA INLINE void rounds64(struct state *s, __m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
	rounds4(s, w0, 0);
	rounds4(s, w1, 1);
	rounds4(s, w2, 2);
	rounds4(s, w3, 3);
#pragma GCC unroll 3
	for (size_t i = 4; i < 16; i += 4) {
		w0 = schedule(w0, w1, w2, w3);
		rounds4(s, w0, i);
		w1 = schedule(w1, w2, w3, w0);
		rounds4(s, w1, i + 1);
		w2 = schedule(w2, w3, w0, w1);
		rounds4(s, w2, i + 2);
		w3 = schedule(w3, w0, w1, w2);
		rounds4(s, w3, i + 3);
	}
}

ISA INLINE void add_state(struct state *s, struct state before)
{
	s->abef = _mm_add_epi32(s->abef, before.abef);
	s->cdgh = _mm_add_epi32(s->cdgh, before.cdgh);
}

ISA INLINE void compress(struct state *s, __m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
	const struct state before = *s;

	rounds64(s, w0, w1, w2, w3);
	add_state(s, before);
}

/* Big-endian words of the message to host order. */
ISA INLINE __m128i words(__m128i v)
{
	return _mm_shuffle_epi8(v, _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
}

ISA INLINE void compress_block(struct state *s, const uint8_t *p)
{
	compress(s, words(load(p)), words(load(p + 16)), words(load(p + 32)), words(load(p + 48)));
}

/* a..d and e..h, first word lowest, to and from the split that the instruction wants (highest word first). */
ISA INLINE struct state split(__m128i abcd, __m128i efgh)
{
	__m128i cdab = _mm_shuffle_epi32(abcd, 0xb1), efgh_up = _mm_shuffle_epi32(efgh, 0x1b);
	struct state s;

	s.abef = _mm_alignr_epi8(cdab, efgh_up, 8);
	s.cdgh = _mm_blend_epi16(efgh_up, cdab, 0xf0);
	return s;
}

ISA INLINE void join(const struct state *s, __m128i *abcd, __m128i *efgh)
{
	__m128i feba = _mm_shuffle_epi32(s->abef, 0x1b), dchg = _mm_shuffle_epi32(s->cdgh, 0xb1);

	*abcd = _mm_blend_epi16(feba, dchg, 0xf0);
	*efgh = _mm_alignr_epi8(dchg, feba, 8);
}

ISA static void blocks(uint32_t state[8], const uint8_t *p, size_t nblk)
{
	struct state s = split(load(state), load(state + 4));
	__m128i abcd, efgh;

	for (; nblk; nblk--, p += 64)
		compress_block(&s, p);
	join(&s, &abcd, &efgh);
	store(state, abcd);
	store(state + 4, efgh);
}

/*
 * The first block behind one of the key's states. The state is read again for the final addition: kept meanwhile it would
 * be spilled, and a copy on the stack outlives the key.
 */
ISA INLINE struct state compress_from(const uint32_t h[8], __m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
	struct state s = split(load(h), load(h + 4));

	rounds64(&s, w0, w1, w2, w3);
	PIN_POINTER(h);
	add_state(&s, split(load(h), load(h + 4)));
	return s;
}

/* Bytes 16i .. 16i+15 of the last n < 64 bytes of a message, with the padding's first bit behind them. */
ISA INLINE __m128i padded_piece(const uint8_t *p, size_t n, size_t i)
{
	if (n >= 16 * i + 16)
		return load(p + 16 * i);
	if (n > 16 * i)
		return _mm_or_si128(load_partial(p + 16 * i, n - 16 * i), pad_mark(n - 16 * i));
	return n == 16 * i ? pad_mark(0) : _mm_setzero_si128();
}

/* The last n < 64 bytes, padding and bit length: one block, or two if the length does not fit behind the padding. */
ISA INLINE void compress_tail(struct state *s, const uint8_t *p, size_t n, uint64_t bits)
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

ISA static struct smb3sign_tag hmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				    const uint8_t *body, size_t len)
{
	const struct hmac_secret *secret = hmac_secret(key);
	size_t nblk = len / 64;
	__m128i abcd, efgh;
	struct state s;

	/* The header is one block, and its last quarter is the zeroed Signature. */
	s = compress_from(secret->inner, words(load(hdr)), words(load_flags(hdr, set_flags)), words(load(hdr + 32)),
			  _mm_setzero_si128());
	for (size_t i = 0; i < nblk; i++)
		compress_block(&s, body + 64 * i);
	/* The inner pad block and the header are 128 bytes before the body. */
	compress_tail(&s, body + 64 * nblk, len % 64, (128 + (uint64_t)len) * 8);
	join(&s, &abcd, &efgh);

	/* The outer block: the inner hash's words as they are, padding, and 64 + 32 bytes in bits. */
	s = compress_from(secret->outer, abcd, efgh, _mm_set_epi32(0, 0, 0, INT32_MIN),
			  _mm_set_epi32((64 + 32) * 8, 0, 0, 0));
	join(&s, &abcd, &efgh);
	return tag_of(words(abcd));
}

const struct smb3sign_sha256 smb3sign_sha256_ni = {
	.name = "ni",
	.needs = SMB3SIGN_CPU_SHA | SMB3SIGN_CPU_SSE41 | SMB3SIGN_CPU_SSSE3,
	.blocks = blocks,
	.hmac = hmac,
};

#endif
