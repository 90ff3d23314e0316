/* SPDX-License-Identifier: MIT */
/* Messages to sign, and the cut of a body into uneven pieces. */
#ifndef SMB3SIGN_BENCH_MESSAGE_H
#define SMB3SIGN_BENCH_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "smb3sign.h"

/*
 * Equal messages, used in rotation by us and by the peers. They are independent: a core that looks far enough ahead
 * begins the next while it ends the one before. (One message signed over and over would be a dependence of ours alone:
 * its flag has to leave the store buffer before it can be read with its neighbours.)
 */
struct ring {
	uint8_t *mem;
	size_t len, stride;
	size_t mask; /* one less than their number, a power of two */
};

/*
 * A READ response of len >= 64 bytes in all, not yet signed: SIGNED is set and the signature zero, as it is MACed. m is
 * zero.
 */
void make_message(uint8_t *m, size_t len);

/*
 * Bytes from one message of this length to the next, at least one more. Not a multiple of 4 KiB for the lengths used:
 * stores to one message should not look like stores to the next.
 */
size_t message_stride(size_t len);

/* Such messages, all of len bytes. */
void ring_make(struct ring *r, size_t len, size_t count);
void ring_free(struct ring *r);

/* As many as stay in a first-level cache, 16 at most. */
size_t ring_count(size_t len);

static inline uint8_t *ring_message(const struct ring *r, uint64_t i)
{
	return r->mem + (i & r->mask) * r->stride;
}

enum { N_PIECES = 16 };

/* The body of msg in pieces that grow from 1/136 to 16/136 of it. */
void cut(smb3sign_iov pieces[N_PIECES], uint8_t *msg, size_t len);

#endif
