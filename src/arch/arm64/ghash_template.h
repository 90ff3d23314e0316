/* SPDX-License-Identifier: MIT */
/*
 * GHASH and GMAC by PMULL. ghash_pmull.c and ghash_pmull_eor3.c define xor3 (a ^ b ^ c of vectors), then include this.
 *
 * GCM's field (SP 800-38D 6.3) numbers bits backwards: the first bit of a block is the coefficient of x^0. Reversing
 * the bytes of a block gives a polynomial whose coefficients run from the top of the register down, and the carry-less
 * product of two such values is the reversed product, one bit too low. RFC 8452 appendix A turns this around: with
 *     H' = x * reverse(H)  in the field of P = x^128 + x^127 + x^126 + x^121 + 1,
 * GHASH is POLYVAL over byte-reversed blocks, acc = (acc + X) * H' * x^-128 mod P: the missing bit is in H' for good.
 *
 * Swapped blocks. REV64 reverses the bytes of each half and leaves the halves where they are, so a block that has
 * passed it has its upper half in lane 0 and its lower one in lane 1. It stays like that: PMULL of lanes 0 is the
 * product of the upper halves, PMULL2 of lanes 1 that of the lower ones. The accumulator and the powers of H' are kept
 * in the same way.
 *
 * Karatsuba, three products for one of 128 x 128 bits: with a = a1 x^64 + a0 and b alike,
 *     a b = a1 b1 x^128 + ((a1 + a0)(b1 + b0) + a1 b1 + a0 b0) x^64 + a0 b0.
 * The sums a1 + a0 of two blocks share a vector, ZIP1 + ZIP2; those of the powers stand in the table likewise. So the
 * price is three instructions a pair, the gain one PMULL and one XOR a block. By llvm-mca's models 16 blocks take 73
 * cycles on a Neoverse N1, 77 with four products a block; with EOR3 31 on a V1 or V2, not 33, and 75 on an N2, not 98.
 *
 * One reduction for many blocks: acc after n blocks is X1 H^n + X2 H^(n-1) + ... + Xn H (acc added to X1), so the three
 * partial products of all blocks are added up first and reduced once.
 *
 * Reduction is by x^-128, in two steps of x^-64. P's low half is 1, so adding l0 * P clears the lowest limb l0:
 *     l0 * P = l0 + l0 c x^64 + l0 x^128  with c = x^57 + x^62 + x^63,
 * that is, (l1, l2) += l0 c and l2 += l0: one PMULL and some XORs (S. Gueron's reduction; field and c as in RFC 8452).
 * With lo = (l0, l1), hi = (h0, h1), lane 0 first, and m the sum of the middle products, the four limbs are
 *     l0,  l1 + m0 + l0 + h0,  h0 + m1 + l1 + h1,  h1,
 * and after the first step those in the middle are
 *     M = m + (l0 + h0 + l1, l1 + h1 + h0 + l0) + l0 c = m + s + (l1, s0) + l0 c  with s = lo + hi.
 * The second leaves (M1, h1 + M0) + M0 c, or (h1 + M0, M1) + swapped M0 c, as the accumulator is kept.
 */

#include "ghash_field.h"

/* Blocks under one reduction in the bulk of a message; and otherwise: less than that, and the length. */
enum { GROUP = 16, POWERS = GROUP + 1 };

/* Powers of H', each times x^128 but the first, the highest first; the sum of each one's halves. */
struct table {
	uint8_t power[POWERS][16];
	uint8_t sum[POWERS + 1][8]; /* the first one unused: so those of a group's pairs are aligned to 16 bytes */
};

/* The products of lanes 0, of lanes 1. */
INLINE uint8x16_t multiply0(uint8x16_t a, uint8x16_t b)
{
	return vreinterpretq_u8_p128(
		vmull_p64(vgetq_lane_p64(vreinterpretq_p64_u8(a), 0), vgetq_lane_p64(vreinterpretq_p64_u8(b), 0)));
}

INLINE uint8x16_t multiply1(uint8x16_t a, uint8x16_t b)
{
	return vreinterpretq_u8_p128(vmull_high_p64(vreinterpretq_p64_u8(a), vreinterpretq_p64_u8(b)));
}

/* The halves of a and of b added. An instruction spelled out: clang would make two of this ZIP1. */
INLINE uint8x16_t half_sums(uint8x16_t a, uint8x16_t b)
{
	uint8x16_t upper;

	__asm__("zip1 %0.2d, %1.2d, %2.2d" : "=w"(upper) : "w"(a), "w"(b));
	return veorq_u8(upper, vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b))));
}

