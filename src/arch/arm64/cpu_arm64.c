/* SPDX-License-Identifier: MIT */
/*
 * Features of an arm64 processor, as the operating system tells them: the registers that hold them (ID_AA64ISAR0_EL1,
 * Arm ARM D19) are not for programs to read. Linux, Android and FreeBSD have a word of bits, HWCAP, the same on all
 * three; macOS has a name for each feature, Windows a number.
 */
#include "../../cpu.h"
#include "arm64.h"

#ifdef SMB3SIGN_ARM64

#if defined(__linux__) || defined(__FreeBSD__)
#include <sys/auxv.h>

/* Linux, Documentation/arch/arm64/elf_hwcaps.rst; headers that are old lack some. */
enum {
	HAS_ASIMD = 1u << 1,
	HAS_AES = 1u << 3,
	HAS_PMULL = 1u << 4,
	HAS_SHA2 = 1u << 6,
	HAS_SHA3 = 1u << 17,
	HAS_SHA512 = 1u << 21,
};

static unsigned long hwcap(void)
{
#ifdef __linux__
	return getauxval(AT_HWCAP);
#else
	unsigned long word = 0;

	return elf_aux_info(AT_HWCAP, &word, sizeof(word)) ? 0 : word;
#endif
}

uint32_t smb3sign_cpu_detect(void)
{
	const unsigned long has = hwcap();
	uint32_t features = 0;

	if (has & HAS_ASIMD)
		features |= SMB3SIGN_CPU_NEON;
	if (has & HAS_AES)
		features |= SMB3SIGN_CPU_AES;
	if (has & HAS_PMULL)
		features |= SMB3SIGN_CPU_PMULL;
	if (has & HAS_SHA2)
		features |= SMB3SIGN_CPU_SHA2;
	if (has & HAS_SHA3)
		features |= SMB3SIGN_CPU_SHA3;
	if (has & HAS_SHA512)
		features |= SMB3SIGN_CPU_SHA512;
	return features;
}

#elif defined(__APPLE__)
#include <sys/sysctl.h>

/* sysctl's names (Apple, "Determining instruction set characteristics"). */
uint32_t smb3sign_cpu_detect(void)
{
	static const struct {
		const char *name;
		uint32_t bit;
	} known[] = {
		{"hw.optional.arm.FEAT_AES", SMB3SIGN_CPU_AES},
		{"hw.optional.arm.FEAT_PMULL", SMB3SIGN_CPU_PMULL},
		{"hw.optional.arm.FEAT_SHA256", SMB3SIGN_CPU_SHA2},
		{"hw.optional.arm.FEAT_SHA3", SMB3SIGN_CPU_SHA3},
		{"hw.optional.arm.FEAT_SHA512", SMB3SIGN_CPU_SHA512},
	};
	uint32_t features = SMB3SIGN_CPU_NEON;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		int has = 0;
		size_t len = sizeof(has);

		if (!sysctlbyname(known[i].name, &has, &len, NULL, 0) && has)
			features |= known[i].bit;
	}
	return features;
}

#elif defined(_WIN32)
#include <windows.h>

/* PF_ARM_V8_CRYPTO_INSTRUCTIONS_AVAILABLE: AES, PMULL and SHA2 together. Only new headers know the rest. */
enum { PF_CRYPTO = 30, PF_SHA3 = 64, PF_SHA512 = 65 };

uint32_t smb3sign_cpu_detect(void)
{
	uint32_t features = SMB3SIGN_CPU_NEON;

	if (IsProcessorFeaturePresent(PF_CRYPTO))
		features |= SMB3SIGN_CPU_AES | SMB3SIGN_CPU_PMULL | SMB3SIGN_CPU_SHA2;
	if (IsProcessorFeaturePresent(PF_SHA3))
		features |= SMB3SIGN_CPU_SHA3;
	if (IsProcessorFeaturePresent(PF_SHA512))
		features |= SMB3SIGN_CPU_SHA512;
	return features;
}

#else
uint32_t smb3sign_cpu_detect(void)
{
	return SMB3SIGN_CPU_NEON;
}
#endif

#endif
