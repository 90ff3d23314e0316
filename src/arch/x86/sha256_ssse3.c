/* SPDX-License-Identifier: MIT */
/* SHA-256 with SSSE3, the schedule of one block in vectors: see sha256_template.h. */
#include "../../cpu.h"
#include "../../kernels.h"
#include "x86.h"

#ifdef SMB3SIGN_X86_SHA256_SSSE3

#define ISA  TARGET("ssse3")
#define PAIR 0

typedef __m128i vec;
#define VEC(op)           _mm_##op
#define VEC_XOR           _mm_xor_si128
#define VEC_AND           _mm_and_si128
#define ROTATED(n, x, to) "mov %[" #x "], %[" #to "]\n\tror $" #n ", %[" #to "]\n\t"

ISA INLINE vec vec_load(const uint8_t *p, const uint8_t *q)
{
	(void)q;
	return load(p);
}

ISA INLINE vec vec_both(const void *p)
{
	return load(p);
}

ISA INLINE __m128i vec_first(vec v)
{
	return v;
}

#include "sha256_template.h"

#define LANES_MIN 3
#include "sha256_lanes_template.h"

const struct smb3sign_sha256 smb3sign_sha256_ssse3 = {
	.name = "ssse3",
	.needs = SMB3SIGN_CPU_SSSE3,
	.blocks = blocks,
	.blocks_lanes = blocks_lanes,
	.width = LANES,
};

#endif
