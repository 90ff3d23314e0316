/* SPDX-License-Identifier: MIT */
/* What a server does with keys and with many messages: set-up, rotation, batches, threads. */
#ifndef SMB3SIGN_BENCH_SCENARIOS_H
#define SMB3SIGN_BENCH_SCENARIOS_H

#include "bench.h"

/* One pass, with the kernels that the library chooses. */
void scenarios_measure(const struct options *o);

void scenarios_print(const struct options *o);

#endif
