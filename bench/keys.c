/* SPDX-License-Identifier: MIT */
/* Keys, one thread: how long a key takes to make, and what a message costs when its key was not used for a while. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "harness.h"
#include "ours.h"
#include "keys.h"

/* ---- Making keys */

static void run_key_new(void *arg, uint64_t calls)
{
	unsigned alg = *(const unsigned *)arg;

	for (; calls; calls--) {
		smb3sign_key *key;

		if (smb3sign_key_new(&key, alg, bench_key, 16, SMB3SIGN_ROLE_ANY))
			die("cannot make a key for %s", alg_names[alg]);
		smb3sign_key_free(key);
	}
}

struct place {
	unsigned alg;
	void *mem;
	size_t size;
};

static void run_key_init(void *arg, uint64_t calls)
{
	const struct place *p = arg;

	for (; calls; calls--) {
		smb3sign_key *key;

		if (smb3sign_key_init(&key, p->mem, p->size, p->alg, bench_key, 16, SMB3SIGN_ROLE_ANY))
			die("cannot make a key for %s", alg_names[p->alg]);
		smb3sign_key_wipe(key);
	}
}

static void measure_key(unsigned alg, double seconds)
{
	struct place place = {alg, new_lines(smb3sign_key_size(alg)), smb3sign_key_size(alg)};
	struct job jobs[] = {{.run = run_key_new, .arg = &alg}, {.run = run_key_init, .arg = &place}};
	double clock = harness_run(jobs, 2, seconds);

	free(place.mem);
	figures_add(alg_names[alg], ours_best(alg), "key-new", 0, jobs[0].ns, jobs[0].ns * clock);
	figures_add(alg_names[alg], ours_best(alg), "key-init", 0, jobs[1].ns, jobs[1].ns * clock);
}

static double ns_of(unsigned alg, const char *who, const char *work, size_t size)
{
	return figures_find(alg_names[alg], who, work, size)->ns;
}

static void print_keys(const struct options *o)
{
	printf("Making a key, ns\n  %-41s %8s %17s %17s\n", "", "bytes", "key_new+key_free", "key_init+key_wipe");
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		if (o->algs[alg])
			printf("  %-12s %-28s %8zu %17.1f %17.1f\n", alg_names[alg], ours_best(alg),
			       smb3sign_key_size(alg), ns_of(alg, ours_best(alg), "key-new", 0),
			       ns_of(alg, ours_best(alg), "key-init", 0));
	putchar('\n');
}

/* ---- Many sessions */

enum { MAX_KEYS = 10000 };

static const struct {
	size_t keys;
	int shuffled;
	const char *work, *head;
} rotations[] = {
	{1, 0, "rotate-1", "1 key"},
	{100, 0, "rotate-100", "100 keys"},
	{MAX_KEYS, 0, "rotate-10000", "10000 keys"},
	{MAX_KEYS, 1, "rotate-10000-shuffled", "10000 shuffled"},
};
enum { N_ROTATIONS = sizeof(rotations) / sizeof(rotations[0]) };

/*
 * Keys that take turns: in the order in which they were allocated, which a prefetcher sees through, or in one that it
 * does not, and that is another page nearly every time.
 */
struct rotation {
	smb3sign_key **keys;
	size_t n, next;
	const struct ring *ring;
	int failed;
};

/* Fisher and Yates, on a linear congruential generator (Knuth's MMIX constants). */
static void shuffle(smb3sign_key **keys, size_t n)
{
	uint64_t x = 1;

	for (size_t i = n - 1; i > 0; i--) {
		size_t j;
		smb3sign_key *k = keys[i];

		x = x * 6364136223846793005u + 1442695040888963407u;
		j = (size_t)(x >> 33) % (i + 1);
		keys[i] = keys[j];
		keys[j] = k;
	}
}

static void make_rotation(struct rotation *r, smb3sign_key *const *keys, size_t n, int shuffled,
			  const struct ring *ring)
{
	*r = (struct rotation){.keys = new_lines(n * sizeof(smb3sign_key *)), .n = n, .ring = ring};
	memcpy(r->keys, keys, n * sizeof(smb3sign_key *));
	if (shuffled)
		shuffle(r->keys, n);
}

static void run_rotation(void *arg, uint64_t calls)
{
	struct rotation *r = arg;
	size_t next = r->next;
	int failed = 0;

	for (uint64_t i = 0; i < calls; i++) {
		failed |= smb3sign_sign_buf(r->keys[next], ring_message(r->ring, i), r->ring->len);
		next = next + 1 < r->n ? next + 1 : 0;
	}
	r->next = next;
	r->failed |= failed;
}

/* All rotations are over the same keys, so that no other stand in their way in the caches. */
static void measure_rotations(unsigned alg, size_t size, double seconds)
{
	static smb3sign_key *keys[MAX_KEYS];
	struct rotation all[N_ROTATIONS];
	struct job jobs[N_ROTATIONS];
	struct ring ring;
	double clock;

	for (size_t i = 0; i < MAX_KEYS; i++)
		if (smb3sign_key_new(&keys[i], alg, bench_key, 16, SMB3SIGN_ROLE_ANY))
			die("cannot make %d keys for %s", MAX_KEYS, alg_names[alg]);
	ring_make(&ring, size, ring_count(size));
	for (size_t i = 0; i < N_ROTATIONS; i++) {
		make_rotation(&all[i], keys, rotations[i].keys, rotations[i].shuffled, &ring);
		jobs[i] = (struct job){.run = run_rotation, .arg = &all[i]};
	}
	clock = harness_run(jobs, N_ROTATIONS, seconds);
	for (size_t i = 0; i < N_ROTATIONS; i++) {
		if (all[i].failed)
			die("a message of %zu bytes could not be signed", size);
		figures_add(alg_names[alg], ours_best(alg), rotations[i].work, size, jobs[i].ns, jobs[i].ns * clock);
		free(all[i].keys);
	}
	ring_free(&ring);
	for (size_t i = 0; i < MAX_KEYS; i++)
		smb3sign_key_free(keys[i]);
}

static const size_t rotation_sizes[] = {64, 1024, 0};

static void print_rotation(unsigned alg, size_t size)
{
	double one = ns_of(alg, ours_best(alg), rotations[0].work, size);

	printf("  %-12s %8zu", alg_names[alg], size);
	for (size_t i = 0; i < N_ROTATIONS; i++) {
		double ns = ns_of(alg, ours_best(alg), rotations[i].work, size);

		printf(" %10.1f %6.2f", ns, ns / one);
	}
	putchar('\n');
}

static void print_rotations(const struct options *o)
{
	printf("Keys in rotation: sign, ns, and as a multiple of one key's\n  %-12s %8s", "", "bytes");
	for (size_t i = 0; i < N_ROTATIONS; i++)
		printf(" %17s", rotations[i].head);
	putchar('\n');
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		for (const size_t *size = rotation_sizes; o->algs[alg] && *size; size++)
			print_rotation(alg, *size);
	putchar('\n');
}

void keys_measure(const struct options *o)
{
	progress("making keys, keys in rotation");
	for (unsigned alg = 0; alg < N_ALGS; alg++) {
		if (!o->algs[alg])
			continue;
		measure_key(alg, o->seconds);
		for (const size_t *size = rotation_sizes; *size; size++)
			measure_rotations(alg, *size, o->seconds);
	}
}

void keys_print(const struct options *o)
{
	print_keys(o);
	print_rotations(o);
}
