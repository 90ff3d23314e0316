/* SPDX-License-Identifier: MIT */
/*
 * GHASH and GMAC by carry-less multiplication, for vectors of 1, 2 or 4 blocks. ghash_pclmul.c, ghash_vpclmul.c and
 * ghash_avx512.c define, then include this:
 *
 *     WIDTH, GROUP        blocks in a vector; blocks that share a reduction in the bulk of a message
 *     KEEP_SUMS           1 to keep b1 + b0 (below) with each power: two instructions less a vector, for twice the table
 *     PAIRS               1 to add two vectors' products at a time in the bulk: more registers than 16
 *     ISA                 the target attribute
 *     vec                 the vector type, and on it vec_load, vec_store, vec_xor, vec_xor3, VEC_CLMUL (a macro: its selector is a
 *                         constant), vec_swap (the halves of each block), vec_low_up and vec_high_down (one half to the
 *                         other's place, zero in its own), vec_reverse (the bytes of each block), vec_zero, vec_of (one
 *                         block and zeros), vec_all (one block everywhere), vec_sum (all blocks added up), VEC_PIN
 *     vec_header          the i-th vector of header blocks; the Signature's block is zero
 *     vec_tail            n < 16 * WIDTH bytes as a vector, zeros behind them
 *     vec_insert          a block put into place k of a vector
 *
 * GCM's field (SP 800-38D 6.3) numbers bits backwards: the first bit of a block is the coefficient of x^0. Reversing
 * the bytes of a block gives a polynomial whose coefficients run from the top of the register down, and the carry-less
 * product of two such values is the reversed product, one bit too low. RFC 8452 appendix A turns this around: with
 *     H' = x * reverse(H)  in the field of P = x^128 + x^127 + x^126 + x^121 + 1,
 * GHASH is POLYVAL over byte-reversed blocks: acc = (acc + X) * H' * x^-128 mod P, and the missing bit is in H' for
 * good.
 *
 * Karatsuba, three products for one of 128 x 128 bits: with a = a1 x^64 + a0 and b alike,
 *     a b = a1 b1 x^128 + ((a1 + a0)(b1 + b0) + a1 b1 + a0 b0) x^64 + a0 b0.
 *
 * One reduction for many blocks: acc after n blocks is X1 H^n + X2 H^(n-1) + ... + Xn H (acc added to X1), so the three
 * partial products of all blocks are added up first and reduced once. A vector of blocks is multiplied by a vector of
 * powers that descend alike; its blocks are added up only before the reduction.
 *
 * Reduction is by x^-128, in two steps of x^-64. P's low half is 1, so adding l0 * P clears the lowest limb l0:
 *     l0 * P = l0 + l0 (x^57 + x^62 + x^63) x^64 + l0 x^128,
 * that is, (l1, l2) += l0 * 0xC200000000000000 and l2 += l0: one PCLMULQDQ and one XOR with the swapped register.
 * (S. Gueron's reduction; the field and the constant as in RFC 8452.)
 */

/* Under one reduction: a group, or all that is left of a message: less than a group, and the length. */
enum { POWERS = GROUP + 1, HEADER_VECTORS = WIDTH == 1 ? 3 : 4 / WIDTH };

/*
 * Powers of H', each times x^128 but the first, the highest first; the zeros are what a vector reads behind the last,
 * and half a block more (sums_at).
 */
struct powers {
	uint8_t power[POWERS + WIDTH][16];
};

struct table {
	struct powers h[1 + KEEP_SUMS]; /* [1]: the halves of each added, in both halves */
};

ISA INLINE const uint8_t *power_at(const struct table *t, size_t power)
{
	return t->h[0].power[POWERS - power];
}

ISA INLINE const struct table *table_of(const struct smb3sign_key *key)
{
	return (const struct table *)(const void *)((const uint8_t *)key->secret + AES_NI_RK_SIZE);
}

/* The three partial products, added up. */
struct products {
	vec lo, mid, hi;
};

ISA INLINE void clear(struct products *p)
{
	p->lo = p->mid = p->hi = vec_zero();
}

/* The blocks of x times those of h; h_sum has the halves of each block of h added, in its lower half. */
ISA INLINE struct products product(vec x, vec h, vec h_sum)
{
	struct products p = {
		VEC_CLMUL(x, h, 0x00),
		VEC_CLMUL(vec_xor(x, vec_swap(x)), h_sum, 0x00),
		VEC_CLMUL(x, h, 0x11),
	};

	return p;
}

ISA INLINE void pin(struct products *p)
{
	VEC_PIN(p->lo);
	VEC_PIN(p->hi);
	VEC_PIN(p->mid);
}

ISA INLINE void add_product(struct products *p, vec x, vec h, vec h_sum)
{
	struct products m = product(x, h, h_sum);

	p->lo = vec_xor(p->lo, m.lo);
	p->hi = vec_xor(p->hi, m.hi);
	p->mid = vec_xor(p->mid, m.mid);
	pin(p);
}

