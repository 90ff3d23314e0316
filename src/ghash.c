/* SPDX-License-Identifier: MIT */
/*
 * GHASH (SP 800-38D 6.4) in plain C: carry-less products from integer multiplications of operands with holes (T.
 * Pornin's method in BearSSL), Karatsuba above them. No table look-up, no branch on data or key.
 *
 * All multiplications are 32 x 32 -> 64 bits. What is assumed is that the time of that one instruction does not depend
 * on its operands. That holds for x86 and arm64, and for far more 32-bit cores than it does for wider products; it does
 * not hold for ARM7, ARM9 and Cortex-M3, whose long multiplication ends early. With 64-bit multiplications and bit
 * reversal for the upper halves, long messages took a fifth less on x86-64, short ones as much, and 32-bit x86 a third
 * more. Two or four blocks a reduction, with powers of H, gained less than 10 %.
 */
#include "kernels.h"
#include "util.h"

/*
 * Karatsuba needs one factor's halves and their sum. The table has those of H's lower half, of its upper half and of
 * the sum of both: nine words, at any address, in 48 bytes.
 */
#define TABLE_SIZE 48

/*
 * Carry-less product. Each operand is cut into four of every fourth bit each: eight bits at most, three holes between
 * them. In the product of two such numbers a position (every fourth bit again) counts at most eight pairs, so nothing
 * is carried into the next, and its lowest bit is the sum in GF(2). Sums of positions mod 4 that agree go together; XOR
 * keeps lowest bits right, and a mask drops the others.
 */
INLINE uint64_t clmul32(uint32_t x, uint32_t y)
{
	const uint64_t holes = 0x1111111111111111;
	uint32_t x0 = x & 0x11111111, x1 = x & 0x22222222, x2 = x & 0x44444444, x3 = x & 0x88888888;
	uint32_t y0 = y & 0x11111111, y1 = y & 0x22222222, y2 = y & 0x44444444, y3 = y & 0x88888888;
	uint64_t z0 = (uint64_t)x0 * y0 ^ (uint64_t)x1 * y3 ^ (uint64_t)x2 * y2 ^ (uint64_t)x3 * y1;
	uint64_t z1 = (uint64_t)x0 * y1 ^ (uint64_t)x1 * y0 ^ (uint64_t)x2 * y3 ^ (uint64_t)x3 * y2;
	uint64_t z2 = (uint64_t)x0 * y2 ^ (uint64_t)x1 * y1 ^ (uint64_t)x2 * y0 ^ (uint64_t)x3 * y3;
	uint64_t z3 = (uint64_t)x0 * y3 ^ (uint64_t)x1 * y2 ^ (uint64_t)x2 * y1 ^ (uint64_t)x3 * y0;

	return (z0 & holes) | (z1 & holes << 1) | (z2 & holes << 2) | (z3 & holes << 3);
}

static void put_factor(uint8_t *table, uint64_t x)
{
	uint32_t word[3] = {(uint32_t)x, (uint32_t)(x >> 32), (uint32_t)(x ^ x >> 32)};

	memcpy(table, word, sizeof(word));
	smb3sign_wipe(word, sizeof(word));
}

INLINE uint32_t load_word(const uint8_t *table, size_t i)
{
	uint32_t x;

	memcpy(&x, table + 4 * i, sizeof(x));
	return x;
}

struct product {
	uint64_t hi, lo;
};

/* Karatsuba: x times the number whose lower half, upper half and their sum are in the table. */
INLINE struct product clmul64(uint64_t x, const uint8_t *table)
{
	uint32_t x0 = (uint32_t)x, x1 = (uint32_t)(x >> 32);
	uint64_t p0 = clmul32(x0, load_word(table, 0)), p1 = clmul32(x1, load_word(table, 1));
	uint64_t m = clmul32(x0 ^ x1, load_word(table, 2)) ^ p0 ^ p1;

	return (struct product){p1 ^ m >> 32, p0 ^ m << 32};
}

/*
 * The bit order. GCM's x^i is bit i of the block from its first byte's top bit on, so it is bit 127 - i of the block as
 * a big-endian number, and multiplying by x shifts right. The carry-less product of two such numbers has the
 * coefficient of x^i at bit 254 - i: one too low for a 256-bit number of the same order. So the table holds H/x mod P
 * in place of H, where P = x^128 + x^7 + x^2 + x + 1, and bit 255 - i of the product a * (H/x) is the coefficient of
 * x^i in x * a * (H/x) = a * H.
 *
 * H/x is a shift to the left; if H has the term 1 (bit 127), H + P is shifted instead, whose last term is 0: then x^127
 * + x^6 + x + 1 is added, bits 0, 121, 126 and 127.
 */
static void portable_setkey(void *table, const uint8_t h[16])
{
	uint64_t hi = load_be64(h), lo = load_be64(h + 8), odd = 0 - (hi >> 63);

	hi = (hi << 1 | lo >> 63) ^ (odd & 0xc200000000000000);
	lo = lo << 1 ^ (odd & 1);
	put_factor((uint8_t *)table, lo);
	put_factor((uint8_t *)table + 12, hi);
	put_factor((uint8_t *)table + 24, lo ^ hi);
	memset((uint8_t *)table + 36, 0, TABLE_SIZE - 36);
}

/*
 * a = a * H. The lower half of the product, w1 w0, are the coefficients of x^128 and up. As x^128 is 1 + x + x^2 + x^7
 * mod P, bit j of it is added at the bits j + 128, 127, 126 and 121: first w0 to w2 and w1, then w1, complete by then,
 * to w3 and w2.
 */
INLINE void multiply(struct product *a, const uint8_t *table)
{
	uint64_t x[3] = {a->lo, a->hi, a->lo ^ a->hi}, w0, w1, w2, w3;
	struct product p[3];

	/* A loop: from straight code compilers lift H out of the loop over blocks, and leave it on the stack. */
	for (size_t i = 0; i < 3; i++)
		p[i] = clmul64(x[i], table + 12 * i);
	w0 = p[0].lo;
	w1 = p[0].hi ^ p[2].lo ^ p[0].lo ^ p[1].lo;
	w2 = p[1].lo ^ p[2].hi ^ p[0].hi ^ p[1].hi;
	w3 = p[1].hi;

	w2 ^= w0 ^ w0 >> 1 ^ w0 >> 2 ^ w0 >> 7;
	w1 ^= w0 << 63 ^ w0 << 62 ^ w0 << 57;
	a->hi = w3 ^ w1 ^ w1 >> 1 ^ w1 >> 2 ^ w1 >> 7;
	a->lo = w2 ^ w1 << 63 ^ w1 << 62 ^ w1 << 57;
}

static void portable_blocks(const void *table, uint8_t acc[16], unsigned whole, const uint8_t *p, size_t nblk)
{
	struct product a = {load_be64(acc), load_be64(acc + 8)};

	if (whole)
		multiply(&a, table);
	for (; nblk; nblk--, p += 16) {
		a.hi ^= load_be64(p);
		a.lo ^= load_be64(p + 8);
		multiply(&a, table);
	}
	store_be64(acc, a.hi);
	store_be64(acc + 8, a.lo);
}

const struct smb3sign_ghash smb3sign_ghash_portable = {
	.name = "portable",
	.table_size = TABLE_SIZE,
	.setkey = portable_setkey,
	.blocks = portable_blocks,
};
