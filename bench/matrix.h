/* SPDX-License-Identifier: MIT */
/* The main tables: every kernel and every peer at every size. */
#ifndef SMB3SIGN_BENCH_MATRIX_H
#define SMB3SIGN_BENCH_MATRIX_H

#include "bench.h"

/* One pass over one algorithm's figures. 0: no kernel has the name that the options ask for. */
int matrix_measure(unsigned alg, const struct options *o);

/* The algorithm's tables and fits; nothing if nothing was measured. */
void matrix_print(unsigned alg, const struct options *o);

/* The sizes of the tables; ends with 0. */
const size_t *matrix_sizes(const struct options *o);

#endif
