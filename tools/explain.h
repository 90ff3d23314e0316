/* SPDX-License-Identifier: MIT */
/*
 * Why is this signature wrong? Tries what implementers get wrong, each mistake alone and then every two together, and
 * says what would have given the signature that the message has. A signature has 128 bits, so what matches is what was
 * done; several mistakes that give the very same input to the MAC on this message are one finding.
 */
#ifndef SMB3SIGN_EXPLAIN_H
#define SMB3SIGN_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct chain;

enum key_relation {
	KEY_DUE,          /* the right one; several if it is not known which of them is */
	KEY_SESSION,      /* the session's, where the bound channel's is due */
	KEY_CHANNEL,      /* the bound channel's, where the session's is due */
	KEY_SAME_SESSION, /* of another channel of the session, or an older one */
	KEY_OTHER_SESSION
};

/* A key that could have been used. */
struct key_material {
	enum key_relation relation;
	uint64_t session;
	unsigned dialect;
	int is_signing_key; /* 16 bytes, nothing to derive */
	const uint8_t *bytes;
	size_t len;
	const struct chain *chain; /* 3.1.1: what the exchange hashed; NULL: unknown */
};

enum { KEYS_MAX = 16 };

/* A message whose signature is wrong, and what surrounds it. Pointers may be NULL where it says so. */
struct suspect {
	const uint8_t *frame; /* what one transport prefix announces */
	size_t frame_len;
	size_t off, len; /* the message in it */
	unsigned alg;    /* that it should be signed with */
	struct key_material keys[KEYS_MAX];
	size_t n_keys;
	const uint8_t *request; /* NULL, or the header that a response answers */
	const uint8_t *before;  /* NULL, or the signature of the message sent before in this direction */
};

enum { FOUND_MAX = 4 };

struct explanation {
	unsigned mistakes; /* 0: nothing, the signature is right */
	char id[96];       /* for machines: one, or two joined by '+' */
	char when[320];    /* "matches if ..." */
	char fix[320];
};

struct explanations {
	size_t tried;
	int cut_short; /* the effort allowed was used up before all were tried */
	size_t count;  /* the first is the explanation; what else is found gives the same on this message */
	struct explanation found[FOUND_MAX];
};

/*
 * `effort`: bytes that may be worked through, which are taken off it. hint: NULL, or the id of an explanation that is
 * tried first.
 */
void explain(const struct suspect *s, const char *hint, uint64_t *effort, struct explanations *result);

/* One line each, indented; or the members of a JSON object, without its braces. */
void explain_print(const struct explanations *e);
void explain_print_json(const struct explanations *e);
void explain_print_json_string(const char *name, const char *text);

#endif
