/* SPDX-License-Identifier: MIT */
/*
 * Features of an x86 processor, by CPUID (Intel SDM volume 2A, AMD APM volume 3 appendix E). The 128-bit kernels use
 * XMM registers in legacy encoding only, which every operating system for these processors saves; wider ones ask XCR0.
 */
#include "../../cpu.h"
#include "x86.h"

#ifdef SMB3SIGN_X86
#include <cpuid.h>

/* XCR0, the register states that the operating system saves; 0 if it does not say (SDM volume 1, 13.3). */
static unsigned saved_states(unsigned leaf1_ecx)
{
	unsigned eax, edx;

	if (!(leaf1_ecx & 1u << 27)) /* OSXSAVE */
		return 0;
	__asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
	return eax;
}

/* In XCR0: SSE and AVX; mask registers and both halves of ZMM too. */
enum { YMM_SAVED = 0x6, ZMM_SAVED = 0xe6 };

/* The parts of AVX-512 that kernels use, F, BW and VL, whatever the width of their vectors. */
static uint32_t avx512vl(unsigned leaf7_ebx, unsigned saved)
{
	const unsigned f_bw_vl = 1u << 16 | 1u << 30 | 1u << 31;

	return (leaf7_ebx & f_bw_vl) == f_bw_vl && (saved & ZMM_SAVED) == ZMM_SAVED ? SMB3SIGN_CPU_AVX512VL : 0;
}

/*
 * A tier is there with all its parts or not at all: emulators are known to offer VAES alone, and to compute it wrongly.
 */
static uint32_t wide_tiers(uint32_t features, unsigned leaf7_ecx)
{
	const unsigned vaes_vpclmul = 1u << 9 | 1u << 10;

	if (!(features & SMB3SIGN_CPU_AES) || !(features & SMB3SIGN_CPU_AVX2) ||
	    (leaf7_ecx & vaes_vpclmul) != vaes_vpclmul)
		return 0;
	return features & SMB3SIGN_CPU_AVX512VL ? SMB3SIGN_CPU_VPCLMUL | SMB3SIGN_CPU_AVX512 : SMB3SIGN_CPU_VPCLMUL;
}

/*
 * Of the processors with VPCLMULQDQ of 512 bits, Intel's Ice Lake (servers 6A, 6C; clients 7D, 7E; NNP-I 9D) and Tiger
 * Lake (8C, 8D) lower their clock while 512-bit vectors are in use, and with it everything else on the core; Linux
 * prefers 256 bits on the same models. Rocket Lake, Sapphire Rapids and what came after them, and AMD's (from Zen 4),
 * lower it little or not at all. Skylake-X and Cascade Lake do most, but have no VPCLMULQDQ.
 */
static int clocks_down(void)
{
	static const uint8_t models[] = {0x6a, 0x6c, 0x7d, 0x7e, 0x9d, 0x8c, 0x8d};
	unsigned eax, ebx, ecx, edx, family, model;

	if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx) || ebx != signature_INTEL_ebx ||
	    !__get_cpuid(1, &eax, &ebx, &ecx, &edx))
		return 0;
	family = eax >> 8 & 15;
	model = (eax >> 4 & 15) | (eax >> 12 & 0xf0);
	for (size_t i = 0; family == 6 && i < sizeof(models); i++)
		if (model == models[i])
			return 1;
	return 0;
}

uint32_t smb3sign_cpu_detect(void)
{
	unsigned eax, ebx, ecx, edx, saved;
	uint32_t features = 0;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
		return 0;
	if (ecx & 1u << 9)
		features |= SMB3SIGN_CPU_SSSE3;
	if (ecx & 1u << 19)
		features |= SMB3SIGN_CPU_SSE41;
	if (ecx & 1u << 25)
		features |= SMB3SIGN_CPU_AES;
	if (ecx & 1u << 1)
		features |= SMB3SIGN_CPU_PCLMUL;
	saved = saved_states(ecx);
	if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
		return features;
	if (ebx & 1u << 29)
		features |= SMB3SIGN_CPU_SHA;
	if (ebx & 1u << 5 && (saved & YMM_SAVED) == YMM_SAVED)
		features |= SMB3SIGN_CPU_AVX2;
	if (ebx & 1u << 8)
		features |= SMB3SIGN_CPU_BMI2;
	features |= avx512vl(ebx, saved);
	features |= wide_tiers(features, ecx);
	if (features & SMB3SIGN_CPU_AVX512 && !clocks_down())
		features |= SMB3SIGN_CPU_ZMM;
	return features;
}
#endif
