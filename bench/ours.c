/* SPDX-License-Identifier: MIT */
/*
 * The library's public calls, timed as a server makes them: header checks, nonce and the stored tag included. Keys with
 * kernels other than the best are made by smb3sign_key_init_with, as the tests make them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ours.h"

static int wanted(const struct ours *list, size_t n, const char *name, const char *filter)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			return 0;
	return !filter || strstr(name, filter);
}

/* Add a key of that choice to the list, unless its kernels are there already. */
static void add(struct ours *list, size_t *n, unsigned alg, const struct smb3sign_choice *choice, const char *filter)
{
	struct ours *o = &list[*n];
	void *mem;

	o->alg = alg;
	o->choice = *choice;
	o->size = smb3sign_key_size_with(alg, choice);
	mem = new_lines(o->size);
	if (*n + 1 == MAX_OURS ||
	    smb3sign_key_init_with(&o->key, mem, o->size, alg, bench_key, 16, SMB3SIGN_ROLE_ANY, choice))
		die("cannot make a key for %s", alg_names[alg]);
	o->name = smb3sign_key_impl(o->key);
	if (wanted(list, *n, o->name, filter))
		++*n;
	else
		free(mem);
}

static void add_hmac(struct ours *list, size_t *n, const char *filter)
{
	for (const struct smb3sign_sha256 *const *k = smb3sign_sha256_kernels; *k; k++)
		if (smb3sign_kernel_usable((*k)->needs))
			add(list, n, SMB3SIGN_HMAC_SHA256, &(struct smb3sign_choice){.sha256 = *k}, filter);
}

static void add_cmac(struct ours *list, size_t *n, const char *filter)
{
	for (const struct smb3sign_aes *const *k = smb3sign_aes_kernels; *k; k++)
		if (smb3sign_kernel_usable((*k)->needs))
			add(list, n, SMB3SIGN_AES_CMAC, &(struct smb3sign_choice){.aes = *k}, filter);
}

/* Each GHASH with the AES it has inside; one that has none with the first AES that needs no more than it does. */
static void add_gmac(struct ours *list, size_t *n, const char *filter)
{
	for (const struct smb3sign_ghash *const *k = smb3sign_ghash_kernels; *k; k++) {
		const struct smb3sign_aes *const *least = smb3sign_aes_kernels, *aes;

		while ((*least)->needs & ~(*k)->needs)
			least++;
		aes = (*k)->aes ? (*k)->aes : *least;
		if (smb3sign_kernel_usable((*k)->needs | aes->needs))
			add(list, n, SMB3SIGN_AES_GMAC, &(struct smb3sign_choice){.aes = aes, .ghash = *k}, filter);
	}
}

size_t ours_make(struct ours list[MAX_OURS], unsigned alg, const char *filter)
{
	size_t n = 0;

	add(list, &n, alg, &(struct smb3sign_choice){0}, filter);
	if (alg == SMB3SIGN_HMAC_SHA256)
		add_hmac(list, &n, filter);
	else if (alg == SMB3SIGN_AES_CMAC)
		add_cmac(list, &n, filter);
	else
		add_gmac(list, &n, filter);
	return n;
}

void ours_free(struct ours *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		smb3sign_key_free(list[i].key);
}

const char *ours_best(unsigned alg)
{
	static char names[N_ALGS][64];
	smb3sign_key *key;

	if (smb3sign_key_new(&key, alg, bench_key, 16, SMB3SIGN_ROLE_ANY))
		die("cannot make a key for %s", alg_names[alg]);
	snprintf(names[alg], sizeof(names[alg]), "%s", smb3sign_key_impl(key));
	smb3sign_key_free(key);
	return names[alg];
}

void task_make(struct task *t, const struct ours *ours, const struct ring *ring)
{
	t->ours = ours;
	t->ring = ring;
	t->pieces = new_lines((ring->mask + 1) * sizeof(*t->pieces));
	for (size_t i = 0; i <= ring->mask; i++)
		cut(t->pieces[i], ring_message(ring, i), ring->len);
	t->mem = new_lines(ours->size);
	t->failed = 0;
}

void task_end(struct task *t)
{
	if (t->failed)
		die("%s with %s failed over %zu bytes", alg_names[t->ours->alg], t->ours->name, t->ring->len);
	free(t->pieces);
	free(t->mem);
}

void ours_sign(void *arg, uint64_t calls)
{
	struct task *t = arg;
	const struct ring *r = t->ring;
	int failed = 0;

	for (uint64_t i = 0; i < calls; i++)
		failed |= smb3sign_sign_buf(t->ours->key, ring_message(r, i), r->len);
	t->failed |= failed;
}

/* The address of each message is made to depend on the signature before it. */
void ours_sign_chained(void *arg, uint64_t calls)
{
	struct task *t = arg;
	const struct ring *r = t->ring;
	size_t zero = 0;
	uint8_t last = 0;
	int failed = 0;

	__asm__("" : "+r"(zero)); /* the compiler must not know */
	for (uint64_t i = 0; i < calls; i++) {
		uint8_t *msg = ring_message(r, i) + (last & zero);

		failed |= smb3sign_sign_buf(t->ours->key, msg, r->len);
		last = msg[48];
	}
	t->failed |= failed;
}

void ours_verify(void *arg, uint64_t calls)
{
	struct task *t = arg;
	const struct ring *r = t->ring;
	int failed = 0;

	for (uint64_t i = 0; i < calls; i++)
		failed |= smb3sign_verify_buf(t->ours->key, ring_message(r, i), r->len);
	t->failed |= failed;
}

void ours_sign_pieces(void *arg, uint64_t calls)
{
	struct task *t = arg;
	const struct ring *r = t->ring;
	int failed = 0;

	for (uint64_t i = 0; i < calls; i++)
		failed |= smb3sign_sign(t->ours->key, ring_message(r, i), t->pieces[i & r->mask], N_PIECES);
	t->failed |= failed;
}

void ours_sign_new_key(void *arg, uint64_t calls)
{
	struct task *t = arg;
	const struct ours *o = t->ours;
	const struct ring *r = t->ring;
	int failed = 0;

	for (uint64_t i = 0; i < calls; i++) {
		smb3sign_key *key;

		failed |= smb3sign_key_init_with(&key, t->mem, o->size, o->alg, bench_key, 16, SMB3SIGN_ROLE_ANY,
						 &o->choice);
		failed |= smb3sign_sign_buf(key, ring_message(r, i), r->len);
		smb3sign_key_wipe(key);
	}
	t->failed |= failed;
}
