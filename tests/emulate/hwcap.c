/* SPDX-License-Identifier: MIT */
/*
 * Hides processor features from an arm64 Linux program, for no processor that QEMU knows is without AES, PMULL and
 * SHA-2. To be preloaded: getauxval(AT_HWCAP) gives the bits that HWCAP_MASK (hexadecimal) leaves. instructions.c
 * watches that they are not used all the same.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

unsigned long getauxval(unsigned long type)
{
	unsigned long (*real)(unsigned long);
	void *symbol = dlsym(RTLD_NEXT, "getauxval");
	const char *mask = getenv("HWCAP_MASK");
	unsigned long value;

	if (!symbol || !mask)
		abort();                      /* to hide nothing would look like success */
	memcpy(&real, &symbol, sizeof(real)); /* as POSIX has it for dlsym */
	value = real(type);
	return type == AT_HWCAP ? value & strtoul(mask, NULL, 16) : value;
}
