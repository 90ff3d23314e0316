/* SPDX-License-Identifier: MIT */
/* What all parts of the benchmark share: the algorithms' names, the options, the end of the program after a failure. */
#ifndef SMB3SIGN_BENCH_H
#define SMB3SIGN_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { N_ALGS = 3 };

/*
 * Everything is measured in so many passes, minutes apart, each with memory of its own: what a neighbour on the same
 * machine does lasts for seconds. The least counts.
 */
enum { N_PASSES = 4 };

/* By the ids of smb3sign.h. */
extern const char *const alg_names[N_ALGS];

/* The raw key and the GMAC nonce of the messages that message.c makes (MessageId, then "sent by a server"). */
extern const uint8_t bench_key[16], bench_nonce[12];

struct options {
	int algs[N_ALGS];   /* whether to measure each */
	size_t size;        /* only this size, or 0 */
	const char *kernel; /* only kernels whose smb3sign_key_impl() contains this, or NULL */
	double seconds;     /* per figure and pass */
	FILE *csv;          /* to write too, or NULL */
};

/* Print why on stderr and exit with status 1. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What is being measured, one line on stderr. */
void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory on a cache line of its own; dies if there is none. */
void *new_lines(size_t size);

#endif
