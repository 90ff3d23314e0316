/* SPDX-License-Identifier: MIT */
/*
 * The library's selftest on big-endian arm64 Linux, which no C library is packaged for: what the library needs of one,
 * and a _start that prints the kernels and exits with 0 if every known answer comes out.
 */
#include <stddef.h>

#include "smb3sign.h"

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int byte, size_t n);
size_t strlen(const char *s);
size_t strcspn(const char *s, const char *set);
void *malloc(size_t n);
void free(void *p);
char *secure_getenv(const char *name);
void _start(void);

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = ((const char *)from)[i];
	return to;
}

void *calloc(size_t n, size_t size);
void *calloc(size_t n, size_t size)
{
	(void)n;
	(void)size;
	return 0;
}

void *memset(void *to, int byte, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = (char)byte;
	return to;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

size_t strcspn(const char *s, const char *set)
{
	size_t n = 0;

	for (; s[n]; n++)
		for (size_t i = 0; set[i]; i++)
			if (s[n] == set[i])
				return n;
	return n;
}

/* The selftest allocates nothing. */
void *malloc(size_t n)
{
	(void)n;
	return NULL;
}

void free(void *p)
{
	(void)p;
}

char *secure_getenv(const char *name)
{
	(void)name;
	return NULL;
}

static long system_call(long number, long a, long b, long c)
{
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
}

enum { SYS_WRITE = 64, SYS_EXIT = 93 };

void _start(void)
{
	const char *text = smb3sign_cpu();

	system_call(SYS_WRITE, 1, (long)text, (long)strlen(text));
	system_call(SYS_EXIT, smb3sign_selftest() != SMB3SIGN_OK, 0, 0);
	__builtin_unreachable();
}
