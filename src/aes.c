/* SPDX-License-Identifier: MIT */
/*
 * AES-128 encryption (FIPS 197) in plain C, bitsliced: no table, no branch and no address that depends on data or key.
 *
 * CMAC is a chain and GMAC encrypts one block, so what counts is the time of one block. A block is eight 32-bit planes:
 * plane i has bit i of the byte in row r, column c at bit 8r + c, and the same once more at bit 8r + c + 4. With the
 * second copy, a rotation of the word by 8 + k bits brings to each byte the one k columns on in the next row, without
 * masks.
 *
 * ShiftRows is never carried out (Adomnicai and Peyrin, "Fixslicing AES-like Ciphers", TCHES 2021/1): before the
 * MixColumns of round n, n ShiftRows are owed, and what belongs to column c stands at column c + n*r of row r. Round
 * keys are stored that way. The k that MixColumns needs is therefore n mod 4, and four rounds make up one cycle.
 */
#include "kernels.h"
#include "util.h"

#define ROUNDS 10
#define PLANES 8

/* The statement for each plane i. */
#define EACH_PLANE(...)                   \
	do {                              \
		FOR_PLANE(0, __VA_ARGS__) \
		FOR_PLANE(1, __VA_ARGS__) \
		FOR_PLANE(2, __VA_ARGS__) \
		FOR_PLANE(3, __VA_ARGS__) \
		FOR_PLANE(4, __VA_ARGS__) \
		FOR_PLANE(5, __VA_ARGS__) \
		FOR_PLANE(6, __VA_ARGS__) \
		FOR_PLANE(7, __VA_ARGS__) \
	} while (0)
#define FOR_PLANE(n, ...)       \
	{                       \
		enum { i = n }; \
		__VA_ARGS__;    \
	}

/*
 * SubBytes without its constant 0x63, which is in the round keys: ShiftRows and MixColumns change nothing in a state of
 * equal bytes.
 *
 * The circuit is that of Boyar and Peralta ("A new combinational logic minimization technique with applications to
 * cryptology", SEA 2010) in its later form of 113 gates. In a normal basis over GF(2^4) a byte is a pair (A, B), its
 * norm N is A*B plus a constant times (A + B)^2, and its inverse is (B/N, A/N). A product over GF(2^4) in Karatsuba's
 * way takes nine sums of each factor's bits: a, b and m are those of A, B and 1/N; c is the square's part in N. All
 * behind the last products is linear: back to the byte's own basis and the affine map in one.
 */
INLINE void sub_bytes(uint32_t q[PLANES])
{
	/* 23 XORs. b2 is q[0]. */
	uint32_t a6 = q[7] ^ q[4], a3 = q[7] ^ q[1], a7 = q[4] ^ q[2], a8 = q[7] ^ q[2], a0 = a7 ^ a3;
	uint32_t f = a0 ^ q[3], g = q[6] ^ q[5];
	uint32_t c0 = f ^ q[6], b0 = f ^ q[2], b2 = q[0], b1 = b0 ^ b2, b6 = c0 ^ a6, b5 = b6 ^ b2, b4 = g ^ b2;
	uint32_t a4 = b4 ^ q[1], a2 = b4 ^ q[4], a5 = b4 ^ q[7], a1 = a4 ^ a8;
	uint32_t b8 = g ^ b0, b7 = b8 ^ b6, b3 = g ^ b6;
	uint32_t c1 = b8 ^ a8, c2 = b3 ^ a3, c3 = b3 ^ q[7];

	/* N: 9 ANDs, 14 XORs. */
	uint32_t p0 = a0 & b0, p3 = a3 & b3, p6 = a6 & b6, p67 = p6 ^ (a7 & b7), p68 = p6 ^ (a8 & b8);
	uint32_t n0 = p0 ^ (a1 & b1) ^ c0 ^ p67;
	uint32_t n1 = p0 ^ (a2 & b2) ^ p68 ^ c1;
	uint32_t n2 = p3 ^ (a4 & b4) ^ p67 ^ c2;
	uint32_t n3 = p3 ^ (a5 & b5) ^ p68 ^ c3;

	/* 1/N: 5 ANDs, 11 XORs; and its sums: 5 XORs. */
	uint32_t n01 = n0 ^ n1, n02 = n0 & n2, e = n3 ^ n02;
	uint32_t m5 = (n01 & e) ^ n1;
	uint32_t m2 = ((n1 ^ n02) & (n2 ^ n3)) ^ n3;
	uint32_t h = n3 & (e ^ m2);
	uint32_t m1 = h ^ n2 ^ m2;
	uint32_t m4 = n01 ^ (m5 & (e ^ h));
	uint32_t m8 = m4 ^ m1, m6 = m5 ^ m2, m3 = m5 ^ m4, m0 = m2 ^ m1, m7 = m6 ^ m8;

	/* A/N and B/N: 18 ANDs. */
	uint32_t u0 = m0 & a0, u1 = m1 & a1, u2 = m2 & a2, u3 = m3 & a3, u4 = m4 & a4, u5 = m5 & a5;
	uint32_t u6 = m6 & a6, u7 = m7 & a7, u8 = m8 & a8;
	uint32_t v0 = m0 & b0, v1 = m1 & b1, v2 = m2 & b2, v3 = m3 & b3, v4 = m4 & b4, v5 = m5 & b5;
	uint32_t v6 = m6 & b6, v7 = m7 & b7, v8 = m8 & b8;

	/* 28 XORs. */
	uint32_t s0 = u6 ^ u7, s1 = u1 ^ s0, s2 = u0 ^ s1;
	uint32_t s3 = v0 ^ v2, s4 = v3 ^ v4, s5 = s4 ^ v7, s6 = v6 ^ s5;
	uint32_t s7 = u3 ^ s3 ^ v8 ^ s5, s8 = s3 ^ v3 ^ v5, s9 = s0 ^ u4 ^ s8, s10 = u5 ^ s7;

	q[4] = s2 ^ s4 ^ v0 ^ v1;
	q[0] = u3 ^ s9;
	q[1] = s7 ^ s9;
	q[2] = s1 ^ u2 ^ s10;
	q[3] = s8 ^ q[4];
	q[5] = s10 ^ u6 ^ s6 ^ u8;
	q[6] = q[4] ^ s6;
	q[7] = s2 ^ s6;
}

