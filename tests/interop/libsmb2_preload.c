/* SPDX-License-Identifier: MIT */
/*
 * Takes over the signing of libsmb2 without changing it, as an object for LD_PRELOAD.
 *
 * libsmb2 signs and verifies in one function, smb2_calc_signature(context, signature, vectors, count), which for
 * dialects 3.0 and above flattens the message and calls smb3_aes_cmac_128(key, message, length, mac). The second is the
 * one to replace: it is given all it needs, and its arguments have been the same ever since libsmb2 signs SMB 3. The
 * first finds dialect and key in a private structure, whose layout changes from version to version. What stays
 * libsmb2's is the copy of each message, and HMAC-SHA256 for 2.0.2 and 2.1.
 *
 * libsmb2 hands over the key with each message; the library wants to prepare it once, so each thread keeps the keys it
 * has seen last. A message that smb3sign_compute refuses goes to libsmb2's own function, which has always signed it: an
 * object that is put in place of another must not be stricter. SMB3SIGN_PRELOAD_REPORT names a file that a line about
 * both is added to when the program ends.
 */
#define _GNU_SOURCE
#include <smb3sign.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 4, FLAGS = 16, SIGNED = 0x8 };

struct cache {
	struct {
		smb3sign_key *key;
		uint8_t raw[SMB3SIGN_KEY_LEN];
	} entry[KEYS];
	unsigned next; /* to be replaced */
};

typedef void cmac_function(uint8_t *key, uint8_t *msg, uint64_t len, uint8_t *mac);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t cache_of_thread;
static cmac_function *original;
static atomic_ulong taken_over, left;

static void forget(void *value)
{
	struct cache *cache = value;

	for (unsigned i = 0; i < KEYS; i++)
		smb3sign_key_free(cache->entry[i].key);
	explicit_bzero(cache, sizeof(*cache));
	free(cache);
}

static void report(void)
{
	const char *name = getenv("SMB3SIGN_PRELOAD_REPORT");
	FILE *f = name ? fopen(name, "a") : NULL;
	struct cache *cache = pthread_getspecific(cache_of_thread);

	if (f) {
		fprintf(f, "%lu taken over, %lu left to libsmb2\n", atomic_load(&taken_over), atomic_load(&left));
		fclose(f);
	}
	/* The thread that ends the program has no destructors run. */
	if (cache) {
		pthread_setspecific(cache_of_thread, NULL);
		forget(cache);
	}
}

static void start(void)
{
	void *symbol = dlsym(RTLD_NEXT, "smb3_aes_cmac_128");

	memcpy(&original, &symbol, sizeof(original)); /* ISO C has no cast from void * to a function */
	if (pthread_key_create(&cache_of_thread, forget) || atexit(report))
		abort();
}

/* Both are keys: how long it takes must not tell where they differ. */
static int same_key(const uint8_t *a, const uint8_t *b)
{
	uint8_t difference = 0;

	for (int i = 0; i < SMB3SIGN_KEY_LEN; i++)
		difference |= a[i] ^ b[i];
	return !difference;
}

/* The prepared key, NULL if there is no memory. */
static const smb3sign_key *prepared(const uint8_t *raw)
{
	struct cache *cache = pthread_getspecific(cache_of_thread);
	unsigned i;

	if (!cache) {
		cache = calloc(1, sizeof(*cache));
		if (!cache || pthread_setspecific(cache_of_thread, cache)) {
			free(cache);
			return NULL;
		}
	}
	for (i = 0; i < KEYS; i++)
		if (cache->entry[i].key && same_key(cache->entry[i].raw, raw))
			return cache->entry[i].key;
	i = cache->next++ % KEYS;
	smb3sign_key_free(cache->entry[i].key);
	cache->entry[i].key = NULL;
	/* ANY: libsmb2 does not say in which direction the message goes. */
	if (smb3sign_key_new(&cache->entry[i].key, SMB3SIGN_AES_CMAC, raw, SMB3SIGN_KEY_LEN, SMB3SIGN_ROLE_ANY))
		return NULL;
	memcpy(cache->entry[i].raw, raw, SMB3SIGN_KEY_LEN);
	return cache->entry[i].key;
}

/* smb3sign_compute takes SIGNED as set, which libsmb2 has done; over a clear flag it would sign something else. */
static int compute(const uint8_t *raw, uint8_t *msg, uint64_t len, uint8_t *mac)
{
	const smb3sign_iov body = {msg + SMB3SIGN_HEADER_LEN, (size_t)len - SMB3SIGN_HEADER_LEN};
	const smb3sign_key *key;

	if (len < SMB3SIGN_HEADER_LEN || !(msg[FLAGS] & SIGNED))
		return SMB3SIGN_E_MESSAGE;
	key = prepared(raw);
	return key ? smb3sign_compute(key, msg, &body, 1, mac) : SMB3SIGN_E_NOMEM;
}

void smb3_aes_cmac_128(uint8_t *key, uint8_t *msg, uint64_t len, uint8_t *mac);

void smb3_aes_cmac_128(uint8_t *key, uint8_t *msg, uint64_t len, uint8_t *mac)
{
	pthread_once(&once, start);
	if (!compute(key, msg, len, mac)) {
		atomic_fetch_add_explicit(&taken_over, 1, memory_order_relaxed);
		return;
	}
	/* It cannot fail, and a signature made of nothing must not be believed. */
	if (!original)
		abort();
	atomic_fetch_add_explicit(&left, 1, memory_order_relaxed);
	original(key, msg, len, mac);
}
