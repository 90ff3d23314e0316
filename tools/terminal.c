/* SPDX-License-Identifier: MIT */
/* Colours (ECMA-48 SGR) and the progress line, which a carriage return overwrites. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "terminal.h"

enum { STEPS_PER_LOOK = 4096 /* packets: the clock is not read for each */ };

/* ---- Colours */

static int is_smart_terminal(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && (!term || strcmp(term, "dumb") != 0);
}

static int coloured(void)
{
	static int known, yes;

	if (!known) {
		const char *no = getenv("NO_COLOR"); /* no-color.org */

		yes = !(no && *no) && is_smart_terminal(STDOUT_FILENO);
		known = 1;
	}
	return yes;
}

const char *colour_begin(enum colour colour)
{
	static const char *const sequences[] = {
		[COLOUR_PLAIN] = "",         [COLOUR_GOOD] = "\033[32m",
		[COLOUR_BAD] = "\033[1;31m", [COLOUR_DOUBTFUL] = "\033[33m",
		[COLOUR_DIM] = "\033[2m",
	};

	return coloured() ? sequences[colour] : "";
}

const char *colour_end(enum colour colour)
{
	return colour != COLOUR_PLAIN && coloured() ? "\033[0m" : "";
}

/* ---- Progress */

/* The one input of the process. */
static struct {
	FILE *file; /* NULL: no progress to show */
	unsigned steps;
	off_t size; /* 0: unknown */
	double started, shown_at;
	int shown;
} progress;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void progress_start(FILE *file)
{
	struct stat st;

	memset(&progress, 0, sizeof progress);
	if (!file || !is_smart_terminal(STDERR_FILENO) || fstat(fileno(file), &st) || !S_ISREG(st.st_mode))
		return;
	progress.file = file;
	progress.size = st.st_size;
	progress.started = seconds();
}

static void show(double now)
{
	double done = (double)ftello(progress.file), rate = done / (now - progress.started);
	double left = rate > 0 ? ((double)progress.size - done) / rate : 0;

	fprintf(stderr, "\r%3.0f %% of %.0f MB, %.0f MB/s, %.0f s left \033[K", 100 * done / (double)progress.size,
		(double)progress.size / 1e6, rate / 1e6, left);
	progress.shown = 1;
	progress.shown_at = now;
}

void progress_step(void)
{
	double now;

	if (!progress.file || ++progress.steps % STEPS_PER_LOOK)
		return;
	now = seconds();
	/* What is over within a second needs no progress. */
	if (now - progress.started > 1 && now - progress.shown_at > 0.2)
		show(now);
}

void progress_clear(void)
{
	if (!progress.shown)
		return;
	fputs("\r\033[K", stderr);
	progress.shown = 0;
}