/*
 * MixColumns. The new byte of row r is 2*(x[r] + x[r+1]) + x[r+1] + x[r+2] + x[r+3], and of what belongs together each
 * row stands k columns on from the one before. So with y the next row's x and t = x + y it is 2*t + y + t of the row
 * after next. Doubling moves plane i to i + 1, and plane 7 to 0, 1, 3 and 4 (0x1b).
 *
 * next is 8 + k bits, after_next 16 + 2k, less 4 where that is nearer to 16. A rotation by 8 + k moves k bits of each
 * row into a wrong one. Of each row's 8 bits are right then: all for k = 0, bits 0 to 4 for 1, 0 to 5 for 2, and 3 to 7
 * for -1. That is every column at least once, in the low four bits or in the high ones.
 */
INLINE void mix_columns(uint32_t q[PLANES], unsigned next, unsigned after_next)
{
	uint32_t y[PLANES], t[PLANES];

	EACH_PLANE(y[i] = ror32(q[i], next));
	EACH_PLANE(t[i] = q[i] ^ y[i]);
	EACH_PLANE(q[i] = y[i] ^ ror32(t[i], after_next));
	q[0] ^= t[7];
	q[1] ^= t[0] ^ t[7];
	q[2] ^= t[1];
	q[3] ^= t[2] ^ t[7];
	q[4] ^= t[3] ^ t[7];
	q[5] ^= t[4];
	q[6] ^= t[5];
	q[7] ^= t[6];
}

INLINE uint32_t repeat_low(uint32_t x)
{
	x &= 0x0f0f0f0f;
	return x | x << 4;
}

INLINE uint32_t repeat_high(uint32_t x)
{
	x &= 0xf0f0f0f0;
	return x | x >> 4;
}

/* Round keys: 11 times 8 planes of native-order words, at any alignment. */
INLINE uint32_t load_plane(const uint8_t *rk, size_t i)
{
	uint32_t x;

	memcpy(&x, rk + 4 * i, sizeof(x));
	return x;
}

INLINE void add_round_key(uint32_t q[PLANES], const uint8_t *rk)
{
	EACH_PLANE(q[i] ^= load_plane(rk, i));
}

/*
 * Packed planes: word j has plane j in the low and plane j + 4 in the high nibble of every byte (row). This is a
 * transposition away from the block's columns: column c as a little-endian word has bit i of row r at bit 8r + i, so
 * word index and low two bits of i change places. Its own inverse.
 */
static void transpose(uint32_t w[4])
{
	uint32_t t;

	for (size_t j = 0; j < 4; j += 2) {
		t = (w[j] >> 1 ^ w[j + 1]) & 0x55555555;
		w[j + 1] ^= t;
		w[j] ^= t << 1;
	}
	for (size_t j = 0; j < 2; j++) {
		t = (w[j] >> 2 ^ w[j + 2]) & 0x33333333;
		w[j + 2] ^= t;
		w[j] ^= t << 2;
	}
}

static void load_packed(uint32_t w[4], const uint8_t p[16])
{
	for (size_t c = 0; c < 4; c++)
		w[c] = load_le32(p + 4 * c);
	transpose(w);
}

static void store_packed(uint8_t p[16], uint32_t w[4])
{
	transpose(w);
	for (size_t c = 0; c < 4; c++)
		store_le32(p + 4 * c, w[c]);
}

