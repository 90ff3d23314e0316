/* SPDX-License-Identifier: MIT */
/* Keys and messages for what takes many messages at once, and the loops that are timed: many.h. */
#include <stdlib.h>

#include "bench.h"
#include "many.h"

/* NULL if the peer has no such algorithm. */
static void **open_keys(const struct peer *p, unsigned alg, size_t n)
{
	void **keys = new_lines(n * sizeof(*keys));

	for (size_t i = 0; i < n; i++) {
		keys[i] = p->open(alg, bench_key, bench_nonce);
		if (!keys[i]) {
			free(keys);
			return NULL;
		}
	}
	return keys;
}

void keyring_make(struct keyring *k, unsigned alg, size_t n)
{
	*k = (struct keyring){.alg = alg, .n = n, .ours = new_lines(n * sizeof(smb3sign_key *))};
	for (size_t i = 0; i < n; i++)
		if (smb3sign_key_new(&k->ours[i], alg, bench_key, 16, SMB3SIGN_ROLE_ANY))
			die("cannot make %zu keys for %s", n, alg_names[alg]);
	for (const struct peer *const *p = peers; *p; p++) {
		void **keys = (*p)->batch ? open_keys(*p, alg, n) : NULL;

		if (!keys)
			continue;
		k->peers[k->n_peers].lib = *p;
		k->peers[k->n_peers++].keys = keys;
	}
}

void keyring_free(struct keyring *k)
{
	for (size_t p = 0; p < k->n_peers; p++) {
		for (size_t i = 0; i < k->n; i++)
			k->peers[p].lib->close(k->peers[p].keys[i]);
		free(k->peers[p].keys);
	}
	for (size_t i = 0; i < k->n; i++)
		smb3sign_key_free(k->ours[i]);
	free(k->ours);
}

void crowd_make(struct crowd *c, const struct keyring *keys, size_t n)
{
	*c = (struct crowd){.keys = keys,
			    .n = n,
			    .ours = new_lines(n * sizeof(*c->ours)),
			    .bodies = new_lines(n * sizeof(*c->bodies))};
	for (size_t p = 0; p < keys->n_peers; p++)
		c->theirs[p] = new_lines(n * sizeof(*c->theirs[p]));
}

void crowd_put(struct crowd *c, size_t i, size_t key, uint8_t *msg, size_t len)
{
	c->bodies[i] = (smb3sign_iov){msg + SMB3SIGN_HEADER_LEN, len - SMB3SIGN_HEADER_LEN};
	c->ours[i] = (smb3sign_msg){.key = c->keys->ours[key], .hdr = msg, .body = &c->bodies[i], .body_cnt = 1};
	for (size_t p = 0; p < c->keys->n_peers; p++)
		c->theirs[p][i] = (struct peer_msg){.self = c->keys->peers[p].keys[key], .msg = msg, .len = len};
}

int crowd_check_peer(const struct crowd *c, size_t peer)
{
	const struct peer *lib = c->keys->peers[peer].lib;

	for (size_t i = 0; i < c->n; i++)
		if (!peer_takes(lib, c->keys->alg, c->theirs[peer][i].len))
			return 0;
	peer_check_batch(lib, c->keys->alg, c->theirs[peer], c->n);
	return 1;
}

void crowd_free(struct crowd *c)
{
	for (size_t p = 0; p < c->keys->n_peers; p++)
		free(c->theirs[p]);
	free(c->bodies);
	free(c->ours);
}

/* The messages handed over next: from `at` on, n of them. */
struct part {
	size_t at, n;
};

static inline struct part first(const struct many *m)
{
	return (struct part){0, m->width < m->n ? m->width : m->n};
}

static inline struct part next(const struct many *m, struct part p)
{
	size_t at = p.at + p.n, left = m->n - at;

	return left ? (struct part){at, m->width < left ? m->width : left} : first(m);
}

void many_sign_batch(void *arg, uint64_t calls)
{
	struct many *m = arg;
	struct part p = first(m);
	int failed = 0;

	for (uint64_t left = calls * m->times; left; left--, p = next(m, p))
		failed |= smb3sign_sign_batch(m->crowd->ours + p.at, p.n);
	m->failed |= failed;
}

void many_sign_one_by_one(void *arg, uint64_t calls)
{
	struct many *m = arg;
	struct part p = first(m);
	int failed = 0;

	for (uint64_t left = calls * m->times; left; left--, p = next(m, p))
		for (const smb3sign_msg *msg = m->crowd->ours + p.at, *end = msg + p.n; msg < end; msg++)
			failed |= smb3sign_sign(msg->key, msg->hdr, msg->body, msg->body_cnt);
	m->failed |= failed;
}

void many_verify_batch(void *arg, uint64_t calls)
{
	struct many *m = arg;
	struct part p = first(m);
	int failed = 0;

	for (uint64_t left = calls * m->times; left; left--, p = next(m, p))
		failed |= smb3sign_verify_batch(m->crowd->ours + p.at, p.n);
	m->failed |= failed;
}

void many_verify_one_by_one(void *arg, uint64_t calls)
{
	struct many *m = arg;
	struct part p = first(m);
	int failed = 0;

	for (uint64_t left = calls * m->times; left; left--, p = next(m, p))
		for (const smb3sign_msg *msg = m->crowd->ours + p.at, *end = msg + p.n; msg < end; msg++)
			failed |= smb3sign_verify(msg->key, msg->hdr, msg->body, msg->body_cnt);
	m->failed |= failed;
}

void many_peer(void *arg, uint64_t calls)
{
	const struct many *m = arg;
	const struct peer *lib = m->crowd->keys->peers[m->peer].lib;
	struct part p = first(m);

	for (uint64_t left = calls * m->times; left; left--, p = next(m, p))
		lib->batch(m->crowd->theirs[m->peer] + p.at, p.n);
}
