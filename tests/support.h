/* SPDX-License-Identifier: MIT */
/* What the suites share: a seeded generator, hex, guarded memory, messages to sign, and OpenSSL's answer to each. */
#ifndef SMB3SIGN_TEST_SUPPORT_H
#define SMB3SIGN_TEST_SUPPORT_H

#include <check.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smb3sign.h"

/* Check writes down the place of each assertion that holds, a system call each; these suites make millions. */
#define _mark_point(file, line) ((void)0)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define INSTRUMENTED 1
#endif
#if __has_feature(memory_sanitizer)
#define MEMORY_SANITIZER 1
#endif
#endif
#ifdef MEMORY_SANITIZER
#include <sanitizer/msan_interface.h>
#undef ck_assert_mem_eq
#define ck_assert_mem_eq(x, y, n)                         \
	do {                                              \
		__msan_check_mem_is_initialized((x), (n)); \
		__msan_check_mem_is_initialized((y), (n)); \
		ck_assert(memcmp((x), (y), (n)) == 0);    \
	} while (0)
#endif
/* Frames of the code as it is shipped: not at -O0, not with sanitizers. */
#if defined(__OPTIMIZE__) && !defined(INSTRUMENTED)
#define AS_SHIPPED 1
#endif

/* ---- Random test data: the same in every run (the seed is printed when SMB3SIGN_TEST_SEED sets another). */
void rng_seed(uint64_t seed);
void rng_fill(void *p, size_t n);
uint64_t rng_u64(void);
size_t rng_below(size_t n); /* 0 .. n-1 */

/* ---- Hex. Fails the test on a bad digit or if out is too small. */
size_t unhex(void *out, size_t room, const char *hex);
void assert_hex(const void *bytes, const char *hex); /* the bytes equal those that hex spells */

/* ---- Guarded memory: n writable bytes with an inaccessible page directly behind (guard_end) or before (guard_start).
 * The bytes start out random. Freed all at once. guard_readonly: from now on a write faults. */
uint8_t *guard_end(size_t n);
uint8_t *guard_start(size_t n);
void guard_readonly(const void *p);
void guard_free_all(void);

/* ---- The stack: runs call on one of its own that is painted first, and returns how many bytes deep it was written to;
 * afterwards stack_holds tells whether the bytes are anywhere on it. */
size_t on_painted_stack(void (*call)(void));
int stack_holds(const void *bytes, size_t n);

/* ---- Messages. A header with the given fields, plausible credits, random Signature; all else zero. */
void make_header(void *hdr, unsigned command, uint32_t flags, uint64_t message_id, uint64_t session_id);
/* A random request or response that sign() accepts for every algorithm, NextCommand 0. */
void random_header(void *hdr);
/* On the heap: a random message of len >= 64 bytes that can be signed; NextCommand is 0 or len. */
uint8_t *new_message(size_t len);
/* The same with SIGNED set and the signature in place. */
uint8_t *new_signed(unsigned alg, const uint8_t raw[16], size_t len);
/* A key of the best kernels, for smb3sign_key_free. */
smb3sign_key *new_key(unsigned alg, const uint8_t raw[16], unsigned role);
/* Cut body[len] into 1..max segments at random, empty ones (NULL base among them) included; returns the count. */
size_t random_split(smb3sign_iov *iov, size_t max, const void *body, size_t len);

void put_le16(void *p, unsigned v);
void put_le32(void *p, uint32_t v);
void put_le64(void *p, uint64_t v);
uint32_t get_le32(const void *p);

/* ---- OpenSSL, with the SMB rules written down a second time (zeroed Signature, nonce): the tag that belongs into the
 * contiguous message msg[len] as it stands; msg is only read. */
void ref_signature(unsigned alg, const uint8_t key[16], const void *msg, size_t len, uint8_t tag[16]);
/* The primitives themselves. */
void ref_hmac_sha256(const void *key, size_t key_len, const void *msg, size_t len, uint8_t mac[32]);
void ref_cmac(const uint8_t key[16], const void *msg, size_t len, uint8_t mac[16]);
void ref_gmac(const uint8_t key[16], const uint8_t nonce[12], const void *msg, size_t len, uint8_t mac[16]);
void ref_aes128(const uint8_t key[16], const uint8_t in[16], uint8_t out[16]);
/* OpenSSL has written these bytes (memory_sanitizer.c). */
void written_by_openssl(void *p, size_t n);

/* ---- Kernels: calls fn for every usable combination of kernels of this algorithm, the portable ones included, with a key
 * made of them; fn's failure messages are prefixed by smb3sign_key_impl. */
void for_each_kernel(unsigned alg, const uint8_t raw[16], unsigned role,
		     void (*fn)(const smb3sign_key *key, const uint8_t raw[16], void *arg), void *arg);

/* Whether the tests go through this SHA-256 kernel: through all usable ones, or, where SMB3SIGN_TEST_SHA256 in the
 * environment names one, through that alone; none is a failure. */
struct smb3sign_sha256;
int tests_sha256(const struct smb3sign_sha256 *kernel);

/* A new test case of s, with time enough for emulators; guarded memory is freed after each test. */
TCase *add_case(Suite *s, const char *name);

/* Run one suite as main() does: returns the exit status. CK_FORK and CK_RUN_CASE are honoured. */
int run_suite(Suite *s);

#endif
