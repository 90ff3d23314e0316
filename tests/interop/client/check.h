/* SPDX-License-Identifier: MIT */
/* One line for each check, and the count of those that failed. */
#ifndef INTEROP_CHECK_H
#define INTEROP_CHECK_H

#include "client.h"

struct options {
	unsigned port;
	const char *user, *password, *share;
	unsigned dialect, alg;
	unsigned megabytes;
};

/* Every line starts with the dialect and the algorithm. */
void check_about(unsigned dialect, unsigned alg);

/* Prints the check's name, and why it failed if it did; returns ok. */
int check(int ok, const char *why, const char *name, ...) __attribute__((format(printf, 3, 4)));
unsigned checks_failed(void);

/* A channel with a session and a tree, as the options say; 0, or the check that says what failed has been printed. */
int connect_all(const struct options *o, struct channel *c, struct session *s, int required);
void disconnect(struct channel *c, struct session *s);
int tree_connect(struct channel *c, const char *share);

/* The frame goes through, every answer's signature is right, and every status is this. NULL, or why not. */
const char *call_gives(struct channel *c, struct request *r, uint32_t status);

/* As call_gives. */
const char *open_file(struct channel *c, const char *name, unsigned disposition, unsigned options,
		      uint8_t file[FILE_ID_LEN]);
const char *close_file(struct channel *c, const uint8_t *file);
const char *echo(struct channel *c);

void check_use(const struct options *o);
void check_spoilt(const struct options *o);
void check_binds(const struct options *o);
void check_throughput(const struct options *o);

#endif
