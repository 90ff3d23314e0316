/* SPDX-License-Identifier: MIT */
/*
 * Secrets as valgrind's memcheck and clang's MemorySanitizer know them: bytes that are "undefined". Both follow such bytes
 * through every computation and report a branch or an address that depends on one, which is what constant time rules out
 * (Adam Langley's ctgrind). MemorySanitizer reports divisors as well, memcheck does not.
 */
#ifndef SMB3SIGN_TEST_TAINT_H
#define SMB3SIGN_TEST_TAINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __has_feature
#if __has_feature(memory_sanitizer)
#define TAINT_BY_MSAN
#endif
#endif

#ifdef TAINT_BY_MSAN
#include <sanitizer/msan_interface.h>

/* Whether the tool watches at all. */
static inline int taint_works(void)
{
	return 1;
}

static inline void secret(const void *p, size_t n)
{
	__msan_poison(p, n);
}

static inline void public(const void *p, size_t n)
{
	__msan_unpoison(p, n);
}

static inline int is_secret_byte(const uint8_t *p)
{
	return __msan_test_shadow(p, 1) == 0;
}
#else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <valgrind/memcheck.h>

static inline int taint_works(void)
{
	return RUNNING_ON_VALGRIND != 0;
}

static inline void secret(const void *p, size_t n)
{
	(void)VALGRIND_MAKE_MEM_UNDEFINED(p, n);
}

static inline void public(const void *p, size_t n)
{
	(void)VALGRIND_MAKE_MEM_DEFINED(p, n);
}

/* Not VALGRIND_CHECK_MEM_IS_DEFINED: that is counted as an error. */
static inline int is_secret_byte(const uint8_t *p)
{
	uint8_t undefined_bits = 0;

	return VALGRIND_GET_VBITS(p, &undefined_bits, 1) == 1 && undefined_bits == 0xff;
}
#pragma GCC diagnostic pop
#endif

/* All n bytes are. */
static inline int is_secret(const void *p, size_t n)
{
	const uint8_t *b = p;

	while (n && is_secret_byte(b)) {
		b++;
		n--;
	}
	return n == 0;
}

#endif
