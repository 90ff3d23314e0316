/* SPDX-License-Identifier: MIT */
/* Processor features that kernels ask for, less those that SMB3SIGN_CPU_DISABLE removes. */
#ifndef SMB3SIGN_CPU_H
#define SMB3SIGN_CPU_H

#include <stdint.h>

enum {
	SMB3SIGN_CPU_SSSE3 = 1u << 0,
	SMB3SIGN_CPU_SSE41 = 1u << 1,
	SMB3SIGN_CPU_AES = 1u << 2,
	SMB3SIGN_CPU_PCLMUL = 1u << 3,
	SMB3SIGN_CPU_SHA = 1u << 4,
	SMB3SIGN_CPU_VPCLMUL = 1u << 5, /* the 256-bit tier: AVX2, VAES, VPCLMULQDQ together, YMM state saved */
	SMB3SIGN_CPU_AVX512 = 1u << 6,  /* the 512-bit tier: that and AVX512VL, below */
	SMB3SIGN_CPU_ZMM = 1u << 7,     /* policy: a processor that does not clock down for 512-bit vectors */
	SMB3SIGN_CPU_AVX2 = 1u << 8,    /* YMM state saved */
	SMB3SIGN_CPU_BMI2 = 1u << 9,
	SMB3SIGN_CPU_PMULL = 1u << 10, /* this and what follows are arm64's, which has AES too */
	SMB3SIGN_CPU_SHA2 = 1u << 11,
	SMB3SIGN_CPU_SHA3 = 1u << 12,
	SMB3SIGN_CPU_SHA512 = 1u << 13,
	SMB3SIGN_CPU_NEON = 1u << 14,     /* in all of them: a bit so that it can be removed */
	SMB3SIGN_CPU_AVX512VL = 1u << 15, /* x86: AVX512F, BW, VL together, YMM, ZMM and mask state saved */
};

/* Features this process may use: read once, the override applied. Any thread, any time. */
uint32_t smb3sign_cpu_features(void);

/* Features the processor and the operating system offer, from the architecture's own file; 0 where there is none. */
uint32_t smb3sign_cpu_detect(void);

#endif
