/* SPDX-License-Identifier: MIT */
/*
 * Peers: other libraries' raw MAC over contiguous messages with the key kept, called in the fastest way that library
 * has. Each loops over its messages by itself, so that its own functions are called directly.
 */
#ifndef SMB3SIGN_BENCH_PEER_H
#define SMB3SIGN_BENCH_PEER_H

#include <stdint.h>

#include "bench.h"
#include "message.h"

/* One of many messages that are handed over at once: contiguous, and with a key of its own (of peer.open). */
struct peer_msg {
	void *self;
	const uint8_t *msg;
	size_t len;
	uint8_t tag[16];
};

struct peer {
	const char *name;
	const char *(*version)(void);
	size_t longest[N_ALGS]; /* message that it takes, bytes; 0: any */
	/*
	 * Prepare the key; NULL if the library or this machine has no such algorithm. The arrays outlive what is made.
	 */
	void *(*open)(unsigned alg, const uint8_t key[16], const uint8_t nonce[12]);
	/*
	 * The MAC of `calls` messages of the ring, one after another; the tag of the last. The nonce is set for each.
	 */
	void (*mac)(void *self, const struct ring *r, uint8_t tag[16], uint64_t calls);
	/* The MACs of n messages of one algorithm, handed over at once. NULL: the peer cannot. */
	void (*batch)(struct peer_msg *msgs, size_t n);
	void (*close)(void *self);
};

extern const struct peer peer_openssl, peer_nettle, peer_gcrypt, peer_gnutls, peer_ipsec_mb;

/* Those that this build has, OpenSSL first; ends with NULL. */
extern const struct peer *const peers[];

static inline int peer_takes(const struct peer *p, unsigned alg, size_t len)
{
	return !p->longest[alg] || len <= p->longest[alg];
}

/*
 * Dies if the peer's tag of a message is not the library's: then it computes something else, and its time is no
 * measure.
 */
void peer_check(const struct peer *p, void *self, unsigned alg, const struct ring *r);
void peer_check_batch(const struct peer *p, unsigned alg, struct peer_msg *msgs, size_t n);

#endif
