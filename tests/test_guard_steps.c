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
static void step_to_swap(const volatile void *at, uint64_t from, uint64_t to);

#undef atomic_load_explicit
#undef atomic_compare_exchange_strong_explicit
#define atomic_load_explicit(p, order) (step(), *(p))
/* The weak one is the one that is left; with no other thread it does what the strong one does. */
#define atomic_compare_exchange_strong_explicit(p, seen, next, order, order2) \
	(step_to_swap(p, *(seen), next), atomic_compare_exchange_weak(p, seen, next))

#include "../src/guard.c"

enum { WINDOW = 256, PLACES = WINDOW / 4, KINDS = 4, CALLERS = 4, CALLS = 6, IDS = 6, STACK = 128 * 1024 };
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
	unsigned now; /* the call under way */
	int at_entry; /* the next step may make an entry ready, or claim in it */
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
/*
 * Of the ids, above the first: two that share its place, and three that push it out, one of them far. The hash of the
 * last is nearly that of the first, so that both often have the same entry.
 */
static const unsigned laps[IDS] = {0, 1, 3, 4, 5, 323};
static unsigned grants[IDS][KINDS], refusals[IDS][KINDS], holds[IDS], tried_hold[IDS], drops[IDS];
static int gone[IDS]; /* a drop has begun after a hold was over, and is over too */

static int call_lap(unsigned op, uint64_t lap)
{
	uint8_t hdr[64] = "\xfeSMB\x40";

	put_le16(hdr + 12, op < KINDS && op & 2 ? 12 : 5);
	put_le32(hdr + 16, op & 1);
	put_le64(hdr + 24, first_id + lap * PLACES);
	if (op < KINDS)
		return smb3sign_guard_claim(guard, hdr);
	if (op == HOLD)
		return smb3sign_guard_hold(guard, hdr);
	smb3sign_guard_drop(guard, hdr);
	return SMB3SIGN_OK;
}

static int call(unsigned op, unsigned i)
{
	return call_lap(op, laps[i]);
}

static void call_and_count(unsigned op, unsigned i)
{
	const unsigned held_before = holds[i];
	int err;

	tried_hold[i] += op == HOLD;
	err = call(op, i);
	if (op < KINDS) {
		grants[i][op] += err == SMB3SIGN_OK;
		refusals[i][op] += err != SMB3SIGN_OK;
	} else if (op == HOLD) {
		holds[i] += err == SMB3SIGN_OK;
	} else {
		drops[i]++;
		gone[i] |= held_before > 0;
	}
}

static void play(void)
{
	struct caller *c = running;

	for (c->now = 0; c->now < c->calls; c->now++)
		call_and_count(c->op[c->now], c->id[c->now]);
	c->done = 1;
}

/* ---- What is rare, and has to have happened: one thread doing what another one has begun */

enum happening {
	READY_BY_CLAIM, /* an entry is made ready by a claim of its id, */
	READY_BY_HOLD,  /* by a second hold of it, */
	READY_BY_PUSH,  /* by a call that pushes its lap out */
	LATE_READY,     /* none of them: somebody else has made it ready meanwhile, */
	LATE_DROPPED,   /* or dropped it, */
	LATE_REUSED,    /* or dropped it, and it is another id's entry now */
	PUSH_AGAIN,     /* a place that was to be pushed on has changed */
	HOLD_LOST,      /* HOLDING is set, and HELD too late */
	HOLD_BACK,      /* HOLDING is taken back */
	CLAIM_AGAIN,    /* an entry that was to be claimed in has changed, */
	CLAIM_DROPPED,  /* or was dropped, */
	CLAIM_REUSED,   /* or is another id's now, which that nonce has not been claimed of */
	HAPPENINGS
};

static unsigned long long happened[HAPPENINGS];

static int is_in_table(const volatile void *at)
{
	return (const volatile char *)at >= (const volatile char *)guard->held;
}

