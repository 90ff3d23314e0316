/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 without SHA instructions: the message schedule in vectors, the rounds in general registers beside it.
 * sha256_ymm.h (for sha256_avx2.c and sha256_avx512.c) and sha256_ssse3.c define, then include this:
 *
 *     ISA                    the target attribute
 *     PAIR                   1 if a vector has room for the schedules of two blocks, else 0
 *     vec                    four words of each block, the first block's in the low 128 bits; on it
 *     VEC(op), VEC_XOR       the intrinsic of that name, as VEC(add_epi32)
 *     vec_load               16 bytes of each block; vec_both: the same 16 bytes for each
 *     vec_first, vec_second  the four words of one block; vec_second for pairs only
 *     ROTATED(n, x, to)      the assembler's text for: to = x rotated right by n
 *
 * The rounds are what takes the time: each is 22 operations, and 5 of them lie between one e and the next. The schedule
 * fills gaps; where it competes with the rounds for units or decoders, two blocks in one vector halve it.
 *
 * Nothing that could tell the key is to be spilled by the compiler, since it would stay on the stack: neither words of
 * a block nor working variables. So the rounds are content with 13 registers, which i386 has not, and the schedule
 * keeps its order.
 */

/* ---- Schedule: W[t..t+3] = W[t-16..] + W[t-7..] + s0(W[t-15..]) + s1(W[t-2..]) (FIPS 180-4 6.2.2 step 1) */

/* s0 (4.1.2): rotations by 7 and 18, a shift by 3. */
ISA INLINE vec small_sigma0(vec w)
{
	vec r7 = VEC_XOR(VEC(srli_epi32)(w, 7), VEC(slli_epi32)(w, 25));
	vec r18 = VEC_XOR(VEC(srli_epi32)(w, 18), VEC(slli_epi32)(w, 14));

	return VEC_XOR(VEC_XOR(r7, r18), VEC(srli_epi32)(w, 3));
}

/*
 * s1 of two words: rotations by 17 and 19, a shift by 10. Each word is there twice, side by side, and the lower half of
 * both shifted right as 64 bits is the rotation of one. `lower` says where the lower halves of the results go.
 */
ISA INLINE vec small_sigma1(vec twice, const uint8_t lower[16])
{
	vec r17 = VEC(srli_epi64)(twice, 17), r19 = VEC(srli_epi64)(twice, 19);

	return VEC(shuffle_epi8)(VEC_XOR(VEC_XOR(r17, r19), VEC(srli_epi32)(twice, 10)), vec_both(lower));
}

/* All but s1, from the sixteen words before. */
ISA INLINE vec schedule_sum(vec w0, vec w4, vec w8, vec w12)
{
	vec w1 = VEC(alignr_epi8)(w4, w0, 4), w9 = VEC(alignr_epi8)(w12, w8, 4);

	return VEC(add_epi32)(VEC(add_epi32)(w0, w9), small_sigma0(w1));
}

/* s1 for the first two, which need the last two of the four before; */
ISA INLINE vec schedule_lower(vec w, vec before)
{
	static const uint8_t lower[16] = {0, 1, 2, 3, 8, 9, 10, 11, 128, 128, 128, 128, 128, 128, 128, 128};

	return VEC(add_epi32)(w, small_sigma1(VEC(shuffle_epi32)(before, 0xfa), lower));
}

/* and for the other two, which need the first two. */
ISA INLINE vec schedule_upper(vec w)
{
	static const uint8_t upper[16] = {128, 128, 128, 128, 128, 128, 128, 128, 0, 1, 2, 3, 8, 9, 10, 11};

	return VEC(add_epi32)(w, small_sigma1(VEC(shuffle_epi32)(w, 0x50), upper));
}

/* Big-endian words of the message to host order. */
ISA INLINE vec words(vec bytes)
{
	static const uint8_t swap[16] = {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};

	return VEC(shuffle_epi8)(bytes, vec_both(swap));
}

