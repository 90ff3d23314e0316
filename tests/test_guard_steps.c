/* SPDX-License-Identifier: MIT */
/*
 * guard.c in slow motion: a copy of it, compiled into this file, stops before every atomic access, and the order in
 * which several calls take their next steps is drawn at random. That meets within seconds the orders that threads on a
 * real machine need months for: a call that is late by everything that others do meanwhile. What it cannot show is a
 * wrong memory order.
 */
#define smb3sign_guard_new   stepped_guard_new
#define smb3sign_guard_free  stepped_guard_free
#define smb3sign_guard_claim stepped_guard_claim
#define smb3sign_guard_hold  stepped_guard_hold
#define smb3sign_guard_drop  stepped_guard_drop

#include <stdatomic.h>
#include <ucontext.h>

#include "support.h"

static void step(void);

#undef atomic_load_explicit
#undef atomic_compare_exchange_strong_explicit
#define atomic_load_explicit(p, order) (step(), *(p))
/* The weak one is the one that is left; with no other thread it does what the strong one does. */
#define atomic_compare_exchange_strong_explicit(p, seen, next, order, order2) \
	(step(), atomic_compare_exchange_weak(p, seen, next))

#include "../src/guard.c"

enum { WINDOW = 64, KINDS = 4, CALLERS = 4, CALLS = 4, IDS = 4, STACK = 128 * 1024 };
#ifdef SMB3SIGN_EMULATED /* the orders are the same everywhere: a look that the code is right there too */
enum { PROGRAMS = 2000 };
#else
enum { PROGRAMS = 60000 };
#endif

/* ---- The callers: each a stack of its own */

static ucontext_t scheduler;

static struct caller {
	ucontext_t context;
	unsigned calls, op[CALLS], id[CALLS];
	int done;
	uint8_t *stack;
} callers[CALLERS], *running;

static void step(void)
{
	if (running)
		swapcontext(&running->context, &scheduler);
}

/* ---- A program: what the callers do with a few ids of one place, and what came of it */

enum { HOLD = KINDS, DROP }; /* below: claim of that nonce */

static smb3sign_guard *guard;
static uint64_t first_id;
static unsigned grants[IDS][KINDS], holds[IDS], tried_hold[IDS], drops[IDS];

static int call(unsigned op, unsigned i)
{
	uint8_t hdr[64] = "\xfeSMB\x40";

	put_le16(hdr + 12, op < KINDS && op & 2 ? 12 : 5);
	put_le32(hdr + 16, op & 1);
	put_le64(hdr + 24, first_id + i * WINDOW);
	if (op < KINDS)
		return smb3sign_guard_claim(guard, hdr);
	if (op == HOLD)
		return smb3sign_guard_hold(guard, hdr);
	smb3sign_guard_drop(guard, hdr);
	return SMB3SIGN_OK;
}

static void call_and_count(unsigned op, unsigned i)
{
	int err;

	tried_hold[i] += op == HOLD;
	err = call(op, i);
	if (op < KINDS)
		grants[i][op] += err == SMB3SIGN_OK;
	else if (op == HOLD)
		holds[i] += err == SMB3SIGN_OK;
	else
		drops[i]++;
}

static void play(void)
{
	struct caller *c = running;

	for (unsigned i = 0; i < c->calls; i++)
		call_and_count(c->op[i], c->id[i]);
	c->done = 1;
}

/* Mostly about the first id, and holds more often than claims. */
static void draw(struct caller *c, unsigned ids)
{
	c->calls = 1 + (unsigned)rng_below(CALLS);
	for (unsigned i = 0; i < c->calls; i++) {
		size_t what = rng_below(10);

		c->op[i] = what < 6 ? (unsigned)rng_below(2) * 2 : what < 9 ? HOLD : DROP;
		c->id[i] = rng_below(2) ? 0 : (unsigned)rng_below(ids);
	}
	c->done = 0;
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = STACK;
	c->context.uc_link = &scheduler;
	makecontext(&c->context, play, 0);
}

