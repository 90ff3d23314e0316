/* SPDX-License-Identifier: MIT */
/*
 * soak_batch [BATCHES [SEED]]: random batches are signed and verified by batch.c and, as copies, one by one; results,
 * headers and bodies must be the same. Any number of times: CTest makes a few thousand batches, a person a million.
 *
 * Every header and every segment lies in a slot of its own that ends or begins at an inaccessible page. That makes the
 * comparison one of lengths too: who reads or writes a byte too many, crashes.
 */
#include <time.h>

#include "key.h"
#include "oracle.h"
#include "support.h"

enum { ALGS = 3, MAX = 64, PIECES = 6, MAX_LEN = 70 * 1024, MAX_LONG = 4 };

static unsigned long long batches = 100000, seed, batch_number;

/* ---- Slots */

/*
 * Small ones for nearly everything, large ones for the segments of MAX_LONG messages; all of them twice, and one to
 * spare.
 */
enum { SMALL = 4096, N_SMALL = 2 * MAX * (1 + PIECES) + 1, N_LARGE = 2 * MAX_LONG * PIECES + 1 };

/* Slots of `size` bytes: those with an even number end at the inaccessible page, the others begin there. */
struct slots {
	size_t size, n, next;
	uint8_t *slot[N_SMALL];
};

static struct slots small = {SMALL, N_SMALL, 0, {NULL}}, large = {MAX_LEN, N_LARGE, 0, {NULL}};

static void make_slots(struct slots *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->slot[i] = i % 2 ? guard_start(s->size) : guard_end(s->size);
}

/* A copy of p[n] in the next slot. */
static uint8_t *place(const void *p, size_t n)
{
	struct slots *s = n <= SMALL ? &small : &large;
	size_t i = s->next++;
	uint8_t *at = i % 2 ? s->slot[i] : s->slot[i] + s->size - n;

	memcpy(at, p, n);
	return at;
}

/* All slots are free again. The first one changes, so that the same draw meets both kinds. */
static void free_slots(void)
{
	small.next = rng_below(2);
	large.next = rng_below(2);
}

/* ---- Keys */

struct keys {
	size_t n;
	smb3sign_key *key[32];
};

/* Of the kernels that the library chooses, in all roles; and of each that this machine can run. */
static struct keys best[ALGS], any[ALGS];

static void add_key(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	struct keys *keys = arg;

	(void)raw;
	if (keys->n == 32 || smb3sign_key_dup(&keys->key[keys->n++], key))
		abort();
}

static void make_keys(void)
{
	static const unsigned roles[] = {SMB3SIGN_ROLE_ANY, SMB3SIGN_ROLE_ANY,    SMB3SIGN_ROLE_ANY,
					 SMB3SIGN_ROLE_ANY, SMB3SIGN_ROLE_CLIENT, SMB3SIGN_ROLE_SERVER};
	uint8_t raw[16];

	for (unsigned alg = 0; alg < ALGS; alg++) {
		for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
			rng_fill(raw, 16);
			best[alg].key[best[alg].n++] = new_key(alg, raw, roles[i]);
		}
		rng_fill(raw, 16);
		for_each_kernel(alg, raw, SMB3SIGN_ROLE_ANY, add_key, &any[alg]);
	}
}

static void free_keys(struct keys *keys)
{
	while (keys->n)
		smb3sign_key_free(keys->key[--keys->n]);
}

/* ---- Drawing a batch */

/* What the messages of a batch have in common. */
struct plan {
	const struct keys *keys; /* an array for the algorithms */
	size_t alg, key, len;    /* one for all; ALGS, SIZE_MAX, 0: each message draws its own */
	size_t pieces;           /* at most */
	size_t bad;              /* one in so many must be refused; 0: none */
	size_t longs;            /* long messages so far */
};

/* One copy of the batch. */
struct copy {
	smb3sign_msg msg[MAX];
	smb3sign_iov body[MAX][PIECES];
};

static struct copy batched, single;
static size_t n_msgs;

/* Bodies are windows of this. */
static uint8_t noise[4 * MAX_LEN];

/* Mostly short ones, which are quick and which most of SMB's messages are. */
static size_t draw_len(struct plan *p)
{
	static const size_t common[] = {64, 68, 73, 80, 88, 104, 116, 128, 192, 256, 320, 1088, 4176};

	if (rng_below(800) == 0 && p->longs < MAX_LONG) {
		p->longs++;
		return 64 + rng_below(MAX_LEN - 63);
	}
	switch (rng_below(12)) {
	case 0:
		return 64 + rng_below(SMALL);
	case 1:
	case 2:
	case 3:
		return common[rng_below(sizeof(common) / sizeof(common[0]))];
	default:
		return 64 + rng_below(400);
	}
}