/* W[t] + K[t] as the rounds read them: sixteen of the first block, over and over, and all of the second. */
struct sums {
	uint32_t first[16];
#if PAIR
	uint32_t second[64];
#endif
};

/* Those of rounds t + i to t + i + 3; t is a multiple of 16. */
ISA INLINE void put(struct sums *s, vec w, const uint32_t *k, size_t t, size_t i)
{
	vec sum = VEC(add_epi32)(w, vec_both(k + t + i));

	store(s->first + i, vec_first(sum));
#if PAIR
	store(s->second + t + i, vec_second(sum));
#endif
}

/* ---- Rounds */

/* The working variables; f ^ g and b ^ c. */
struct vars {
	uint32_t a, b, c, d, e, f, g, h, fg, bc;
};

/*
 * A round (FIPS 180-4 6.2.2 step 3), in assembly: compilers order the same operations so that they take up to an eighth
 * longer, and spill some. What the next e waits for is first, the rotations above all: most processors have but two
 * units for them.
 *
 *     Ch(e, f, g) = (e & f) ^ (~e & g) = (e & (f ^ g)) ^ g, for each bit: f where e is 1, else g.
 *     Maj(a, b, c) = (a & b) ^ (a & c) ^ (b & c) = ((a ^ b) & (b ^ c)) ^ b: where a and b are equal it is b; where they
 *     differ, c is one of them and so the majority, and (b ^ c) ^ b is c.
 *
 * f ^ g and b ^ c are e ^ f and a ^ b of the round before, and are left in `fg` and `ab` for the next. The arguments
 * are operands' names, but for `wk`, an operand: W[t] + K[t].
 */
/* clang-format off */
#define ROUND(a, b, d, e, f, g, h, wk, bc, ab)                       \
	"add " wk ", %[" #h "]\n\t"                                  \
	ROTATED(6, e, t0)                                            \
	ROTATED(11, e, t1)                                           \
	"and %[" #e "], %[fg]\n\t"                                   \
	ROTATED(25, e, ab)                                           \
	"xor %[" #g "], %[fg]\n\t"                                   \
	"xor %[t0], %[t1]\n\t"                                       \
	"add %[fg], %[" #h "]\n\t"     /* h += Ch(e, f, g) */        \
	"mov %[" #e "], %[fg]\n\t"                                   \
	"xor %[" #f "], %[fg]\n\t"                                   \
	"xor %[" #ab "], %[t1]\n\t"                                  \
	"mov %[" #a "], %[" #ab "]\n\t"                              \
	"add %[t1], %[" #h "]\n\t"     /* h += S1(e): T1 */          \
	"xor %[" #b "], %[" #ab "]\n\t"                              \
	"add %[" #h "], %[" #d "]\n\t" /* d += T1: the next e */     \
	"and %[" #ab "], %[" #bc "]\n\t"                             \
	"xor %[" #b "], %[" #bc "]\n\t"                              \
	ROTATED(2, a, t0)                                            \
	ROTATED(13, a, t1)                                           \
	"xor %[t0], %[t1]\n\t"                                       \
	"add %[" #bc "], %[" #h "]\n\t" /* h += Maj(a, b, c) */      \
	ROTATED(22, a, t0)                                           \
	"xor %[t0], %[t1]\n\t"                                       \
	"add %[t1], %[" #h "]\n\t"     /* h += S0(a): the next a */

/* Eight rounds: then all variables are back in their places. */
#define EIGHT_ROUNDS                                     \
	ROUND(a, b, d, e, f, g, h, "(%[sum])", bc, ab)   \
	ROUND(h, a, c, d, e, f, g, "4(%[sum])", ab, bc)  \
	ROUND(g, h, b, c, d, e, f, "8(%[sum])", bc, ab)  \
	ROUND(f, g, a, b, c, d, e, "12(%[sum])", ab, bc) \
	ROUND(e, f, h, a, b, c, d, "16(%[sum])", bc, ab) \
	ROUND(d, e, g, h, a, b, c, "20(%[sum])", ab, bc) \
	ROUND(c, d, f, g, h, a, b, "24(%[sum])", bc, ab) \
	ROUND(b, c, e, f, g, h, a, "28(%[sum])", ab, bc)
