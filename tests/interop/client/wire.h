/* SPDX-License-Identifier: MIT */
/*
 * Little-endian fields, and frames on a TCP connection: a frame is what one 4-byte transport prefix announces (MS-SMB2
 * 2.1).
 */
#ifndef INTEROP_WIRE_H
#define INTEROP_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

static inline unsigned get16(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

static inline uint32_t get32(const uint8_t *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static inline uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static inline void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static inline void put32(uint8_t *p, uint32_t v)
{
	put16(p, v & 0xffff);
	put16(p + 2, v >> 16);
}

static inline void put64(uint8_t *p, uint64_t v)
{
	put32(p, (uint32_t)v);
	put32(p + 4, (uint32_t)(v >> 32));
}

/* ASCII as UTF-16LE; the bytes written. */
size_t put_utf16(uint8_t *out, const char *ascii);

/* A connection to 127.0.0.1; -1 and errno. Nothing waits for longer than ten seconds. */
int wire_connect(unsigned port);

/* One frame, with its prefix, from at most four pieces. 0, or -1: the connection is gone. */
int wire_send(int fd, const struct iovec *pieces, int count);

/* One frame into buf. Its length, or -1: the connection is gone, nothing came, or it is longer than cap. */
long wire_receive(int fd, uint8_t *buf, size_t cap);

#endif
