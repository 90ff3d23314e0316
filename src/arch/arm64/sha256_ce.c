/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 and HMAC-SHA256 with the Cryptography Extension (Arm ARM C7.2, SHA256H).
 *
 * SHA256H and SHA256H2 together do four rounds on the state as (a, b, c, d) and (e, f, g, h), both from the state
 * before. So a block is sixteen SHA256H in a row, which is the limit: the message schedule of the coming rounds runs
 * beside them.
 */
#include "../../kernels.h"
#include "../../cpu.h"
#include "../../key.h"
#include "arm64.h"

#ifdef SMB3SIGN_ARM64_CE

struct state {
	uint32x4_t abcd, efgh;
};

/*
 * Four rounds with the schedule words w and the constants at k. SHA256H writes over (a, b, c, d), which SHA256H2 needs
 * too. The copy is for the latter: compilers give it to SHA256H, which makes the chain an eighth longer, so they get no
 * choice. Nor may they write the schedule over w before this is done, for which gcc would make copies of it.
 */
INLINE void rounds4(struct state *s, uint32x4_t *w, const uint32_t *k)
{
	uint32x4_t wk = vaddq_u32(*w, vld1q_u32(k)), copy;

	__asm__("mov %2.16b, %0.16b\n\tsha256h %q0, %q1, %4.4s\n\tsha256h2 %q1, %q2, %4.4s"
		: "+w"(s->abcd), "+w"(s->efgh), "=&w"(copy), "+w"(*w)
		: "w"(wk));
}

/* W[t..t+3] from the sixteen words before: s0 of W[t-15..] + W[t-16..], then s1 of the two before each + W[t-7..]. */
INLINE uint32x4_t schedule(uint32x4_t w0, uint32x4_t w4, uint32x4_t w8, uint32x4_t w12)
{
	return vsha256su1q_u32(vsha256su0q_u32(w0, w4), w8, w12);
}

/*
 * The 64 rounds of FIPS 180-4 6.2.2; w0..w3 hold the block as sixteen host-order words. The constants are read for each
 * block: half of all registers, if the compiler kept them there.
 */
INLINE void rounds64(struct state *s, uint32x4_t w0, uint32x4_t w1, uint32x4_t w2, uint32x4_t w3)
{
	const uint32_t *k = smb3sign_sha256_k;

	__asm__("" : "+r"(k), "+w"(s->abcd)); /* PIN_POINTER, for each block anew */
	rounds4(s, &w0, k);
	rounds4(s, &w1, k + 4);
	rounds4(s, &w2, k + 8);
	rounds4(s, &w3, k + 12);
#pragma GCC unroll 3
	for (int i = 0; i < 3; i++) {
		k += 16;
		w0 = schedule(w0, w1, w2, w3);
		rounds4(s, &w0, k);
		w1 = schedule(w1, w2, w3, w0);
		rounds4(s, &w1, k + 4);
		w2 = schedule(w2, w3, w0, w1);
		rounds4(s, &w2, k + 8);
		w3 = schedule(w3, w0, w1, w2);
		rounds4(s, &w3, k + 12);
	}
}

INLINE struct state load_state(const uint32_t h[8])
{
	return (struct state){vld1q_u32(h), vld1q_u32(h + 4)};
}

INLINE void add_state(struct state *s, struct state before)
{
	s->abcd = vaddq_u32(s->abcd, before.abcd);
	s->efgh = vaddq_u32(s->efgh, before.efgh);
}

INLINE void compress(struct state *s, uint32x4_t w0, uint32x4_t w1, uint32x4_t w2, uint32x4_t w3)
{
	const struct state before = *s;

	rounds64(s, w0, w1, w2, w3);
	add_state(s, before);
}

/* Big-endian words of the message to host order. */
INLINE uint32x4_t words(uint8x16_t v)
{
	return vreinterpretq_u32_u8(vrev32q_u8(v));
}

INLINE void compress_block(struct state *s, const uint8_t *p)
{
	compress(s, words(load(p)), words(load(p + 16)), words(load(p + 32)), words(load(p + 48)));
}

static void blocks(uint32_t state[8], const uint8_t *p, size_t nblk)
{
	struct state s = load_state(state);

	for (; nblk; nblk--, p += 64)
		compress_block(&s, p);
	vst1q_u32(state, s.abcd);
	vst1q_u32(state + 4, s.efgh);
}

/*
 * The first block behind one of the key's states. The state is read again for the final addition: kept meanwhile it
 * might be spilled, and a copy on the stack outlives the key.
 */
INLINE struct state compress_from(const uint32_t h[8], uint32x4_t w0, uint32x4_t w1, uint32x4_t w2, uint32x4_t w3)
{
	struct state s = load_state(h);

	rounds64(&s, w0, w1, w2, w3);
	PIN_POINTER(h);
	add_state(&s, load_state(h));
	return s;
}

/* Bytes 16i .. 16i+15 of the last n < 64 bytes of a message, with the padding's first bit behind them. */
INLINE uint8x16_t padded_piece(const uint8_t *p, size_t n, size_t i)
{
	if (n >= 16 * i + 16)
		return load(p + 16 * i);
	if (n > 16 * i)
		return vorrq_u8(load_partial(p + 16 * i, n - 16 * i), pad_mark(n - 16 * i));
	return n == 16 * i ? pad_mark(0) : zero();
}

/* The last n < 64 bytes, padding and bit length: one block, or two if the length does not fit behind the padding. */
INLINE void compress_tail(struct state *s, const uint8_t *p, size_t n, uint64_t bits)
{
	uint32x4_t w0 = words(padded_piece(p, n, 0)), w1 = words(padded_piece(p, n, 1));
	uint32x4_t w2 = words(padded_piece(p, n, 2)), w3 = words(padded_piece(p, n, 3));
	uint32x4_t length = vreinterpretq_u32_u8(of_words(0, bits << 32 | bits >> 32));

	if (n >= 56) {
		compress(s, w0, w1, w2, w3);
		w0 = w1 = w2 = w3 = vdupq_n_u32(0);
	}
	compress(s, w0, w1, w2, vorrq_u32(w3, length));
}

static struct smb3sign_tag hmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				const uint8_t *body, size_t len)
{
	/* The outer block's padding; 64 + 32 bytes in bits. */
	static const uint32_t padding[8] = {0x80000000, 0, 0, 0, 0, 0, 0, (64 + 32) * 8};
	const struct hmac_secret *secret = hmac_secret(key);
	size_t nblk = len / 64;
	struct state s;

	/* The header is one block, and its last quarter is the zeroed Signature. */
	s = compress_from(secret->inner, words(load(hdr)), words(load_flags(hdr, set_flags)), words(load(hdr + 32)),
			  vdupq_n_u32(0));
	for (size_t i = 0; i < nblk; i++)
		compress_block(&s, body + 64 * i);
	/* The inner pad block and the header are 128 bytes before the body. */
	compress_tail(&s, body + 64 * nblk, len % 64, (128 + (uint64_t)len) * 8);

	/* The inner hash's words as they are. */
	s = compress_from(secret->outer, s.abcd, s.efgh, vld1q_u32(padding), vld1q_u32(padding + 4));
	return tag_of(vrev32q_u8(vreinterpretq_u8_u32(s.abcd)));
}

const struct smb3sign_sha256 smb3sign_sha256_ce = {
	.name = "ce",
	.needs = SMB3SIGN_CPU_SHA2,
	.blocks = blocks,
	.hmac = hmac,
};

#endif
