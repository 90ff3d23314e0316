/* SPDX-License-Identifier: MIT */
/*
 * GMAC of WIDTH short messages side by side, 2 or 4: a vector holds one block of each, in the place of its message, and
 * is multiplied by the same power of each message's own H. One reduction serves all, and no vector's blocks are added
 * up. Not for i386: with eight registers, states of AES would be spilled. Included behind ghash_template.h, after
 *
 *     VEC_EACH            the vector with block(&places[k], i) in each place k (a macro: block is a function below)
 *     vec_tags            the blocks of a vector into the messages' tags
 *     last_block          the bytes of a body in its last block, zeros behind them; len >= 1
 */

/* key: msg's, a copy, since the compiler may not look through it between rounds of AES. nonce: J0, being encrypted. */
struct place {
	const struct smb3sign_short *msg;
	const struct smb3sign_key *key;
	__m128i nonce;
};

ISA INLINE struct place place_of(const struct smb3sign_short *msg)
{
	struct place p = {.msg = msg, .key = msg->key};

	p.nonce = _mm_xor_si128(j0_block(msg->hdr), aes_ni_rk(p.key->secret, 0));
	return p;
}

/*
 * Round keys are read in order, as in aes_ni_middle, and each round comes behind the products so far: a whole AES at
 * once would fill the processor with instructions that wait for each other, and leave no room for those that need not
 * wait. That makes 15 % for 64-byte messages.
 */
ISA INLINE void encrypt_round(struct place *p, struct products *sum, int round)
{
	p->nonce = _mm_aesenc_si128(p->nonce, aes_ni_rk(p->key->secret, round));
	__asm__("" : "+r"(p->key), "+x"(p->nonce), "+x"(sum->mid));
}

/* One by one instead of in a loop: an array that is indexed by a variable is kept on the stack by some compilers. */
ISA INLINE void start(struct place *places, const struct smb3sign_short *msgs)
{
	places[0] = place_of(&msgs[0]);
	places[1] = place_of(&msgs[1]);
	if (WIDTH > 2) {
		places[WIDTH - 2] = place_of(&msgs[WIDTH - 2]);
		places[WIDTH - 1] = place_of(&msgs[WIDTH - 1]);
	}
}

ISA INLINE void encrypt_three_rounds(struct place *places, struct products *sum, int round)
{
#pragma GCC unroll 3
	for (int i = round; i < round + 3; i++) {
		encrypt_round(&places[0], sum, i);
		encrypt_round(&places[1], sum, i);
		if (WIDTH > 2) {
			encrypt_round(&places[WIDTH - 2], sum, i);
			encrypt_round(&places[WIDTH - 1], sum, i);
		}
	}
}

ISA INLINE __m128i encrypted(const struct place *p, int last_round)
{
	return _mm_aesenclast_si128(p->nonce, aes_ni_rk(p->key->secret, last_round));
}

ISA INLINE __m128i header_block(const struct place *p, size_t i)
{
	return load(p->msg->hdr + 16 * i);
}

ISA INLINE __m128i flags_block(const struct place *p, uint8_t set_flags)
{
	return load_flags(p->msg->hdr, set_flags);
}

ISA INLINE __m128i body_block(const struct place *p, size_t i)
{
	return load(p->msg->body + 16 * i);
}

ISA INLINE __m128i tail_block(const struct place *p, size_t unused)
{
	(void)unused;
	return last_block(p->msg->body, p->msg->len);
}

/* The length in bits, in the lower half. */
ISA INLINE __m128i length_block(const struct place *p, size_t unused)
{
	(void)unused;
	return _mm_cvtsi32_si128((int)((SMB3SIGN_HEADER_LEN + p->msg->len) * 8));
}

/* at: bytes from the table's start. */
ISA INLINE __m128i power_of(const struct place *p, size_t at)
{
	return load((const uint8_t *)table_of(p->key) + at);
}

ISA INLINE void add_blocks(struct products *sum, vec x, const struct place *places, size_t at)
{
	vec h = VEC_EACH(power_of, places, at);

	add_product(sum, vec_reverse(x), h, vec_xor(h, vec_swap(h)));
}

/*
 * The last block is l x^64, of the length l in bits. It takes two products, for
 *     l x^64 (h1 x^64 + h0) = l h1 x^128 + l h0 x^64.
 * Into mid goes l h0 + l h1, since reduce_blocks adds hi to it.
 */
ISA INLINE void add_lengths(struct products *sum, const struct place *places)
{
	vec l = VEC_EACH(length_block, places, 0), h = VEC_EACH(power_of, places, 16 * (POWERS - 1));
	vec high = VEC_CLMUL(l, h, 0x10);

	sum->hi = vec_xor(sum->hi, high);
	sum->mid = vec_xor(sum->mid, vec_xor(high, VEC_CLMUL(l, h, 0x00)));
}

/*
 * In blocks a message is three of header, the Signature, which is zero and adds nothing, nblk of body, and the length:
 * the first takes power nblk + 5.
 */
ISA static void gmac_short(struct smb3sign_short *msgs, uint8_t set_flags)
{
	_Static_assert(SMB3SIGN_SHORT_BLOCKS + 5 <= POWERS, "the table's powers suffice");
	size_t nblk = (msgs->len + 15) / 16, at = 16 * (POWERS - 5 - nblk);
	struct place places[WIDTH];
	struct products sum;
	vec masks;

	PIN_POINTER(at); /* one offset for all powers */
	clear(&sum);
	start(places, msgs);
	add_blocks(&sum, VEC_EACH(header_block, places, 0), places, at);
	encrypt_three_rounds(places, &sum, 1);
	add_blocks(&sum, VEC_EACH(flags_block, places, set_flags), places, at + 16);
	encrypt_three_rounds(places, &sum, 4);
	add_blocks(&sum, VEC_EACH(header_block, places, 2), places, at + 32);
	encrypt_three_rounds(places, &sum, 7);
	masks = VEC_EACH(encrypted, places, 10);
	VEC_PIN(masks);
	if (nblk) {
		at += 64;
#pragma GCC unroll 2
		for (size_t i = 0; i < nblk - 1; i++)
			add_blocks(&sum, VEC_EACH(body_block, places, i), places, at + 16 * i);
		add_blocks(&sum, VEC_EACH(tail_block, places, 0), places, 16 * (POWERS - 2));
	}
	add_lengths(&sum, places);
	vec_tags(msgs, vec_xor(masks, vec_reverse(reduce_blocks(&sum))));
}
