/* SPDX-License-Identifier: MIT */
/*
 * SHA-256's compression function with the SHA extensions (Intel SDM volume 2B, SHA256RNDS2) as inline parts: for one
 * message in sha256_ni.c, for several side by side in sha256_ni_lanes.c.
 *
 * SHA256RNDS2 does two rounds on the state split as (A, B, E, F) and (C, D, G, H), and hands back the new (A, B, E, F);
 * the old one becomes (C, D, G, H). So a block is 32 of them in a row, which is the limit of one message: the message
 * schedule of the coming rounds runs beside them.
 */
#ifndef SMB3SIGN_SHA256_NI_H
#define SMB3SIGN_SHA256_NI_H

#include "../../kernels.h"
#include "x86.h"

#ifdef SMB3SIGN_X86_SHA_NI

/* Several messages need sixteen registers: of eight, some would hold states in turn, and be spilled. */
#ifdef __x86_64__
#define SHA_NI_LANES 4
void smb3sign_sha256_ni_lanes(struct smb3sign_lane *lanes, size_t n, size_t nblk);
#endif

#define SHA_NI TARGET("sha,sse4.1")

typedef __m128i words;

struct sha_state {
	__m128i abef, cdgh;
};

/*
 * Four rounds with the schedule words w and the constants k, which are aligned so that the addition reads them itself.
 */
SHA_NI INLINE void sha_rounds4(struct sha_state *s, __m128i w, const uint32_t *k)
{
	__m128i wk = _mm_add_epi32(w, _mm_load_si128((const __m128i *)(const void *)k));

	s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, wk);
	s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(wk, 0x0e));
}

/* W[t..t+3] from the sixteen words before: s0 of W[t-15..] + W[t-16..] + W[t-7..], then s1 of the two before each. */
SHA_NI INLINE __m128i sha_schedule(__m128i w0, __m128i w4, __m128i w8, __m128i w12)
{
	__m128i w9 = _mm_alignr_epi8(w12, w8, 4);

	return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w0, w4), w9), w12);
}

SHA_NI INLINE void sha_add(struct sha_state *s, struct sha_state before)
{
	s->abef = _mm_add_epi32(s->abef, before.abef);
	s->cdgh = _mm_add_epi32(s->cdgh, before.cdgh);
}

/*
 * Big-endian words of the message to host order. The order of bytes is a table, so that it need not be in a register.
 */
static const _Alignas(16) uint8_t sha_swap[16] = {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};

SHA_NI INLINE __m128i sha_words(__m128i v, const uint8_t *swap)
{
	return _mm_shuffle_epi8(v, _mm_load_si128((const __m128i *)(const void *)swap));
}

SHA_NI INLINE words words_of(block16 v)
{
	return sha_words(v, sha_swap);
}

SHA_NI INLINE block16 bytes_of(words w)
{
	return sha_words(w, sha_swap);
}

/* a..d and e..h, first word lowest, to and from the split that the instruction wants (highest word first). */
SHA_NI INLINE struct sha_state sha_split(__m128i abcd, __m128i efgh)
{
	__m128i cdab = _mm_shuffle_epi32(abcd, 0xb1), efgh_up = _mm_shuffle_epi32(efgh, 0x1b);
	struct sha_state s;

	s.abef = _mm_alignr_epi8(cdab, efgh_up, 8);
	s.cdgh = _mm_blend_epi16(efgh_up, cdab, 0xf0);
	return s;
}

SHA_NI INLINE words sha_abcd(const struct sha_state *s)
{
	return _mm_blend_epi16(_mm_shuffle_epi32(s->abef, 0x1b), _mm_shuffle_epi32(s->cdgh, 0xb1), 0xf0);
}

SHA_NI INLINE words sha_efgh(const struct sha_state *s)
{
	return _mm_alignr_epi8(_mm_shuffle_epi32(s->cdgh, 0xb1), _mm_shuffle_epi32(s->abef, 0x1b), 8);
}

/* The same between a state in memory as the library keeps it, eight words from a on, and registers. */
SHA_NI INLINE struct sha_state sha_load(const uint32_t h[8])
{
	return sha_split(load(h), load(h + 4));
}

SHA_NI INLINE void sha_store(uint32_t h[8], const struct sha_state *s)
{
	store(h, sha_abcd(s));
	store(h + 4, sha_efgh(s));
}

#endif
#endif
