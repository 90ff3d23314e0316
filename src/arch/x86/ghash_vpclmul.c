/* SPDX-License-Identifier: MIT */
/* GHASH and GMAC with VPCLMULQDQ on 256-bit registers, two blocks at a time: see ghash_template.h. */
#include "../../cpu.h"
#include "../../kernels.h"
#include "../../key.h"
#include "../../smb2.h"
#include "aes_ni.h"

#ifdef SMB3SIGN_X86_VPCLMUL

enum { WIDTH = 2, GROUP = 32, KEEP_SUMS = 0, PAIRS = 0 };
#define ISA TARGET("avx2,vpclmulqdq,pclmul,aes")

typedef __m256i vec;
#define VEC_CLMUL(a, b, halves) _mm256_clmulepi64_epi128(a, b, halves)
#define VEC_PIN(v)              PIN_VECTOR(v)

ISA INLINE vec vec_load(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

ISA INLINE void vec_store(uint8_t *p, vec v)
{
	_mm256_storeu_si256((__m256i *)(void *)p, v);
}

ISA INLINE vec vec_xor(vec a, vec b)
{
	return _mm256_xor_si256(a, b);
}

ISA INLINE vec vec_xor3(vec a, vec b, vec c)
{
	return vec_xor(vec_xor(a, b), c);
}

ISA INLINE vec vec_swap(vec v)
{
	return _mm256_shuffle_epi32(v, 0x4e);
}

ISA INLINE vec vec_low_up(vec v)
{
	return _mm256_slli_si256(v, 8);
}

ISA INLINE vec vec_high_down(vec v)
{
	return _mm256_srli_si256(v, 8);
}

ISA INLINE vec vec_reverse(vec v)
{
	return _mm256_shuffle_epi8(
		v, _mm256_broadcastsi128_si256(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
}

ISA INLINE vec vec_zero(void)
{
	return _mm256_setzero_si256();
}

ISA INLINE vec vec_of(__m128i block)
{
	return _mm256_inserti128_si256(_mm256_setzero_si256(), block, 0);
}

ISA INLINE vec vec_all(__m128i block)
{
	return _mm256_broadcastsi128_si256(block);
}

ISA INLINE __m128i vec_sum(vec v)
{
	return _mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

ISA INLINE vec vec_header(const uint8_t *hdr, size_t i, uint8_t set_flags)
{
	if (i)
		return vec_of(load(hdr + 32));
	return _mm256_or_si256(vec_load(hdr), _mm256_set_epi32(0, 0, 0, set_flags, 0, 0, 0, 0));
}

ISA INLINE vec vec_tail(const uint8_t *p, size_t n)
{
	if (n < 16)
		return vec_of(load_partial(p, n));
	if (n == 16)
		return vec_of(load(p));
	return _mm256_inserti128_si256(_mm256_castsi128_si256(load(p)), load_partial(p + 16, n - 16), 1);
}

ISA INLINE vec vec_insert(vec v, size_t k, __m128i block)
{
	(void)k; /* 1 */
	return _mm256_inserti128_si256(v, block, 1);
}

#include "ghash_template.h"

#ifdef __x86_64__
ISA INLINE vec vec_join(__m128i b0, __m128i b1)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(b0), b1, 1);
}
#define VEC_EACH(block, places, i) vec_join(block(&(places)[0], i), block(&(places)[1], i))

ISA INLINE void vec_tags(struct smb3sign_short *msgs, vec v)
{
	store(&msgs[0].tag, _mm256_castsi256_si128(v));
	store(&msgs[1].tag, _mm256_extracti128_si256(v, 1));
}

/*
 * Of 16 bytes and more: those that end the body, moved down, with no branch on how many of them the last block has.
 * PSHUFB puts a zero where its selector is negative.
 */
ISA INLINE __m128i last_block(const uint8_t *body, size_t len)
{
	static const int8_t down[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
					-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

	if (len < 16)
		return load_partial(body, len);
	return _mm_shuffle_epi8(load(body + len - 16), load(down + -len % 16));
}

#include "gmac_short_template.h"
#endif

const struct smb3sign_ghash smb3sign_ghash_vpclmul = {
	.name = "vpclmul",
	.needs = SMB3SIGN_CPU_VPCLMUL | SMB3SIGN_CPU_PCLMUL | SMB3SIGN_CPU_AVX2 | SMB3SIGN_CPU_SSSE3,
	.table_size = sizeof(struct table),
	.setkey = setkey,
	.blocks = blocks,
	.gmac = gmac,
#ifdef __x86_64__
	.gmac_short = gmac_short,
	.width = WIDTH,
#endif
	.aes = &smb3sign_aes_ni,
};

#endif