static void draw_plan(struct plan *p)
{
	*p = (struct plan){.keys = rng_below(16) ? best : any,
			   .alg = rng_below(2) ? ALGS : rng_below(ALGS),
			   .key = rng_below(3) ? SIZE_MAX : rng_below(32),
			   .pieces = rng_below(2) ? 1 : PIECES,
			   .bad = rng_below(2) ? 0 : 1 + rng_below(16)};
	if (rng_below(4) == 0)
		p->len = draw_len(p);
	/* Or all messages could be long ones. */
	p->len = p->len <= 64 + SMALL ? p->len : 0;
}

static const smb3sign_key *draw_key(const struct plan *p)
{
	const struct keys *keys = &p->keys[p->alg < ALGS ? p->alg : rng_below(ALGS)];

	return keys->key[(p->key == SIZE_MAX ? rng_below(32) : p->key) % keys->n];
}

/* The same message, of which hdr and body[n] are the parts, in one copy of the batch. */
static void put_copy(struct copy *c, size_t i, const smb3sign_key *key, const uint8_t hdr[64], const smb3sign_iov *body,
		     size_t n)
{
	for (size_t j = 0; j < n; j++) {
		c->body[i][j] = body[j];
		if (body[j].iov_base)
			c->body[i][j].iov_base = place(body[j].iov_base, body[j].iov_len);
	}
	c->msg[i] = (smb3sign_msg){
		.key = key, .hdr = place(hdr, 64), .body = n ? c->body[i] : NULL, .body_cnt = n, .result = 12345};
}

/* A mistake of the caller's; the last two are none if there is no body. */
static void spoil(struct copy *c, size_t i, size_t how)
{
	switch (how) {
	case 0:
		c->msg[i].reserved = 1;
		break;
	case 1:
		c->msg[i].key = NULL;
		break;
	case 2:
		c->msg[i].hdr = NULL;
		break;
	case 3:
		c->msg[i].body = NULL;
		break;
	default:
		if (c->msg[i].body_cnt)
			c->body[i][0].iov_base = NULL;
	}
}

static void draw_message(struct plan *p, size_t i)
{
	size_t len = p->len ? p->len : draw_len(p), n = 0;
	const smb3sign_key *key = draw_key(p);
	smb3sign_iov cut[PIECES];
	uint8_t hdr[64];

	if (p->bad && rng_below(p->bad) == 0) {
		any_header(hdr, len);
	} else {
		random_header(hdr);
		if (rng_below(4) == 0)
			put_le32(hdr + 20, (uint32_t)len);
	}
	if (len > 64 || rng_below(2))
		n = random_split(cut, p->pieces, noise + rng_below(sizeof(noise) - len), len - 64);
	put_copy(&batched, i, key, hdr, cut, n);
	put_copy(&single, i, key, hdr, cut, n);
	if (p->bad && rng_below(16 * p->bad) == 0) {
		size_t how = rng_below(5);

		spoil(&batched, i, how);
		spoil(&single, i, how);
	}
}

static void draw_batch(struct plan *p)
{
	free_slots();
	draw_plan(p);
	n_msgs = 1 + rng_below(rng_below(2) ? 16 : MAX);
	for (size_t i = 0; i < n_msgs; i++)
		draw_message(p, i);
}

/* What an attacker does: to the bit chosen in one copy the same happens in the other. */
static void forge(size_t i)
{
	const smb3sign_msg *m = &batched.msg[i];
	size_t where = rng_below(4), piece = m->body && m->body_cnt ? rng_below(m->body_cnt) : 0, at;
	uint8_t bit = (uint8_t)(1u << rng_below(8));

	if (!m->hdr)
		return;
	if (where == 0 && m->body && m->body_cnt && m->body[piece].iov_len && m->body[piece].iov_base) {
		at = rng_below(m->body[piece].iov_len);
		((uint8_t *)batched.body[i][piece].iov_base)[at] ^= bit;
		((uint8_t *)single.body[i][piece].iov_base)[at] ^= bit;
		return;
	}
	at = where == 1 ? rng_below(64) : 48 + rng_below(16);
	if (where == 2) {
		/* SIGNED taken away, or put on. */
		at = 16;
		bit = 8;
	}
	((uint8_t *)m->hdr)[at] ^= bit;
	((uint8_t *)single.msg[i].hdr)[at] ^= bit;
}

/* ---- Comparing */

enum { N_RESULTS = 8 };

static unsigned long long messages, results[2][N_RESULTS];

