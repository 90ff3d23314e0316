/* SPDX-License-Identifier: MIT */
/* Complaints on standard error, memory that is there or ends the program, and the tool's eraser. */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terminal.h"
#include "tool.h"

void complain(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	progress_clear();
	fputs("smb3sign: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int bad_usage(const char *title)
{
	fprintf(stderr, "Try '%s --help'.\n", title);
	return STATUS_TROUBLE;
}

int only_help(int argc, char **argv, const char *usage, int *status)
{
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int opt = getopt_long(argc, argv, "h", options, NULL);

	if (opt == 'h') {
		fputs(usage, stdout);
		*status = STATUS_GOOD;
		return 1;
	}
	if (opt == -1 && optind == argc)
		return 0;
	if (opt == -1)
		complain("unexpected argument '%s'", argv[optind]);
	*status = bad_usage(argv[0]);
	return 1;
}

void *allocate(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p) {
		complain("out of memory");
		exit(STATUS_TROUBLE);
	}
	return p;
}

void *reallocate(void *p, size_t n)
{
	p = realloc(p, n ? n : 1);
	if (!p) {
		complain("out of memory");
		exit(STATUS_TROUBLE);
	}
	return p;
}

/* The compiler cannot know what a volatile pointer points to, and so not that the call has no effect. */
static void *(*const volatile erase)(void *, int, size_t) = memset;

void wipe(void *p, size_t n)
{
	if (n)
		erase(p, 0, n);
}
