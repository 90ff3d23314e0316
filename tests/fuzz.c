/* SPDX-License-Identifier: MIT */
/* Shared parts of the fuzz targets, fuzz.h. */
#include "fuzz.h"

void fuzz_failed(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

unsigned take8(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

unsigned take16(struct input *in)
{
	unsigned low = take8(in);

	return low | take8(in) << 8;
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
void seed_from_input(const uint8_t *data, size_t size)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < size; i++)
		h = (h ^ data[i]) * 0x100000001b3;
	rng_seed(h);
}

/* The block's start is found again from the pointer: what stands before the copy is less than 16 bytes. */
uint8_t *exact_copy(const void *src, size_t n, size_t shift)
{
	/* malloc(0) would give a byte that may be read. */
	size_t before = n || shift ? shift : 8;
	uint8_t *block = malloc(before + n);

	require(block && (uintptr_t)block % 16 == 0);
	if (n)
		memcpy(block + before, src, n);
	return block + before;
}

void exact_free(uint8_t *p)
{
	if (p)
		free(p - (uintptr_t)p % 16);
}

enum { ALGS = 3, ROLES = 3, RAWS = 3, MAX_KEYS = 512 };

static struct {
	size_t n;
	struct fuzz_key key[MAX_KEYS];
} keys[ALGS];

static void add_key(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	unsigned role = *(const unsigned *)arg, alg = smb3sign_key_alg(key);
	struct fuzz_key *k = &keys[alg].key[keys[alg].n++];

	require(keys[alg].n <= MAX_KEYS);
	k->alg = alg;
	k->role = role;
	memcpy(k->raw, raw, 16);
	require(smb3sign_key_dup(&k->key, key) == SMB3SIGN_OK);
}

/* For each role and some keys: the library's own choice of kernels, and every choice there is. */
void make_fuzz_keys(void)
{
	uint8_t raw[16];

	rng_seed(1);
	for (unsigned alg = 0; alg < ALGS; alg++) {
		for (unsigned i = 0; i < ROLES * RAWS; i++) {
			unsigned role = i % ROLES;
			smb3sign_key *best;

			rng_fill(raw, sizeof(raw));
			best = new_key(alg, raw, role);
			add_key(best, raw, &role);
			smb3sign_key_free(best);
			for_each_kernel(alg, raw, role, add_key, &role);
		}
	}
}

const struct fuzz_key *take_key(struct input *in)
{
	unsigned alg = take8(in) % ALGS;

	return &keys[alg].key[take8(in) % keys[alg].n];
}
