/* SPDX-License-Identifier: MIT */
/*
 * GHASH and GMAC with PCLMULQDQ, 128-bit registers.
 *
 * GCM's field (SP 800-38D 6.3) numbers bits backwards: the first bit of a block is the coefficient of x^0. Reversing the
 * bytes of a block gives a polynomial whose coefficients run from the top of the register down, and the carry-less product
 * of two such values is the reversed product, one bit too low. RFC 8452 appendix A turns this around: with
 *     H' = x * reverse(H)  in the field of P = x^128 + x^127 + x^126 + x^121 + 1,
 * GHASH is POLYVAL over byte-reversed blocks: acc = (acc + X) * H' * x^-128 mod P, and the missing bit is in H' for good.
 *
 * Karatsuba, three products for one of 128 x 128 bits: with a = a1 x^64 + a0 and b alike,
 *     a b = a1 b1 x^128 + ((a1 + a0)(b1 + b0) + a1 b1 + a0 b0) x^64 + a0 b0.
 * The sum b1 + b0 is kept with each power of H'.
 *
 * One reduction for many blocks: acc after n blocks is X1 H^n + X2 H^(n-1) + ... + Xn H (acc added to X1), so the three
 * partial products of all blocks are added up first (of up to POWERS of them) and reduced once.
 *
 * Reduction is by x^-128, in two steps of x^-64. P's low half is 1, so adding l0 * P clears the lowest limb l0:
 *     l0 * P = l0 + l0 (x^57 + x^62 + x^63) x^64 + l0 x^128,
 * that is, (l1, l2) += l0 * 0xC200000000000000 and l2 += l0: one PCLMULQDQ and one XOR with the swapped register.
 * (S. Gueron's reduction; the field and the constant as in RFC 8452.)
 */
#include "../../kernels.h"
#include "../../cpu.h"
#include "../../key.h"
#include "../../smb2.h"
#include "aes_ni.h"

#ifdef SMB3SIGN_X86_PCLMUL

#define ISA TARGET("pclmul,aes,ssse3")

/* A group of whole blocks shares a reduction; so do what is left of a message, the odd bytes and the length. */
enum { GROUP = 16, POWERS = GROUP + 2 };

struct table {
	uint8_t h[POWERS][16]; /* h[i]: the (i+1)th power of H', times x^128 each but the first */
	uint64_t sum[POWERS];  /* its two halves added */
};

/* The three partial products, added up. */
struct products {
	__m128i lo, mid, hi;
};

