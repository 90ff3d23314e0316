/* SPDX-License-Identifier: MIT */
/*
 * CBC-MAC and CMAC over a chain, for an AES that keeps the XORs of message and keys off it. x86.h and arm64.h have the
 * operations on blocks; the file that includes this has before:
 *     ISA                           the target attribute of its functions, or nothing
 *     struct chain                  a chain under way
 *     chain_start(c, rk, block)     its first input block; the initial chaining value, if not zero, is in the block
 *     chain_next(c, block)          encrypts what came before, and takes another block in
 *     chain_end(c)                  encrypts and returns the chaining value
 */

ISA static void cbcmac(const void *rk, uint8_t h[16], const uint8_t *p, size_t nblk)
{
	struct chain c;

	chain_start(&c, rk, block_xor(load(h), load(p)));
	for (size_t i = 1; i < nblk; i++)
		chain_next(&c, load(p + 16 * i));
	store(h, chain_end(&c));
}

/* RFC 4493 2.4: a whole last block takes K1; one of n < 16 bytes is padded with 10...0 and takes K2. */
ISA INLINE block16 last_block(const uint8_t *subkeys, const uint8_t *p, size_t n)
{
	if (n == 16)
		return block_xor(load(subkeys), load(p));
	return block_xor(load(subkeys + 16), block_or(load_partial(p, n), pad_mark(n)));
}

ISA static struct smb3sign_tag cmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				    const uint8_t *body, size_t len)
{
	const uint8_t *subkeys = cmac_subkeys(key);
	struct chain c;

	chain_start(&c, cmac_rk(key), load(hdr));
	chain_next(&c, load_flags(hdr, set_flags));
	chain_next(&c, load(hdr + 32));
	if (!len) {
		chain_next(&c, load(subkeys)); /* the zeroed Signature is the last block */
	} else {
		size_t nblk = (len - 1) / 16;

		chain_next(&c, zero());
		for (size_t i = 0; i < nblk; i++)
			chain_next(&c, load(body + 16 * i));
		chain_next(&c, last_block(subkeys, body + 16 * nblk, len - 16 * nblk));
	}
	return tag_of(chain_end(&c));
}
