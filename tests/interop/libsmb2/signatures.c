/* SPDX-License-Identifier: MIT */
/*
 * usage: signatures
 * Signs messages of many kinds and lengths through smb2_calc_signature, in two threads and with more keys than a thread
 * keeps, and prints the signatures: they must be the same with libsmb2_preload.c as without. The last line says how
 * many of them are the preloaded object's to compute.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "stand_in.h"

enum { COUNT = 400, KEYS = 7, LEN_MAX = 70000, THREADS = 2 };

struct work {
	unsigned seed;
	uint8_t signature[COUNT][16];
	unsigned theirs; /* messages that only libsmb2 itself signs */
};

static uint32_t next(unsigned *seed)
{
	return (*seed = *seed * 1664525u + 1013904223u) >> 8;
}

/* What smb3sign_compute refuses and libsmb2 does not: it must be signed as libsmb2 has always signed it. */
static int make_odd(uint8_t *msg, size_t *len, unsigned kind)
{
	switch (kind) {
	case 0: /* NEGOTIATE */
		msg[12] = 0;
		return 1;
	case 1: /* SessionId 0 */
		memset(msg + 40, 0, 8);
		return 1;
	case 2: /* an interim response */
		memcpy(msg + 8, "\x03\x01\x00\x00", 4);
		msg[16] |= 1;
		return 1;
	case 3: /* SIGNED is clear */
		msg[16] &= 0xf7;
		return 1;
	case 4: /* no whole header */
		*len = 63;
		return 1;
	case 5: /* NextCommand is not the message's length */
		msg[20] = 72;
		*len = 104;
		return 1;
	default:
		return 0;
	}
}

/* A signed READ, request or response, of any length. Returns whether it is an odd one. */
static int make(uint8_t *msg, size_t *len, unsigned i, unsigned *seed)
{
	*len = 64 + (i % 5 ? next(seed) % 300 : next(seed) % (LEN_MAX - 64));
	for (size_t j = 64; j < LEN_MAX; j++)
		msg[j] = (uint8_t)(i * j >> 3);
	memset(msg, 0, 64);
	memcpy(msg, "\xfeSMB\x40", 5);
	msg[12] = 8;
	msg[16] = 0x8 | (i & 1);
	msg[24] = (uint8_t)(i + 1);
	msg[25] = 1;
	msg[40] = 9;
	return make_odd(msg, len, i % 20);
}

static void *sign_all(void *arg)
{
	struct work *w = arg;
	static _Thread_local uint8_t msg[LEN_MAX];
	struct smb2_context smb2;
	unsigned seed = w->seed;

	for (unsigned i = 0; i < COUNT; i++) {
		size_t len, first;
		struct smb2_iovec iov[2] = {{msg, 0, NULL}, {NULL, 0, NULL}};

		w->theirs += (unsigned)make(msg, &len, i, &seed);
		first = len < 64 ? len : 64;
		iov[0].len = first;
		iov[1].buf = msg + first;
		iov[1].len = len - first;
		memset(smb2.signing_key, (int)(next(&seed) % KEYS + 1), sizeof(smb2.signing_key));
		if (smb2_calc_signature(&smb2, w->signature[i], iov, 2))
			memset(w->signature[i], 0, 16);
	}
	return NULL;
}

int main(void)
{
	static struct work work[THREADS];
	pthread_t thread[THREADS];
	unsigned theirs = 0;

	for (unsigned t = 0; t < THREADS; t++) {
		work[t].seed = t;
		if (pthread_create(&thread[t], NULL, sign_all, &work[t]))
			return 1;
	}
	for (unsigned t = 0; t < THREADS; t++) {
		pthread_join(thread[t], NULL);
		theirs += work[t].theirs;
		for (unsigned i = 0; i < COUNT; i++) {
			for (unsigned j = 0; j < 16; j++)
				printf("%02x", work[t].signature[i][j]);
			putchar('\n');
		}
	}
	printf("%u taken over, %u left to libsmb2\n", THREADS * COUNT - theirs, theirs);
	return 0;
}