ISA INLINE __m128i reverse(__m128i v)
{
	return _mm_shuffle_epi8(v, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

ISA INLINE __m128i swap_halves(__m128i v)
{
	return _mm_shuffle_epi32(v, 0x4e);
}

ISA INLINE void multiply(struct products *p, __m128i x, __m128i h, __m128i h_sum)
{
	p->lo = _mm_clmulepi64_si128(x, h, 0x00);
	p->hi = _mm_clmulepi64_si128(x, h, 0x11);
	p->mid = _mm_clmulepi64_si128(_mm_xor_si128(x, swap_halves(x)), h_sum, 0x00);
}

/* p += x * H^power */
ISA INLINE void add_product(struct products *p, const struct table *t, __m128i x, size_t power)
{
	struct products q;

	multiply(&q, x, load(t->h[power - 1]), _mm_loadl_epi64((const __m128i *)&t->sum[power - 1]));
	p->lo = _mm_xor_si128(p->lo, q.lo);
	p->hi = _mm_xor_si128(p->hi, q.hi);
	p->mid = _mm_xor_si128(p->mid, q.mid);
	PIN_VECTOR(p->lo);
	PIN_VECTOR(p->hi);
	PIN_VECTOR(p->mid);
}

ISA INLINE void clear(struct products *p)
{
	p->lo = p->mid = p->hi = _mm_setzero_si128();
}

ISA INLINE __m128i reduce(const struct products *p)
{
	const __m128i poly = _mm_set_epi64x(0, (int64_t)0xc200000000000000u);
	__m128i mid = _mm_xor_si128(p->mid, _mm_xor_si128(p->lo, p->hi));
	__m128i lo = _mm_xor_si128(p->lo, _mm_slli_si128(mid, 8));
	__m128i hi = _mm_xor_si128(p->hi, _mm_srli_si128(mid, 8));

	lo = _mm_xor_si128(swap_halves(lo), _mm_clmulepi64_si128(lo, poly, 0x00));
	lo = _mm_xor_si128(swap_halves(lo), _mm_clmulepi64_si128(lo, poly, 0x00));
	return _mm_xor_si128(hi, lo);
}

/* x times the reversed H: shift left by one; a bit that falls out is x^128 = x^127 + x^126 + x^121 + 1. */
ISA INLINE __m128i times_x(__m128i h)
{
	const __m128i poly = _mm_set_epi64x((int64_t)0xc200000000000000u, 1);
	__m128i carries = _mm_srli_epi64(h, 63);
	__m128i out = _mm_shuffle_epi32(_mm_srai_epi32(h, 31), 0xff); /* all ones if the top bit is set */

	h = _mm_or_si128(_mm_slli_epi64(h, 1), _mm_slli_si128(carries, 8));
	return _mm_xor_si128(h, _mm_and_si128(out, poly));
}

ISA INLINE void set_power(struct table *t, size_t power, __m128i h)
{
	store(t->h[power - 1], h);
	_mm_storel_epi64((__m128i *)&t->sum[power - 1], _mm_xor_si128(h, swap_halves(h)));
}

ISA INLINE __m128i times_power(const struct table *t, __m128i x, size_t power)
{
	struct products p;

	clear(&p);
	add_product(&p, t, x, power);
	return reduce(&p);
}

/* Each power is the product of its halves, so the latency is that of log2(POWERS) multiplications. */
ISA static void setkey(void *table, const uint8_t h[16])
{
	struct table *t = table;

	set_power(t, 1, times_x(reverse(load(h))));
	for (size_t n = 2; n <= POWERS; n++)
		set_power(t, n, times_power(t, load(t->h[n / 2 - 1]), n - n / 2));
}

/*
 * Blocks on their way into one reduction: acc waits to be added to the first, which takes the highest power. All values
 * are byte-reversed.
 */
struct run {
	struct products sum;
	__m128i acc;
	size_t power; /* of the next block */
};

ISA INLINE void run_start(struct run *r, __m128i acc, size_t nblk)
{
	clear(&r->sum);
	r->acc = acc;
	r->power = nblk;
}

ISA INLINE void feed(struct run *r, const struct table *t, __m128i x)
{
	add_product(&r->sum, t, _mm_xor_si128(r->acc, x), r->power--);
	r->acc = _mm_setzero_si128();
}

/* acc after n blocks more, 1 <= n <= POWERS. */
ISA INLINE __m128i absorb(const struct table *t, __m128i acc, const uint8_t *p, size_t n)
{
	struct run r;

	run_start(&r, acc, n);
#pragma GCC unroll 16
	for (size_t i = 0; i < n; i++)
		feed(&r, t, reverse(load(p + 16 * i)));
	return reduce(&r.sum);
}

/* The bulk of a message passes here. */
ISA INLINE __m128i absorb_groups(const struct table *t, __m128i acc, const uint8_t *p, size_t groups)
{
	for (; groups; groups--, p += 16 * GROUP) {
		acc = absorb(t, acc, p, GROUP);
		PIN_POINTER(t);
	}
	return acc;
}

ISA static void blocks(const void *table, uint8_t acc[16], const uint8_t *p, size_t nblk)
{
	const struct table *t = table;
	__m128i a = absorb_groups(t, reverse(load(acc)), p, nblk / GROUP);

	if (nblk % GROUP)
		a = absorb(t, a, p + 16 * (nblk - nblk % GROUP), nblk % GROUP);
	store(acc, reverse(a));
}

/*
 * The whole message. In blocks it is four of header (the last one, Signature, is zero and adds nothing), the body, and the
 * length. The first reduction takes the header and what of the body fits beside it; up to 208 bytes of body that is all.
 */
ISA static void gmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags, const uint8_t *body,
		     size_t len, uint8_t tag[16])
{
	const struct table *t = (const struct table *)(const void *)((const uint8_t *)key->secret + AES_NI_RK_SIZE);
	size_t whole = len / 16, rest = len % 16, end = (rest != 0) + (size_t)1; /* end: blocks behind the whole ones */
	size_t first = whole < POWERS - 4 ? whole : POWERS - 4;
	int fits = whole + end <= POWERS - 4;
	struct run r;
	uint64_t j0[2];
	__m128i mask;

	smb2_gmac_j0(hdr, j0);
	mask = aes_ni_encrypt(key->secret, _mm_set_epi64x((int64_t)j0[1], (int64_t)j0[0]));

	run_start(&r, _mm_setzero_si128(), 4 + first + (fits ? end : 0));
	feed(&r, t, reverse(load(hdr)));
	feed(&r, t, reverse(load_flags(hdr, set_flags)));
	feed(&r, t, reverse(load(hdr + 32)));
	r.power--;
	for (size_t i = 0; i < first; i++)
		feed(&r, t, reverse(load(body + 16 * i)));
	body += 16 * first;
	if (!fits) {
		size_t groups = (whole - first) / GROUP, odd = (whole - first) % GROUP;
		__m128i acc = absorb_groups(t, reduce(&r.sum), body, groups);

		body += 16 * GROUP * groups;
		run_start(&r, acc, odd + end);
		for (size_t i = 0; i < odd; i++)
			feed(&r, t, reverse(load(body + 16 * i)));
		body += 16 * odd;
	}
	if (rest)
		feed(&r, t, reverse(load_partial(body, rest)));
	/* The bit length is the first half of its block: the upper half once reversed. */
	feed(&r, t, _mm_set_epi64x((int64_t)((SMB3SIGN_HEADER_LEN + (uint64_t)len) * 8), 0));
	store(tag, _mm_xor_si128(mask, reverse(reduce(&r.sum))));
}

const struct smb3sign_ghash smb3sign_ghash_pclmul = {
	.name = "pclmul",
	.needs = SMB3SIGN_CPU_PCLMUL | SMB3SIGN_CPU_SSSE3,
	.table_size = sizeof(struct table),
	.setkey = setkey,
	.blocks = blocks,
	.gmac = gmac,
	.aes = &smb3sign_aes_ni,
};

#endif
