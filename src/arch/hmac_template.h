/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 and HMAC-SHA256 of one message with SHA instructions. x86.h and arm64.h have the operations on 16-byte
 * blocks; the file that includes this has before:
 *     ISA                            the target attribute of its functions, or nothing
 *     words, struct sha_state        four words; a state in the split that the instructions want
 *     words_of(block), bytes_of(w)   big-endian words to host order, and back
 *     sha_load(h), sha_store(h, s)   between it and the library's eight words
 *     sha_add(s, before)             *s += before
 *     sha_abcd(s), sha_efgh(s)       words a to d and e to h
 *     rounds64(s, w0, w1, w2, w3)    FIPS 180-4 6.2.2, of a block as sixteen host-order words
 */

ISA INLINE void compress(struct sha_state *s, words w0, words w1, words w2, words w3)
{
	const struct sha_state before = *s;

	rounds64(s, w0, w1, w2, w3);
	sha_add(s, before);
}

ISA INLINE void compress_block(struct sha_state *s, const uint8_t *p)
{
	compress(s, words_of(load(p)), words_of(load(p + 16)), words_of(load(p + 32)), words_of(load(p + 48)));
}

ISA static void blocks(uint32_t state[8], const uint8_t *p, size_t nblk)
{
	struct sha_state s = sha_load(state);

	for (; nblk; nblk--, p += 64)
		compress_block(&s, p);
	sha_store(state, &s);
}

/*
 * The first block behind one of the key's states. The state is read again for the final addition: kept meanwhile it
 * might be spilled, and a copy on the stack outlives the key.
 */
ISA INLINE struct sha_state compress_from(const uint32_t h[8], words w0, words w1, words w2, words w3)
{
	struct sha_state s = sha_load(h);

	rounds64(&s, w0, w1, w2, w3);
	PIN_POINTER(h);
	sha_add(&s, sha_load(h));
	return s;
}

/* Bytes 16i .. 16i+15 of the last n < 64 bytes of a message, with the padding's first bit behind them. */
ISA INLINE block16 padded_piece(const uint8_t *p, size_t n, size_t i)
{
	if (n >= 16 * i + 16)
		return load(p + 16 * i);
	if (n > 16 * i)
		return block_or(load_partial(p + 16 * i, n - 16 * i), pad_mark(n - 16 * i));
	return n == 16 * i ? pad_mark(0) : zero();
}

/* The padding's end: the length in bits, big-endian. */
ISA INLINE block16 bit_length(uint64_t bits)
{
	return of_words(0, swap64(bits));
}

/* The last n < 64 bytes, padding and bit length: one block, or two if the length does not fit behind the padding. */
ISA INLINE void compress_tail(struct sha_state *s, const uint8_t *p, size_t n, uint64_t bits)
{
	block16 b0 = padded_piece(p, n, 0), b1 = padded_piece(p, n, 1), b2 = padded_piece(p, n, 2),
		b3 = padded_piece(p, n, 3);

	if (n >= 56) {
		compress(s, words_of(b0), words_of(b1), words_of(b2), words_of(b3));
		b0 = b1 = b2 = b3 = zero();
	}
	compress(s, words_of(b0), words_of(b1), words_of(b2), words_of(block_or(b3, bit_length(bits))));
}

ISA static struct smb3sign_tag hmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				    const uint8_t *body, size_t len)
{
	const struct hmac_secret *secret = hmac_secret(key);
	size_t nblk = len / 64;
	struct sha_state s;

	/* The header is one block, and its last quarter is the zeroed Signature. */
	s = compress_from(secret->inner, words_of(load(hdr)), words_of(load_flags(hdr, set_flags)),
			  words_of(load(hdr + 32)), words_of(zero()));
	for (size_t i = 0; i < nblk; i++)
		compress_block(&s, body + 64 * i);
	/* The inner pad block and the header are 128 bytes before the body. */
	compress_tail(&s, body + 64 * nblk, len % 64, (128 + (uint64_t)len) * 8);
	/* The outer block: the inner hash's words as they are, padding, and 64 + 32 bytes in bits. */
	s = compress_from(secret->outer, sha_abcd(&s), sha_efgh(&s), words_of(pad_mark(0)),
			  words_of(bit_length((64 + 32) * 8)));
	return tag_of(bytes_of(sha_abcd(&s)));
}
