/* SPDX-License-Identifier: MIT */
/* This library's side: a key for each set of kernels, and what is timed with it. */
#ifndef SMB3SIGN_BENCH_OURS_H
#define SMB3SIGN_BENCH_OURS_H

#include <stdint.h>

#include "bench.h"
#include "key.h"
#include "message.h"

/* A key of certain kernels. */
struct ours {
	unsigned alg;
	const char *name; /* smb3sign_key_impl() */
	smb3sign_key *key;
	struct smb3sign_choice choice;
	size_t size; /* of the key, bytes */
};

enum { MAX_OURS = 16 };

/* All sets of kernels that this process may use, the library's own choice first; returns how many. */
size_t ours_make(struct ours list[MAX_OURS], unsigned alg, const char *filter);
void ours_free(struct ours *list, size_t n);

/* The name of the library's own choice. */
const char *ours_best(unsigned alg);

/* One job's work on a ring. */
struct task {
	const struct ours *ours;
	const struct ring *ring;
	smb3sign_iov (*pieces)[N_PIECES]; /* of each message of the ring */
	void *mem;                        /* room for a key */
	int failed;
};

void task_make(struct task *t, const struct ours *ours, const struct ring *ring);
/* Dies if anything failed while it was timed. */
void task_end(struct task *t);

/* For struct job: arg is a struct task. The messages must be signed once (by `sign`) before `verify`. */
void ours_sign(void *arg, uint64_t calls);
void ours_sign_chained(void *arg, uint64_t calls); /* no message is begun before the last one's signature is known */
void ours_verify(void *arg, uint64_t calls);
void ours_sign_pieces(void *arg, uint64_t calls);  /* body in N_PIECES pieces */
void ours_sign_new_key(void *arg, uint64_t calls); /* key_init, sign, key_wipe */

#endif
