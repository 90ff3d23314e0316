/* SPDX-License-Identifier: MIT */
/* What this core could do at best, from its instructions' latency and throughput. */
#ifndef SMB3SIGN_BENCH_LIMITS_H
#define SMB3SIGN_BENCH_LIMITS_H

#include <stddef.h>

/* Measure the core's instructions, print them, keep them. */
void limits_measure(double seconds);

/* The least cycles for the MAC of one message of len bytes; 0 if this core has no instructions for it. */
double limits_cycles(unsigned alg, size_t len);

/* What that limit is, in words. */
const char *limits_name(unsigned alg);

#endif
