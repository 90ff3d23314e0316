/* SPDX-License-Identifier: MIT */
/* What is won by handing over many messages at once: by their number, their size, and one key or many. */
#ifndef SMB3SIGN_BENCH_BATCHES_H
#define SMB3SIGN_BENCH_BATCHES_H

#include <stddef.h>

#include "bench.h"

/* Numbers of messages at once, and their sizes in bytes; each ends with 0. */
extern const size_t batch_widths[], batch_sizes[];

/*
 * By name in the figures, each with "-WIDTH", and with "-own-keys" if each message has a key of its own. Figures are
 * per message. A peer has "batch" only.
 */
enum batch_way { SIGN_BATCH, SIGN_ONE_BY_ONE, VERIFY_BATCH, VERIFY_ONE_BY_ONE, N_BATCH_WAYS };
enum { WORK_LEN = 48 };
void batches_work(char work[WORK_LEN], enum batch_way way, size_t width, int own_keys);

/* One pass, with the kernels that the library chooses. */
void batches_measure(const struct options *o);

void batches_print(const struct options *o);

#endif
