/* SPDX-License-Identifier: MIT */
/* A file server's queue: messages of mixed lengths, several at hand. */
#ifndef SMB3SIGN_BENCH_QUEUE_H
#define SMB3SIGN_BENCH_QUEUE_H

#include "bench.h"

/* One pass, with the kernels that the library chooses. */
void queue_measure(const struct options *o);

void queue_print(const struct options *o);

#endif
