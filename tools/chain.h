/* SPDX-License-Identifier: MIT */
/*
 * The preauthentication integrity hash of a SESSION_SETUP exchange (MS-SMB2 3.1.4.4.1, 3.2.5.2) as it should be, and
 * as it comes out with one of the usual mistakes. All are running values, so that no message need be kept. A
 * connection has a chain for its NEGOTIATE messages, each exchange starts from a copy of it.
 */
#ifndef SMB3SIGN_CHAIN_H
#define SMB3SIGN_CHAIN_H

#include <stddef.h>
#include <stdint.h>
#include <nettle/sha2.h>

enum chain_variant {
	CHAIN_RIGHT,
	CHAIN_FINAL_RESPONSE,     /* the final response hashed in */
	CHAIN_CONTINUED,          /* one hash for the connection: earlier exchanges are in it */
	CHAIN_CONTINUED_FINALS,   /* and their final responses */
	CHAIN_OTHER_CONNECTION,   /* starts from another connection's hash */
	CHAIN_PADDED,             /* responses padded to 8 bytes that were not sent so */
	CHAIN_UNPADDED,           /* responses without the padding that was sent */
	CHAIN_PREFIXED,           /* each message with its 4-byte transport prefix */
	CHAIN_SIGNATURES_ZERO,    /* signatures in the messages zeroed */
	CHAIN_NO_SETUP,           /* the NEGOTIATE messages only */
	CHAIN_LAST_REQUEST,       /* the last SESSION_SETUP request left out */
	CHAIN_REQUESTS,           /* SESSION_SETUP responses left out */
	CHAIN_SETUP_ALONE,        /* the exchange starts from zero, not from the connection's hash */
	CHAIN_NEGOTIATE_REQUEST,  /* the NEGOTIATE request left out */
	CHAIN_NEGOTIATE_RESPONSE, /* the NEGOTIATE response left out */
	CHAIN_NO_START,           /* the 64 zero bytes before the first message left out */
	CHAIN_ONE_HASH,           /* SHA-512 of all messages put together */
	CHAIN_ZERO,               /* still 64 zero bytes */
	CHAIN_SALT_CLIENT,        /* the salt of the request's PREAUTH_INTEGRITY context */
	CHAIN_SALT_SERVER,        /* that of the response's */
	CHAIN_VARIANTS
};

struct chain {
	uint8_t value[CHAIN_VARIANTS][64];
	uint8_t len[CHAIN_VARIANTS]; /* 0: there is none */
	int started;                 /* a message has been hashed */
	struct sha512_ctx all;
};

void chain_init(struct chain *c);
/* One whole NEGOTIATE message. */
void chain_negotiate(struct chain *c, const uint8_t *msg, size_t len);
/* *c becomes an exchange's, from its connection's. other: another connection's that might be taken for it, or NULL. */
void chain_begin(struct chain *c, const struct chain *connection, const struct chain *other);
/* One SESSION_SETUP message that the hash covers. */
void chain_setup(struct chain *c, struct chain *connection, const uint8_t *msg, size_t len);
/* The response that ends the exchange. */
void chain_final(struct chain *c, struct chain *connection, const uint8_t *msg, size_t len);

#endif
