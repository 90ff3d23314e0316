/* SPDX-License-Identifier: MIT */
/*
 * The SHA-512 compression function (FIPS 180-4 6.4.2) in plain C, for the preauthentication hash. Nothing secret passes
 * here. Additions, rotations and bitwise operations only, so its time depends on the number of blocks and on nothing
 * else.
 */
#include "kernels.h"
#include "util.h"

/* FIPS 180-4 5.3.5: the first 64 bits of the fractional parts of the square roots of the first 8 primes. */
const uint64_t smb3sign_sha512_iv[8] = {
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

/* 4.2.3: the same of the cube roots of the first 80 primes. */
const uint64_t smb3sign_sha512_k[80] = {
	0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
	0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
	0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
	0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
	0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
	0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
	0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
	0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
	0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
	0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
	0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
	0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
	0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
	0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
	0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
	0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

static inline uint64_t ror64(uint64_t x, unsigned n)
{
	return x >> n | x << (64 - n);
}

/* W[t] for t < 16: the message (6.4.2 step 1). */
static inline uint64_t loaded(uint64_t w[16], const uint8_t *p, unsigned t)
{
	return w[t] = load_be64(p + 8 * t);
}

/* W[t] for t >= 16 from the 16 before it, the oldest of which, w[t % 16], it takes the place of. i is t % 16. */
static inline uint64_t scheduled(uint64_t w[16], const uint8_t *p, unsigned i)
{
	uint64_t w15 = w[(i + 1) % 16], w2 = w[(i + 14) % 16];

	(void)p;
	return w[i] +=
	       (ror64(w15, 1) ^ ror64(w15, 8) ^ w15 >> 7) + w[(i + 9) % 16] + (ror64(w2, 19) ^ ror64(w2, 61) ^ w2 >> 6);
}

/* Round t (step 3). The next renames the variables instead of moving them: d plays e's part now, and h that of a. */
#define ROUND(a, b, c, d, e, f, g, h, t, wt)                                                                           \
	do {                                                                                                           \
		h += (ror64(e, 14) ^ ror64(e, 18) ^ ror64(e, 41)) + (g ^ (e & (f ^ g))) + smb3sign_sha512_k[t] + (wt); \
		d += h;                                                                                                \
		h += (ror64(a, 28) ^ ror64(a, 34) ^ ror64(a, 39)) + (a & b) + (c & (a ^ b));                           \
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

static void portable_blocks(uint64_t state[8], const uint8_t *p, size_t nblk)
{
	uint64_t w[16], a, b, c, d, e, f, g, h;

	for (; nblk; nblk--, p += 128) {
		a = state[0];
		b = state[1];
		c = state[2];
		d = state[3];
		e = state[4];
		f = state[5];
		g = state[6];
		h = state[7];
		SIXTEEN_ROUNDS(0, loaded);
		for (unsigned t = 16; t < 80; t += 16)
			SIXTEEN_ROUNDS(t, scheduled);
		state[0] += a;
		state[1] += b;
		state[2] += c;
		state[3] += d;
		state[4] += e;
		state[5] += f;
		state[6] += g;
		state[7] += h;
	}
}

const struct smb3sign_sha512 smb3sign_sha512_portable = {
	.name = "portable",
	.blocks = portable_blocks,
};
