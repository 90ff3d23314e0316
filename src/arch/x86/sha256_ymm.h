/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 in YMM registers, for sha256_avx2.c and sha256_avx512.c, which define ISA: what sha256_template.h wants of
 * vectors with room for two blocks, and of BMI2, and then that.
 */

#define PAIR 1

typedef __m256i vec;
#define VEC(op)           _mm256_##op
#define VEC_XOR           _mm256_xor_si256
#define VEC_AND           _mm256_and_si256
#define ROTATED(n, x, to) "rorx $" #n ", %[" #x "], %[" #to "]\n\t"

ISA INLINE vec vec_load(const uint8_t *p, const uint8_t *q)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(load(p)), load(q), 1);
}

ISA INLINE vec vec_both(const void *p)
{
	return _mm256_broadcastsi128_si256(load(p));
}

ISA INLINE __m128i vec_first(vec v)
{
	return _mm256_castsi256_si128(v);
}

ISA INLINE __m128i vec_second(vec v)
{
	return _mm256_extracti128_si256(v, 1);
}

#include "sha256_template.h"
