/* SPDX-License-Identifier: MIT */
/* GHASH and GMAC with VPCLMULQDQ on 256-bit registers, two blocks at a time: see ghash_template.h. */
#include "../../cpu.h"
#include "../../kernels.h"
#include "../../key.h"
#include "../../smb2.h"
#include "aes_ni.h"

#ifdef SMB3SIGN_X86_VPCLMUL

enum { WIDTH = 2, GROUP = 32, KEEP_SUMS = 0 };
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

const struct smb3sign_ghash smb3sign_ghash_vpclmul = {
	.name = "vpclmul",
	.needs = SMB3SIGN_CPU_VPCLMUL | SMB3SIGN_CPU_PCLMUL,
	.table_size = sizeof(struct table),
	.setkey = setkey,
	.blocks = blocks,
	.gmac = gmac,
	.aes = &smb3sign_aes_ni,
};

#endif
