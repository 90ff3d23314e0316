/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 of several messages side by side without SHA instructions: an element of a vector is one message's word, and
 * the rounds are those of FIPS 180-4 6.2.2 with vectors for words. sha256_avx512.c, sha256_avx2.c and sha256_ssse3.c
 * include this behind sha256_template.h, which tells what they define for it, and besides:
 *
 *     LANES_MIN    with fewer lanes, one after the other is faster
 *     VEC_AND      as VEC_XOR
 *     BIG_SIGMA, SMALL_SIGMA, CH, MAJ
 *                  if there are instructions for rotations and for any function of three bits: the functions of 4.1.2
 *                  by them. Without, they are derived here.
 *
 * Working variables are eight registers, and a round's intermediate results fit in the others. The schedule and the
 * state that a block adds to do not: they are in memory, always in the same place, and that is overwritten in the end.
 * So it does not matter what is left there, and nothing is to be spilled anywhere else.
 */

enum { LANES = PAIR ? 8 : 4 };

/* By place: words of the schedule, W[t] at t % 16, and the states' words. */
enum { AT_STATE = 16, PLACES = AT_STATE + 8 };

ISA INLINE vec lanes_sum(vec a, vec b)
{
	return VEC(add_epi32)(a, b);
}

/*
 * ---- Rows, that is 16 bytes of each lane, to four vectors of words and back: squares of four by four are transposed
 */

ISA INLINE void transpose(vec v[4])
{
	vec low01 = VEC(unpacklo_epi32)(v[0], v[1]), high01 = VEC(unpackhi_epi32)(v[0], v[1]);
	vec low23 = VEC(unpacklo_epi32)(v[2], v[3]), high23 = VEC(unpackhi_epi32)(v[2], v[3]);

	v[0] = VEC(unpacklo_epi64)(low01, low23);
	v[1] = VEC(unpackhi_epi64)(low01, low23);
	v[2] = VEC(unpacklo_epi64)(high01, high23);
	v[3] = VEC(unpackhi_epi64)(high01, high23);
}

/* The four words that are `at` bytes behind each p. */
ISA INLINE void load_words(vec *place, struct smb3sign_lane *const lane[LANES], size_t at)
{
	vec v[4];

#pragma GCC unroll 4
	for (size_t j = 0; j < 4; j++)
		v[j] = words(vec_load(lane[j]->p + at, lane[j + LANES - 4]->p + at));
	transpose(v);
#pragma GCC unroll 4
	for (size_t j = 0; j < 4; j++)
		place[j] = v[j];
}

/* Words 4i to 4i + 3 of the states. */
ISA INLINE void load_states(vec *place, struct smb3sign_lane *const lane[LANES], size_t i)
{
	vec v[4];

#pragma GCC unroll 4
	for (size_t j = 0; j < 4; j++)
		v[j] = vec_load((const uint8_t *)(lane[j]->state + 4 * i),
				(const uint8_t *)(lane[j + LANES - 4]->state + 4 * i));
	transpose(v);
#pragma GCC unroll 4
	for (size_t j = 0; j < 4; j++)
		place[AT_STATE + 4 * i + j] = v[j];
}

ISA INLINE void store_states(const vec *place, struct smb3sign_lane *const lane[LANES], size_t i)
{
	vec v[4];

#pragma GCC unroll 4
	for (size_t j = 0; j < 4; j++)
		v[j] = place[AT_STATE + 4 * i + j];
	transpose(v);
#pragma GCC unroll 4
	for (size_t j = 0; j < 4; j++) {
		store(lane[j]->state + 4 * i, vec_first(v[j]));
#if PAIR
		store(lane[j + 4]->state + 4 * i, vec_second(v[j]));
#endif
	}
}

/* ---- The functions of 4.1.2 */

#ifndef BIG_SIGMA
/* x shifted by each of n0 < n1 < n2, XORed. One shift inside the other wants a register, where three want as many. */
ISA INLINE vec shifted_right(vec x, int n0, int n1, int n2)
{
	vec y = VEC_XOR(VEC(srli_epi32)(x, n2 - n1), x);

	return VEC(srli_epi32)(VEC_XOR(VEC(srli_epi32)(y, n1 - n0), x), n0);
}

ISA INLINE vec shifted_left(vec x, int n0, int n1)
{
	return VEC(slli_epi32)(VEC_XOR(VEC(slli_epi32)(x, n1 - n0), x), n0);
}

/* S0 and S1: rotations right by n0 < n1 < n2. */
ISA INLINE vec big_sigma(vec x, int n0, int n1, int n2)
{
	vec left = VEC(slli_epi32)(VEC_XOR(shifted_left(x, n2 - n1, n2 - n0), x), 32 - n2);

	return VEC_XOR(shifted_right(x, n0, n1, n2), left);
}

/* s0 and s1: a shift right by n0, rotations by n1 < n2. */
ISA INLINE vec lanes_small_sigma(vec x, int n0, int n1, int n2)
{
	return VEC_XOR(shifted_right(x, n0, n1, n2), shifted_left(x, 32 - n2, 32 - n1));
}

/* Ch and Maj as sha256_template.h derives them, ab = a ^ b and bc = b ^ c. */
ISA INLINE vec lanes_ch(vec e, vec f, vec g)
{
	return VEC_XOR(VEC_AND(e, VEC_XOR(f, g)), g);
}

ISA INLINE vec lanes_maj(vec b, vec ab, vec bc)
{
	return VEC_XOR(VEC_AND(ab, bc), b);
}

#define BIG_SIGMA            big_sigma
#define SMALL_SIGMA          lanes_small_sigma
#define CH                   lanes_ch
#define MAJ(a, b, c, ab, bc) lanes_maj(b, ab, bc)
#endif

