/* SPDX-License-Identifier: MIT */
/* Loads and stores in a given byte order, XOR, the constant-time comparison, the eraser. No state, no logic. */
#ifndef SMB3SIGN_UTIL_H
#define SMB3SIGN_UTIL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

static inline void store_le32(void *p, uint32_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)v;
	b[1] = (uint8_t)(v >> 8);
	b[2] = (uint8_t)(v >> 16);
	b[3] = (uint8_t)(v >> 24);
}

static inline void store_le64(void *p, uint64_t v)
{
	uint8_t *b = p;

	store_le32(b, (uint32_t)v);
	store_le32(b + 4, (uint32_t)(v >> 32));
}

static inline void store_be32(void *p, uint32_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)(v >> 24);
	b[1] = (uint8_t)(v >> 16);
	b[2] = (uint8_t)(v >> 8);
	b[3] = (uint8_t)v;
}

static inline void store_be64(void *p, uint64_t v)
{
	uint8_t *b = p;

	store_be32(b, (uint32_t)(v >> 32));
	store_be32(b + 4, (uint32_t)v);
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
