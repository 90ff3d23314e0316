/* SPDX-License-Identifier: MIT */
/*
 * GHASH (SP 800-38D 6.4) with SSSE3: PSHUFB looks 16 nibbles up in a table of 16 entries at once, in registers, so in
 * constant time. For processors and virtual machines without PCLMULQDQ.
 *
 * A block X is the sum of its bytes' nibbles times powers of x, x^i being bit i of the block from its first byte's top
 * bit on: the upper nibble of byte b is a number n, whose polynomial n3 + n2 x + n1 x^2 + n0 x^3 is multiplied by
 * x^(8b), the lower one by x^(8b+4). With M(n) for n times H mod P, P = x^128 + x^7 + x^2 + x + 1,
 *     X * H = U + x^4 L        U = sum over b of x^(8b) M(upper nibble b), L of the lower ones
 * Row r of the key's table has byte r of M(n) for all n. One PSHUFB of it with the upper nibbles as indices makes byte
 * r of M for every b, which belongs at byte r + b of U. So U is the sum over r of those vectors, moved on by r bytes
 * each.
 *
 * n blocks at once are X1 * H^n + ... + Xn * H: there is a table for each power, and of all blocks the vectors of one
 * row are added before they are moved. Moving and reducing, two thirds of the work for one block, are paid once.
 */
#include "../../kernels.h"
#include "../../cpu.h"
#include "x86.h"

#ifdef SMB3SIGN_X86_SSSE3

#define ISA TARGET("ssse3")

/*
 * Blocks at once: their nibbles stay in registers, of which there are 16, or 8 on i386: a spilled one would be a trace.
 */
#ifdef __x86_64__
enum { GROUP = 4 };
#else
enum { GROUP = 1 };
#endif

enum { ROWS = 16 };

/* Column i is that of H^(GROUP - i), so that n blocks take the last n columns in the order of the blocks. */
struct table {
	uint8_t row[ROWS][GROUP][16];
};

/*
 * To and from a number: bit 127 - i is the coefficient of x^i, so that multiplying by x is a shift to the right. The
 * first byte of the block becomes the last of the vector.
 */
