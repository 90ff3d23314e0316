/* SPDX-License-Identifier: MIT */
/*
 * For MemorySanitizer, which has to see every store and does not see those of Check and OpenSSL: what Check writes to
 * its files is not looked at, and what OpenSSL has written is declared defined. In other builds there is nothing to do.
 */
#include "support.h"

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define MEMORY_SANITIZER 1
#endif
#endif

#ifdef MEMORY_SANITIZER
#include <sanitizer/msan_interface.h>

/* Check's, by the linker's --wrap: nobody else here writes so. */
size_t __real_fwrite(const void *p, size_t size, size_t count, FILE *file);
size_t __wrap_fwrite(const void *p, size_t size, size_t count, FILE *file);

size_t __wrap_fwrite(const void *p, size_t size, size_t count, FILE *file)
{
	size_t written;

	__msan_scoped_disable_interceptor_checks();
	written = __real_fwrite(p, size, count, file);
	__msan_scoped_enable_interceptor_checks();
	return written;
}

void written_by_openssl(void *p, size_t n)
{
	__msan_unpoison(p, n);
}
#else
void written_by_openssl(void *p, size_t n)
{
	(void)p;
	(void)n;
}
#endif
