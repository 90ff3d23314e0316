/* SPDX-License-Identifier: MIT */
/*
 * The features this process may use, in one word that is computed at first use: threads that race there compute the
 * same value, so a relaxed atomic is all it takes (CPUID itself traps in virtual machines: microseconds). And the text
 * that tells a person about it.
 */
#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv */
#endif
#endif
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__NetBSD__)
#include <unistd.h>
#endif

#include "arch/arm64/arm64.h"
#include "arch/x86/x86.h"
#include "cpu.h"
#include "kernels.h"
#include "smb3sign.h"

#define OVERRIDE "SMB3SIGN_CPU_DISABLE"

/* In the word beside the features. */
#define KNOWN (1u << 31)

static const struct {
	const char *name;
	uint32_t bit;
} features[] = {
	{"ssse3", SMB3SIGN_CPU_SSSE3},       {"sse4.1", SMB3SIGN_CPU_SSE41},  {"aes", SMB3SIGN_CPU_AES},
	{"pclmul", SMB3SIGN_CPU_PCLMUL},     {"sha", SMB3SIGN_CPU_SHA},       {"vpclmul", SMB3SIGN_CPU_VPCLMUL},
	{"avx512", SMB3SIGN_CPU_AVX512},     {"zmm", SMB3SIGN_CPU_ZMM},       {"avx2", SMB3SIGN_CPU_AVX2},
	{"bmi2", SMB3SIGN_CPU_BMI2},         {"pmull", SMB3SIGN_CPU_PMULL},   {"sha2", SMB3SIGN_CPU_SHA2},
	{"sha3", SMB3SIGN_CPU_SHA3},         {"sha512", SMB3SIGN_CPU_SHA512}, {"neon", SMB3SIGN_CPU_NEON},
	{"avx512vl", SMB3SIGN_CPU_AVX512VL},
};
enum { N_FEATURES = sizeof(features) / sizeof(features[0]) };

#if !defined(SMB3SIGN_X86) && !defined(SMB3SIGN_ARM64)
uint32_t smb3sign_cpu_detect(void)
{
	return 0;
}
#endif

/* The environment of a set-user-ID program is its caller's: do not listen to it. */
static const char * override(void)
{
#ifdef __linux__
	return secure_getenv(OVERRIDE);
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__NetBSD__)
	return issetugid() ? NULL : getenv(OVERRIDE);
#else
	return getenv(OVERRIDE);
#endif
}

/* The features of a list like "sha,pclmul". Names nobody knows are none of this version's. */
static uint32_t parse(const char *list)
{
	uint32_t bits = 0;

	while (*list) {
		size_t n = strcspn(list, ", ");

		if (n == 3 && !memcmp(list, "all", 3))
			bits = ~0u;
		for (size_t i = 0; i < N_FEATURES; i++)
			if (strlen(features[i].name) == n && !memcmp(features[i].name, list, n))
				bits |= features[i].bit;
		list += n;
		if (*list)
			list++;
	}
	return bits;
}

uint32_t smb3sign_cpu_features(void)
{
	static _Atomic uint32_t word;
	uint32_t w = atomic_load_explicit(&word, memory_order_relaxed);

	if (!(w & KNOWN)) {
		const char *list = override();

		w = KNOWN | (smb3sign_cpu_detect() & ~(list ? parse(list) : 0));
		atomic_store_explicit(&word, w, memory_order_relaxed);
	}
	return w & ~KNOWN;
}

/* ---- The text */

struct text {
	char s[640];
	size_t len;
};

static void append(struct text *t, const char *s)
{
	size_t n = strlen(s), room = sizeof(t->s) - 1 - t->len;

	if (n > room)
		n = room;
	memcpy(t->s + t->len, s, n);
	t->len += n;
	t->s[t->len] = '\0';
}

static void append_features(struct text *t, const char *head, uint32_t bits)
{
	append(t, head);
	for (size_t i = 0; i < N_FEATURES; i++) {
		if (bits & features[i].bit) {
			append(t, " ");
			append(t, features[i].name);
		}
	}
	append(t, bits ? "\n" : " none\n");
}

/* A kernel's name; in brackets if this process may not use it. */
static void append_kernel(struct text *t, const char *name, uint32_t needs)
{
	int usable = smb3sign_kernel_usable(needs);

	append(t, usable ? " " : " [");
	append(t, name);
	append(t, usable ? "" : "]");
}

static void append_kernels(struct text *t)
{
	append(t, "kernels in use: aes=");
	append(t, smb3sign_best_aes()->name);
	append(t, " ghash=");
	append(t, smb3sign_best_ghash()->name);
	append(t, " sha256=");
	append(t, smb3sign_best_sha256()->name);
	append(t, " sha512=");
	append(t, smb3sign_best_sha512()->name);
	append(t, "\nkernels there are, [unusable here]:\n  aes:");
	for (size_t i = 0; smb3sign_aes_kernels[i]; i++)
		append_kernel(t, smb3sign_aes_kernels[i]->name, smb3sign_aes_kernels[i]->needs);
	append(t, "\n  ghash:");
	for (size_t i = 0; smb3sign_ghash_kernels[i]; i++)
		append_kernel(t, smb3sign_ghash_kernels[i]->name, smb3sign_ghash_kernels[i]->needs);
	append(t, "\n  sha256:");
	for (size_t i = 0; smb3sign_sha256_kernels[i]; i++)
		append_kernel(t, smb3sign_sha256_kernels[i]->name, smb3sign_sha256_kernels[i]->needs);
	append(t, "\n  sha512:");
	for (size_t i = 0; smb3sign_sha512_kernels[i]; i++)
		append_kernel(t, smb3sign_sha512_kernels[i]->name, smb3sign_sha512_kernels[i]->needs);
	append(t, "\nleft out, the toolchain cannot build them:");
	append(t, *smb3sign_kernels_left_out ? smb3sign_kernels_left_out : " none");
	append(t, "\n");
}

const char *smb3sign_cpu(void)
{
	enum { EMPTY, BUSY, READY };
	static _Atomic int state;
	static struct text text;
	int expected = EMPTY;
	uint32_t used = smb3sign_cpu_features();

	if (atomic_compare_exchange_strong(&state, &expected, BUSY)) {
		append_features(&text, "features in use:", used);
		append_features(&text, "disabled by " OVERRIDE ":", smb3sign_cpu_detect() & ~used);
		append_kernels(&text);
		atomic_store(&state, READY);
	}
	/* Another thread may be writing those few lines this very moment; it needs no lock of ours to finish. */
	while (atomic_load(&state) != READY)
		;
	return text.s;
}
