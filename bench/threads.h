/* SPDX-License-Identifier: MIT */
/* Several threads that sign at once, with one key for all or one each. */
#ifndef SMB3SIGN_BENCH_THREADS_H
#define SMB3SIGN_BENCH_THREADS_H

#include "bench.h"

/* One pass with 1 to as many threads as there are processors. */
void threads_measure(const struct options *o);

void threads_print(const struct options *o);

/* Processors of this machine that are on line. */
unsigned processors(void);

#endif