ISA INLINE __m128i reverse(__m128i v)
{
	return _mm_shuffle_epi8(v, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

/* A product of 256 coefficients: those of x^0 to x^127 in lo, of the others in hi. */
struct wide {
	__m128i lo, hi;
};

/*
 * The top byte of hi, which is complete, goes over to lo; the rest moves up. After all rows both are in their places.
 */
ISA INLINE void move_on(struct wide *w)
{
	w->lo = _mm_alignr_epi8(w->lo, w->hi, 15);
	PIN_VECTOR(w->lo);
	w->hi = _mm_slli_si128(w->hi, 1);
	PIN_VECTOR(w->hi);
}

/* The upper half as the lower one. Of a byte shift by 8 gcc makes a store to the stack and a load. */
ISA INLINE __m128i upper_half(__m128i v)
{
	return _mm_alignr_epi8(_mm_setzero_si128(), v, 8);
}

/* In this order: with fewer registers alive at a time, nothing is spilled. */
ISA INLINE void add(__m128i *sum, __m128i v)
{
	*sum = _mm_xor_si128(*sum, v);
	PIN_VECTOR(*sum);
}

/*
 * U + x^4 L mod P. M has no term above x^127 and the last byte's place is x^120, so the sum has none above
 * x^(127+120+4) = x^251: hi none above x^123. x^128 is 1 + x + x^2 + x^7 mod P, and of hi * x^7 the terms of x^121 to
 * x^123, c(x), would go beyond x^127 again. As c * x^128 they equal c times those four, so c is added to hi beforehand,
 * and what is shifted out is dropped.
 */
ISA INLINE __m128i reduce(struct wide u, struct wide l)
{
	__m128i lo = u.lo, hi = u.hi;

	add(&hi, _mm_slli_epi64(_mm_alignr_epi8(l.lo, l.hi, 8), 60));
	add(&hi, _mm_srli_epi64(l.hi, 4));
	add(&lo, _mm_slli_epi64(upper_half(l.lo), 60));
	add(&lo, _mm_srli_epi64(l.lo, 4));

	add(&hi, _mm_slli_epi64(_mm_slli_si128(hi, 15), 1)); /* bits 4 to 6 to bits 125 to 127 */
	add(&lo, _mm_slli_epi64(upper_half(hi), 63));
	add(&lo, _mm_slli_epi64(upper_half(hi), 62));
	add(&lo, _mm_slli_epi64(upper_half(hi), 57));
	add(&lo, _mm_srli_epi64(hi, 1));
	add(&lo, _mm_srli_epi64(hi, 2));
	add(&lo, _mm_srli_epi64(hi, 7));
	return _mm_xor_si128(lo, hi);
}

/*
 * (acc + p0) * H^n + ... + p[n-1] * H; n is 1 or GROUP: of loops in between clang keeps the nibbles on the stack, which
 * with the message are an equation in H. Accumulators are numbers.
 */
ISA INLINE __m128i multiply(const struct table *t, __m128i acc, const uint8_t *p, size_t n)
{
	const uint8_t *entries = t->row[0][GROUP - n];
	__m128i upper[GROUP], lower[GROUP];
	struct wide u = {_mm_setzero_si128(), _mm_setzero_si128()}, l = u;

#pragma GCC unroll 4
	for (size_t i = n; i-- > 0;) {
		__m128i x = reverse(load(p + 16 * i));

		if (i == 0)
			x = _mm_xor_si128(x, acc);
		upper[i] = high_nibbles(x);
		lower[i] = low_nibbles(x);
	}
#pragma GCC unroll 1
	for (size_t r = 0; r < ROWS; r++) {
#pragma GCC unroll 4
		for (size_t i = n; i-- > 0;) {
			__m128i m = load(entries + 16 * i);

			add(&u.hi, _mm_shuffle_epi8(m, upper[i]));
			add(&l.hi, _mm_shuffle_epi8(m, lower[i]));
		}
		move_on(&u);
		move_on(&l);
		entries += sizeof(t->row[0]);
		PIN_POINTER(entries);
	}
	return reduce(u, l);
}

ISA NOINLINE __m128i multiply_1(const struct table *t, __m128i acc, const uint8_t *p)
{
	return multiply(t, acc, p, 1);
}

/* acc * H is what GHASH makes of it. */
static const uint8_t zero_block[16];

/* v * x mod P: x^128, when it is shifted out at the right, is 1 + x + x^2 + x^7, bits 127, 126, 125 and 120. */
ISA INLINE __m128i times_x(__m128i v)
{
	__m128i out = _mm_shuffle_epi32(_mm_srai_epi32(_mm_slli_epi32(v, 31), 31), 0);
	__m128i between = _mm_slli_epi64(upper_half(v), 63);

	v = _mm_xor_si128(_mm_srli_epi64(v, 1), between);
	return _mm_xor_si128(v, _mm_and_si128(out, _mm_set_epi32((int)0xe1000000, 0, 0, 0)));
}

/* The table of h in one column: the last row, which has the lowest byte of the number, first. */
ISA NOINLINE void fill(struct table *t, size_t column, __m128i h)
{
	/* Which nibbles have bit i set. */
	static const _Alignas(16) uint8_t with_bit[4][16] = {
		{0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255},
		{0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255},
		{0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 255, 255, 255, 255},
		{0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255},
	};
	const __m128i *mask = (const __m128i *)(const void *)with_bit;
	__m128i m[4];

	m[3] = h;
	m[2] = times_x(m[3]);
	m[1] = times_x(m[2]);
	m[0] = times_x(m[1]);
#pragma GCC unroll 1
	for (size_t r = ROWS; r-- > 0;) {
		__m128i row = _mm_setzero_si128();

		PIN_POINTER(mask);
#pragma GCC unroll 4
		for (size_t i = 0; i < 4; i++) {
			add(&row, _mm_and_si128(_mm_shuffle_epi8(m[i], _mm_setzero_si128()), _mm_load_si128(mask + i)));
			m[i] = _mm_srli_si128(m[i], 1);
		}
		store(t->row[r][column], row);
	}
}

/* The powers of H, each in the first row of its column until that is filled: across a call they would be spilled. */
ISA static void setkey(void *table, const uint8_t h[16])
{
	struct table *t = table;
	__m128i power;

	fill(t, GROUP - 1, reverse(load(h)));
	power = reverse(load(h));
	for (size_t column = GROUP - 1; column-- > 0;) {
		power = multiply_1(t, power, zero_block);
		store(t->row[0][column], power);
	}
	PIN_POINTER(t);
	for (size_t column = GROUP - 1; column-- > 0;)
		fill(t, column, load(t->row[0][column]));
}

ISA static void blocks(const void *table, uint8_t acc[16], unsigned whole, const uint8_t *p, size_t nblk)
{
	const struct table *t = table;
	__m128i a = reverse(load(acc));

	if (whole)
		a = multiply_1(t, a, zero_block);
#ifdef __x86_64__
	for (; nblk >= GROUP; nblk -= GROUP, p += 16 * GROUP)
		a = multiply(t, a, p, GROUP);
#endif
	for (; nblk; nblk--, p += 16)
		a = multiply_1(t, a, p);
	store(acc, reverse(a));
}

const struct smb3sign_ghash smb3sign_ghash_ssse3 = {
	.name = "ssse3",
	.needs = SMB3SIGN_CPU_SSSE3,
	.table_size = sizeof(struct table),
	.setkey = setkey,
	.blocks = blocks,
};

#endif
