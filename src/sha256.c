/* SPDX-License-Identifier: MIT */
/*
 * The SHA-256 compression function (FIPS 180-4 6.2.2) in plain C. Additions, rotations and bitwise operations only, so
 * its time depends on the number of blocks and on nothing else.
 */
#include "kernels.h"
#include "util.h"

/* FIPS 180-4 5.3.3: the first 32 bits of the fractional parts of the square roots of the first 8 primes. */
const uint32_t smb3sign_sha256_iv[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

/* 4.2.2: the same of the cube roots of the first 64 primes. Aligned for kernels that read four at a time. */
_Alignas(16) const uint32_t smb3sign_sha256_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* W[t] for t < 16: the message (6.2.2 step 1). */
static inline uint32_t loaded(uint32_t w[16], const uint8_t *p, unsigned t)
{
	return w[t] = load_be32(p + 4 * t);
}

/* W[t] for t >= 16 from the 16 before it, the oldest of which, w[t % 16], it takes the place of. i is t % 16. */
static inline uint32_t scheduled(uint32_t w[16], const uint8_t *p, unsigned i)
{
	uint32_t w15 = w[(i + 1) % 16], w2 = w[(i + 14) % 16];

	(void)p;
	return w[i] += (ror32(w15, 7) ^ ror32(w15, 18) ^ w15 >> 3) + w[(i + 9) % 16] +
		       (ror32(w2, 17) ^ ror32(w2, 19) ^ w2 >> 10);
}

/* Round t (step 3). The next renames the variables instead of moving them: d plays e's part now, and h that of a. */
#define ROUND(a, b, c, d, e, f, g, h, t, wt)                                                                          \
	do {                                                                                                          \
		h += (ror32(e, 6) ^ ror32(e, 11) ^ ror32(e, 25)) + (g ^ (e & (f ^ g))) + smb3sign_sha256_k[t] + (wt); \
		d += h;                                                                                               \
		h += (ror32(a, 2) ^ ror32(a, 13) ^ ror32(a, 22)) + (a & b) + (c & (a ^ b));                           \
	} while (0)

/* Rounds t to t + 15, word being loaded or scheduled. Unrolled so far, they take a sixth less than eight a pass. */
#define SIXTEEN_ROUNDS(t, word)                                          \
	do {                                                             \
		ROUND(a, b, c, d, e, f, g, h, (t) + 0, word(w, p, 0));   \
		ROUND(h, a, b, c, d, e, f, g, (t) + 1, word(w, p, 1));   \
		ROUND(g, h, a, b, c, d, e, f, (t) + 2, word(w, p, 2));   \
		ROUND(f, g, h, a, b, c, d, e, (t) + 3, word(w, p, 3));   \
		ROUND(e, f, g, h, a, b, c, d, (t) + 4, word(w, p, 4));   \
		ROUND(d, e, f, g, h, a, b, c, (t) + 5, word(w, p, 5));   \
		ROUND(c, d, e, f, g, h, a, b, (t) + 6, word(w, p, 6));   \
		ROUND(b, c, d, e, f, g, h, a, (t) + 7, word(w, p, 7));   \
		ROUND(a, b, c, d, e, f, g, h, (t) + 8, word(w, p, 8));   \
		ROUND(h, a, b, c, d, e, f, g, (t) + 9, word(w, p, 9));   \
		ROUND(g, h, a, b, c, d, e, f, (t) + 10, word(w, p, 10)); \
		ROUND(f, g, h, a, b, c, d, e, (t) + 11, word(w, p, 11)); \
		ROUND(e, f, g, h, a, b, c, d, (t) + 12, word(w, p, 12)); \
		ROUND(d, e, f, g, h, a, b, c, (t) + 13, word(w, p, 13)); \
		ROUND(c, d, e, f, g, h, a, b, (t) + 14, word(w, p, 14)); \
		ROUND(b, c, d, e, f, g, h, a, (t) + 15, word(w, p, 15)); \
	} while (0)

/*
 * The schedule contains all of the last block, which may be a key (HMAC's set-up): it is wiped, once a call, at a cost
 * that is lost beside a block's.
 */
static void portable_blocks(uint32_t state[8], const uint8_t *p, size_t nblk)
{
	uint32_t w[16], a, b, c, d, e, f, g, h;

	for (; nblk; nblk--, p += 64) {
		a = state[0];
		b = state[1];
		c = state[2];
		d = state[3];
		e = state[4];
		f = state[5];
		g = state[6];
		h = state[7];
		SIXTEEN_ROUNDS(0, loaded);
		for (unsigned t = 16; t < 64; t += 16)
			SIXTEEN_ROUNDS(t, scheduled);
		state[0] += a;
		state[1] += b;
		state[2] += c;
		state[3] += d;
		state[4] += e;
		state[5] += f;
		state[6] += g;
		state[7] += h;
		PIN_POINTER(state);
	}
	smb3sign_wipe(w, sizeof(w));
}

const struct smb3sign_sha256 smb3sign_sha256_portable = {
	.name = "portable",
	.blocks = portable_blocks,
};
