/* SPDX-License-Identifier: MIT */
/*
 * The preauthentication integrity hash of a SESSION_SETUP exchange as it should be, and as it comes out with one of the
 * usual mistakes.
 */
#include <string.h>

#include "chain.h"
#include "header.h"

enum { SIGNATURE_AT = 48, CONTEXT_PREAUTH = 1 };

void chain_init(struct chain *c)
{
	*c = (struct chain){.started = 0};
	for (int v = 0; v < CHAIN_VARIANTS; v++)
		c->len[v] = v == CHAIN_SALT_CLIENT || v == CHAIN_SALT_SERVER ? 0 : 64;
	c->len[CHAIN_OTHER_CONNECTION] = 0;
	sha512_init(&c->all);
}

/* H = SHA-512(H || message), the message in up to two pieces; `with` bytes of H count. */
static void hash_on(uint8_t h[64], size_t with, const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
	struct sha512_ctx ctx;

	sha512_init(&ctx);
	sha512_update(&ctx, with, h);
	sha512_update(&ctx, a_len, a);
	sha512_update(&ctx, b_len, b);
	sha512_digest(&ctx, 64, h);
}

static void step(struct chain *c, enum chain_variant v, const uint8_t *msg, size_t len)
{
	hash_on(c->value[v], 64, msg, len, NULL, 0);
}

/*
 * Without what is behind the last field: the security buffer, or the last negotiate context (which need not be padded,
 * MS-SMB2 2.2.4). len if the message does not say so.
 */
static size_t unpadded(const uint8_t *msg, size_t len)
{
	const uint8_t *body = msg + SMB3SIGN_HEADER_LEN;
	int setup = get_le16(msg + 12) == COMMAND_SESSION_SETUP;
	size_t end;

	if (len < SMB3SIGN_HEADER_LEN + 64u && !(setup && len >= SMB3SIGN_HEADER_LEN + 8u))
		return len;
	end = setup ? get_le16(body + 4) + (size_t)get_le16(body + 6)
		    : get_le16(body + 56) + (size_t)get_le16(body + 58);
	if (!setup && get_le16(body + 4) == 0x0311) {
		unsigned count = get_le16(body + 6);

		for (size_t at = get_le32(body + 60); count && at < len && len - at >= 8;
		     at = (end + 7) & ~(size_t)7, count--)
			end = at + 8 + get_le16(msg + at + 2);
	}
	return end >= SMB3SIGN_HEADER_LEN && end < len && len - end < 8 ? end : len;
}

static void hash_without_signature(uint8_t h[64], const uint8_t *msg, size_t len)
{
	static const uint8_t zeros[16];
	struct sha512_ctx ctx;

	sha512_init(&ctx);
	sha512_update(&ctx, 64, h);
	sha512_update(&ctx, SIGNATURE_AT, msg);
	sha512_update(&ctx, sizeof zeros, zeros);
	sha512_update(&ctx, len - SMB3SIGN_HEADER_LEN, msg + SMB3SIGN_HEADER_LEN);
	sha512_digest(&ctx, 64, h);
}

