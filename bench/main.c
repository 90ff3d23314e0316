/* SPDX-License-Identifier: MIT */
/*
 * smb3sign-bench: time of the library's public calls beside the core's own limits and beside other libraries' raw MACs.
 * This file has the options and the order of things.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "bench.h"
#include "check.h"
#include "figures.h"
#include "keys.h"
#include "limits.h"
#include "matrix.h"
#include "origins.h"
#include "peer.h"
#include "queue.h"
#include "smb3sign.h"
#include "targets.h"
#include "threads.h"

const char *const alg_names[N_ALGS] = {"HMAC-SHA256", "AES-CMAC", "AES-GMAC"};
const uint8_t bench_key[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
const uint8_t bench_nonce[12] = {5, [8] = 1};

static void print_stderr(const char *format, va_list args)
{
	fputs("smb3sign-bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_stderr(format, args);
	va_end(args);
	exit(1);
}

void progress(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_stderr(format, args);
	va_end(args);
}

void *new_lines(size_t size)
{
	size_t whole = (size + 63) / 64 * 64;
	void *mem = aligned_alloc(64, whole ? whole : 64);

	if (!mem)
		die("no memory");
	memset(mem, 0, whole);
	return mem;
}

static _Noreturn void usage(int status)
{
	fputs("usage: smb3sign-bench [--alg hmac|cmac|gmac] [--size BYTES] [--kernel TEXT] [--seconds SECONDS] [--csv "
	      "FILE]\n"
	      "  --alg      only this algorithm\n"
	      "  --size     only messages of this many bytes, header included (64 at least): the main tables alone\n"
	      "  --kernel   only kernels with this text in their name, as \"ghash=pclmul\": the main tables alone\n"
	      "  --seconds  time that each figure gets, 0.1 if not given\n"
	      "  --csv      write all figures to this file too\n",
	      status ? stderr : stdout);
	exit(status);
}

static unsigned parse_alg(const char *name)
{
	static const char *const names[N_ALGS] = {"hmac", "cmac", "gmac"};

	for (unsigned alg = 0; alg < N_ALGS; alg++)
		if (!strcmp(name, names[alg]))
			return alg;
	usage(2);
}

static size_t parse_size(const char *text)
{
	char *end;
	unsigned long long size = strtoull(text, &end, 0);

	if (*end || size < SMB3SIGN_HEADER_LEN || size > INT32_MAX || *text == '-')
		usage(2);
	return (size_t)size;
}

static double parse_seconds(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (*end || !(seconds > 0 && seconds < 1e6))
		usage(2);
	return seconds;
}

static void parse(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{"alg", required_argument, NULL, 'a'},
		{"size", required_argument, NULL, 's'},
		{"kernel", required_argument, NULL, 'k'},
		{"seconds", required_argument, NULL, 't'},
		{"csv", required_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c;

	*o = (struct options){.algs = {1, 1, 1}, .seconds = 0.1};
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'a') {
			memset(o->algs, 0, sizeof(o->algs));
			o->algs[parse_alg(optarg)] = 1;
		} else if (c == 's') {
			o->size = parse_size(optarg);
		} else if (c == 'k') {
			o->kernel = optarg;
		} else if (c == 't') {
			o->seconds = parse_seconds(optarg);
		} else if (c == 'c') {
			o->csv = fopen(optarg, "w");
			if (!o->csv)
				die("cannot write %s", optarg);
		} else {
			usage(c == 'h' ? 0 : 2);
		}
	}
	if (optind < argc)
		usage(2);
	o->seconds /= N_PASSES;
}

#ifdef __clang__
#define COMPILER __VERSION__ /* names itself */
#else
#define COMPILER "gcc " __VERSION__
#endif

static void print_head(void)
{
	printf("libsmb3sign %s, compiled with %s; beside it", smb3sign_version(), COMPILER);
	for (const struct peer *const *p = peers; *p; p++)
		printf("%s %s %s", p == peers ? "" : ",", (*p)->name, (*p)->version());
	printf("\n%s\n", smb3sign_cpu());
}

static void finish(FILE *out)
{
	int bad = ferror(out);

	if (fclose(out) || bad)
		die("cannot write the figures");
}

/* What the options leave of the parts beside the main tables. */
static int wants_all(const struct options *o)
{
	return !o->size && !o->kernel;
}

static void measure(const struct options *o)
{
	int kernels = 0;

	for (unsigned alg = 0; alg < N_ALGS; alg++)
		if (o->algs[alg])
			kernels |= matrix_measure(alg, o);
	if (!kernels)
		die("no kernel's name has \"%s\" in it", o->kernel);
	if (wants_all(o)) {
		keys_measure(o);
		batches_measure(o);
		queue_measure(o);
		threads_measure(o);
		origins_measure(o);
	}
}

static void print(const struct options *o)
{
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		if (o->algs[alg])
			matrix_print(alg, o);
	if (wants_all(o)) {
		keys_print(o);
		batches_print(o);
		queue_print(o);
		threads_print(o);
		origins_print(o);
		targets_print(o);
	}
}

int main(int argc, char **argv)
{
	struct options o;

	parse(&o, argc, argv);
	print_head();
	check_stopwatch(o.seconds);
	limits_measure(o.seconds);
	for (int pass = 1; pass <= N_PASSES; pass++) {
		progress("pass %d of %d", pass, N_PASSES);
		measure(&o);
	}
	print(&o);
	if (o.csv) {
		figures_write(o.csv);
		finish(o.csv);
	}
	finish(stdout);
	return 0;
}
