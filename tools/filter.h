/* SPDX-License-Identifier: MIT */
/*
 * Which messages verify-pcap shows and counts. An expression is terms with commas between them, all of which must hold;
 * of several expressions one must.
 */
#ifndef SMB3SIGN_FILTER_H
#define SMB3SIGN_FILTER_H

#include <stddef.h>
#include <stdint.h>

enum filter_field { FILTER_SESSION, FILTER_MID, FILTER_COMMAND, FILTER_CONNECTION, FILTER_FIELDS };

/* What a message has in these fields; SESSION is that whose key counts. */
struct filter_subject {
	uint64_t of[FILTER_FIELDS];
};

struct filter_expression {
	unsigned fields; /* a bit for each field with a term */
	uint64_t first[FILTER_FIELDS], last[FILTER_FIELDS];
};

struct filter {
	struct filter_expression *expressions;
	size_t count; /* 0: everything matches */
};

/* "session=0x...,mid=N[-N],command=NAME,connection=N", the value of -f: 0, or -1 after a complaint. */
int filter_add(struct filter *f, const char *what, const char *text);
int filter_matches(const struct filter *f, const struct filter_subject *subject);
void filter_free(struct filter *f);

#endif
