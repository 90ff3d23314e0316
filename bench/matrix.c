/* SPDX-License-Identifier: MIT */
/*
 * For one algorithm and one size all kernels' works and all peers take turns in one harness_run, so each table's row is
 * comparable across, and a ratio is of one run. The tables are kernel by kernel, then the peers.
 */
#include <stdio.h>
#include <string.h>

#include "figures.h"
#include "harness.h"
#include "limits.h"
#include "matrix.h"
#include "ours.h"
#include "peer.h"

enum { MAX_PEERS = 8 };

/* What is done with each kernel. */
static const struct {
	const char *name, *head;
	void (*run)(void *arg, uint64_t calls);
} works[] = {
	{"sign", "sign", ours_sign},
	{"chained", "chained", ours_sign_chained},
	{"verify", "verify", ours_verify},
	{"pieces", "16 pieces", ours_sign_pieces},
	{"new-key", "new key", ours_sign_new_key},
};
enum { N_WORKS = sizeof(works) / sizeof(works[0]) };

/* One algorithm's contestants. */
struct field {
	unsigned alg;
	const size_t *sizes; /* ends with 0 */
	struct ours ours[MAX_OURS];
	size_t n_ours;
	struct {
		const struct peer *lib;
		void *self;
	} peers[MAX_PEERS];
	size_t n_peers;
};

struct peer_task {
	const struct peer *lib;
	void *self;
	const struct ring *ring;
	uint8_t tag[16];
};

static void run_peer(void *arg, uint64_t calls)
{
	struct peer_task *t = arg;

	t->lib->mac(t->self, t->ring, t->tag, calls);
}

const size_t *matrix_sizes(const struct options *o)
{
	static const size_t all[] = {64, 128, 256, 512, 1024, 2048, 4096, 16384, 65536, 262144, 1048576, 8388608, 0};
	static size_t only[2];

	only[0] = o->size;
	return o->size ? only : all;
}

static void open_field(struct field *f, unsigned alg, const struct options *o)
{
	f->alg = alg;
	f->sizes = matrix_sizes(o);
	f->n_ours = ours_make(f->ours, alg, o->kernel);
	f->n_peers = 0;
	for (const struct peer *const *p = peers; *p; p++) {
		void *self = (*p)->open(alg, bench_key, bench_nonce);

		if (!self)
			continue;
		f->peers[f->n_peers].lib = *p;
		f->peers[f->n_peers++].self = self;
	}
}

static void close_field(struct field *f)
{
	ours_free(f->ours, f->n_ours);
	for (size_t i = 0; i < f->n_peers; i++)
		f->peers[i].lib->close(f->peers[i].self);
}

/* A job and how its figure is filed. */
struct entry {
	const char *who, *work;
};

/* All jobs of one size: the peers first, whose tags are compared while the messages are unsigned. */
static void measure_size(struct field *f, size_t size, double seconds)
{
	struct ring ring;
	struct task tasks[MAX_OURS];
	struct peer_task peer_tasks[MAX_PEERS];
	struct job jobs[MAX_PEERS + MAX_OURS * N_WORKS];
	struct entry entries[MAX_PEERS + MAX_OURS * N_WORKS];
	size_t n = 0;
	double clock;

	progress("%s, %zu bytes", alg_names[f->alg], size);
	ring_make(&ring, size, ring_count(size));
	for (size_t i = 0; i < f->n_peers; i++) {
		if (!peer_takes(f->peers[i].lib, f->alg, size))
			continue;
		peer_tasks[i] = (struct peer_task){.lib = f->peers[i].lib, .self = f->peers[i].self, .ring = &ring};
		peer_check(f->peers[i].lib, f->peers[i].self, f->alg, &ring);
		jobs[n] = (struct job){.run = run_peer, .arg = &peer_tasks[i]};
		entries[n++] = (struct entry){f->peers[i].lib->name, "mac"};
	}
	for (size_t i = 0; i < f->n_ours; i++) {
		task_make(&tasks[i], &f->ours[i], &ring);
		for (size_t w = 0; w < N_WORKS; w++) {
			jobs[n] = (struct job){.run = works[w].run, .arg = &tasks[i]};
			entries[n++] = (struct entry){f->ours[i].name, works[w].name};
		}
	}
	ours_sign(&tasks[0], ring.mask + 1);
	clock = harness_run(jobs, n, seconds);
	for (size_t i = 0; i < n; i++)
		figures_add(alg_names[f->alg], entries[i].who, entries[i].work, size, jobs[i].ns, jobs[i].ns * clock);
	for (size_t i = 0; i < f->n_ours; i++)
		task_end(&tasks[i]);
	ring_free(&ring);
}

