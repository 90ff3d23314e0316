/* SPDX-License-Identifier: MIT */
/*
 * Runs one kernel over a message, or over as many as it takes side by side, BYTES in all: once, for an emulator that
 * counts its instructions, or for SECONDS, to print core cycles a byte. What model.py has a model of is so measured by
 * itself: no keys, no headers, no tags.
 */
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "harness.h"
#include "kernels.h"

struct work {
	const struct smb3sign_aes *aes;
	const struct smb3sign_ghash *ghash;
	const struct smb3sign_sha256 *sha256;
	struct smb3sign_lane lanes[SMB3SIGN_LANES_MAX];
	size_t width, bytes; /* messages, and of each */
	uint8_t *message;
	void *table;
	alignas(16) uint8_t rk[SMB3SIGN_RK_SIZE_MAX], state[16];
	uint32_t words[8];
};

static void ghash_blocks(void *arg, uint64_t calls)
{
	struct work *w = arg;

	for (; calls; calls--)
		w->ghash->blocks(w->table, w->state, 0, w->message, w->bytes / 16);
}

static void cbcmac(void *arg, uint64_t calls)
{
	struct work *w = arg;

	for (; calls; calls--)
		w->aes->cbcmac(w->rk, w->state, w->message, w->bytes / 16);
}

static void cbcmac_lanes(void *arg, uint64_t calls)
{
	struct work *w = arg;

	for (; calls; calls--)
		w->aes->cbcmac_lanes(w->lanes, w->width, w->bytes / 16);
}

static void sha256_blocks(void *arg, uint64_t calls)
{
	struct work *w = arg;

	for (; calls; calls--)
		w->sha256->blocks(w->words, w->message, w->bytes / 64);
}

static void sha256_lanes(void *arg, uint64_t calls)
{
	struct work *w = arg;

	for (; calls; calls--)
		w->sha256->blocks_lanes(w->lanes, w->width, w->bytes / 64);
}

static _Noreturn void fail(const char *why)
{
	fprintf(stderr, "kernel: %s\n", why);
	exit(1);
}

static void *new_memory(size_t size)
{
	void *p = aligned_alloc(64, (size + 63) / 64 * 64);

	if (!p)
		fail("no memory");
	memset(p, 1, size);
	return p;
}

/* The kernel called `name` in a list of pointers to structs that begin with their names. */
#define FIND(list, name)                                         \
	size_t i = 0;                                            \
	while (list[i] && strcmp(list[i]->name, name))           \
		i++;                                             \
	if (!list[i] || !smb3sign_kernel_usable(list[i]->needs)) \
	fail("no such kernel on this processor")

static const struct smb3sign_aes *find_aes(struct work *w, const char *name)
{
	static const uint8_t key[16] = {1, 2, 3};

	FIND(smb3sign_aes_kernels, name);
	smb3sign_aes_kernels[i]->expand(w->rk, key);
	return smb3sign_aes_kernels[i];
}

static const struct smb3sign_ghash *find_ghash(struct work *w, const char *name)
{
	static const uint8_t h[16] = {1, 2, 3};

	FIND(smb3sign_ghash_kernels, name);
	w->table = new_memory(smb3sign_ghash_kernels[i]->table_size);
	smb3sign_ghash_kernels[i]->setkey(w->table, h);
	return smb3sign_ghash_kernels[i];
}

static const struct smb3sign_sha256 *find_sha256(const char *name)
{
	FIND(smb3sign_sha256_kernels, name);
	return smb3sign_sha256_kernels[i];
}

/* What is called, with `all` bytes of messages; all lanes have one key. */
static void (*prepare(struct work *w, const char *function, const char *name, size_t all))(void *, uint64_t)
{
	void (*run)(void *, uint64_t) = NULL;

	w->width = 1;
	if (!strcmp(function, "ghash")) {
		w->ghash = find_ghash(w, name);
		run = ghash_blocks;
	} else if (!strcmp(function, "cbcmac")) {
		w->aes = find_aes(w, name);
		run = cbcmac;
	} else if (!strcmp(function, "cbcmac_lanes")) {
		w->aes = find_aes(w, name);
		w->width = w->aes->width;
		run = w->aes->cbcmac_lanes ? cbcmac_lanes : NULL;
	} else if (!strcmp(function, "sha256")) {
		w->sha256 = find_sha256(name);
		run = sha256_blocks;
	} else if (!strcmp(function, "sha256_lanes")) {
		w->sha256 = find_sha256(name);
		w->width = w->sha256->width;
		run = w->sha256->blocks_lanes ? sha256_lanes : NULL;
	}
	if (!run)
		fail("no such function");
	/*
	 * Each message begins one cache line further than a power of two, or all would want the same lines of the
	 * cache.
	 */
	w->bytes = all / w->width / 64 * 64;
	w->message = new_memory((w->bytes + 64) * w->width);
	for (size_t i = 0; i < w->width; i++)
		w->lanes[i] = (struct smb3sign_lane){.p = w->message + (w->bytes + 64) * i, .rk = w->rk};
	return run;
}

static void print_cycles(struct work *w, void (*run)(void *, uint64_t), double seconds)
{
	struct job job = {.run = run, .arg = w};
	double clock = harness_run(&job, 1, seconds);

	printf("%.4f\n", job.ns * clock / (double)(w->bytes * w->width));
}

int main(int argc, char **argv)
{
	static struct work w;
	size_t all = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	void (*run)(void *, uint64_t);

	if (argc < 4 || argc > 5 || all < 64 * SMB3SIGN_LANES_MAX) {
		fputs("usage: kernel ghash|cbcmac|cbcmac_lanes|sha256|sha256_lanes NAME BYTES [SECONDS]\n", stderr);
		return 2;
	}
	run = prepare(&w, argv[1], argv[2], all);
	if (argc == 5)
		print_cycles(&w, run, strtod(argv[4], NULL));
	else
		run(&w, 1);
	return 0;
}