/* ---- Rounds */

/*
 * For the compiler, what is made of y follows x. Otherwise it would begin with all that can be begun, as the processor
 * does anyway, and spill.
 */
#define THEN(x, y) __asm__("" : "+v"(x), "+v"(y))

/* W[t] for t < 16, and for later ones, where it takes the place of W[t-16]; i is t % 16. */
ISA INLINE vec lanes_loaded(vec *place, size_t i)
{
	return place[i];
}

ISA INLINE vec lanes_scheduled(vec *place, size_t i)
{
	vec *at = place + i;
	vec w = lanes_sum(place[i], SMALL_SIGMA(place[(i + 1) % 16], 3, 7, 18));

	IN_STEP(w, place);
	w = lanes_sum(lanes_sum(w, place[(i + 9) % 16]), SMALL_SIGMA(place[(i + 14) % 16], 10, 17, 19));
	return *at = w;
}

/* bc is b ^ c, and leaves as what it is in the next round. */
#define LANES_ROUND(a, b, c, d, e, f, g, h, word, i)                                     \
	do {                                                                             \
		vec ab_;                                                                 \
                                                                                         \
		h = lanes_sum(h, lanes_sum(word(place, i), VEC(set1_epi32)((int)k[i]))); \
		THEN(h, e);                                                              \
		h = lanes_sum(h, CH(e, f, g));                                           \
		THEN(h, e);                                                              \
		h = lanes_sum(h, BIG_SIGMA(e, 6, 11, 25));                               \
		d = lanes_sum(d, h);                                                     \
		THEN(d, b);                                                              \
		ab_ = VEC_XOR(a, b);                                                     \
		h = lanes_sum(h, MAJ(a, b, c, ab_, bc));                                 \
		bc = ab_;                                                                \
		THEN(h, a);                                                              \
		h = lanes_sum(h, BIG_SIGMA(a, 2, 13, 22));                               \
		IN_STEP(h, place);                                                       \
		PIN_POINTER(k);                                                          \
	} while (0)

#define LANES_EIGHT_ROUNDS(word, i)                                 \
	do {                                                        \
		LANES_ROUND(a, b, c, d, e, f, g, h, word, (i) + 0); \
		LANES_ROUND(h, a, b, c, d, e, f, g, word, (i) + 1); \
		LANES_ROUND(g, h, a, b, c, d, e, f, word, (i) + 2); \
		LANES_ROUND(f, g, h, a, b, c, d, e, word, (i) + 3); \
		LANES_ROUND(e, f, g, h, a, b, c, d, word, (i) + 4); \
		LANES_ROUND(d, e, f, g, h, a, b, c, word, (i) + 5); \
		LANES_ROUND(c, d, e, f, g, h, a, b, word, (i) + 6); \
		LANES_ROUND(b, c, d, e, f, g, h, a, word, (i) + 7); \
	} while (0)

/* A block of each lane, whose words are in their places. */
ISA INLINE void lanes_compress(vec *place)
{
	const uint32_t *k = smb3sign_sha256_k;
	vec *state = place + AT_STATE;
	vec a = state[0], b = state[1], c = state[2], d = state[3];
	vec e = state[4], f = state[5], g = state[6], h = state[7], bc = VEC_XOR(b, c);

	(void)bc; /* not every MAJ wants it */
	PIN_POINTER(k);
	LANES_EIGHT_ROUNDS(lanes_loaded, 0);
	LANES_EIGHT_ROUNDS(lanes_loaded, 8);
#pragma GCC unroll 1
	for (int i = 0; i < 3; i++) {
		k += 16;
		LANES_EIGHT_ROUNDS(lanes_scheduled, 0);
		LANES_EIGHT_ROUNDS(lanes_scheduled, 8);
	}
	state = place + AT_STATE;
	state[0] = lanes_sum(state[0], a);
	state[1] = lanes_sum(state[1], b);
	state[2] = lanes_sum(state[2], c);
	state[3] = lanes_sum(state[3], d);
	state[4] = lanes_sum(state[4], e);
	state[5] = lanes_sum(state[5], f);
	state[6] = lanes_sum(state[6], g);
	state[7] = lanes_sum(state[7], h);
}

/* A lane that is not there is lane 0 once more, and stores what lane 0 does. */
ISA NOINLINE void side_by_side(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	struct smb3sign_lane *lane[LANES];
	vec places[PLACES], *place = places;

	for (size_t j = 0; j < LANES; j++) {
		lane[j] = &lanes[j < n ? j : 0];
		PIN_POINTER(lanes); /* or gcc takes the widest registers there are for this */
	}
	PIN_POINTER(place);
	load_states(place, lane, 0);
	load_states(place, lane, 1);
	for (size_t at = 0; at < 64 * nblk; at += 64) {
		PIN_POINTER(place);
		for (size_t i = 0; i < 16; i += 4)
			load_words(place + i, lane, at + 4 * i);
		lanes_compress(place);
	}
	PIN_POINTER(place);
	store_states(place, lane, 0);
	store_states(place, lane, 1);
	/* By single stores: as memset it would be a slow REP STOS with gcc. */
	for (size_t i = 0; i < PLACES; i++) {
		place[i] = VEC(set1_epi32)(0);
		PIN_POINTER(place);
	}
	__asm__ volatile("" : : "r"(place) : "memory");
}

ISA static void blocks_lanes(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	if (n >= LANES_MIN)
		side_by_side(lanes, n, nblk);
	else
		for (size_t i = 0; i < n; i++)
			blocks(lanes[i].state, lanes[i].p, nblk);
}