/* The sums that go with the powers h from `power` on. Half a block further on, the lower halves are h's upper ones. */
ISA INLINE vec sums_at(const uint8_t *power, vec h)
{
	return KEEP_SUMS ? vec_load(power + sizeof(struct powers)) : vec_xor(h, vec_load(power + 8));
}

/*
 * p += x and y, which follow each other, times the powers from `power` on: three summands are one instruction in
 * AVX-512.
 */
ISA INLINE void add_two_products(struct products *p, vec x, vec y, const uint8_t *power)
{
	vec h = vec_load(power), h_next = vec_load(power + 16 * WIDTH);
	struct products m = product(x, h, sums_at(power, h)),
			n = product(y, h_next, sums_at(power + 16 * WIDTH, h_next));

	p->lo = vec_xor3(p->lo, m.lo, n.lo);
	p->hi = vec_xor3(p->hi, m.hi, n.hi);
	p->mid = vec_xor3(p->mid, m.mid, n.mid);
	pin(p);
}

ISA INLINE __m128i reverse(__m128i v)
{
	return _mm_shuffle_epi8(v, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

/* Each block by itself. */
ISA INLINE vec reduce_blocks(const struct products *p)
{
	const vec poly = vec_all(_mm_set_epi64x(0, (int64_t)0xc200000000000000u));
	vec mid = vec_xor(p->mid, vec_xor(p->lo, p->hi));
	vec lo = vec_xor(p->lo, vec_low_up(mid)), hi = vec_xor(p->hi, vec_high_down(mid));

	lo = vec_xor(vec_swap(lo), VEC_CLMUL(lo, poly, 0x00));
	lo = vec_xor(vec_swap(lo), VEC_CLMUL(lo, poly, 0x00));
	return vec_xor(hi, lo);
}

/* The sum of all blocks: reduction is linear, so they may be added up behind it, once instead of three times. */
ISA INLINE __m128i reduce(const struct products *p)
{
	return vec_sum(reduce_blocks(p));
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

ISA INLINE vec multiply(vec a, vec b)
{
	struct products p = product(a, b, vec_xor(b, vec_swap(b)));

	return reduce_blocks(&p);
}

/* n-th power first. */
ISA INLINE void set_powers(struct table *t, size_t n, vec h)
{
	vec_store(t->h[0].power[POWERS - n], h);
	if (KEEP_SUMS)
		vec_store(t->h[KEEP_SUMS].power[POWERS - n], vec_xor(h, vec_swap(h)));
}

/* H^(n + m), H^(n + m - 1), ... from H^n, H^(n-1), ... and H^m. */
ISA INLINE void add_exponents(struct table *t, size_t n, size_t m)
{
	set_powers(t, n + m, multiply(vec_load(power_at(t, n)), vec_all(load(power_at(t, m)))));
}

/*
 * The first vector of powers one by one, zeros behind it; then a vector at a time, of factors of about half the
 * exponent: the latency is that of log2(POWERS) multiplications. All but the last start at a multiple of WIDTH, so that
 * each is read as it was written.
 */
ISA static void setkey(void *table, const uint8_t h[16])
{
	struct table *t = table;
	__m128i h1 = times_x(reverse(load(h))), hn = h1;

	for (size_t i = 0; i <= KEEP_SUMS; i++)
		memset(t->h[i].power[POWERS + WIDTH - 1], 0, 16);
	set_powers(t, 1, vec_of(h1));
	for (size_t n = 2; n <= WIDTH; n++) {
		hn = vec_sum(multiply(vec_of(hn), vec_of(h1)));
		store(t->h[0].power[POWERS - n], hn);
	}
	for (size_t n = 2 * WIDTH; n <= GROUP; n += WIDTH)
		add_exponents(t, n - n / (2 * WIDTH) * WIDTH, n / (2 * WIDTH) * WIDTH);
	add_exponents(t, WIDTH, POWERS - WIDTH);
}

/* Blocks on their way into one reduction: acc waits to be added to the first, which takes the highest power. */
struct run {
	struct products sum;
	__m128i acc;
	const uint8_t *h; /* the power of the next block */
};

ISA INLINE void run_start(struct run *r, const struct table *t, __m128i acc, size_t nblk)
{
	clear(&r->sum);
	r->acc = acc;
	r->h = power_at(t, nblk);
}

/* n blocks of x, n <= WIDTH; what stands behind them is zero. */
ISA INLINE void feed(struct run *r, vec x, size_t n)
{
	vec h = vec_load(r->h);

	add_product(&r->sum, vec_xor(vec_of(r->acc), x), h, sums_at(r->h, h));
	r->acc = _mm_setzero_si128();
	r->h += 16 * n;
}

ISA INLINE vec message_vector(const uint8_t *p, size_t i)
{
	return vec_reverse(vec_load(p + 16 * WIDTH * i));
}

ISA INLINE void feed_vectors(struct run *r, const uint8_t *p, size_t vectors)
{
	for (size_t i = 0; i < vectors; i++)
		feed(r, message_vector(p, i), WIDTH);
}

/* The bulk of a message passes here. */
ISA INLINE __m128i absorb_groups(const struct table *t, __m128i acc, const uint8_t *p, size_t groups)
{
	for (; groups; groups--, p += 16 * GROUP) {
		const uint8_t *power = power_at(t, GROUP);
		struct products sum;

		clear(&sum);
#pragma GCC unroll 16
		for (size_t i = 0; i < GROUP / WIDTH; i += 1 + PAIRS, power += 16 * WIDTH * (1 + PAIRS)) {
			vec x = message_vector(p, i), h = vec_load(power);

			if (i == 0)
				x = vec_xor(vec_of(acc), x);
			if (PAIRS)
				add_two_products(&sum, x, message_vector(p, i + 1), power);
			else
				add_product(&sum, x, h, sums_at(power, h));
		}
		acc = reduce(&sum);
		PIN_POINTER(t);
	}
	return acc;
}

/* The blocks that do not fill a group go first, so that a whole acc joins them. */
ISA static void blocks(const void *table, uint8_t acc[16], unsigned whole, const uint8_t *p, size_t nblk)
{
	const struct table *t = table;
	size_t first = nblk % GROUP, vectors = first / WIDTH, odd = first % WIDTH;
	__m128i a = reverse(load(acc));

	if (whole || first) {
		struct run r;

		run_start(&r, t, a, whole + first);
		if (whole)
			feed(&r, vec_zero(), 1);
		feed_vectors(&r, p, vectors);
		if (odd)
			feed(&r, vec_reverse(vec_tail(p + 16 * WIDTH * vectors, 16 * odd)), odd);
		a = reduce(&r.sum);
	}
	store(acc, reverse(absorb_groups(t, a, p + 16 * first, nblk / GROUP)));
}

/* What GMAC encrypts to add it to the GHASH. */
ISA INLINE __m128i j0_block(const uint8_t *hdr)
{
	uint64_t j0[2];

	smb2_gmac_j0(hdr, j0);
	return _mm_set_epi64x((int64_t)j0[1], (int64_t)j0[0]);
}

/*
 * With sixteen vector registers the AES goes first and its latencies pass beside GHASH. With eight it would be spilled,
 * and with the signature it gives GHASH away: there it goes last, which the empty asm sees to.
 */
enum { MASK_FIRST = sizeof(void *) == 8 };

ISA INLINE __m128i mask_last(const struct smb3sign_key *key, const uint8_t *hdr, __m128i *ghash)
{
	__asm__("" : "+x"(*ghash), "+r"(hdr));
	return aes_ni_encrypt(key->secret, j0_block(hdr));
}

/*
 * The whole message. In blocks it is four of header (the last one, Signature, is zero and adds nothing), the body, and
 * the length, which shares a vector with the body's odd bytes if it can. The first reduction takes the header and what
 * of the body fits beside it: all of it, in most messages.
 */
ISA static struct smb3sign_tag gmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				    const uint8_t *body, size_t len)
{
	const struct table *t = table_of(key);
	size_t vectors = len / (16 * WIDTH), rest = len % (16 * WIDTH), tail = (rest + 15) / 16;
	int fits = 4 + WIDTH * vectors + tail + 1 <= POWERS;
	size_t first = fits ? vectors : (POWERS - 4) / WIDTH < vectors ? (POWERS - 4) / WIDTH : vectors;
	/* The bit length is the first half of its block: the upper half once reversed. */
	__m128i length = _mm_set_epi64x((int64_t)((SMB3SIGN_HEADER_LEN + (uint64_t)len) * 8), 0);
	__m128i mask = MASK_FIRST ? aes_ni_encrypt(key->secret, j0_block(hdr)) : _mm_setzero_si128(), ghash;
	struct run r;

	run_start(&r, t, _mm_setzero_si128(), 4 + WIDTH * first + (fits ? tail + 1 : 0));
	for (size_t i = 0; i < HEADER_VECTORS; i++)
		feed(&r, vec_reverse(vec_header(hdr, i, set_flags)), WIDTH);
	r.h += 16 * (4 - WIDTH * HEADER_VECTORS);
	feed_vectors(&r, body, first);
	body += 16 * WIDTH * first;
	if (!fits) {
		size_t left = WIDTH * (vectors - first), groups = left / GROUP, odd = left % GROUP / WIDTH;
		__m128i acc = absorb_groups(t, reduce(&r.sum), body, groups);

		body += 16 * GROUP * groups;
		run_start(&r, t, acc, WIDTH * odd + tail + 1);
		feed_vectors(&r, body, odd);
		body += 16 * WIDTH * odd;
	}
	if (tail && tail < WIDTH) {
		feed(&r, vec_insert(vec_reverse(vec_tail(body, rest)), tail, length), tail + 1);
	} else {
		if (tail)
			feed(&r, vec_reverse(vec_tail(body, rest)), tail);
		feed(&r, vec_of(length), 1);
	}
	ghash = reverse(reduce(&r.sum));
	if (!MASK_FIRST)
		mask = mask_last(key, hdr, &ghash);
	return tag_of(_mm_xor_si128(mask, ghash));
}
