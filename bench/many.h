/* SPDX-License-Identifier: MIT */
/* Many messages, handed over some at once: to the library's batches, to its calls for one message, and to the peers. */
#ifndef SMB3SIGN_BENCH_MANY_H
#define SMB3SIGN_BENCH_MANY_H

#include <stddef.h>
#include <stdint.h>

#include "peer.h"
#include "smb3sign.h"

enum { MAX_BATCH_PEERS = 4 };

/* Keys of one algorithm, the same in the library and in each peer that takes many messages at once. */
struct keyring {
	unsigned alg;
	size_t n;
	smb3sign_key **ours;
	struct {
		const struct peer *lib;
		void **keys;
	} peers[MAX_BATCH_PEERS];
	size_t n_peers;
};

/*
 * All are made of bench_key, so that a signature by one is right by the others; but they are objects of their own, and
 * neither the library nor a peer looks for equal ones.
 */
void keyring_make(struct keyring *k, unsigned alg, size_t n);
void keyring_free(struct keyring *k);

/* Messages with the keys that sign them, as the library takes them and as each peer of the keyring does. */
struct crowd {
	const struct keyring *keys;
	size_t n;
	smb3sign_msg *ours;
	smb3sign_iov *bodies;
	struct peer_msg *theirs[MAX_BATCH_PEERS];
};

void crowd_make(struct crowd *c, const struct keyring *keys, size_t n);
/* Message i: these len bytes, with the key-th key. */
void crowd_put(struct crowd *c, size_t i, size_t key, uint8_t *msg, size_t len);
/* Whether the peer takes messages of all these lengths; if it does, its tags are compared with the library's. */
int crowd_check_peer(const struct crowd *c, size_t peer);
void crowd_free(struct crowd *c);

/*
 * A job's work: the first n messages in rotation, handed over `width` at once (the last ones as many as are left),
 * `times` times a call.
 */
struct many {
	const struct crowd *crowd;
	size_t peer; /* for many_peer: which */
	size_t n, width, times;
	int failed;
};

/* For struct job: arg is a struct many. The messages must be signed once before they are verified. */
void many_sign_batch(void *arg, uint64_t calls);
void many_sign_one_by_one(void *arg, uint64_t calls);
void many_verify_batch(void *arg, uint64_t calls);
void many_verify_one_by_one(void *arg, uint64_t calls);
void many_peer(void *arg, uint64_t calls);

#endif