static void observe_claim_again(uint64_t is, uint64_t from, uint64_t to)
{
	if (!is)
		happened[CLAIM_DROPPED]++;
	else if (is >> ENTRY_BITS == from >> ENTRY_BITS)
		happened[CLAIM_AGAIN]++;
	else
		happened[CLAIM_REUSED] += !(is & (from ^ to));
}

static void observe_entry(uint64_t is, uint64_t from, uint64_t to)
{
	const struct caller *c = running;
	const uint64_t id = from >> ENTRY_BITS;

	if (!from || !to)
		return;
	if (from != new_entry(id) && is != from)
		observe_claim_again(is, from, to);
	else if (from != new_entry(id))
		return;
	else if (is == from && id != first_id + (uint64_t)laps[c->id[c->now]] * PLACES)
		happened[READY_BY_PUSH]++;
	else if (is == from)
		happened[c->op[c->now] == HOLD ? READY_BY_HOLD : READY_BY_CLAIM]++;
	else
		happened[!is ? LATE_DROPPED : is >> ENTRY_BITS == id ? LATE_READY : LATE_REUSED]++;
}

static void observe_place(uint64_t is, uint64_t from, uint64_t to)
{
	const uint64_t change = from ^ to;

	if (change >> LAP_SHIFT) {
		happened[PUSH_AGAIN] += is != from;
	} else if (to < from) {
		const struct caller *c = running;
		const uint64_t lap = lap_of(guard, first_id) + laps[c->id[c->now]];

		ck_assert_uint_eq(change, (uint64_t)HOLDING << ((from >> LAP_SHIFT) - lap) * STATE_BITS);
		happened[HOLD_BACK]++;
	} else if (is >> LAP_SHIFT != from >> LAP_SHIFT) {
		for (unsigned slot = 0; slot < LAP_SHIFT; slot += STATE_BITS)
			happened[HOLD_LOST] += change == (uint64_t)HELD << slot;
	}
}

/* A swap that will be tried, from what the caller has seen to what it wants. */
static void step_to_swap(const volatile void *at, uint64_t from, uint64_t to)
{
	uint64_t is;

	if (!running || at == (const volatile void *)&guard->reach) {
		step();
		return;
	}
	running->at_entry = is_in_table(at) && from && to;
	step();
	running->at_entry = 0;
	is = *(const volatile uint64_t *)at;
	if (is_in_table(at))
		observe_entry(is, from, to);
	else
		observe_place(is, from, to);
}

/* ---- Programs, drawn and checked */

/*
 * Mostly about the first id, and holds more often than claims of one nonce. Most calls go on from the one before:
 * what is dropped makes room for the last id, what is held is claimed.
 */
static void draw(struct caller *c, unsigned ids)
{
	c->calls = 1 + (unsigned)rng_below(CALLS);
	for (unsigned i = 0; i < c->calls; i++) {
		size_t what = rng_below(10);

		c->op[i] = what < 5 ? (unsigned)rng_below(2) * 2 : what < 8 ? HOLD : DROP;
		c->id[i] = rng_below(2) ? 0 : (unsigned)rng_below(ids);
		if (!i || rng_below(3) == 0)
			continue;
		if (c->op[i - 1] == DROP) {
			c->op[i] = HOLD;
			c->id[i] = ids - 1;
		} else if (c->op[i - 1] == HOLD) {
			c->op[i] = (unsigned)rng_below(KINDS);
			c->id[i] = c->id[i - 1];
		}
	}
	c->done = 0;
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = STACK;
	c->context.uc_link = &scheduler;
	makecontext(&c->context, play, 0);
}

/*
 * One caller takes its next step. Often there is one that sleeps long in the midst of a call: after some steps of its
 * own, or when it is about to change an entry.
 */
static void interleave(size_t n)
{
	const struct caller *sleeper = rng_below(4) ? &callers[rng_below(n)] : NULL;
	const int before_swap = rng_below(2) == 0;
	size_t live = n, awake = rng_below(40), sleeps = rng_below(200);

	while (live) {
		struct caller *c = &callers[rng_below(n)];

		if (c->done)
			continue;
		if (c == sleeper && (before_swap ? c->at_entry : !awake || !awake--) && live > 1 && sleeps) {
			sleeps--;
			continue;
		}
		running = c;
		swapcontext(&scheduler, &c->context);
		running = NULL;
		live -= (size_t)c->done;
	}
}

