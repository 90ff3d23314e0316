/* SPDX-License-Identifier: MIT */
/*
 * What the examples share: their arguments, and frames as they are on the wire. Nothing here is about signing.
 *
 * A frame is what follows a transport prefix of 4 bytes: a zero, and the length in 24 bits, big-endian (MS-SMB2 2.1).
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <smb3sign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_LEN = 4, FRAME_MAX = 1 << 20 };

/* Offsets in the SMB2 header and values of its fields, MS-SMB2 2.2.1 */
enum { HDR_STATUS = 8, HDR_COMMAND = 12, HDR_FLAGS = 16, HDR_NEXT = 20, HDR_MESSAGE_ID = 24, HDR_SIGNATURE = 48 };
enum { FLAG_RESPONSE = 1, FLAG_SIGNED = 8, CANCEL = 12 };

_Noreturn static inline void quit(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(2);
}

/*
 * The key of `program hmac|cmac|gmac SIGNING_KEY`, the latter in 32 hex digits. This is for trying things out: a server
 * or client has a session key, from GSS, and calls smb3sign_key_derive; and other users can see a program's arguments.
 */
static inline smb3sign_key *key_of_arguments(int argc, char **argv, unsigned role)
{
	static const char *const names[] = {"hmac", "cmac", "gmac"}; /* in the order of the algorithms' ids */
	uint8_t raw[SMB3SIGN_KEY_LEN];
	smb3sign_key *key;
	unsigned alg = 0;

	if (argc != 3 || strlen(argv[2]) != 2 * sizeof(raw))
		quit("arguments: hmac|cmac|gmac and 32 hex digits of a signing key");
	while (alg < 3 && strcmp(argv[1], names[alg]) != 0)
		alg++;
	for (size_t i = 0; i < sizeof(raw); i++) {
		const char digits[3] = {argv[2][2 * i], argv[2][2 * i + 1], '\0'};
		char *end;

		raw[i] = (uint8_t)strtoul(digits, &end, 16);
		if (end != digits + 2)
			quit("the key is not in hex digits");
	}
	if (smb3sign_key_new(&key, alg, raw, sizeof(raw), role) != SMB3SIGN_OK)
		quit("no such algorithm, or no memory");
	return key;
}

static inline uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline uint64_t message_id(const uint8_t *hdr)
{
	return get32(hdr + HDR_MESSAGE_ID) | (uint64_t)get32(hdr + HDR_MESSAGE_ID + 4) << 32;
}

static inline void put_prefix(uint8_t prefix[PREFIX_LEN], size_t len)
{
	const uint8_t bytes[PREFIX_LEN] = {0, (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len};

	memcpy(prefix, bytes, sizeof(bytes));
}

static inline size_t get_prefix(const uint8_t prefix[PREFIX_LEN])
{
	size_t len = (size_t)prefix[1] << 16 | (size_t)prefix[2] << 8 | prefix[3];

	if (prefix[0] != 0 || len > FRAME_MAX)
		quit("not a transport prefix, or a frame that is too long");
	return len;
}

/* The next frame of standard input; 0 if there is none. */
static inline int read_frame(uint8_t frame[FRAME_MAX], size_t *len)
{
	uint8_t prefix[PREFIX_LEN];
	size_t got = fread(prefix, 1, sizeof(prefix), stdin);

	if (got == 0 && feof(stdin))
		return 0;
	*len = got == sizeof(prefix) ? get_prefix(prefix) : 0;
	if (got != sizeof(prefix) || fread(frame, 1, *len, stdin) != *len)
		quit("the last frame is not whole");
	return 1;
}

#endif