static _Noreturn void failed(size_t i, const char *call, const char *what)
{
	const smb3sign_msg *m = &batched.msg[i];

	fprintf(stderr, "soak_batch: batch %llu of seed %llu, message %zu of %zu, %s: %s\n", batch_number, seed, i,
		n_msgs, call, what);
	fprintf(stderr, "  kernels %s; batch %d, one by one %d; segments", smb3sign_key_impl(m->key), m->result,
		single.msg[i].result);
	for (size_t j = 0; j < m->body_cnt; j++)
		fprintf(stderr, " %zu", batched.body[i][j].iov_len);
	fputc('\n', stderr);
	exit(1);
}

static void compare_message(size_t i, const char *call)
{
	const smb3sign_msg *m = &batched.msg[i], *s = &single.msg[i];

	if (m->result != s->result)
		failed(i, call, "results differ");
	if (m->hdr && memcmp(m->hdr, s->hdr, 64) != 0)
		failed(i, call, "headers differ");
	for (size_t j = 0; m->body && j < m->body_cnt; j++)
		if (m->body[j].iov_base && memcmp(m->body[j].iov_base, s->body[j].iov_base, m->body[j].iov_len) != 0)
			failed(i, call, "bodies differ");
}

/* What the batch returned is the first result that is not OK. */
static void compare(const char *call, int got, unsigned long long counts[N_RESULTS])
{
	int first = SMB3SIGN_OK;

	for (size_t i = 0; i < n_msgs; i++) {
		int result = single.msg[i].result;

		compare_message(i, call);
		if (result > 0 || result <= -N_RESULTS)
			failed(i, call, "no such result");
		counts[-result]++;
		first = first ? first : result;
	}
	if (got != first)
		failed(0, call, "the call's result is not the first failure");
	messages += n_msgs;
}

static void sign_and_compare(void)
{
	int got = smb3sign_sign_batch(batched.msg, n_msgs);

	for (size_t i = 0; i < n_msgs; i++) {
		smb3sign_msg *m = &single.msg[i];

		m->result = m->reserved ? SMB3SIGN_E_INVAL : smb3sign_sign(m->key, m->hdr, m->body, m->body_cnt);
	}
	compare("sign_batch", got, results[0]);
}

static void verify_and_compare(void)
{
	int got;

	for (size_t i = 0; i < n_msgs; i++)
		batched.msg[i].result = 12345;
	got = smb3sign_verify_batch(batched.msg, n_msgs);
	for (size_t i = 0; i < n_msgs; i++) {
		smb3sign_msg *m = &single.msg[i];

		m->result = m->reserved ? SMB3SIGN_E_INVAL : smb3sign_verify(m->key, m->hdr, m->body, m->body_cnt);
	}
	compare("verify_batch", got, results[1]);
}

static void soak(void)
{
	struct plan p;

	draw_batch(&p);
	sign_and_compare();
	for (size_t i = 0; p.bad && i < n_msgs; i++)
		if (rng_below(5) == 0)
			forge(i);
	verify_and_compare();
}

static void print_results(const char *call, const unsigned long long counts[N_RESULTS])
{
	static const char *const names[N_RESULTS] = {"OK",        "E_SIGNATURE", "E_UNSIGNED",    "E_EXEMPT",
						     "E_MESSAGE", "E_INVAL",     "E_UNSUPPORTED", "E_NOMEM"};

	printf("%s:", call);
	for (int i = 0; i < N_RESULTS; i++)
		if (counts[i])
			printf(" %s %llu", names[i], counts[i]);
	putchar('\n');
}

static unsigned long long parse(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 0);

	if (!*text || *text == '-' || *end) {
		fputs("usage: soak_batch [BATCHES [SEED]]\n", stderr);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	batches = argc > 1 ? parse(argv[1]) : batches;
	seed = argc > 2 ? parse(argv[2]) : (unsigned long long)time(NULL);
	if (argc > 3 || !batches)
		parse("");
	printf("soak_batch %llu %llu\n", batches, seed);
	fflush(stdout);
	rng_seed(seed);
	rng_fill(noise, sizeof(noise));
	make_slots(&small);
	make_slots(&large);
	make_keys();
	for (batch_number = 0; batch_number < batches; batch_number++)
		soak();
	printf("%llu batches of %.1f messages\n", batches, (double)messages / 2 / (double)batches);
	print_results("sign_batch", results[0]);
	print_results("verify_batch", results[1]);
	for (unsigned alg = 0; alg < ALGS; alg++) {
		free_keys(&best[alg]);
		free_keys(&any[alg]);
	}
	guard_free_all();
	return 0;
}
