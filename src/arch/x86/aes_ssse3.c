/* SPDX-License-Identifier: MIT */
/*
 * AES-128 and CMAC with SSSE3: PSHUFB looks all bytes of a block up in a table of 16 entries at once, in registers, so
 * in constant time (M. Hamburg, "Accelerating AES with Vector Permute Instructions", CHES 2009). For processors and
 * virtual machines without AES-NI. Each constant is recomputed from what is said here by test_kernels.c.
 *
 * SubBytes inverts in GF(2^8), and 16 entries allow inversions in its subfield GF(16). Let s = 0x5c, a root of s^4 + s
 * + 1; the nibble n is n3 s^3 + n2 s^2 + n1 s + n0. Let u = 0x12, for which u + u^16 = 1, and v = u^17, which is in
 * GF(16). Every byte is x = i u + j u^16 with i and j in GF(16), and is kept as 16 i + k, where k = i + j. Its norm is
 *     N = x^17 = (i u + j u^16) (j u + i u^16) = v k^2 + i j, and 1/x = x^16 / N = (j/N) u + (i/N) u^16
 * With a = 1/v and four inversions in GF(16),
 *     p = 1/(1/i + a/k) + j = N/(v k + i)        q = 1/(1/j + a/k) + i = N/(v k + j)
 * so 1/p + 1/q = k/N, i/N = 1/p + v k/N, j/N = 1/q + v k/N, and
 *     1/x = (v + u^16)/p + (v + u)/q
 * The affine map of SubBytes is linear but for 0x63, so what remains is a table of p plus one of q.
 *
 * Of a nibble that has its top bit (0x80) set, PSHUFB makes 0. So 0x80 stands for 1/0: it stays set in a sum, whose
 * inverse is then 0, as it must be where i, j or k is 0. For x = 0 both terms have it, the sum is 0, and its inverse
 * sets it again: nothing is looked up of p and q, and 1/x is 0, as FIPS 197 has it.
 *
 * Everything else is linear, and done with encoded bytes: round keys and message blocks are encoded, the chaining value
 * stays so until the end. 0x63 is in the round keys: ShiftRows and MixColumns change nothing in a state of equal bytes.
 * ShiftRows is owed, as in aes.c: after n of them, what belongs to row r, column c stands at column c + n r, and round
 * keys are stored that way. Only what is owed after the tenth round is paid.
 */
#include "../../kernels.h"
#include "../../cpu.h"
#include "../../key.h"
#include "aes_ssse3.h"

#ifdef SMB3SIGN_X86_SSSE3

#define ISA TARGET("ssse3")

typedef struct smb3sign_aes_ssse3_tables tables;

/* The place of row r, column c; and a block with one expression for each row and column. */
#define PLACE(r, c) (4 * ((c)&3) + ((r)&3))
#define BLOCK(f, n)                                                                \
	{                                                                          \
		COLUMN(f, n, 0), COLUMN(f, n, 1), COLUMN(f, n, 2), COLUMN(f, n, 3) \
	}
#define COLUMN(f, n, c)   f(n, 0, c), f(n, 1, c), f(n, 2, c), f(n, 3, c)
#define OWE(n, r, c)      PLACE(r, (c) - (n) * (r))
#define NEXT(n, r, c)     PLACE((r) + 1, (c) + (n))
#define PREVIOUS(n, r, c) PLACE((r)-1, (c) - (n))

