/* SPDX-License-Identifier: MIT */
/*
 * For MemorySanitizer, which has to see every store and does not see those of Check and OpenSSL. Both hand memory to
 * libc, which is therefore not looked at in the thread that runs the tests; what OpenSSL has written is declared
 * defined. ck_assert_mem_eq (support.h) looks instead. In other builds there is nothing to do.
 */
#include "support.h"

#ifdef MEMORY_SANITIZER
__attribute__((constructor)) static void trust_libc(void)
{
	__msan_scoped_disable_interceptor_checks();
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
