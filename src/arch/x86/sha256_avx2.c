/* SPDX-License-Identifier: MIT */
/* SHA-256 with AVX2, the schedules of two blocks in a vector, and BMI2's rotations: see sha256_template.h. */
#include "../../cpu.h"
#include "../../kernels.h"
#include "x86.h"

#ifdef SMB3SIGN_X86_SHA256_AVX2

#define ISA  TARGET("avx2,bmi2")
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

#define LANES_MIN 3
#include "sha256_lanes_template.h"

const struct smb3sign_sha256 smb3sign_sha256_avx2 = {
	.name = "avx2",
	.needs = SMB3SIGN_CPU_AVX2 | SMB3SIGN_CPU_BMI2,
	.blocks = blocks,
	.blocks_lanes = blocks_lanes,
	.width = LANES,
};

#endif