const tables smb3sign_aes_ssse3_tables = {
	.inv = {0x80, 0x01, 0x09, 0x0e, 0x0d, 0x0b, 0x07, 0x06, 0x0f, 0x02, 0x0c, 0x05, 0x0a, 0x04, 0x03, 0x08},
	.a_inv = {0x80, 0x05, 0x0b, 0x03, 0x0c, 0x01, 0x08, 0x0d, 0x06, 0x0a, 0x09, 0x02, 0x04, 0x07, 0x0f, 0x0e},
	.sub_p = {0x00, 0x55, 0x5f, 0x3a, 0xae, 0x9e, 0x65, 0x30, 0x6f, 0xc1, 0xfb, 0xa4, 0xcb, 0xf1, 0x94, 0x0a},
	.sub_q = {0x00, 0xf4, 0x26, 0xa5, 0xc2, 0xb5, 0x83, 0x77, 0x51, 0x93, 0x36, 0x10, 0x41, 0xe4, 0x67, 0xd2},
	.double_p = {0x00, 0x9b, 0xd9, 0xc4, 0x6f, 0xe9, 0x1d, 0x86, 0x5f, 0x30, 0xf4, 0x2d, 0x72, 0xb6, 0xab, 0x42},
	.double_q = {0x00, 0x97, 0xcb, 0x76, 0xce, 0xe4, 0xbd, 0x2a, 0xe1, 0x2f, 0x59, 0x92, 0x73, 0x05, 0xb8, 0x5c},
	.encode_low = {0x00, 0x10, 0x92, 0x82, 0x74, 0x64, 0xe6, 0xf6, 0xd4, 0xc4, 0x46, 0x56, 0xa0, 0xb0, 0x32, 0x22},
	.encode_high = {0x00, 0x83, 0xbd, 0x3e, 0x03, 0x80, 0xbe, 0x3d, 0xfe, 0x7d, 0x43, 0xc0, 0xfd, 0x7e, 0x40, 0xc3},
	.decode_low = {0x00, 0x13, 0x53, 0x40, 0xb9, 0xaa, 0xea, 0xf9, 0x87, 0x94, 0xd4, 0xc7, 0x3e, 0x2d, 0x6d, 0x7e},
	.decode_high = {0x00, 0x01, 0x5c, 0x5d, 0xe0, 0xe1, 0xbc, 0xbd, 0x50, 0x51, 0x0c, 0x0d, 0xb0, 0xb1, 0xec, 0xed},
	.owe = {BLOCK(OWE, 0), BLOCK(OWE, 1), BLOCK(OWE, 2), BLOCK(OWE, 3)},
	.row = {{BLOCK(NEXT, 0), BLOCK(PREVIOUS, 0)},
		{BLOCK(NEXT, 1), BLOCK(PREVIOUS, 1)},
		{BLOCK(NEXT, 2), BLOCK(PREVIOUS, 2)},
		{BLOCK(NEXT, 3), BLOCK(PREVIOUS, 3)}},
	.rcon = {0x10, 0x92, 0x74, 0xd4, 0x83, 0xbd, 0x03, 0xfe, 0xd5, 0xd8},
	.c63 = 0x3c,
};

/*
 * The tables are read after the vector v is there, each time anew: kept in registers they, or what is secret, would be
 * spilled. The processor reads ahead all the same.
 */
#define READ_AFTER(v, t) __asm__("" : "+x"(v), "+r"(t))

ISA INLINE __m128i look_up(const uint8_t table[16], __m128i index)
{
	return _mm_shuffle_epi8(_mm_load_si128((const __m128i *)(const void *)table), index);
}

ISA INLINE __m128i permute(__m128i v, const uint8_t from[16])
{
	return _mm_shuffle_epi8(v, _mm_load_si128((const __m128i *)(const void *)from));
}

/* The linear map of bytes whose tables for the low and for the high nibble these are. */
ISA INLINE __m128i map_bytes(__m128i v, const uint8_t low[16], const uint8_t high[16])
{
	return _mm_xor_si128(look_up(low, low_nibbles(v)), look_up(high, high_nibbles(v)));
}

ISA INLINE __m128i encode(__m128i v)
{
	const tables *t = &smb3sign_aes_ssse3_tables;

	READ_AFTER(v, t);
	return map_bytes(v, t->encode_low, t->encode_high);
}

ISA INLINE __m128i decode(__m128i v)
{
	const tables *t = &smb3sign_aes_ssse3_tables;

	READ_AFTER(v, t);
	return map_bytes(v, t->decode_low, t->decode_high);
}

struct inverted {
	__m128i p, q;
};

ISA INLINE struct inverted invert(const tables *t, __m128i x)
{
	__m128i k = low_nibbles(x), i = high_nibbles(x), j = _mm_xor_si128(i, k);
	__m128i ak = look_up(t->a_inv, k);
	__m128i iak = _mm_xor_si128(look_up(t->inv, i), ak);
	__m128i jak = _mm_xor_si128(look_up(t->inv, j), ak);

	return (struct inverted){_mm_xor_si128(look_up(t->inv, iak), j), _mm_xor_si128(look_up(t->inv, jak), i)};
}

/* SubBytes without 0x63, plus key. q is there last, so it is added last. */
ISA INLINE __m128i sub_bytes(const tables *t, struct inverted v, __m128i key)
{
	__m128i sum = _mm_xor_si128(look_up(t->sub_p, v.p), key);

	PIN_VECTOR(sum);
	return _mm_xor_si128(sum, look_up(t->sub_q, v.q));
}

/*
 * A middle round (FIPS 197 5.1). With f(A) the byte of the next row for each byte, MixColumns of A is
 *     2 A + 3 f(A) + f^2(A) + f^3(A) = y + f(y) + f^3(A), where y = 2 A + f(A)
 * and f^3 is the previous row. The round key K is added to A, as g(K) where g is f + f^2 + f^3. It is in those three
 * places, so the sum gets g(g(K)), which is f^2(K) + f^4(K) + f^6(K) = K, for f^4 changes nothing.
 *
 * The round's latency is 13 instructions of one cycle: 3 to j, 4 to q, 2 to A, 4 to the sum. The barriers keep the
 * order of the sums, without which compilers make it one or two more.
 */
