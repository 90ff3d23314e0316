/* SPDX-License-Identifier: MIT */
/*
 * Single instructions in short loops: what one architecture's file (probe_x86.c, probe_arm64.c) lets limits.c measure.
 */
#ifndef SMB3SIGN_BENCH_PROBE_H
#define SMB3SIGN_BENCH_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* Executions of the instruction in one call of any function here. */
enum { PROBE_STEPS = 120 };

/* The instruction that a MAC is bound by: one round of AES, one carry-less product per lane, one step of SHA-256. */
enum probe_of { PROBE_AES, PROBE_CLMUL, PROBE_SHA };

struct probe {
	const char *name;
	enum probe_of of;
	unsigned lanes;                               /* blocks of 128 bits that it works on */
	uint32_t needs;                               /* of probe_features(), all of them */
	void (*chain)(void *unused, uint64_t calls);  /* each waits for the one before: latency */
	void (*spread)(void *unused, uint64_t calls); /* as many as the core can overlap: throughput */
};

/* What this processor has, in bits of the architecture's own. */
uint32_t probe_features(void);

/* Ends with name NULL. */
extern const struct probe probes[];

static inline int probe_usable(const struct probe *p)
{
	return (p->needs & ~probe_features()) == 0;
}

/* Dependent additions: one a cycle on every core, which gives the clock. If not probe_counts_cycles, there are none. */
extern const int probe_counts_cycles;
void probe_additions(void *unused, uint64_t calls);

/* Steps of SHA-256 for a 64-byte block: instructions of PROBE_SHA, each waiting for the one before. */
extern const unsigned probe_sha_steps;

#endif