/* FIPS 197 5.1, on packed planes. n rounds owe n ShiftRows, so k is the round's number mod 4, and 3 is taken as -1. */
static void encrypt_packed(uint32_t w[4], const uint8_t *rk)
{
	uint32_t q[PLANES];

	EACH_PLANE(q[i] = i < 4 ? repeat_low(w[i % 4]) : repeat_high(w[i % 4]));
	add_round_key(q, rk);
	for (unsigned round = 1;; round++) {
		rk += sizeof(q);
		sub_bytes(q);
		if (round == ROUNDS)
			break;
		switch (round % 4) {
		case 0:
			mix_columns(q, 8, 16);
			break;
		case 1:
			mix_columns(q, 8 + 1, 16 + 2);
			EACH_PLANE(q[i] = repeat_low(q[i]));
			break;
		case 2:
			mix_columns(q, 8 + 2, 16);
			EACH_PLANE(q[i] = repeat_low(q[i]));
			break;
		default:
			mix_columns(q, 8 - 1, 16 - 2);
			EACH_PLANE(q[i] = repeat_high(q[i]));
			break;
		}
		add_round_key(q, rk);
	}
	add_round_key(q, rk);

	/* Pack, and pay for ten ShiftRows: rows 1 and 3 are two columns off. */
	for (size_t j = 0; j < 4; j++) {
		uint32_t x = (q[j] & 0x0f0f0f0f) | (q[j + 4] & 0xf0f0f0f0);
		uint32_t t = (x ^ x >> 2) & 0x33003300;

		w[j] = x ^ t ^ t << 2;
	}
	smb3sign_wipe(q, sizeof(q));
}

static void portable_encrypt(const void *rk, const uint8_t in[16], uint8_t out[16])
{
	uint32_t w[4];

	load_packed(w, in);
	encrypt_packed(w, rk);
	store_packed(out, w);
	smb3sign_wipe(w, sizeof(w)); /* the block may be GCM's H or CMAC's L */
}

/* The chaining value stays packed; packing the message does not wait for it. */
static void portable_cbcmac(const void *rk, uint8_t h[16], const uint8_t *p, size_t nblk)
{
	uint32_t w[4], m[4];

	load_packed(w, h);
	for (; nblk; nblk--, p += 16) {
		load_packed(m, p);
		for (size_t j = 0; j < 4; j++)
			w[j] ^= m[j];
		encrypt_packed(w, rk);
	}
	store_packed(h, w);
	smb3sign_wipe(w, sizeof(w));
}

/* Rotate the low nibble of every byte of rows (a mask of nibbles) left by n. */
INLINE uint32_t rotate_rows(uint32_t x, uint32_t rows, unsigned n)
{
	uint32_t y = x & rows;

	return (x & ~rows) | ((y << n | y >> (4 - n)) & rows);
}

/* One round key of plain planes (each column once), as the file's head describes them, 0x63 included. */
static void store_round_key(uint8_t *rk, const uint32_t k[PLANES], unsigned round)
{
	for (size_t i = 0; i < PLANES; i++) {
		uint32_t x = k[i];

		if (round & 1) {
			x = rotate_rows(x, 0x0f000f00, 1);
			x = rotate_rows(x, 0x0f0f0000, 2);
		}
		if (round & 2)
			x = rotate_rows(x, 0x0f000f00, 2);
		x |= x << 4;
		if (round && (0x63 >> i & 1))
			x = ~x;
		memcpy(rk + 4 * i, &x, sizeof(x));
	}
}

/*
 * FIPS 197 5.2, on planes: the column of the next round key is the sum of the columns of this one up to it and of
 * SubWord(RotWord(last column)) + Rcon. So that is added to column 0, and each plane summed from column 0 on.
 */
static void portable_expand(void *rk, const uint8_t key[16])
{
	uint32_t planes[PLANES], s[PLANES], w[4], *k = planes;
	unsigned rcon = 1;

	load_packed(w, key);
	EACH_PLANE(k[i] = (i < 4 ? w[i % 4] : w[i % 4] >> 4) & 0x0f0f0f0f);
	for (unsigned round = 0;; round++) {
		PIN_POINTER(k); /* no copies of planes: the last round key's would stay on the stack */
		store_round_key((uint8_t *)rk + round * sizeof(planes), k, round);
		if (round == ROUNDS)
			break;
		EACH_PLANE(s[i] = ror32(k[i], 8));
		sub_bytes(s);
		for (size_t i = 0; i < PLANES; i++) {
			uint32_t x = k[i] ^ (s[i] >> 3 & 0x01010101) ^ (rcon >> i & 1);

			if (0x63 >> i & 1)
				x ^= 0x01010101;
			x ^= x << 1 & 0x0e0e0e0e;
			k[i] = x ^ (x << 2 & 0x0c0c0c0c);
		}
		rcon = rcon << 1 ^ (rcon >> 7) * 0x11b;
	}
	smb3sign_wipe(planes, sizeof(planes));
	smb3sign_wipe(s, sizeof(s));
	smb3sign_wipe(w, sizeof(w));
}

const struct smb3sign_aes smb3sign_aes_portable = {
	.name = "portable",
	.rk_size = (ROUNDS + 1) * PLANES * sizeof(uint32_t),
	.expand = portable_expand,
	.encrypt = portable_encrypt,
	.cbcmac = portable_cbcmac,
};
