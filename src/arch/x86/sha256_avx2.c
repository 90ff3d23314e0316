/* SPDX-License-Identifier: MIT */
/* SHA-256 with AVX2, the schedules of two blocks in a vector, and BMI2's rotations: see sha256_template.h. */
#include "../../cpu.h"
#include "../../kernels.h"
#include "x86.h"

#ifdef SMB3SIGN_X86_SHA256_AVX2

#define ISA TARGET("avx2,bmi2")
#include "sha256_ymm.h"

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