/* clang-format on */

/* One round; the next renames the variables instead of moving them. */
#define ONE_ROUND(v, a_, b_, c_, d_, e_, f_, g_, h_, sum)                                                           \
	do {                                                                                                        \
		uint32_t ab_, t0_, t1_;                                                                             \
                                                                                                                    \
		__asm__(ROUND(a, b, d, e, f, g, h, "%[wk]", bc, ab)                                                 \
			: [d] "+&r"((v)->d_), [h] "+&r"((v)->h_), [fg] "+&r"((v)->fg), [bc] "+&r"((v)->bc),         \
			  [ab] "=&r"(ab_), [t0] "=&r"(t0_), [t1] "=&r"(t1_)                                         \
			: [a] "r"((v)->a_), [b] "r"((v)->b_), [e] "r"((v)->e_), [f] "r"((v)->f_), [g] "r"((v)->g_), \
			  [wk] "m"(sum)                                                                             \
			: "cc");                                                                                    \
		(v)->bc = ab_;                                                                                      \
	} while (0)

#define FOUR_ROUNDS(v, a, b, c, d, e, f, g, h, sum)             \
	do {                                                    \
		ONE_ROUND(v, a, b, c, d, e, f, g, h, (sum)[0]); \
		ONE_ROUND(v, h, a, b, c, d, e, f, g, (sum)[1]); \
		ONE_ROUND(v, g, h, a, b, c, d, e, f, (sum)[2]); \
		ONE_ROUND(v, f, g, h, a, b, c, d, e, (sum)[3]); \
	} while (0)

/* Computed by now, both of them, and what is made of them is computed after. */
#define IN_STEP(w, x) __asm__("" : "+v"(w), "+r"(x))

/* The same, and between them the schedule of the four rounds sixteen later: w0, in the place of the oldest. */
#define FOUR_ROUNDS_AHEAD(v, a, b, c, d, e, f, g, h, s, i, w0, w4, w8, w12) \
	do {                                                                \
		w0 = schedule_sum(w0, w4, w8, w12);                         \
		ONE_ROUND(v, a, b, c, d, e, f, g, h, (s)->first[i]);        \
		IN_STEP(w0, (v)->h);                                        \
		w0 = schedule_lower(w0, w12);                               \
		ONE_ROUND(v, h, a, b, c, d, e, f, g, (s)->first[(i) + 1]);  \
		IN_STEP(w0, (v)->g);                                        \
		w0 = schedule_upper(w0);                                    \
		ONE_ROUND(v, g, h, a, b, c, d, e, f, (s)->first[(i) + 2]);  \
		IN_STEP(w0, (v)->f);                                        \
		ONE_ROUND(v, f, g, h, a, b, c, d, e, (s)->first[(i) + 3]);  \
	} while (0)

ISA INLINE void begin(struct vars *v)
{
	v->fg = v->f ^ v->g;
	v->bc = v->b ^ v->c;
}

/* Step 4. The sums stay in their registers for the next block, which adds what stands in memory then. */
ISA INLINE void add_state(struct vars *v, uint32_t state[8])
{
	state[0] = v->a += state[0];
	state[1] = v->b += state[1];
	state[2] = v->c += state[2];
	state[3] = v->d += state[3];
	state[4] = v->e += state[4];
	state[5] = v->f += state[5];
	state[6] = v->g += state[6];
	state[7] = v->h += state[7];
}

