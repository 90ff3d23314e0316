/* SPDX-License-Identifier: MIT */
/* Loads and stores in a given byte order, XOR, the constant-time comparison, the eraser. No state, no logic. */
#ifndef SMB3SIGN_UTIL_H
#define SMB3SIGN_UTIL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * PIN_POINTER: the compiler may not look through the pointer here, so it keeps no copy of what stands there: neither
 * lifts loads of key material out of a loop nor carries results over to the next pass, on a stack where they outlive
 * the key.
 */
#ifdef __GNUC__
#define INLINE         static inline __attribute__((always_inline))
#define NOINLINE       static __attribute__((noinline))
#define PIN_POINTER(p) __asm__("" : "+r"(p))
#else
#define INLINE         static inline
#define NOINLINE       static
#define PIN_POINTER(p) ((void)(p))
#endif

/*
 * The compiler knows the answer. Loads and stores go through whole words: byte by byte, compilers do not always see
 * one.
 */
static inline int little_endian(void)
{
	const uint16_t one = 1;
	uint8_t first;

	memcpy(&first, &one, 1);
	return first;
}

static inline uint16_t swap16(uint16_t v)
{
	return (uint16_t)(v << 8 | v >> 8);
}

static inline uint32_t swap32(uint32_t v)
{
	return v << 24 | (v & 0xff00) << 8 | (v >> 8 & 0xff00) | v >> 24;
}

static inline uint64_t swap64(uint64_t v)
{
	return (uint64_t)swap32((uint32_t)v) << 32 | swap32((uint32_t)(v >> 32));
}

static inline uint16_t load_le16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return little_endian() ? v : swap16(v);
}

static inline uint32_t load_le32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return little_endian() ? v : swap32(v);
}

static inline uint64_t load_le64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return little_endian() ? v : swap64(v);
}

static inline uint32_t load_be32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return little_endian() ? swap32(v) : v;
}

static inline uint64_t load_be64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return little_endian() ? swap64(v) : v;
}

static inline uint32_t ror32(uint32_t x, unsigned n) /* 0 < n < 32 */
{
	return x >> n | x << (32 - n);
}

static inline void store_le16(void *p, uint16_t v)
{
	v = little_endian() ? v : swap16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void store_le32(void *p, uint32_t v)
{
	v = little_endian() ? v : swap32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void store_be32(void *p, uint32_t v)
{
	v = little_endian() ? swap32(v) : v;
	memcpy(p, &v, sizeof(v));
}

static inline void store_be64(void *p, uint64_t v)
{
	v = little_endian() ? swap64(v) : v;
	memcpy(p, &v, sizeof(v));
}

static inline void store_le64(void *p, uint64_t v)
{
	v = little_endian() ? v : swap64(v);
	memcpy(p, &v, sizeof(v));
}

/*
 * n bytes, 1 <= n <= 16, as two little-endian words, zeros above them. Reads just those: where it takes two loads, they
 * overlap, and the second drops what the first has.
 */
INLINE void load_partial_words(uint64_t w[2], const uint8_t *p, size_t n)
{
	w[1] = 0;
	if (n >= 8) {
		w[0] = load_le64(p);
		w[1] = load_le64(p + n - 8) >> 4 * (16 - n) >>
		       4 * (16 - n); /* n - 8 bytes stay; 64 bits in two shifts */
	} else if (n >= 4) {
		w[0] = load_le32(p) | (uint64_t)load_le32(p + n - 4) << 8 * (n - 4);
	} else {
		w[0] = p[0] | (uint64_t)p[n / 2] << 8 * (n / 2) | (uint64_t)p[n - 1] << 8 * (n - 1);
	}
}

/* XOR n bytes of p into a block from byte `at` on, at + n <= 16. By words: kernels read the block back by words too. */
static inline void xor_into(uint8_t block[16], size_t at, const uint8_t *p, size_t n)
{
	uint64_t w[2];

	if (!n)
		return;
	load_partial_words(w, p, n);
	if (at >= 8) {
		w[1] = w[0] << 8 * (at - 8);
		w[0] = 0;
	} else if (at) {
		w[1] = w[1] << 8 * at | w[0] >> (64 - 8 * at);
		w[0] <<= 8 * at;
	}
	store_le64(block, load_le64(block) ^ w[0]);
	store_le64(block + 8, load_le64(block + 8) ^ w[1]);
}

/* 1 if the 16 bytes are equal, else 0. All are looked at before anything is decided. */
static inline int equal_16(const void *left, const void *right)
{
	const uint8_t *a = left, *b = right;

	return ((load_le64(a) ^ load_le64(b)) | (load_le64(a + 8) ^ load_le64(b + 8))) == 0;
}

/*
 * Overwrite secrets with zeros. A plain memset before the end of an object's life is a dead store and is removed; the
 * empty asm claims to read the memory afterwards, so it is not. Compilers without GNU asm store through a volatile
 * pointer.
 */
INLINE void smb3sign_wipe(void *p, size_t n)
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

#endif
