/* SPDX-License-Identifier: MIT */
/*
 * CBC-MAC chains of several messages side by side with the Cryptography Extension. One chain waits ten latencies of
 * AESE with AESMC (2 to 4 cycles) for each of its blocks, while cores begin one such pair a cycle (Neoverse N1), two
 * (N2) or four (V1, V2, Apple's): three chains fill the first, twelve the last. Work for lanes that are not there takes
 * as long as any, so few lanes have code of their own.
 *
 * The rounds are as in aes_ce.c: k10, k0 and the next block of the message go in with the first AESE. So between blocks
 * each state is the chaining value ^ k10.
 *
 * Sixteen states, or eight with keys of their own, leave no registers for all round keys. So these are read for each
 * block, one round ahead: enough for cores that execute in order, and more would make compilers spill some.
 */
#include "../../kernels.h"
#include "aes_ce.h"

#ifdef SMB3SIGN_ARM64_CE

struct chain {
	uint8x16_t s, operand; /* AESE's next */
	const uint8_t *p;
	/* With keys of their own: */
	const void *rk;
	uint8x16_t k10_k0;
};

struct eight {
	struct chain c0, c1, c2, c3, c4, c5, c6, c7;
};

/* `step`, an expression with x in it, for each of n chains as x; n is a constant where this is inlined: 2, 4 or 8. */
#define EACH(n, all, step)                    \
	do {                                  \
		struct chain *x = &(all)->c0; \
		step;                         \
		x = &(all)->c1;               \
		step;                         \
		if ((n) >= 4) {               \
			x = &(all)->c2;       \
			step;                 \
			x = &(all)->c3;       \
			step;                 \
		}                             \
		if ((n) == 8) {               \
			x = &(all)->c4;       \
			step;                 \
			x = &(all)->c5;       \
			step;                 \
			x = &(all)->c6;       \
			step;                 \
			x = &(all)->c7;       \
			step;                 \
		}                             \
	} while (0)

/* What is read by way of x from here on is not read before v is known. */
#define AFTER(x, v) __asm__("" : "+r"(x) : "w"(v))

/* v is computed, or read, here: compilers would do one chain after the other, and read keys just before their use. */
#define IN_TURN(v) __asm__ volatile("" : "+w"(v))

/*
 * The lanes one after the other, then lane 0 again and again: what is not there works on its data, and stores what it
 * does.
 */
struct cursor {
	struct smb3sign_lane *lanes;
	size_t n, i;
};

INLINE struct smb3sign_lane *next_lane(struct cursor *c)
{
	size_t i = c->i++;

	return &c->lanes[i < c->n ? i : 0];
}

INLINE void start(struct chain *x, struct cursor *c, uint8x16_t k10)
{
	const struct smb3sign_lane *lane = next_lane(c);

	x->p = lane->p;
	x->s = veorq_u8(load(lane->state), k10);
	AFTER(c->lanes, x->s);
}

INLINE void end(struct chain *x, struct cursor *c, uint8x16_t k10)
{
	store(next_lane(c)->state, veorq_u8(x->s, k10));
}

INLINE void take_block(struct chain *x, uint8x16_t k10_k0, size_t at)
{
	x->operand = veorq_u8(k10_k0, load(x->p + at));
	IN_TURN(x->operand);
}

INLINE void first_round(struct chain *x, size_t *at)
{
	x->s = aes_ce_round(x->s, x->operand);
	IN_TURN(x->s);
	AFTER(*at, x->s);
}

INLINE void middle_round(struct chain *x, uint8x16_t k)
{
	x->s = aes_ce_round(x->s, k);
	IN_TURN(x->s);
}

/* To compilers, AESE's operands are alike; if they write over the key, a copy of the state lies on the chain. */
INLINE void last_round(struct chain *x, uint8x16_t k)
{
	__asm__("aese %0.16b, %1.16b" : "+w"(x->s) : "w"(k));
}

/*
 * Up to `width` lanes, a constant where this is inlined, with lane 0's key for all: in two halves if they are sixteen.
 */
