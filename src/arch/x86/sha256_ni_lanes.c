/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 of several messages side by side with the SHA extensions. One message waits for the latency of SHA256RNDS2;
 * four fill its waits with each other's work, and are bound by what the vector units do in a cycle.
 *
 * For that, fifteen registers are in use: two of state and the newest four words of the schedule for each stream, XMM0
 * for what SHA256RNDS2 takes there, two for the schedule's next step. So its older words are in memory, and what a
 * block adds to is in the lanes' own states, where it is kept in the split form until the end. No state is ever on the
 * stack: copies there outlive the key.
 */
#include "sha256_ni.h"

#ifdef SHA_NI_LANES

struct stream {
	struct sha_state s;
	__m128i w; /* the newest four words of the schedule */
	const uint8_t *p;
	uint32_t *h; /* the lane's state, split */
	size_t place;
};

/* Two or four streams: c and d are used if there are four. */
struct streams {
	struct stream a, b, c, d;
	__m128i *ring; /* sixteen words of each stream's schedule, by place; W[t..t+3] is at t / 4 % 4 of its four */
	const uint32_t *k;
	const uint8_t *swap;
};

/* f for each of n streams; n is a constant where this is inlined. */
#define EACH(n, all, f, ...)                       \
	do {                                       \
		f(&(all)->a, __VA_ARGS__);         \
		f(&(all)->b, __VA_ARGS__);         \
		if ((n) == 4) {                    \
			f(&(all)->c, __VA_ARGS__); \
			f(&(all)->d, __VA_ARGS__); \
		}                                  \
	} while (0)

/*
 * Nothing that follows is read before these rounds are placed. Compilers would read ahead for all streams at once,
 * which the processor does anyway, and spill states.
 */
#define IN_ORDER(x, all) __asm__("" : "+x"((x)->s.abef), "+x"((x)->s.cdgh), "+r"((all)->ring), "+r"((all)->k))

/* Rounds t to t + 3 of the first sixteen. */
SHA_NI INLINE void first_rounds(struct stream *x, struct streams *all, size_t t)
{
	x->w = sha_words(load(x->p + 4 * t), all->swap);
	all->ring[4 * x->place + t / 4] = x->w;
	sha_rounds4(&x->s, x->w, all->k + t);
	IN_ORDER(x, all);
}

/*
 * Rounds t to t + 3 of sixteen later ones. The first of them reads w again: it need not be in a register all the time.
 */
SHA_NI INLINE void later_rounds(struct stream *x, struct streams *all, size_t t)
{
	__m128i *w = all->ring + 4 * x->place;
	size_t q = t / 4;

	x->w = sha_schedule(w[q], w[(q + 1) % 4], w[(q + 2) % 4], q ? x->w : w[3]);
	w[q] = x->w;
	sha_rounds4(&x->s, x->w, all->k + t);
	IN_ORDER(x, all);
}

SHA_NI INLINE void rounds64(struct streams *all, size_t n)
{
	all->k = smb3sign_sha256_k;
	all->swap = sha_swap;
	PIN_POINTER(all->k);
	PIN_POINTER(all->swap);
	EACH(n, all, first_rounds, all, 0);
	EACH(n, all, first_rounds, all, 4);
	EACH(n, all, first_rounds, all, 8);
	EACH(n, all, first_rounds, all, 12);
	for (int i = 0; i < 3; i++) {
		all->k += 16;
		EACH(n, all, later_rounds, all, 0);
		EACH(n, all, later_rounds, all, 4);
		EACH(n, all, later_rounds, all, 8);
		EACH(n, all, later_rounds, all, 12);
	}
}

SHA_NI INLINE void start(struct stream *x, size_t place, struct smb3sign_lane *lane)
{
	x->place = place;
	x->p = lane->p;
	x->h = lane->state;
	x->s = sha_load(lane->state);
}

SHA_NI INLINE void end_block(struct stream *x, size_t bytes)
{
	PIN_POINTER(x->h);
	sha_add(&x->s, (struct sha_state){load(x->h), load(x->h + 4)});
	x->p += bytes;
}

SHA_NI INLINE void keep(struct stream *x, int split)
{
	if (split) {
		store(x->h, x->s.abef);
		store(x->h + 4, x->s.cdgh);
	} else {
		sha_store(x->h, &x->s);
	}
}

SHA_NI INLINE void wipe(struct stream *x, __m128i *ring)
{
	__m128i *w = ring + 4 * x->place;

	w[0] = w[1] = w[2] = w[3] = _mm_setzero_si128();
}

/*
 * n streams, of which the fourth may have no lane: then it works on the first one's data, and stores what that one
 * stores. So each time all states are read before the first is stored.
 *
 * The ring ends as part of the schedule of the last block, which may be HMAC's outer one with the inner hash in it: it
 * is overwritten, by stores of its own, as memset for so much is a slow REP STOS with gcc.
 */
SHA_NI INLINE void run(struct smb3sign_lane *lanes, size_t n_lanes, size_t nblk, size_t n)
{
	__m128i ring[4 * SHA_NI_LANES];
	struct streams all;

	all.ring = ring;
	start(&all.a, 0, &lanes[0]);
	start(&all.b, 1, &lanes[1]);
	if (n == 4) {
		start(&all.c, 2, &lanes[2]);
		start(&all.d, 3, &lanes[n_lanes == 4 ? 3 : 0]);
	}
	EACH(n, &all, keep, 1);
	for (; nblk; nblk--) {
		rounds64(&all, n);
		EACH(n, &all, end_block, 64);
		EACH(n, &all, keep, 1);
	}
	EACH(n, &all, keep, 0);
	EACH(n, &all, wipe, ring);
	__asm__ volatile("" : : "r"(ring) : "memory");
}

/* On the streams of four, two lanes would take 1.7 times as long: hardly less than one after the other. */
SHA_NI static void two(struct smb3sign_lane *lanes, size_t nblk)
{
	run(lanes, 2, nblk, 2);
}

SHA_NI static void four(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	run(lanes, n, nblk, 4);
}

void smb3sign_sha256_ni_lanes(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	if (n == 1)
		smb3sign_sha256_ni.blocks(lanes->state, lanes->p, nblk);
	else if (n == 2)
		two(lanes, nblk);
	else
		four(lanes, n, nblk);
}

#endif