/* The 64 rounds for the block at p, and the sums of the one at q. */
ISA INLINE void first_block(struct vars *v, struct sums *s, const uint8_t *p, const uint8_t *q)
{
	const uint32_t *k = smb3sign_sha256_k;
	vec w0, w1, w2, w3;

	PIN_POINTER(k); /* or gcc loads the first sixteen once, and has too few registers after */
	w0 = words(vec_load(p, q));
	put(s, w0, k, 0, 0);
	w1 = words(vec_load(p + 16, q + 16));
	put(s, w1, k, 0, 4);
	w2 = words(vec_load(p + 32, q + 32));
	put(s, w2, k, 0, 8);
	w3 = words(vec_load(p + 48, q + 48));
	put(s, w3, k, 0, 12);
	begin(v);
#pragma GCC unroll 1
	for (size_t t = 16; t < 64; t += 16) {
		FOUR_ROUNDS_AHEAD(v, a, b, c, d, e, f, g, h, s, 0, w0, w1, w2, w3);
		put(s, w0, k, t, 0);
		FOUR_ROUNDS_AHEAD(v, e, f, g, h, a, b, c, d, s, 4, w1, w2, w3, w0);
		put(s, w1, k, t, 4);
		FOUR_ROUNDS_AHEAD(v, a, b, c, d, e, f, g, h, s, 8, w2, w3, w0, w1);
		put(s, w2, k, t, 8);
		FOUR_ROUNDS_AHEAD(v, e, f, g, h, a, b, c, d, s, 12, w3, w0, w1, w2);
		put(s, w3, k, t, 12);
	}
	FOUR_ROUNDS(v, a, b, c, d, e, f, g, h, s->first);
	FOUR_ROUNDS(v, e, f, g, h, a, b, c, d, s->first + 4);
	FOUR_ROUNDS(v, a, b, c, d, e, f, g, h, s->first + 8);
	FOUR_ROUNDS(v, e, f, g, h, a, b, c, d, s->first + 12);
}

#if PAIR
/*
 * The 64 rounds for the block at q. The loop is in the assembly, so that it wants one register more and no other:
 * builds with frame pointers and sanitizers have just that. Where it ends is in a vector.
 */
ISA INLINE void second_block(struct vars *v, const struct sums *s)
{
	const uint32_t *sum = s->second;
	__m128i end = _mm_cvtsi64_si128((int64_t)(uintptr_t)(s->second + 64));
	uint32_t ab, t0, t1;

	begin(v);
	__asm__(".p2align 5\n"
		"1:\n\t" EIGHT_ROUNDS "add $32, %q[sum]\n\t"
		"vmovq %[end], %q[t0]\n\t"
		"cmp %q[t0], %q[sum]\n\t"
		"jne 1b"
		: [a] "+&r"(v->a), [b] "+&r"(v->b), [c] "+&r"(v->c), [d] "+&r"(v->d), [e] "+&r"(v->e), [f] "+&r"(v->f),
		  [g] "+&r"(v->g), [h] "+&r"(v->h), [fg] "+&r"(v->fg), [bc] "+&r"(v->bc), [ab] "=&r"(ab),
		  [t0] "=&r"(t0), [t1] "=&r"(t1), [sum] "+&r"(sum)
		: [end] "x"(end)
		: "cc", "memory");
}
#endif

ISA static void blocks(uint32_t state[8], const uint8_t *p, size_t nblk)
{
	struct vars v = {state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7], 0, 0};
	struct sums s;

	while (nblk) {
		/* A last block with none behind it goes into the vectors twice and through the rounds once. */
		size_t n = PAIR && nblk > 1 ? 2 : 1;

		PIN_POINTER(state);
		first_block(&v, &s, p, p + 64 * (n - 1));
		add_state(&v, state);
#if PAIR
		if (n == 2) {
			PIN_POINTER(state);
			second_block(&v, &s);
			add_state(&v, state);
		}
#endif
		p += 64 * n;
		nblk -= n;
	}
	smb3sign_wipe(&s, sizeof(s)); /* the schedule is the block, which may be a key's */
}