/* One caller takes its next step; some of them sleep for long. */
static void interleave(size_t n)
{
	size_t live = n, sleeper = rng_below(2 * n), sleeps = rng_below(200);

	while (live) {
		struct caller *c = &callers[rng_below(n)];

		if (c->done || (c == &callers[sleeper % n] && sleeper < n && sleeps && live > 1 && sleeps-- > 0))
			continue;
		running = c;
		swapcontext(&scheduler, &c->context);
		running = NULL;
		live -= (size_t)c->done;
	}
}

/* ids: how many the program knew of. full: entries were taken before. */
static void settle(unsigned ids, int full)
{
	for (unsigned i = 0; i < ids; i++) {
		const int highest = i == ids - 1;
		const int is_kept = holds[i] && !drops[i];

		/* One hold at least succeeds where there is nothing against it. */
		if (highest && tried_hold[i] && !drops[i] && !full)
			ck_assert_uint_ge(holds[i], 1);
		if (holds[i] && !drops[i])
			ck_assert_int_eq(call(HOLD, i), SMB3SIGN_OK);
		for (unsigned nonce = 0; nonce < KINDS; nonce++) {
			call_and_count(nonce, i);
			ck_assert_uint_le(grants[i][nonce], 1);
			if (highest || is_kept)
				ck_assert_uint_eq(grants[i][nonce], 1);
		}
	}
	/* Once more when all places are lost: then it is held[] that answers. */
	for (unsigned nonce = 0; nonce < KINDS; nonce++)
		ck_assert_int_eq(call(nonce, IDS + 1), SMB3SIGN_OK);
	for (unsigned i = 0; i < ids; i++) {
		for (unsigned nonce = 0; nonce < KINDS; nonce++)
			if (grants[i][nonce] == 1)
				ck_assert_int_eq(call(nonce, i), SMB3SIGN_E_NONCE);
		/* A hold that was refused has left nothing behind. */
		if (holds[i])
			call(DROP, i);
	}
	for (size_t i = 0; i < WINDOW; i++)
		ck_assert(!guard->held[i] || guard->held[i] >> ENTRY_BITS < WINDOW);
}

START_TEST(test_steps)
{
	unsigned long long granted = 0, held = 0;

	for (size_t i = 0; i < CALLERS; i++) {
		callers[i].stack = malloc(STACK);
		ck_assert_ptr_nonnull(callers[i].stack);
	}
	for (int program = 0; program < PROGRAMS; program++) {
		const size_t n = 2 + rng_below(CALLERS - 1);
		const unsigned ids = 2 + (unsigned)rng_below(IDS - 1);
		const size_t taken = rng_below(4) ? rng_below(3) : WINDOW - rng_below(3);

		memset(grants, 0, sizeof(grants));
		memset(holds, 0, sizeof(holds));
		memset(tried_hold, 0, sizeof(tried_hold));
		memset(drops, 0, sizeof(drops));
		ck_assert_int_eq(smb3sign_guard_new(&guard, WINDOW), SMB3SIGN_OK);
		/* Entries of other places. */
		first_id = WINDOW + WINDOW - 1;
		for (size_t i = 0; i < taken; i++)
			ck_assert_int_eq(hold(guard, i), SMB3SIGN_OK);
		for (size_t i = rng_below(3); i; i--)
			call_and_count(rng_below(2) ? HOLD : (unsigned)rng_below(KINDS), 0);
		for (size_t i = 0; i < n; i++)
			draw(&callers[i], ids);
		interleave(n);
		for (unsigned i = 0; i < ids; i++) {
			granted += grants[i][0] + grants[i][2];
			held += holds[i];
		}
		settle(ids, taken > 3);
		smb3sign_guard_free(guard);
	}
	for (size_t i = 0; i < CALLERS; i++)
		free(callers[i].stack);
	ck_assert_uint_gt(granted, PROGRAMS);
	ck_assert_uint_gt(held, PROGRAMS / 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("guard_steps");
	TCase *steps = add_case(s, "steps");

	tcase_add_test(steps, test_steps);
	return run_suite(s);
}
