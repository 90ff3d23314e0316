/* SPDX-License-Identifier: MIT */
/*
 * SHA-256's compression function with the Cryptography Extension (Arm ARM C7.2, SHA256H) as inline parts: for one
 * message in sha256_ce.c, for several side by side in sha256_ce_lanes.c.
 *
 * SHA256H and SHA256H2 together do four rounds on the state as (a, b, c, d) and (e, f, g, h), both from the state
 * before. So a block is sixteen SHA256H in a row, which is the limit of one message: the message schedule of the coming
 * rounds runs beside them.
 */
#ifndef SMB3SIGN_SHA256_CE_H
#define SMB3SIGN_SHA256_CE_H

#include "arm64.h"

#ifdef SMB3SIGN_ARM64_CE

typedef uint32x4_t words;

struct sha_state {
	uint32x4_t abcd, efgh;
};

/*
 * Four rounds with the schedule words w and the constants at k. SHA256H writes over (a, b, c, d), which SHA256H2 needs
 * too. The copy is for the latter: compilers give it to SHA256H, which makes the chain an eighth longer, so they get no
 * choice. Nor may they write the schedule over w before this is done, for which gcc would make copies of it.
 */
INLINE void sha_rounds4(struct sha_state *s, uint32x4_t *w, const uint32_t *k)
{
	uint32x4_t wk = vaddq_u32(*w, vld1q_u32(k)), copy;

	__asm__("mov %2.16b, %0.16b\n\tsha256h %q0, %q1, %4.4s\n\tsha256h2 %q1, %q2, %4.4s"
		: "+w"(s->abcd), "+w"(s->efgh), "=&w"(copy), "+w"(*w)
		: "w"(wk));
}

/* W[t..t+3] from the sixteen words before: s0 of W[t-15..] + W[t-16..], then s1 of the two before each + W[t-7..]. */
INLINE uint32x4_t sha_schedule(uint32x4_t w0, uint32x4_t w4, uint32x4_t w8, uint32x4_t w12)
{
	return vsha256su1q_u32(vsha256su0q_u32(w0, w4), w8, w12);
}

INLINE struct sha_state sha_load(const uint32_t h[8])
{
	return (struct sha_state){vld1q_u32(h), vld1q_u32(h + 4)};
}

INLINE void sha_store(uint32_t h[8], const struct sha_state *s)
{
	vst1q_u32(h, s->abcd);
	vst1q_u32(h + 4, s->efgh);
}

INLINE void sha_add(struct sha_state *s, struct sha_state before)
{
	s->abcd = vaddq_u32(s->abcd, before.abcd);
	s->efgh = vaddq_u32(s->efgh, before.efgh);
}

/* Big-endian words of the message to host order, and back. */
INLINE words words_of(block16 v)
{
	return vreinterpretq_u32_u8(vrev32q_u8(v));
}

INLINE block16 bytes_of(words w)
{
	return vrev32q_u8(vreinterpretq_u8_u32(w));
}

INLINE words sha_abcd(const struct sha_state *s)
{
	return s->abcd;
}

INLINE words sha_efgh(const struct sha_state *s)
{
	return s->efgh;
}

/* sha256_ce_lanes.c */
#define SHA_CE_LANES 2
void smb3sign_sha256_ce_lanes(struct smb3sign_lane *lanes, size_t n, size_t nblk);

#endif
#endif
