/* SPDX-License-Identifier: MIT */
/* What verify-pcap finds: a line for each message, complaints about the capture, the summary, and the exit status. */
#ifndef SMB3SIGN_REPORT_H
#define SMB3SIGN_REPORT_H

#include <stdint.h>

#include "header.h"

enum verdict { VERDICT_OK, VERDICT_BAD, VERDICT_UNSIGNED, VERDICT_EXEMPT, VERDICT_ECHO, VERDICT_NO_KEY, VERDICTS };

/* A packet of the capture: its number, from 1, and its time since the first in microseconds. */
struct place {
	uint64_t packet;
	int64_t usec;
};

struct finding {
	struct place at;
	unsigned connection; /* numbered from 1 in the order of their first packets */
	int from_server;
	struct header header;
	int alg; /* -1: unknown or none */
	enum verdict verdict;
	const char *why; /* NULL, or a remark in parentheses */
};

struct report {
	const char *capture;
	int quiet;
	int json;                             /* standard output is the explainer's: no table */
	uint64_t tally[4][VERDICTS];          /* by algorithm, the last for none */
	uint64_t encrypted, compressed, smb1; /* frames of which nothing can be verified */
	uint64_t incomplete;                  /* frames of which the capture has a part only */
	uint64_t left_out;                    /* messages that the filter does not want */
	uint64_t problems;
};

/* A connection that speaks SMB, before its first message; the client's endpoint first if that is known. */
void report_connection(const struct report *r, unsigned number, const char *client, const char *server);

void report_message(struct report *r, const struct finding *f);

/* Something in the capture that is malformed or missing; the text says where. */
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
void report_problem(struct report *r, const char *format, ...);

void report_summary(const struct report *r);
int report_status(const struct report *r);

#endif
