/* SPDX-License-Identifier: MIT */
/* GHASH and GMAC with PCLMULQDQ, one block at a time: see ghash_template.h. */
#include "../../cpu.h"
#include "../../kernels.h"
#include "../../key.h"
#include "../../smb2.h"
#include "aes_ni.h"

#ifdef SMB3SIGN_X86_PCLMUL

enum { WIDTH = 1, GROUP = 16, KEEP_SUMS = 1, PAIRS = 0 };
#define ISA TARGET("pclmul,aes,ssse3")

typedef __m128i vec;
#define VEC_CLMUL(a, b, halves) _mm_clmulepi64_si128(a, b, halves)
#define VEC_PIN(v)              PIN_VECTOR(v)

ISA INLINE vec vec_load(const uint8_t *p)
{
	return load(p);
}

ISA INLINE void vec_store(uint8_t *p, vec v)
{
	store(p, v);
}

ISA INLINE vec vec_xor(vec a, vec b)
{
	return _mm_xor_si128(a, b);
}

ISA INLINE vec vec_xor3(vec a, vec b, vec c)
{
	return vec_xor(vec_xor(a, b), c);
}

ISA INLINE vec vec_swap(vec v)
{
	return _mm_shuffle_epi32(v, 0x4e);
}

ISA INLINE vec vec_low_up(vec v)
{
	return _mm_slli_si128(v, 8);
}

ISA INLINE vec vec_high_down(vec v)
{
	return _mm_srli_si128(v, 8);
}

ISA INLINE vec vec_reverse(vec v)
{
	return _mm_shuffle_epi8(v, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

ISA INLINE vec vec_zero(void)
{
	return _mm_setzero_si128();
}

ISA INLINE vec vec_of(__m128i block)
{
	return block;
}

ISA INLINE vec vec_all(__m128i block)
{
	return block;
}

ISA INLINE __m128i vec_sum(vec v)
{
	return v;
}

ISA INLINE vec vec_header(const uint8_t *hdr, size_t i, uint8_t set_flags)
{
	return i == 1 ? load_flags(hdr, set_flags) : load(hdr + 16 * i);
}

ISA INLINE vec vec_tail(const uint8_t *p, size_t n)
{
	return load_partial(p, n);
}

/* A vector of one block has no place beside it. */
ISA INLINE vec vec_insert(vec v, size_t k, __m128i block)
{
	(void)k;
	(void)block;
	return v;
}

#include "ghash_template.h"

const struct smb3sign_ghash smb3sign_ghash_pclmul = {
	.name = "pclmul",
	.needs = SMB3SIGN_CPU_PCLMUL | SMB3SIGN_CPU_SSSE3,
	.table_size = sizeof(struct table),
	.setkey = setkey,
	.blocks = blocks,
	.gmac = gmac,
	.aes = &smb3sign_aes_ni,
};

#endif
