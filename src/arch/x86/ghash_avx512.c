/* SPDX-License-Identifier: MIT */
/*
 * GHASH and GMAC with VPCLMULQDQ on 512-bit registers, four blocks at a time: see ghash_template.h. The header of a
 * message is one vector; masked loads take the odd bytes of a body and touch no others.
 */
#include "../../cpu.h"
#include "../../kernels.h"
#include "../../key.h"
#include "../../smb2.h"
#include "aes_ni.h"

#ifdef SMB3SIGN_X86_AVX512

enum { WIDTH = 4, GROUP = 64, KEEP_SUMS = 0, PAIRS = 1 };
#define ISA TARGET("avx512f,avx512bw,avx512vl,avx2,vpclmulqdq,pclmul,aes")

typedef __m512i vec;
#define VEC_CLMUL(a, b, halves) _mm512_clmulepi64_epi128(a, b, halves)
#define VEC_PIN(v)              __asm__("" : "+v"(v))

ISA INLINE vec vec_load(const uint8_t *p)
{
	return _mm512_loadu_si512(p);
}

ISA INLINE void vec_store(uint8_t *p, vec v)
{
	_mm512_storeu_si512(p, v);
}

ISA INLINE vec vec_xor(vec a, vec b)
{
	return _mm512_xor_si512(a, b);
}

ISA INLINE vec vec_xor3(vec a, vec b, vec c)
{
	return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

ISA INLINE vec vec_swap(vec v)
{
	return _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x4e);
}

ISA INLINE vec vec_low_up(vec v)
{
	return _mm512_bslli_epi128(v, 8);
}

ISA INLINE vec vec_high_down(vec v)
{
	return _mm512_bsrli_epi128(v, 8);
}

ISA INLINE vec vec_reverse(vec v)
{
	return _mm512_shuffle_epi8(
		v, _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
}

ISA INLINE vec vec_zero(void)
{
	return _mm512_setzero_si512();
}

ISA INLINE vec vec_of(__m128i block)
{
	return _mm512_inserti32x4(_mm512_setzero_si512(), block, 0);
}

ISA INLINE vec vec_all(__m128i block)
{
	return _mm512_broadcast_i32x4(block);
}

ISA INLINE __m128i vec_sum(vec v)
{
	__m256i half = _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));

	return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* The first 48 bytes; Flags are the fifth 32-bit word. */
ISA INLINE vec vec_header(const uint8_t *hdr, size_t i, uint8_t set_flags)
{
	(void)i; /* 0 */
	return _mm512_or_si512(_mm512_maskz_loadu_epi32(0x0fff, hdr), _mm512_maskz_set1_epi32(1u << 4, set_flags));
}

ISA INLINE vec vec_tail(const uint8_t *p, size_t n)
{
	return _mm512_maskz_loadu_epi8(((uint64_t)1 << n) - 1, p);
}

ISA INLINE vec vec_insert(vec v, size_t k, __m128i block)
{
	return _mm512_mask_broadcast_i32x4(v, (__mmask16)(0xfu << 4 * k), block);
}

#include "ghash_template.h"

#ifdef __x86_64__
ISA INLINE vec vec_join(__m128i b0, __m128i b1, __m128i b2, __m128i b3)
{
	vec v = _mm512_inserti32x4(_mm512_castsi128_si512(b0), b1, 1);

	return _mm512_inserti32x4(_mm512_inserti32x4(v, b2, 2), b3, 3);
}
#define VEC_EACH(block, places, i) \
	vec_join(block(&(places)[0], i), block(&(places)[1], i), block(&(places)[2], i), block(&(places)[3], i))

ISA INLINE void vec_tags(struct smb3sign_short *msgs, vec v)
{
	store(&msgs[0].tag, _mm512_castsi512_si128(v));
	store(&msgs[1].tag, _mm512_extracti32x4_epi32(v, 1));
	store(&msgs[2].tag, _mm512_extracti32x4_epi32(v, 2));
	store(&msgs[3].tag, _mm512_extracti32x4_epi32(v, 3));
}

ISA INLINE __m128i last_block(const uint8_t *body, size_t len)
{
	size_t before = (len - 1) / 16 * 16;

	return _mm_maskz_loadu_epi8((__mmask16)((1u << (len - before)) - 1), body + before);
}

#include "gmac_short_template.h"
#endif

const struct smb3sign_ghash smb3sign_ghash_avx512 = {
	.name = "avx512",
	.needs = SMB3SIGN_CPU_AVX512 | SMB3SIGN_CPU_AVX512VL | SMB3SIGN_CPU_VPCLMUL | SMB3SIGN_CPU_PCLMUL |
		 SMB3SIGN_CPU_AVX2 | SMB3SIGN_CPU_SSSE3,
	.wants = SMB3SIGN_CPU_ZMM,
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
