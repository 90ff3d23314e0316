/* SPDX-License-Identifier: MIT */
/*
 * The keys given on the command line, and the signing keys they lead to. A ring holds the candidates for one session or
 * channel; the first that verifies a message is the one, and the others go. So it is found out which of several session
 * keys with one SessionId belongs to which channel.
 */
#ifndef SMB3SIGN_KEYS_H
#define SMB3SIGN_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "hex.h"
#include "smb3sign.h"
#include "tree.h"

struct given_key {
	int any; /* without SESSIONID: for sessions that have none of their own */
	uint64_t session;
	int is_signing_key;
	uint8_t bytes[SESSION_KEY_MAX];
	size_t len;
	unsigned long entry; /* keys of one entry of a file belong to one channel; 0: an entry of its own */
	int matched;         /* a session or channel of the capture asked for it */
	int taken;           /* it has verified a message of ... */
	uint64_t taken_by;   /* ... this session */
};

struct given_keys {
	struct given_key *keys;
	size_t count, room;
	unsigned long entries; /* of key files */
};

/* "[SESSIONID=]HEX", the value of --session-key or --signing-key: 0, or -1 after a complaint. */
int given_keys_add(struct given_keys *given, const char *what, const char *text, int is_signing_key);
void given_keys_append(struct given_keys *given, const struct given_key *key);
/* 1 if there are keys for this very SessionId. */
int given_keys_name(const struct given_keys *given, uint64_t session);
/* Wipes and frees. */
void given_keys_free(struct given_keys *given);

/* What a connection has negotiated, as far as the capture tells. */
struct negotiated {
	unsigned dialect; /* 0: unknown */
	int alg;          /* SMB3SIGN_..., -1: unknown */
};

struct candidate {
	smb3sign_key *key;
	struct given_key *from;
};

/* Counted: the session and its first channel have the same. */
struct ring {
	unsigned users;
	uint64_t session;
	size_t count; /* 0: there is no key */
	int settled;  /* a message has verified */
	struct candidate *candidates;
	struct given_key own; /* ring_prepend's */
};

/*
 * All candidates for the session: session keys are derived (hash NULL: unknown, then nothing can be for 3.1.1), signing
 * keys are as they are, under each algorithm if it is unknown. The ring has one user.
 */
struct ring *ring_new(struct given_keys *given, uint64_t session, const struct negotiated *n,
		      const smb3sign_preauth *hash);
/* One more, to be tried before the others: the session key that the channel is known to have. */
void ring_prepend(struct ring *ring, const uint8_t session_key[SMB3SIGN_KEY_LEN], const struct negotiated *n,
		  const smb3sign_preauth *hash);
struct ring *ring_share(struct ring *ring);
void ring_drop(struct ring *ring); /* NULL is fine */

/* OK if one of the candidates verifies the message, which then is the only one left; else the last one's result. */
int ring_verify(struct ring *ring, const uint8_t *msg, size_t len);

/*
 * 1 if a failure of all candidates says nothing: none has ever verified here, and each is known to be another channel's
 * of the session (it was not told which key is this one's).
 */
int ring_is_foreign(const struct ring *ring);

/* Tables of rings by SessionId. Each entry is one user of its ring. */
struct ring *ring_table_get(const struct tree *t, uint64_t session); /* NULL if there is none */
void ring_table_put(struct tree *t, struct ring *ring);              /* replaces */
void ring_table_free(struct tree *t);

#endif
