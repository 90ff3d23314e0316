/* SPDX-License-Identifier: MIT */
/* The project's targets and what this run reached. */
#ifndef SMB3SIGN_BENCH_TARGETS_H
#define SMB3SIGN_BENCH_TARGETS_H

#include "bench.h"

/* After everything else: it only looks up figures. */
void targets_print(const struct options *o);

#endif
