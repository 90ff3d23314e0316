/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 as sha256_avx2.c has it, but several messages side by side with AVX-512's instructions for rotations and for
 * any function of three bits. For the processors that have these and no SHA instructions: Skylake-SP, Cascade Lake,
 * Cooper Lake. They lower their clock for ZMM registers, so these are YMM.
 */
#include "../../cpu.h"
#include "../../kernels.h"
#include "x86.h"

#ifdef SMB3SIGN_X86_SHA256_AVX512

/* One message has nothing to gain, and compilers would use the wider registers unasked. */
#define ISA TARGET("avx2,bmi2")
#include "sha256_ymm.h"
#undef ISA
#define ISA TARGET("avx2,bmi2,avx512f,avx512bw,avx512vl")

/*
 * For each bit of its three operands x, y and z, VPTERNLOGD takes bit 4x + 2y + z of a table. A function's table is what
 * the function makes of the operands' own tables. All numbers are part of the instructions, so these are macros.
 */
enum {
	X = 0xf0,
	Y = 0xcc,
	Z = 0xaa,
	XOR_TABLE = X ^ Y ^ Z,
	CH_TABLE = (X & Y) ^ (~X & Z),
	MAJ_TABLE = (X & Y) ^ (X & Z) ^ (Y & Z),
};

#define BIG_SIGMA(x, n0, n1, n2) \
	VEC(ternarylogic_epi32)(VEC(ror_epi32)(x, n0), VEC(ror_epi32)(x, n1), VEC(ror_epi32)(x, n2), XOR_TABLE)
#define SMALL_SIGMA(x, n0, n1, n2) \
	VEC(ternarylogic_epi32)(VEC(srli_epi32)(x, n0), VEC(ror_epi32)(x, n1), VEC(ror_epi32)(x, n2), XOR_TABLE)
#define CH(e, f, g)          VEC(ternarylogic_epi32)(e, f, g, CH_TABLE)
#define MAJ(a, b, c, ab, bc) VEC(ternarylogic_epi32)(a, b, c, MAJ_TABLE)

#define LANES_MIN 2
#include "sha256_lanes_template.h"

const struct smb3sign_sha256 smb3sign_sha256_avx512 = {
	.name = "avx512",
	.needs = SMB3SIGN_CPU_AVX512VL | SMB3SIGN_CPU_AVX2 | SMB3SIGN_CPU_BMI2,
	.blocks = blocks,
	.blocks_lanes = blocks_lanes,
	.width = LANES,
};

#endif
