/* SPDX-License-Identifier: MIT */
/*
 * The mistakes that explain.c tries: what can be wrong in each dimension of a signature (algorithm, key, its
 * derivation, the bytes covered, the header at that time, the nonce), and the signature that a choice leads to.
 */
#ifndef SMB3SIGN_MISTAKES_H
#define SMB3SIGN_MISTAKES_H

#include "explain.h"

enum dimension {
	IN_ALGORITHM,
	IN_KEY,     /* whose key */
	IN_SECRET,  /* what of the session key is used */
	IN_CONTEXT, /* which preauthentication hash */
	IN_FORM,    /* how the key derivation function is called */
	IN_RANGE,   /* which bytes are covered */
	IN_HEADER,  /* what the header's fields held */
	IN_NONCE,
	DIMENSIONS
};

/*
 * One way to do it. Without id it is the right one. In the texts # stands for n, @ for name, and $ for the algorithm
 * that is due.
 */
struct option {
	int what; /* a number of the dimension's own */
	size_t n;
	const char *id, *when, *fix, *name;
};

enum { OPTIONS_MAX = 48 };

struct mistakes {
	const struct suspect *suspect;
	struct option options[DIMENSIONS][OPTIONS_MAX]; /* the right ones first */
	size_t count[DIMENSIONS];
	char sessions[KEYS_MAX][24]; /* SessionIds as text */
	uint8_t *room;               /* for the covered bytes */
};

/* All that this message and these keys can show. */
void mistakes_collect(struct mistakes *m, const struct suspect *s);
void mistakes_free(struct mistakes *m);

/* The signature as these choices make it: 0, or -1 if they do not go together or something for them is unknown. */
int mistakes_sign(const struct mistakes *m, const struct option *const chosen[DIMENSIONS], uint8_t tag[16]);

#endif
