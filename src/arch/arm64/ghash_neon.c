/* SPDX-License-Identifier: MIT */
/*
 * GHASH with the PMULL of every arm64 processor, which multiplies eight pairs of bytes, for those without the Cryptography
 * Extension (Raspberry Pi up to the 4th, for one). The field, the swapped blocks, Karatsuba's three products and the
 * reduction are those of ghash_template.h; only products of 64 x 64 bits differ.
 *
 * PMULL of the bytes a_j and of b rotated by r bytes makes a_j b_(j+r mod 8) for all j, in 16 bits each, the one of j at
 * byte 2j of the sum. It belongs at byte j + (j + r mod 8): 2j + r if j + r < 8, so r bytes up, otherwise 2j + r - 8, so 8 - r
 * bytes down. Where it belongs depends on r and j only. So the products of all blocks are added up for each r, 24 sums in
 * registers, and are put in place once for all of them; and the table has the powers rotated. That is 24 PMULL and 24 XORs
 * a block.
 */
#include "../../cpu.h"
#include "ghash_field.h"

#ifdef SMB3SIGN_ARM64

/* Blocks under one reduction. With eight, a block takes a tenth less, and the table is twice as large. */
enum { GROUP = 4 };

/* A power of H', times x^128 but for the first, its halves rotated by r bytes each; and the sum of the halves alike. */
struct power {
	uint8_t halves[8][16], sum[8][8];
};

/* The highest first. */
struct table {
	struct power power[GROUP];
};

/* By r, what is not yet in place of the three partial products. */
struct sums {
	uint8x16_t lo[8], mid[8], hi[8];
};

INLINE uint8x16_t multiply(uint8x8_t a, uint8x8_t b)
{
	return vreinterpretq_u8_p16(vmull_p8(vreinterpret_p8_u8(a), vreinterpret_p8_u8(b)));
}

INLINE uint8x16_t multiply_high(uint8x16_t a, uint8x16_t b)
{
	return vreinterpretq_u8_p16(vmull_high_p8(vreinterpretq_p8_u8(a), vreinterpretq_p8_u8(b)));
}

/*
 * f(..., r) for each r. No loop: with an index that is a variable until late, compilers keep the sums in memory (gcc 12
 * up to -O2, clang 14 at -O1), and on the stack they would remain. With the message they are equations in H.
 */
#define EACH_ROTATION(f, ...)                                                                           \
	(f(__VA_ARGS__, 0), f(__VA_ARGS__, 1), f(__VA_ARGS__, 2), f(__VA_ARGS__, 3), f(__VA_ARGS__, 4), \
	 f(__VA_ARGS__, 5), f(__VA_ARGS__, 6), f(__VA_ARGS__, 7))

INLINE void clear_sum(struct sums *s, size_t r)
{
	s->lo[r] = s->mid[r] = s->hi[r] = zero();
}

INLINE void clear(struct sums *s)
{
	EACH_ROTATION(clear_sum, s);
}

/* One rotation's share. The empty asm keeps compilers from reading several rows ahead, and from spilling sums for them. */
INLINE void add_rotated(struct sums *s, const struct power **h, uint8x16_t a, uint8x8_t both, size_t r)
{
	uint8x16_t b = load((*h)->halves[r]);

	s->hi[r] = veorq_u8(s->hi[r], multiply(vget_low_u8(a), vget_low_u8(b)));
	s->lo[r] = veorq_u8(s->lo[r], multiply_high(a, b));
	s->mid[r] = veorq_u8(s->mid[r], multiply(both, vld1_u8((*h)->sum[r])));
	__asm__("" : "+w"(s->hi[r]), "+w"(s->lo[r]), "+w"(s->mid[r]), "+r"(*h));
}

/* s += a times a power. */
INLINE void add_product(struct sums *s, const struct power *h, uint8x16_t a)
{
	EACH_ROTATION(add_rotated, s, &h, a, veor_u8(vget_low_u8(a), vget_high_u8(a)));
}

/* Byte k of what is in place: from which byte of a sum, 0xff for none. */
#define UP(k, r)   ((uint8_t)((k) >= (r) && (k) < 16 - (r) ? (k) - (r) : 0xff))
#define DOWN(k, r) ((uint8_t)((k) >= 8 - (r) && (k) < 8 + (r) ? (k) + 8 - (r) : 0xff))
#define BYTES(f, r)                                                                                                 \
	{                                                                                                           \
		f(0, r), f(1, r), f(2, r), f(3, r), f(4, r), f(5, r), f(6, r), f(7, r), f(8, r), f(9, r), f(10, r), \
			f(11, r), f(12, r), f(13, r), f(14, r), f(15, r)                                            \
	}
