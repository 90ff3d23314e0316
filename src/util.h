/* SPDX-License-Identifier: MIT */
/* Loads and stores in a given byte order, XOR, the constant-time comparison, the eraser. No state, no logic. */
#ifndef SMB3SIGN_UTIL_H
#define SMB3SIGN_UTIL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * PIN_POINTER: the compiler may not look through the pointer here, so it keeps no copy of what stands there: neither lifts
 * loads of key material out of a loop nor carries results over to the next pass, on a stack where they outlive the key.
 */
#ifdef __GNUC__
#define INLINE         static inline __attribute__((always_inline))
#define PIN_POINTER(p) __asm__("" : "+r"(p))
#else
#define INLINE         static inline
#define PIN_POINTER(p) ((void)(p))
#endif

static inline uint16_t load_le16(const void *p)
{
	const uint8_t *b = p;

	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t load_le32(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t load_le64(const void *p)
{
	const uint8_t *b = p;

	return (uint64_t)load_le32(b) | (uint64_t)load_le32(b + 4) << 32;
}

static inline uint32_t load_be32(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
}

static inline uint64_t load_be64(const void *p)
{
	const uint8_t *b = p;

	return (uint64_t)load_be32(b) << 32 | load_be32(b + 4);
}

/* The compiler knows the answer. Stores go through whole words: byte by byte, gcc makes a shuffle of two neighbours. */
static inline int little_endian(void)
{
	const uint16_t one = 1;
	uint8_t first;

	memcpy(&first, &one, 1);
	return first;
}

static inline uint32_t swap32(uint32_t v)
{
	return v << 24 | (v & 0xff00) << 8 | (v >> 8 & 0xff00) | v >> 24;
}

static inline uint64_t swap64(uint64_t v)
{
	return (uint64_t)swap32((uint32_t)v) << 32 | swap32((uint32_t)(v >> 32));
}

static inline uint32_t ror32(uint32_t x, unsigned n) /* 0 < n < 32 */
{
	return x >> n | x << (32 - n);
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

/* dst ^= src over n bytes. */
static inline void xor_bytes(uint8_t *dst, const uint8_t *src, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] ^= src[i];
}

/* 1 if the 16 bytes are equal, else 0: all are looked at, in two words, and no branch is taken on them. */
static inline int equal_16(const uint8_t *a, const uint8_t *b)
{
	uint64_t d = (load_le64(a) ^ load_le64(b)) | (load_le64(a + 8) ^ load_le64(b + 8));

	return (int)(((d | (0 - d)) >> 63) ^ 1);
}

/* Overwrite secrets with zeros in a way the compiler must keep (wipe.c). */
void smb3sign_wipe(void *p, size_t n);

#endif
