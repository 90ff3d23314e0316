/* SPDX-License-Identifier: MIT */
/* The figures, published elsewhere, that started this project, with this library's and this machine's beside them. */
#ifndef SMB3SIGN_BENCH_ORIGINS_H
#define SMB3SIGN_BENCH_ORIGINS_H

#include "bench.h"

/* One pass over what the main tables do not have. */
void origins_measure(const struct options *o);

void origins_print(const struct options *o);

#endif