/* The three partial products, added up. */
struct products {
	uint8x16_t lo, mid, hi;
};

INLINE void clear(struct products *p)
{
	p->lo = p->mid = p->hi = zero();
}

/* p += a times the n-th power. */
INLINE void add_product(struct products *p, const struct table *t, uint8x16_t a, size_t n)
{
	uint8x16_t h = load(t->power[POWERS - n]);
	uint8x16_t h_sum = vcombine_u8(vld1_u8(t->sum[POWERS - n + 1]), vdup_n_u8(0));

	p->hi = veorq_u8(p->hi, multiply0(a, h));
	p->lo = veorq_u8(p->lo, multiply1(a, h));
	p->mid = veorq_u8(p->mid, multiply0(veorq_u8(a, swap_halves(a)), h_sum));
}

/* p += a times the n-th power and b times the one below. */
INLINE void add_products(struct products *p, const struct table *t, uint8x16_t a, uint8x16_t b, size_t n)
{
	uint8x16_t ha = load(t->power[POWERS - n]), hb = load(t->power[POWERS - n + 1]);
	uint8x16_t sums = half_sums(a, b), h_sums = load(t->sum[POWERS - n + 1]);

	PIN_VECTOR(sums);
	p->hi = xor3(p->hi, multiply0(a, ha), multiply0(b, hb));
	p->lo = xor3(p->lo, multiply1(a, ha), multiply1(b, hb));
	p->mid = xor3(p->mid, multiply0(sums, h_sums), multiply1(sums, h_sums));
	PIN_VECTOR(p->hi);
	PIN_VECTOR(p->lo);
	PIN_VECTOR(p->mid);
}

/* Swapped, as blocks are. */
INLINE uint8x16_t reduce(const struct products *p)
{
	const uint8x16_t c = of_words(0xc200000000000000, 0);
	uint8x16_t s = veorq_u8(p->lo, p->hi);
	uint8x16_t m = xor3(p->mid, s, vextq_u8(p->lo, s, 8));

	PIN_VECTOR(m);
	m = veorq_u8(m, multiply0(p->lo, c));
	return xor3(m, vextq_u8(p->hi, zero(), 8), swap_halves(multiply0(m, c)));
}

INLINE void set_power(struct table *t, size_t n, uint8x16_t h)
{
	store(t->power[POWERS - n], h);
	vst1_u8(t->sum[POWERS - n + 1], veor_u8(vget_low_u8(h), vget_high_u8(h)));
}

/* Each power is the product of its halves, so the latency is that of log2(POWERS) multiplications. */
static void setkey(void *table, const uint8_t h[16])
{
	struct table *t = table;

	memset(t, 0, sizeof(*t));
	set_power(t, 1, times_x(h));
	for (size_t n = 2; n <= POWERS; n++) {
		struct products p;

		clear(&p);
		add_product(&p, t, load(t->power[POWERS - n / 2]), n - n / 2);
		set_power(t, n, reduce(&p));
	}
}

/* Blocks on their way into one reduction: acc waits to be added to the first, which takes the highest power. */
struct run {
	struct products sum;
	uint8x16_t acc;
	const struct table *t;
	size_t left; /* the power of the next block */
};

INLINE void run_start(struct run *r, const struct table *t, uint8x16_t acc, size_t nblk)
{
	clear(&r->sum);
	r->acc = acc;
	r->t = t;
	r->left = nblk;
}

INLINE void feed(struct run *r, uint8x16_t block)
{
	add_product(&r->sum, r->t, veorq_u8(r->acc, block), r->left);
	r->acc = zero();
	r->left--;
}

INLINE void feed_pair(struct run *r, uint8x16_t a, uint8x16_t b)
{
	add_products(&r->sum, r->t, veorq_u8(r->acc, a), b, r->left);
	r->acc = zero();
	r->left -= 2;
}

INLINE void feed_blocks(struct run *r, const uint8_t *p, size_t nblk)
{
#pragma GCC unroll 1 /* as IN_ORDER */
	for (; nblk >= 2; nblk -= 2, p += 32)
		feed_pair(r, load_block(p), load_block(p + 16));
	if (nblk)
		feed(r, load_block(p));
}

/*
 * Nothing is read behind this before what stands in front of it is done with. gcc would read a whole group and its
 * powers at once, and spill what it has no registers for: powers, and products that are as good as powers.
 */
#define IN_ORDER(p) __asm__ volatile("" : "+w"((p).hi), "+w"((p).lo), "+w"((p).mid) : : "memory")