/* No id of the program pushes this one out of its place. ids: how many the program knew of. */
static int stays(unsigned i, unsigned ids)
{
	return laps[ids - 1] - laps[i] < LAPS;
}

/* No call is under way. */
static void check_words(unsigned ids)
{
	const uint64_t place = *place_of(guard, first_id);
	uint64_t e;

	for (unsigned slot = 0; slot < LAP_SHIFT; slot += STATE_BITS)
		ck_assert((place >> slot & HELD) || !(place >> slot & HOLDING));
	for (unsigned i = 0; i < ids; i++)
		ck_assert(!gone[i] || !find_entry(guard, first_id + (uint64_t)laps[i] * PLACES, &e));
}

/* full: entries were taken before. */
static void settle(unsigned ids, int full)
{
	check_words(ids);
	for (unsigned i = 0; i < ids; i++) {
		/* One hold at least succeeds where there is nothing against it. */
		if (stays(i, ids) && tried_hold[i] && !drops[i] && !full)
			ck_assert_uint_ge(holds[i], 1);
		if (holds[i] && !drops[i])
			ck_assert_int_eq(call(HOLD, i), SMB3SIGN_OK);
	}
	for (unsigned i = 0; i < ids; i++)
		for (unsigned nonce = 0; nonce < KINDS; nonce++) {
			const int is_claimable = (stays(i, ids) || holds[i]) && !(drops[i] && tried_hold[i]);

			/* What was refused was granted to another call. */
			if (is_claimable && refusals[i][nonce])
				ck_assert_uint_eq(grants[i][nonce], 1);
			call_and_count(nonce, i);
			ck_assert_uint_le(grants[i][nonce], 1);
			if (is_claimable)
				ck_assert_uint_eq(grants[i][nonce], 1);
		}
	/* Once more when all have lost their place: then it is held[] that answers. */
	for (unsigned nonce = 0; nonce < KINDS; nonce++)
		ck_assert_int_eq(call_lap(nonce, laps[IDS - 1] + LAPS), SMB3SIGN_OK);
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
		const unsigned ids = rng_below(2) ? IDS : 2 + (unsigned)rng_below(IDS - 2);
		const size_t taken = rng_below(4) ? rng_below(3) : WINDOW - rng_below(3);

		memset(grants, 0, sizeof(grants));
		memset(refusals, 0, sizeof(refusals));
		memset(holds, 0, sizeof(holds));
		memset(tried_hold, 0, sizeof(tried_hold));
		memset(drops, 0, sizeof(drops));
		memset(gone, 0, sizeof(gone));
		ck_assert_int_eq(smb3sign_guard_new(&guard, WINDOW), SMB3SIGN_OK);
		/* Entries of other places. */
		do
			first_id = WINDOW + rng_below(256 * WINDOW);
		while (entry_at(guard, first_id, 0) != entry_at(guard, first_id + (uint64_t)laps[IDS - 1] * PLACES, 0));
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
		settle(ids, taken > IDS);
		smb3sign_guard_free(guard);
	}
	for (size_t i = 0; i < CALLERS; i++)
		free(callers[i].stack);
	ck_assert_uint_gt(granted, PROGRAMS);
	ck_assert_uint_gt(held, PROGRAMS / 2);
	/* The last is so rare that a few thousand programs may do without. */
	for (size_t i = 0; i < HAPPENINGS - (PROGRAMS < 10000); i++)
		ck_assert_msg(happened[i], "of what is rare, %zu has not happened", i);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("guard_steps");
	TCase *steps = add_case(s, "steps");

	tcase_set_timeout(steps, 600);
	tcase_add_test(steps, test_steps);
	return run_suite(s);
}
