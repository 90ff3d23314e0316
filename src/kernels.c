/* SPDX-License-Identifier: MIT */
/* The lists of kernels, best first. Adding a kernel is a file with one const struct and a line here. */
#include "kernels.h"
#include "cpu.h"
#include "arch/arm64/arm64.h"
#include "arch/x86/x86.h"

const struct smb3sign_aes *const smb3sign_aes_kernels[] = {
#ifdef SMB3SIGN_X86_VAES
	&smb3sign_aes_vaes,
#endif
#ifdef SMB3SIGN_X86_AES_NI
	&smb3sign_aes_ni,
#endif
#ifdef SMB3SIGN_X86_SSSE3
	&smb3sign_aes_ssse3,
#endif
#ifdef SMB3SIGN_ARM64_CE
	&smb3sign_aes_ce,
#endif
	&smb3sign_aes_portable, NULL,
};

const struct smb3sign_ghash *const smb3sign_ghash_kernels[] = {
#ifdef SMB3SIGN_X86_AVX512
	&smb3sign_ghash_avx512,
#endif
#ifdef SMB3SIGN_X86_VPCLMUL
	&smb3sign_ghash_vpclmul,
#endif
#ifdef SMB3SIGN_X86_PCLMUL
	&smb3sign_ghash_pclmul,
#endif
#ifdef SMB3SIGN_X86_SSSE3
	&smb3sign_ghash_ssse3,
#endif
#ifdef SMB3SIGN_ARM64_SHA3
	&smb3sign_ghash_pmull_eor3,
#endif
#ifdef SMB3SIGN_ARM64_CE
	&smb3sign_ghash_pmull,
#endif
#ifdef SMB3SIGN_ARM64
	&smb3sign_ghash_neon,
#endif
	&smb3sign_ghash_portable,   NULL,
};

const struct smb3sign_sha256 *const smb3sign_sha256_kernels[] = {
#ifdef SMB3SIGN_X86_SHA_NI
	&smb3sign_sha256_ni,
#endif
#ifdef SMB3SIGN_X86_SHA256_AVX512
	&smb3sign_sha256_avx512,
#endif
#ifdef SMB3SIGN_X86_SHA256_AVX2
	&smb3sign_sha256_avx2,
#endif
#ifdef SMB3SIGN_X86_SHA256_SSSE3
	&smb3sign_sha256_ssse3,
#endif
#ifdef SMB3SIGN_ARM64_CE
	&smb3sign_sha256_ce,
#endif
	&smb3sign_sha256_portable, NULL,
};

const struct smb3sign_sha512 *const smb3sign_sha512_kernels[] = {
#ifdef SMB3SIGN_ARM64_SHA3
	&smb3sign_sha512_ce,
#endif
	&smb3sign_sha512_portable,
	NULL,
};

const char smb3sign_kernels_left_out[] = ""
#ifdef SMB3SIGN_X86
#ifndef SMB3SIGN_X86_AES_NI
					 " aes=ni"
#endif
#ifndef SMB3SIGN_X86_SSSE3
					 " aes=ssse3 ghash=ssse3"
#endif
#ifndef SMB3SIGN_X86_PCLMUL
					 " ghash=pclmul"
#endif
#ifndef SMB3SIGN_X86_SHA_NI
					 " sha256=ni"
#endif
#ifdef __x86_64__
#ifndef SMB3SIGN_X86_AVX512
					 " ghash=avx512"
#endif
#ifndef SMB3SIGN_X86_VPCLMUL
					 " ghash=vpclmul"
#endif
#ifndef SMB3SIGN_X86_VAES
					 " aes=vaes"
#endif
#ifndef SMB3SIGN_X86_SHA256_AVX512
					 " sha256=avx512"
#endif
#ifndef SMB3SIGN_X86_SHA256_AVX2
					 " sha256=avx2"
#endif
#ifndef SMB3SIGN_X86_SHA256_SSSE3
					 " sha256=ssse3"
#endif
#endif
#endif
#ifdef SMB3SIGN_ARM64
#ifndef SMB3SIGN_ARM64_CE
					 " aes=ce ghash=pmull sha256=ce"
#endif
#ifndef SMB3SIGN_ARM64_SHA3
					 " ghash=pmull-eor3 sha512=ce"
#endif
#endif
	;

int smb3sign_kernel_usable(uint32_t needs)
{
	return (needs & ~smb3sign_cpu_features()) == 0;
}

/* The portable kernels need nothing, so each search ends. */
const struct smb3sign_aes *smb3sign_best_aes(void)
{
	const struct smb3sign_aes *const *k = smb3sign_aes_kernels;

	while (!smb3sign_kernel_usable((*k)->needs))
		k++;
	return *k;
}

const struct smb3sign_ghash *smb3sign_best_ghash(void)
{
	const struct smb3sign_ghash *const *k = smb3sign_ghash_kernels;

	while (!smb3sign_kernel_usable((*k)->needs | (*k)->wants))
		k++;
	return *k;
}

const struct smb3sign_sha256 *smb3sign_best_sha256(void)
{
	const struct smb3sign_sha256 *const *k = smb3sign_sha256_kernels;

	while (!smb3sign_kernel_usable((*k)->needs))
		k++;
	return *k;
}

const struct smb3sign_sha512 *smb3sign_best_sha512(void)
{
	const struct smb3sign_sha512 *const *k = smb3sign_sha512_kernels;

	while (!smb3sign_kernel_usable((*k)->needs))
		k++;
	return *k;
}
