/* SPDX-License-Identifier: MIT */
/*
 * Features of an x86 processor, by CPUID (Intel SDM volume 2A, AMD APM volume 3 appendix E). The 128-bit kernels use XMM
 * registers in legacy encoding only, which every operating system for these processors saves; XCR0 need not be asked.
 */
#include "../../cpu.h"
#include "x86.h"

#ifdef SMB3SIGN_X86
#include <cpuid.h>

uint32_t smb3sign_cpu_detect(void)
{
	unsigned eax, ebx, ecx, edx;
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
	if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ebx & 1u << 29)
		features |= SMB3SIGN_CPU_SHA;
	return features;
}
#endif