INLINE void one_key(struct smb3sign_lane *lanes, size_t n, size_t nblk, size_t width)
{
	const size_t low_n = width < 8 ? width : 8;
	struct cursor from = {lanes, n, 0}, to = {lanes, n, 0};
	const void *rk = lanes->rk;
	uint8x16_t k = aes_ce_rk(rk, 10), k10_k0 = veorq_u8(k, aes_ce_rk(rk, 0));
	struct eight low, high;

	EACH(low_n, &low, start(x, &from, k));
	if (width == 16)
		EACH(8, &high, start(x, &from, k));
	for (size_t at = 0; at < 16 * nblk; at += 16) {
		AFTER(rk, low.c0.s);
		k = aes_ce_rk(rk, 1);
		IN_TURN(k);
		EACH(low_n, &low, take_block(x, k10_k0, at));
		EACH(low_n, &low, first_round(x, &at));
		if (width == 16) {
			EACH(8, &high, take_block(x, k10_k0, at));
			EACH(8, &high, first_round(x, &at));
		}
#pragma GCC unroll 8
		for (int round = 1; round < 9; round++) {
			uint8x16_t next;

			AFTER(rk, low.c0.s);
			next = aes_ce_rk(rk, round + 1);
			IN_TURN(next);
			EACH(low_n, &low, middle_round(x, k));
			if (width == 16)
				EACH(8, &high, middle_round(x, k));
			k = next;
		}
		EACH(low_n, &low, last_round(x, k));
		if (width == 16)
			EACH(8, &high, last_round(x, k));
	}
	PIN_POINTER(rk);
	k = aes_ce_rk(rk, 10);
	EACH(low_n, &low, end(x, &to, k));
	if (width == 16)
		EACH(8, &high, end(x, &to, k));
}

INLINE void start_own(struct chain *x, struct cursor *c)
{
	struct cursor same = *c;
	uint8x16_t k10;

	x->rk = next_lane(&same)->rk;
	k10 = aes_ce_rk(x->rk, 10);
	x->k10_k0 = veorq_u8(k10, aes_ce_rk(x->rk, 0));
	PIN_VECTOR(x->k10_k0);
	start(x, c, k10);
}

/* The next one will be with round key `round`. */
INLINE void round_own(struct chain *x, int round)
{
	x->s = aes_ce_round(x->s, x->operand);
	IN_TURN(x->s);
	AFTER(x->rk, x->s);
	x->operand = aes_ce_rk(x->rk, round);
	IN_TURN(x->operand);
}

/* Up to `width` lanes, at most eight, each with a key of its own. */
INLINE void own_keys(struct smb3sign_lane *lanes, size_t n, size_t nblk, size_t width)
{
	struct cursor from = {lanes, n, 0}, to = {lanes, n, 0};
	struct eight all;

	EACH(width, &all, start_own(x, &from));
	for (size_t at = 0; at < 16 * nblk; at += 16) {
		EACH(width, &all, take_block(x, x->k10_k0, at));
#pragma GCC unroll 9
		for (int round = 1; round < 10; round++)
			EACH(width, &all, round_own(x, round));
		EACH(width, &all, last_round(x, x->operand));
	}
	EACH(width, &all, end(x, &to, aes_ce_rk(x->rk, 10)));
}

NOINLINE void one_key_2(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	one_key(lanes, n, nblk, 2);
}

NOINLINE void one_key_4(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	one_key(lanes, n, nblk, 4);
}

NOINLINE void one_key_8(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	one_key(lanes, n, nblk, 8);
}

NOINLINE void one_key_16(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	one_key(lanes, n, nblk, 16);
}

NOINLINE void own_keys_2(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	own_keys(lanes, n, nblk, 2);
}

NOINLINE void own_keys_4(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	own_keys(lanes, n, nblk, 4);
}

NOINLINE void own_keys_8(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	own_keys(lanes, n, nblk, 8);
}

static void with_one_key(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	if (n == 2)
		one_key_2(lanes, n, nblk);
	else if (n <= 4)
		one_key_4(lanes, n, nblk);
	else if (n <= 8)
		one_key_8(lanes, n, nblk);
	else
		one_key_16(lanes, n, nblk);
}

static void with_own_keys(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	if (n == 2)
		own_keys_2(lanes, n, nblk);
	else if (n <= 4)
		own_keys_4(lanes, n, nblk);
	else
		own_keys_8(lanes, n, nblk);
}

void smb3sign_cbcmac_lanes_ce(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	size_t same = 1;

	while (same < n && lanes[same].rk == lanes[0].rk)
		same++;
	if (n == 1) {
		smb3sign_aes_ce.cbcmac(lanes->rk, (uint8_t *)lanes->state, lanes->p, nblk);
	} else if (same == n) {
		with_one_key(lanes, n, nblk);
	} else if (n <= 8) {
		with_own_keys(lanes, n, nblk);
	} else {
		smb3sign_cbcmac_lanes_ce(lanes, 8, nblk);
		smb3sign_cbcmac_lanes_ce(lanes + 8, n - 8, nblk);
	}
}

#endif
