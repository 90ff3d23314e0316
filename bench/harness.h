/* SPDX-License-Identifier: MIT */
/* The stopwatch: jobs take turns, and the fastest turn of each counts. */
#ifndef SMB3SIGN_BENCH_HARNESS_H
#define SMB3SIGN_BENCH_HARNESS_H

#include <stddef.h>
#include <stdint.h>

struct job {
	void (*run)(void *arg,
		    uint64_t calls); /* do it so many times; the loop is the job's, so that its calls are direct */
	void *arg;
	double ns;      /* out: of one call, in the fastest turn */
	unsigned turns; /* out: how many there were */
	/* The harness's own: */
	uint64_t calls; /* a turn */
	double spent;   /* ns */
};

/*
 * Measure n jobs, `seconds` for each. Returns the core clock in cycles per ns, from a chain of dependent additions that
 * takes turns with them; 0 where there is no such chain.
 */
double harness_run(struct job *jobs, size_t n, double seconds);

double now_ns(void);

#endif