/* What all messages go through. */
static void step_all(struct chain *c, const uint8_t *msg, size_t len)
{
	static const uint8_t zeros[7];
	const int response = (get_le32(msg + 16) & FLAG_RESPONSE) != 0;
	const uint8_t prefix[4] = {0, (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len};

	step(c, CHAIN_RIGHT, msg, len);
	hash_on(c->value[CHAIN_PADDED], 64, msg, len, zeros, response ? -len & 7 : 0);
	step(c, CHAIN_UNPADDED, msg, response ? unpadded(msg, len) : len);
	hash_on(c->value[CHAIN_PREFIXED], 64, prefix, sizeof prefix, msg, len);
	hash_on(c->value[CHAIN_NO_START], c->started ? 64 : 0, msg, len, NULL, 0);
	sha512_update(&c->all, len, msg);

	hash_without_signature(c->value[CHAIN_SIGNATURES_ZERO], msg, len);
	c->started = 1;
}

/* The salt of the PREAUTH_INTEGRITY context (MS-SMB2 2.2.3.1.1): counts of hashes and of the salt's bytes, hashes, salt. */
static void take_salt(struct chain *c, enum chain_variant v, const uint8_t *msg, size_t len, size_t at, unsigned count)
{
	for (; count && at < len && len - at >= 8; count--) {
		size_t data = at + 8, size = get_le16(msg + at + 2);

		if (get_le16(msg + at) == CONTEXT_PREAUTH && size >= 4 && data + size <= len) {
			size_t salt = data + 4 + 2u * get_le16(msg + data), n = get_le16(msg + data + 2);

			if (salt + n <= data + size && n && n <= sizeof c->value[v]) {
				memcpy(c->value[v], msg + salt, n);
				c->len[v] = (uint8_t)n;
			}
			return;
		}
		at = (data + size + 7) & ~(size_t)7;
	}
}

void chain_negotiate(struct chain *c, const uint8_t *msg, size_t len)
{
	const uint8_t *body = msg + SMB3SIGN_HEADER_LEN;
	int response;

	if (len < SMB3SIGN_HEADER_LEN + 36)
		return;
	response = (get_le32(msg + 16) & FLAG_RESPONSE) != 0;
	step_all(c, msg, len);
	step(c, response ? CHAIN_NEGOTIATE_REQUEST : CHAIN_NEGOTIATE_RESPONSE, msg, len);
	step(c, CHAIN_NO_SETUP, msg, len);
	step(c, CHAIN_REQUESTS, msg, len);
	step(c, CHAIN_CONTINUED, msg, len);
	step(c, CHAIN_CONTINUED_FINALS, msg, len);
	if (response && len >= SMB3SIGN_HEADER_LEN + 64)
		take_salt(c, CHAIN_SALT_SERVER, msg, len, get_le32(body + 60), get_le16(body + 6));
	else if (!response)
		take_salt(c, CHAIN_SALT_CLIENT, msg, len, get_le32(body + 28), get_le16(body + 32));
}

void chain_begin(struct chain *c, const struct chain *connection, const struct chain *other)
{
	*c = *connection;
	if (!other)
		return;
	memcpy(c->value[CHAIN_OTHER_CONNECTION], other->value[CHAIN_NO_SETUP], 64);
	c->len[CHAIN_OTHER_CONNECTION] = 64;
}

/* What the connection would have hashed if it had one hash for all its exchanges. */
static void step_connection(struct chain *c, struct chain *connection, enum chain_variant v, const uint8_t *msg,
			    size_t len)
{
	step(connection, v, msg, len);
	memcpy(c->value[v], connection->value[v], 64);
}

void chain_setup(struct chain *c, struct chain *connection, const uint8_t *msg, size_t len)
{
	int response = (get_le32(msg + 16) & FLAG_RESPONSE) != 0;

	if (!response) {
		memcpy(c->value[CHAIN_LAST_REQUEST], c->value[CHAIN_RIGHT], 64);
		step(c, CHAIN_REQUESTS, msg, len);
	}
	step_all(c, msg, len);
	step(c, CHAIN_SETUP_ALONE, msg, len);
	step(c, CHAIN_NEGOTIATE_REQUEST, msg, len);
	step(c, CHAIN_NEGOTIATE_RESPONSE, msg, len);
	step(c, CHAIN_OTHER_CONNECTION, msg, len);
	step_connection(c, connection, CHAIN_CONTINUED, msg, len);
	step_connection(c, connection, CHAIN_CONTINUED_FINALS, msg, len);
}

void chain_final(struct chain *c, struct chain *connection, const uint8_t *msg, size_t len)
{
	struct sha512_ctx all = c->all;

	sha512_digest(&all, 64, c->value[CHAIN_ONE_HASH]);
	memcpy(c->value[CHAIN_FINAL_RESPONSE], c->value[CHAIN_RIGHT], 64);
	step(c, CHAIN_FINAL_RESPONSE, msg, len);
	/* For later exchanges only: this one's key cannot have come after it but as CHAIN_FINAL_RESPONSE. */
	step(connection, CHAIN_CONTINUED_FINALS, msg, len);
}
