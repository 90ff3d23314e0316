/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 of two messages side by side with the Cryptography Extension. One waits for the latency of SHA256H (4 cycles,
 * and one more until SHA256H2 is through), sixteen times a block: the other fills its waits. More do not help: a block
 * has 32 of the two and twelve SHA256SU1, and there is one unit for them.
 *
 * What a block adds to is in the lanes' own states. No state is ever on the stack: copies there outlive the key.
 */
#include "../../kernels.h"
#include "sha256_ce.h"

#ifdef SMB3SIGN_ARM64_CE

struct stream {
	struct sha_state s;
	uint32x4_t w[4];
	const uint8_t *p;
	uint32_t *h; /* the lane's state */
};

INLINE void start(struct stream *x, struct smb3sign_lane *lane)
{
	x->p = lane->p;
	x->h = lane->state;
	x->s = sha_load(x->h);
}

INLINE void take_block(struct stream *x)
{
#pragma GCC unroll 4
	for (size_t i = 0; i < 4; i++)
		x->w[i] = words_of(load(x->p + 16 * i));
	x->p += 64;
}

/*
 * Rounds t to t + 3. The schedule is ahead of them by as much as it can be, for cores that execute in order: words are
 * begun as soon as the old ones in their place are used up, and finished a step later.
 */
INLINE void step(struct stream *x, const uint32_t *k, size_t t)
{
	const size_t q = t / 4 % 4;
	uint32x4_t *const w = x->w;

	sha_rounds4(&x->s, &w[q], k + t);
	if (t >= 4 && t <= 48)
		w[(q + 3) % 4] = vsha256su1q_u32(w[(q + 3) % 4], w[(q + 1) % 4], w[(q + 2) % 4]);
	if (t < 48)
		w[q] = vsha256su0q_u32(w[q], w[(q + 1) % 4]);
	__asm__ volatile("" : "+w"(x->s.abcd), "+w"(w[q])); /* in turn: compilers would do one stream after the other */
}

INLINE void end_block(struct stream *x)
{
	PIN_POINTER(x->h);
	sha_add(&x->s, sha_load(x->h));
	sha_store(x->h, &x->s);
}

NOINLINE void two(struct smb3sign_lane *lanes, size_t nblk)
{
	struct stream a, b;

	start(&a, &lanes[0]);
	start(&b, &lanes[1]);
	for (; nblk; nblk--) {
		const uint32_t *k = smb3sign_sha256_k;

		PIN_POINTER(k);
		take_block(&a);
		take_block(&b);
#pragma GCC unroll 16
		for (size_t t = 0; t < 64; t += 4) {
			step(&a, k, t);
			step(&b, k, t);
		}
		end_block(&a);
		end_block(&b);
	}
}

void smb3sign_sha256_ce_lanes(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	if (n == 1)
		smb3sign_sha256_ce.blocks(lanes->state, lanes->p, nblk);
	else
		two(lanes, nblk);
}

#endif
