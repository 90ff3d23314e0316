/* SPDX-License-Identifier: MIT */
/*
 * SHA-512 with the instructions of Armv8.2 (Arm ARM C7.2, SHA512H), for the preauthentication hash.
 *
 * The state lies in four registers, (a, b), (c, d), (e, f) and (g, h). Two rounds t, t+1: SHA512H makes of
 *     (g + W[t+1] + K[t+1], h + W[t] + K[t])
 * the two T1 of FIPS 180-4 6.4.2, from (f, g) and (d, e), (c, d) added being the new (e, f); SHA512H2 adds T2 of each
 * from (c, d) and (a, b), which gives the new (a, b). Everything else moves on by two.
 */
#include "../../kernels.h"
#include "../../cpu.h"
#include "arm64.h"

#ifdef SMB3SIGN_ARM64_SHA3

struct state {
	uint64x2_t ab, cd, ef, gh;
};

/* Two rounds with the schedule words w; i counts twos. */
INLINE void rounds2(struct state *s, uint64x2_t w, size_t i)
{
	uint64x2_t wk = vaddq_u64(w, vld1q_u64(smb3sign_sha512_k + 2 * i));
	uint64x2_t sum = vaddq_u64(s->gh, vextq_u64(wk, wk, 1));
	uint64x2_t t1 = vsha512hq_u64(sum, vextq_u64(s->ef, s->gh, 1), vextq_u64(s->cd, s->ef, 1));
	uint64x2_t ab = vsha512h2q_u64(t1, s->cd, s->ab);

	s->gh = s->ef;
	s->ef = vaddq_u64(s->cd, t1);
	s->cd = s->ab;
	s->ab = ab;
}

/* W[t], W[t+1] in the place of W[t-16], W[t-15], the i-th of eight pairs. */
INLINE void schedule(uint64x2_t w[8], size_t i)
{
	uint64x2_t w7 = vextq_u64(w[(i + 4) % 8], w[(i + 5) % 8], 1); /* W[t-7], W[t-6] */

	w[i] = vsha512su1q_u64(vsha512su0q_u64(w[i], w[(i + 1) % 8]), w[(i + 7) % 8], w7);
}

INLINE void add_state(struct state *s, const struct state *before)
{
	s->ab = vaddq_u64(s->ab, before->ab);
	s->cd = vaddq_u64(s->cd, before->cd);
	s->ef = vaddq_u64(s->ef, before->ef);
	s->gh = vaddq_u64(s->gh, before->gh);
}

INLINE void compress_block(struct state *s, const uint8_t *p)
{
	const struct state before = *s;
	uint64x2_t w[8];

#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i++) {
		w[i] = vreinterpretq_u64_u8(vrev64q_u8(load(p + 16 * i)));
		rounds2(s, w[i], i);
	}
	for (size_t t = 8; t < 40; t += 8) {
#pragma GCC unroll 8
		for (size_t i = 0; i < 8; i++) {
			schedule(w, i);
			rounds2(s, w[i], t + i);
		}
	}
	add_state(s, &before);
}

static void blocks(uint64_t state[8], const uint8_t *p, size_t nblk)
{
	struct state s = {vld1q_u64(state), vld1q_u64(state + 2), vld1q_u64(state + 4), vld1q_u64(state + 6)};

	for (; nblk; nblk--, p += 128)
		compress_block(&s, p);
	vst1q_u64(state, s.ab);
	vst1q_u64(state + 2, s.cd);
	vst1q_u64(state + 4, s.ef);
	vst1q_u64(state + 6, s.gh);
}

const struct smb3sign_sha512 smb3sign_sha512_ce = {
	.name = "ce",
	.needs = SMB3SIGN_CPU_SHA512,
	.blocks = blocks,
};

#endif