static void print_kernel_row(const struct ours *o, size_t size)
{
	const char *alg_name = alg_names[o->alg];
	const struct figure *sign = figures_find(alg_name, o->name, "sign", size);
	const struct figure *chained = figures_find(alg_name, o->name, "chained", size);
	double limit = limits_cycles(o->alg, size);

	printf("%10zu", size);
	for (size_t w = 0; w < N_WORKS; w++)
		printf(" %12.1f", figures_find(alg_name, o->name, works[w].name, size)->ns);
	printf(" %10.0f", (double)size * 1e3 / sign->ns);
	if (sign->cycles > 0)
		printf(" %9.3f", sign->cycles / (double)size);
	if (chained->cycles > 0 && limit > 0)
		printf(" %9.3f", limit / chained->cycles);
	putchar('\n');
}

static void print_kernel(const struct ours *o, const size_t *sizes)
{
	printf("%s, %s (a key takes %zu bytes); limit: %s\n", alg_names[o->alg], o->name, o->size, limits_name(o->alg));
	printf("%10s", "bytes");
	for (size_t w = 0; w < N_WORKS; w++)
		printf(" %9s ns", works[w].head);
	printf(" %10s %9s %9s\n", "sign MB/s", "cycles/B", "of limit");
	for (; *sizes; sizes++)
		print_kernel_row(o, *sizes);
	putchar('\n');
}

static void print_peers_row(const struct field *f, size_t size)
{
	const char *alg_name = alg_names[f->alg];
	double ours = figures_find(alg_name, f->ours[0].name, "sign", size)->ns;

	printf("%10zu %12.1f", size, ours);
	for (size_t i = 0; i < f->n_peers; i++) {
		const struct figure *peer = figures_find(alg_name, f->peers[i].lib->name, "mac", size);

		if (peer)
			printf(" %12.1f %6.2f", peer->ns, peer->ns / ours);
		else
			printf(" %12s %6s", "-", "");
	}
	putchar('\n');
}

static void print_peers(const struct field *f)
{
	printf("%s, peers: ns, and how many times ours (%s, sign) that is\n%10s %12s", alg_names[f->alg],
	       f->ours[0].name, "bytes", "ours");
	for (size_t i = 0; i < f->n_peers; i++)
		printf(" %19s", f->peers[i].lib->name);
	putchar('\n');
	for (const size_t *size = f->sizes; *size; size++)
		print_peers_row(f, *size);
	putchar('\n');
}

static void print_fit(const char *alg_name, const char *who, const char *work)
{
	double per_call, per_byte;

	if (!figures_fit(alg_name, who, work, &per_call, &per_byte))
		return;
	figures_add(alg_name, who, "fit-ns-per-call", 0, per_call, 0);
	figures_add(alg_name, who, "fit-ns-per-byte", 0, per_byte, 0);
	printf("  %-32s %10.1f %10.4f\n", who, per_call, per_byte);
}

static void print_fits(const struct field *f)
{
	printf("%s, fitted to the sizes up to 64 KiB\n  %-32s %10s %10s\n", alg_names[f->alg], "", "ns a call",
	       "ns a byte");
	for (size_t i = 0; i < f->n_ours; i++)
		print_fit(alg_names[f->alg], f->ours[i].name, "sign");
	for (size_t i = 0; i < f->n_peers; i++)
		print_fit(alg_names[f->alg], f->peers[i].lib->name, "mac");
	putchar('\n');
}

int matrix_measure(unsigned alg, const struct options *o)
{
	struct field f;
	int kernels;

	open_field(&f, alg, o);
	kernels = f.n_ours != 0;
	for (const size_t *size = f.sizes; kernels && *size; size++)
		measure_size(&f, *size, o->seconds);
	close_field(&f);
	return kernels;
}

void matrix_print(unsigned alg, const struct options *o)
{
	struct field f;

	open_field(&f, alg, o);
	for (size_t i = 0; i < f.n_ours; i++)
		print_kernel(&f.ours[i], f.sizes);
	if (f.n_ours) {
		print_peers(&f);
		if (!o->size)
			print_fits(&f);
	}
	close_field(&f);
}
