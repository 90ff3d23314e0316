/* SPDX-License-Identifier: MIT */
/* The figures of one run, kept in the order in which they were measured. There are hundreds, so searches just walk. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "figures.h"
#include "limits.h"

enum { FIT_MAX = 65536 };

static struct figure *figures;
static size_t n_figures;

static char *copy(const char *s)
{
	char *c = strdup(s);

	if (!c)
		die("no memory");
	return c;
}

static int is(const struct figure *f, const char *what, const char *who, const char *work)
{
	return !strcmp(f->what, what) && !strcmp(f->who, who) && !strcmp(f->work, work);
}

static struct figure *find(const char *what, const char *who, const char *work, size_t size)
{
	for (size_t i = 0; i < n_figures; i++)
		if (figures[i].size == size && is(&figures[i], what, who, work))
			return &figures[i];
	return NULL;
}

void figures_add(const char *what, const char *who, const char *work, size_t size, double ns, double cycles)
{
	struct figure *old = find(what, who, work, size);

	if (old) {
		old->ns = ns < old->ns ? ns : old->ns;
		old->cycles = cycles < old->cycles ? cycles : old->cycles;
		return;
	}
	figures = realloc(figures, (n_figures + 1) * sizeof(*figures));
	if (!figures)
		die("no memory");
	figures[n_figures++] = (struct figure){copy(what), copy(who), copy(work), size, ns, cycles};
}

const struct figure *figures_find(const char *what, const char *who, const char *work, size_t size)
{
	return find(what, who, work, size);
}

int figures_fit(const char *what, const char *who, const char *work, double *per_call, double *per_byte)
{
	double w = 0, x = 0, y = 0, xx = 0, xy = 0, det;

	/*
	 * The normal equations of least squares, sums of weight, x, y, x^2, xy with x = size, y = ns, weight = 1/y^2.
	 */
	for (size_t i = 0; i < n_figures; i++) {
		const struct figure *f = &figures[i];
		double size = (double)f->size, weight = 1 / (f->ns * f->ns);

		if (f->size > FIT_MAX || !is(f, what, who, work))
			continue;
		w += weight;
		x += weight * size;
		y += weight * f->ns;
		xx += weight * size * size;
		xy += weight * size * f->ns;
	}
	det = w * xx - x * x;
	if (!(det > 1e-9 * w * xx)) /* one size, or none */
		return 0;
	*per_byte = (w * xy - x * y) / det;
	*per_call = (xx * y - x * xy) / det;
	return 1;
}

/* The limit of a figure that is an algorithm's. */
static double limit_of(const struct figure *f)
{
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		if (!strcmp(f->what, alg_names[alg]) && f->size)
			return limits_cycles(alg, f->size);
	return 0;
}

void figures_write(FILE *out)
{
	fprintf(out, "what,who,work,bytes,ns,cycles,limit_cycles\n");
	for (size_t i = 0; i < n_figures; i++) {
		const struct figure *f = &figures[i];

		fprintf(out, "%s,%s,%s,%zu,%.6g,%.6g,%.6g\n", f->what, f->who, f->work, f->size, f->ns, f->cycles,
			limit_of(f));
	}
}