ISA INLINE __m128i round_middle(const tables *t, __m128i x, __m128i key, size_t owed)
{
	struct inverted v = invert(t, x);
	__m128i a = sub_bytes(t, v, key), y, sum;

	PIN_VECTOR(a);
	y = _mm_xor_si128(look_up(t->double_p, v.p), look_up(t->double_q, v.q));
	y = _mm_xor_si128(y, permute(a, t->row[owed].next));
	sum = _mm_xor_si128(y, permute(a, t->row[owed].previous));
	PIN_VECTOR(sum);
	return _mm_xor_si128(sum, permute(y, t->row[owed].next));
}

/* Round keys: 0, 1 to 9 as round_middle takes them, 10, and 10 plus 0. */
enum { RK_SIZE = 12 * 16 };

INLINE const uint8_t *round_key(const void *rk, size_t n)
{
	return (const uint8_t *)rk + 16 * n;
}

/* The nine middle rounds. No copy for each caller: it is a kilobyte if unrolled, and not slower if not. */
ISA NOINLINE __m128i middle(const void *rk, __m128i x)
{
	const tables *t = &smb3sign_aes_ssse3_tables;

#pragma GCC unroll 1
	for (size_t n = 1; n < 10; n++) {
		READ_AFTER(x, t);
		x = round_middle(t, x, load(round_key(rk, n)), n & 3);
	}
	return x;
}

/* The tenth round, its key added; the ten ShiftRows are paid. */
ISA INLINE __m128i round_last(__m128i x, __m128i key)
{
	const tables *t = &smb3sign_aes_ssse3_tables;

	READ_AFTER(x, t);
	return permute(sub_bytes(t, invert(t, x), key), t->owe[10 & 3]);
}

/* The round key K as round_middle takes it: f(K) + f^2(K) + f^3(K). */
ISA INLINE __m128i other_rows(const tables *t, __m128i k)
{
	__m128i sum = _mm_xor_si128(k, permute(k, t->row[0].next));

	return _mm_xor_si128(permute(sum, t->row[0].next), permute(k, t->row[0].previous));
}

/*
 * FIPS 197 5.2. The last word of the round key, rotated, goes into all four columns. The running XOR w0, w0^w1, ... is
 * two shifted XORs.
 */
ISA static void expand(void *rk, const uint8_t key[16])
{
	const tables *t = &smb3sign_aes_ssse3_tables;
	__m128i k = encode(load(key));
	uint8_t *out = rk;

	store(out, k);
#pragma GCC unroll 1
	for (size_t n = 1; n <= 10; n++) {
		__m128i word, c63;

		READ_AFTER(k, t);
		c63 = _mm_set1_epi8((char)t->c63);
		word = sub_bytes(t, invert(t, _mm_shuffle_epi8(k, _mm_set1_epi32(0x0c0f0e0d))), c63);
		word = _mm_xor_si128(word, _mm_set1_epi32(t->rcon[n - 1]));
		k = _mm_xor_si128(k, _mm_slli_si128(k, 4));
		k = _mm_xor_si128(k, _mm_slli_si128(k, 8));
		k = _mm_xor_si128(k, word);
		word = _mm_xor_si128(n < 10 ? other_rows(t, k) : k, c63);
		store(out + 16 * n, permute(word, t->owe[n & 3]));
	}
	store(out + 16 * 11, _mm_xor_si128(load(out + 16 * 10), permute(load(out), t->owe[10 & 3])));
}

ISA static void encrypt(const void *rk, const uint8_t in[16], uint8_t out[16])
{
	__m128i x = middle(rk, _mm_xor_si128(encode(load(in)), load(rk)));

	store(out, decode(round_last(x, load(round_key(rk, 10)))));
}

/*
 * A chain under way: x is what the middle rounds made of all blocks so far. The last round, the next block and the
 * first round key of its encryption are one sum; what does not wait for x is added first, owing ShiftRows as x does.
 */
struct chain {
	const void *rk;
	__m128i x;
};

ISA INLINE void chain_start(struct chain *c, const void *rk, __m128i block)
{
	c->rk = rk;
	c->x = middle(rk, _mm_xor_si128(encode(block), load(rk)));
}

ISA NOINLINE __m128i next_block(const void *rk, __m128i x, __m128i block)
{
	const tables *t = &smb3sign_aes_ssse3_tables;
	__m128i sum = encode(block);

	READ_AFTER(sum, t);
	sum = _mm_xor_si128(permute(sum, t->owe[10 & 3]), load(round_key(rk, 11)));
	return middle(rk, round_last(x, sum));
}

ISA INLINE void chain_next(struct chain *c, __m128i block)
{
	c->x = next_block(c->rk, c->x, block);
}

ISA INLINE __m128i chain_end(const struct chain *c)
{
	return decode(round_last(c->x, load(round_key(c->rk, 10))));
}

#include "../cmac_template.h"

const struct smb3sign_aes smb3sign_aes_ssse3 = {
	.name = "ssse3",
	.needs = SMB3SIGN_CPU_SSSE3,
	.rk_size = RK_SIZE,
	.expand = expand,
	.encrypt = encrypt,
	.cbcmac = cbcmac,
	.cmac = cmac,
};

#endif