#define BOTH(r)                              \
	{                                    \
		BYTES(UP, r), BYTES(DOWN, r) \
	}
static const uint8_t places[8][2][16] = {BOTH(0), BOTH(1), BOTH(2), BOTH(3), BOTH(4), BOTH(5), BOTH(6), BOTH(7)};

/* The asm as above: indices are read one after the other. */
INLINE void add_in_place(uint8x16_t *sum, const uint8_t **index, const uint8x16_t s[8], size_t r)
{
	if (r == 0) { /* it is there already */
		*sum = s[0];
		return;
	}
	__asm__("" : "+w"(*sum), "+r"(*index));
	*sum = veorq_u8(*sum, vqtbl1q_u8(s[r], load(*index + 32 * r)));
	*sum = veorq_u8(*sum, vqtbl1q_u8(s[r], load(*index + 32 * r + 16)));
}

/* The sums where they belong. */
INLINE uint8x16_t in_place(const uint8x16_t s[8])
{
	const uint8_t *index = places[0][0];
	uint8x16_t sum;

	EACH_ROTATION(add_in_place, &sum, &index, s);
	return sum;
}

/* c = x^57 + x^62 + x^63 times lane 0. */
INLINE uint8x16_t times_c(uint8x16_t v)
{
	static const int64_t by[3][2] = {{57, -7}, {62, -2}, {63, -1}};
	uint64x2_t twice = vdupq_laneq_u64(vreinterpretq_u64_u8(v), 0), sum;

	sum = vshlq_u64(twice, vld1q_s64(by[0]));
	sum = veorq_u64(sum, vshlq_u64(twice, vld1q_s64(by[1])));
	return vreinterpretq_u8_u64(veorq_u64(sum, vshlq_u64(twice, vld1q_s64(by[2]))));
}

INLINE uint8x16_t reduce(const struct sums *p)
{
	uint8x16_t lo = in_place(p->lo), hi = in_place(p->hi), s = veorq_u8(lo, hi);
	uint8x16_t m = veorq_u8(veorq_u8(in_place(p->mid), s), vextq_u8(lo, s, 8));

	m = veorq_u8(m, times_c(lo));
	return veorq_u8(veorq_u8(m, vextq_u8(hi, zero(), 8)), swap_halves(times_c(m)));
}

/* Byte k of a row is byte k + r of the half: rotated right by 8r bits. NEON shifts by 64 give 0. */
static void set_power(struct power *h, uint8x16_t v)
{
	uint64x2_t w = vreinterpretq_u64_u8(v);

	for (int r = 0; r < 8; r++) {
		uint64x2_t row = vorrq_u64(vshlq_u64(w, vdupq_n_s64(-8 * r)), vshlq_u64(w, vdupq_n_s64(64 - 8 * r)));
		uint8x16_t bytes = vreinterpretq_u8_u64(row);

		store(h->halves[r], bytes);
		vst1_u8(h->sum[r], veor_u8(vget_low_u8(bytes), vget_high_u8(bytes)));
	}
}

/* Each power is the one before times the first. */
static void setkey(void *table, const uint8_t h[16])
{
	struct power *first = &((struct table *)table)->power[GROUP - 1];

	set_power(first, times_x(h));
	for (size_t n = 1; n < GROUP; n++) {
		struct sums s;

		clear(&s);
		add_product(&s, first, load((first - n + 1)->halves[0]));
		set_power(first - n, reduce(&s));
	}
}

/* The blocks that do not fill a group go first. A whole acc is one of them, which has nothing to be added. */
static void blocks(const void *table, uint8_t acc[16], unsigned whole, const uint8_t *p, size_t nblk)
{
	const struct table *t = table;
	size_t left = whole + nblk;
	uint8x16_t a = load_block(acc);

	while (left) {
		size_t n = (left - 1) % GROUP + 1;
		const struct power *h = &t->power[GROUP - n];
		struct sums s;

		left -= n;
		clear(&s);
#pragma GCC unroll 1
		for (; n; n--, h++) {
			if (!whole) {
				a = veorq_u8(a, load_block(p));
				p += 16;
			}
			whole = 0;
			add_product(&s, h, a);
			a = zero();
		}
		a = reduce(&s);
	}
	store(acc, vrev64q_u8(a));
}

const struct smb3sign_ghash smb3sign_ghash_neon = {
	.name = "neon",
	.needs = SMB3SIGN_CPU_NEON,
	.table_size = sizeof(struct table),
	.setkey = setkey,
	.blocks = blocks,
};

#endif
