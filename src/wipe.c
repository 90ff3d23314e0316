/* SPDX-License-Identifier: MIT */
/*
 * The library's only eraser. A plain memset before the end of an object's life is a dead store and is removed; the empty
 * asm claims to read the memory afterwards, so it is not. Compilers without GNU asm store through a volatile pointer.
 */
#include "util.h"

void smb3sign_wipe(void *p, size_t n)
{
#ifdef __GNUC__
	if (n)
		memset(p, 0, n);
	__asm__ __volatile__("" : : "r"(p) : "memory");
#else
	volatile uint8_t *b = p;

	while (n--)
		*b++ = 0;
#endif
}
