/* SPDX-License-Identifier: MIT */
/*
 * Time per message of the library's public call (header checks, nonce and the stored tag included) beside OpenSSL's raw
 * MAC, both with the key kept. Library and peer take turns in short rounds and the fastest round of each counts, so what
 * else the machine does falls out of the ratio; a time alone says little.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peer.h"
#include "smb3sign.h"

static const char *const alg_names[] = {"hmac", "cmac", "gmac"};
static const uint8_t raw_key[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

struct row {
	double sign, verify, peer; /* ns per message, best round */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A READ response of len bytes in all, MessageId 5, SessionId 1. */
static uint8_t *make_message(size_t len)
{
	uint8_t *m = malloc(len);

	if (!m)
		return NULL;
	for (size_t i = 0; i < len; i++)
		m[i] = (uint8_t)(7 * i + 3);
	memset(m, 0, 64);
	memcpy(m, "\xfeSMB\x40", 5);
	m[12] = 8;
	m[16] = 1;
	m[24] = 5;
	m[40] = 1;
	return m;
}

static void keep_least(double *least, uint64_t from, uint64_t calls)
{
	double ns = (double)(now_ns() - from) / (double)calls;

	if (*least == 0 || ns < *least)
		*least = ns;
}

static int round_of_each(struct row *r, const smb3sign_key *key, struct peer *peer, uint8_t *msg, size_t len,
			 uint64_t calls)
{
	uint8_t tag[16];
	uint64_t from = now_ns();
	int bad = 0;

	for (uint64_t i = 0; i < calls; i++)
		bad |= smb3sign_sign_buf(key, msg, len);
	keep_least(&r->sign, from, calls);
	from = now_ns();
	for (uint64_t i = 0; i < calls; i++)
		peer_openssl_mac(peer, msg, len, tag);
	keep_least(&r->peer, from, calls);
	from = now_ns();
	for (uint64_t i = 0; i < calls; i++)
		bad |= smb3sign_verify_buf(key, msg, len);
	keep_least(&r->verify, from, calls);
	return bad;
}

static int measure(struct row *r, unsigned alg, size_t len, double seconds)
{
	uint64_t calls = 1 + 40000 / (len / 64 + 20); /* about 100 us a round */
	uint64_t until = now_ns() + (uint64_t)(seconds * 1e9);
	uint8_t *msg = make_message(len);
	struct peer *peer = peer_openssl_new(alg, raw_key);
	smb3sign_key *key = NULL;
	int bad = !msg || !peer || smb3sign_key_new(&key, alg, raw_key, sizeof(raw_key), SMB3SIGN_ROLE_ANY);

	memset(r, 0, sizeof(*r));
	while (!bad && now_ns() < until)
		bad = round_of_each(r, key, peer, msg, len, calls);
	smb3sign_key_free(key);
	if (peer)
		peer_openssl_free(peer);
	free(msg);
	return bad;
}

static void print_key(unsigned alg)
{
	smb3sign_key *key;

	if (smb3sign_key_new(&key, alg, raw_key, sizeof(raw_key), SMB3SIGN_ROLE_ANY))
		return;
	printf("%s: %s, key %zu bytes\n", alg_names[alg], smb3sign_key_impl(key), smb3sign_key_size(alg));
	smb3sign_key_free(key);
}

static int usage(int status)
{
	fputs("usage: smb3sign-bench [--alg hmac|cmac|gmac] [--size BYTES] [--seconds SECONDS]\n"
	      "  --seconds: per row, 0.3 if not given\n",
	      status ? stderr : stdout);
	return status;
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {64, 128, 256, 512, 1024, 4096, 16384, 65536, 1048576};
	static const struct option options[] = {
		{"alg", required_argument, NULL, 'a'},
		{"size", required_argument, NULL, 's'},
		{"seconds", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *only_alg = NULL;
	size_t only_size = 0;
	double seconds = 0.3;
	int c, rows = 0;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'a')
			only_alg = optarg;
		else if (c == 's')
			only_size = (size_t)strtoull(optarg, NULL, 0);
		else if (c == 't')
			seconds = strtod(optarg, NULL);
		else
			return usage(c == 'h' ? 0 : 2);
	}
	if (optind < argc || (only_size && only_size < 64) || !(seconds > 0))
		return usage(2);
	for (unsigned alg = 0; alg < 3; alg++) {
		if (only_alg && strcmp(only_alg, alg_names[alg]))
			continue;
		print_key(alg);
		printf("   bytes    sign ns  verify ns  OpenSSL ns  OpenSSL/sign   sign MB/s\n");
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			size_t size = only_size ? only_size : sizes[i];
			struct row r;

			if (measure(&r, alg, size, seconds)) {
				fprintf(stderr, "smb3sign-bench: %s over %zu bytes failed\n", alg_names[alg], size);
				return 1;
			}
			printf("%8zu %10.1f %10.1f %11.1f %13.2f %11.0f\n", size, r.sign, r.verify, r.peer,
			       r.peer / r.sign, (double)size * 1e3 / r.sign);
			fflush(stdout);
			rows++;
			if (only_size)
				break;
		}
	}
	return rows ? 0 : usage(2);
}
