/* SPDX-License-Identifier: MIT */
/* All that was measured, for the tables at the end, the fits and the CSV file. */
#ifndef SMB3SIGN_BENCH_FIGURES_H
#define SMB3SIGN_BENCH_FIGURES_H

#include <stddef.h>
#include <stdio.h>

struct figure {
	const char *what;  /* an algorithm's name, or what else was measured */
	const char *who;   /* smb3sign_key_impl(), or a peer's name, or an instruction */
	const char *work;  /* "sign", "verify", ...; a peer's is "mac" */
	size_t size;       /* of the message in bytes */
	double ns, cycles; /* cycles 0: unknown */
};

/* Measured in several passes, the least ns and the least cycles stay. The strings are copied. */
void figures_add(const char *what, const char *who, const char *work, size_t size, double ns, double cycles);

/* NULL if it was not measured. */
const struct figure *figures_find(const char *what, const char *who, const char *work, size_t size);

/*
 * Fit ns = per_call + per_byte * size to the sizes up to 64 KiB (what fits into a second-level cache), each weighted by
 * 1/ns^2, so that the relative errors count. Needs two sizes, else 0.
 */
int figures_fit(const char *what, const char *who, const char *work, double *per_call, double *per_byte);

/* All figures as comma-separated values. */
void figures_write(FILE *out);

#endif