/*
 * The bulk of a message passes here. The pair that takes up acc comes last: all before it can be done while acc is
 * still being reduced, and only what is behind it is a chain from group to group.
 */
INLINE uint8x16_t absorb_groups(const struct table *t, uint8x16_t acc, const uint8_t *p, size_t groups)
{
	for (; groups; groups--, p += 16 * GROUP) {
		struct products sum;

		clear(&sum);
#pragma GCC unroll 8
		for (size_t i = 2; i < GROUP; i += 2) {
			add_products(&sum, t, load_block(p + 16 * i), load_block(p + 16 * i + 16), GROUP - i);
			if (i == GROUP / 2)
				IN_ORDER(sum);
		}
		add_products(&sum, t, veorq_u8(acc, load_block(p)), load_block(p + 16), GROUP);
		acc = reduce(&sum);
		PIN_POINTER(t);
	}
	return acc;
}

/* The blocks that do not fill a group go first, so that a whole acc joins them. */
static void blocks(const void *table, uint8_t acc[16], unsigned whole, const uint8_t *p, size_t nblk)
{
	const struct table *t = table;
	size_t first = nblk % GROUP;
	uint8x16_t a = load_block(acc);

	if (whole || first) {
		struct run r;

		run_start(&r, t, a, whole + first);
		if (whole)
			feed(&r, zero());
		feed_blocks(&r, p, first);
		a = reduce(&r.sum);
	}
	store(acc, vrev64q_u8(absorb_groups(t, a, p + 16 * first, nblk / GROUP)));
}

/*
 * The whole message. In blocks it is four of header (the last one, Signature, is zero and adds nothing), the body, and
 * the length. The first reduction takes the header and what of the body fits beside it: all of it, in most messages.
 */
enum { FIRST_OF_LONG = (POWERS - 4) / 2 * 2 }; /* blocks of body: in pairs */

INLINE const struct table *gmac_powers(const struct smb3sign_key *key)
{
	return (const struct table *)(const void *)((const uint8_t *)key->secret + AES_CE_RK_SIZE);
}

INLINE void feed_header(struct run *r, const uint8_t *hdr, uint8_t set_flags)
{
	feed_pair(r, load_block(hdr), vrev64q_u8(load_flags(hdr, set_flags)));
	feed(r, load_block(hdr + 32));
	r->left--;
}

/* What of the body is no whole block, the length, and E(J0) beside the last reduction. */
INLINE struct smb3sign_tag finish(struct run *r, const struct smb3sign_key *key, const uint8_t *hdr,
				  const uint8_t *body, size_t len)
{
	/* The bit length is the first half of its block: the upper half. */
	uint8x16_t length = of_words((SMB3SIGN_HEADER_LEN + (uint64_t)len) * 8, 0), mask;
	uint64_t j0[2];

	smb2_gmac_j0(hdr, j0);
	mask = aes_ce_encrypt(key->secret, of_words(j0[0], j0[1]));
	if (len % 16)
		feed_pair(r, vrev64q_u8(load_partial(body + len / 16 * 16, len % 16)), length);
	else
		feed(r, length);
	return tag_of(veorq_u8(mask, vrev64q_u8(reduce(&r->sum))));
}

/* A function of its own: the bulk takes nearly all registers, and saving them is much beside a short message. */
NOINLINE struct smb3sign_tag gmac_long(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				       const uint8_t *body, size_t len)
{
	const size_t left = len / 16 - FIRST_OF_LONG, groups = left / GROUP, odd = left % GROUP;
	const uint8_t *rest = body + 16 * (FIRST_OF_LONG + GROUP * groups);
	uint8x16_t acc;
	struct run r;

	run_start(&r, gmac_powers(key), zero(), 4 + FIRST_OF_LONG);
	feed_header(&r, hdr, set_flags);
	feed_blocks(&r, body, FIRST_OF_LONG);
	acc = absorb_groups(r.t, reduce(&r.sum), body + 16 * FIRST_OF_LONG, groups);
	run_start(&r, r.t, acc, odd + (len % 16 != 0) + 1);
	feed_blocks(&r, rest, odd);
	return finish(&r, key, hdr, body, len);
}

static struct smb3sign_tag gmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				const uint8_t *body, size_t len)
{
	const size_t nblk = len / 16, all = 4 + nblk + (len % 16 != 0) + 1;
	struct run r;

	if (all > POWERS)
		return gmac_long(key, hdr, set_flags, body, len);
	run_start(&r, gmac_powers(key), zero(), all);
	feed_header(&r, hdr, set_flags);
	feed_blocks(&r, body, nblk);
	return finish(&r, key, hdr, body, len);
}
