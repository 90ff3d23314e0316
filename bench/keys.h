/* SPDX-License-Identifier: MIT */
/* What a server does with keys: it makes them, and uses many in turn. */
#ifndef SMB3SIGN_BENCH_KEYS_H
#define SMB3SIGN_BENCH_KEYS_H

#include "bench.h"

/* One pass, with the kernels that the library chooses. */
void keys_measure(const struct options *o);

void keys_print(const struct options *o);

#endif
