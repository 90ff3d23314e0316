/* SPDX-License-Identifier: MIT */
/*
 * CBC-MAC chains of several messages side by side. One chain waits ten latencies for each of its blocks; the unit can
 * begin a block's round every half cycle, so eight chains fill it (4 cycles' latency). With one key for all, and VAES,
 * two blocks share an instruction and sixteen chains take the time of eight.
 *
 * x86-64 only: with eight registers states are spilled, and one that is left on the stack gives the last round key
 * away, for the tag is known.
 *
 * The rounds are as in aes_ni.c: the last key, the first key and the next block of the message go in with the last
 * round.
 */
#include "../../kernels.h"
#include "../../cpu.h"
#include "aes_ni.h"

#ifdef SMB3SIGN_X86_AES_LANES

/*
 * A block of a message. Loads that gcc knows as such it does twice at will, and keeps what it then needs no more on the
 * stack: the last block, which has CMAC's subkey in it, would outlive the call.
 */
TARGET("sse2")
INLINE __m128i block_at(const uint8_t *p)
{
	__m128i block;

	__asm__("movdqu %1, %0" : "=x"(block) : "m"(*(const uint8_t(*)[16])p));
	return block;
}

/*
 * Each lane with round keys of its own, taken from memory by the instruction itself. A lane that is not there is lane 0
 * once more, and stores what lane 0 does.
 */
TARGET("aes,ssse3")
static void own_keys(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	struct smb3sign_lane *of[8], **lane = of;
	const uint8_t *p[8];
	const void *rk[8];
	__m128i s[8];

	for (size_t j = 0; j < 8; j++)
		of[j] = &lanes[j < n ? j : 0];
	PIN_POINTER(lane);
#pragma GCC unroll 8
	for (size_t j = 0; j < 8; j++) {
		p[j] = lane[j]->p;
		rk[j] = lane[j]->rk;
		s[j] = _mm_xor_si128(_mm_xor_si128(load(lane[j]->state), block_at(p[j])), aes_ni_rk(rk[j], 0));
		PIN_VECTOR(s[j]);
	}
	for (size_t at = 16;; at += 16) {
#pragma GCC unroll 8
		for (size_t j = 0; j < 8; j++)
			PIN_POINTER(rk[j]);
#pragma GCC unroll 9
		for (int round = 1; round < 10; round++) {
#pragma GCC unroll 8
			for (size_t j = 0; j < 8; j++)
				s[j] = _mm_aesenc_si128(s[j], aes_ni_rk(rk[j], round));
		}
		if (at == 16 * nblk)
			break;
#pragma GCC unroll 8
		for (size_t j = 0; j < 8; j++) {
			__m128i last = _mm_xor_si128(block_at(p[j] + at), aes_ni_rk(rk[j], AES_NI_K10_K0));

			s[j] = _mm_aesenclast_si128(s[j], last);
		}
	}
#pragma GCC unroll 8
	for (size_t j = 0; j < 8; j++)
		store(lane[j]->state, _mm_aesenclast_si128(s[j], aes_ni_rk(rk[j], 10)));
}

void smb3sign_cbcmac_lanes_ni(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	if (n == 1)
		smb3sign_aes_ni.cbcmac(lanes->rk, (uint8_t *)lanes->state, lanes->p, nblk);
	else
		own_keys(lanes, n, nblk);
}

#ifdef SMB3SIGN_X86_VAES

#define VAES TARGET("avx2,vaes,aes")

VAES INLINE __m256i rk_twice(const void *rk, int round)
{
	return _mm256_broadcastsi128_si256(aes_ni_rk(rk, round));
}

VAES INLINE __m256i two(const void *low, const void *high)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(load(low)), load(high), 1);
}

/* Eight lanes, two in a vector. */
struct eight {
	__m256i s[4];
	const uint8_t *p[8];
};

VAES INLINE void eight_start(struct eight *e, struct smb3sign_lane *const *lane, const void *rk)
{
#pragma GCC unroll 4
	for (size_t j = 0; j < 4; j++) {
		const struct smb3sign_lane *low = lane[2 * j], *high = lane[2 * j + 1];

		e->p[2 * j] = low->p;
		e->p[2 * j + 1] = high->p;
		e->s[j] = two(low->p, high->p);
		PIN_VECTOR(e->s[j]); /* in this order, or clang begins with all vectors at once, and spills */
		e->s[j] = _mm256_xor_si256(e->s[j], _mm256_xor_si256(two(low->state, high->state), rk_twice(rk, 0)));
	}
}

VAES INLINE void eight_round(struct eight *e, __m256i k)
{
#pragma GCC unroll 4
	for (size_t j = 0; j < 4; j++)
		e->s[j] = _mm256_aesenc_epi128(e->s[j], k);
}

VAES INLINE void eight_next(struct eight *e, __m256i k10_k0, size_t at)
{
#pragma GCC unroll 4
	for (size_t j = 0; j < 4; j++) {
		__m256i block = two(e->p[2 * j] + at, e->p[2 * j + 1] + at);

		e->s[j] = _mm256_aesenclast_epi128(e->s[j], _mm256_xor_si256(k10_k0, block));
	}
}

/* A lane that is not there has lane 0's state, and stores what lane 0 does. */
VAES INLINE void eight_end(struct eight *e, struct smb3sign_lane *const *lane, const void *rk)
{
#pragma GCC unroll 4
	for (size_t j = 0; j < 4; j++) {
		__m256i s = _mm256_aesenclast_epi128(e->s[j], rk_twice(rk, 10));

		store(lane[2 * j]->state, _mm256_castsi256_si128(s));
		store(lane[2 * j + 1]->state, _mm256_extracti128_si256(s, 1));
	}
}

/* `eights` is 1 or 2, a constant where it is called. */
VAES INLINE void one_key(struct smb3sign_lane *lanes, size_t n, size_t nblk, size_t eights)
{
	struct smb3sign_lane *of[16], **lane = of;
	const void *rk = lanes->rk;
	struct eight e[2];

	for (size_t i = 0; i < 8 * eights; i++)
		of[i] = &lanes[i < n ? i : 0];
	PIN_POINTER(lane);
	eight_start(&e[0], lane, rk);
	if (eights == 2)
		eight_start(&e[1], lane + 8, rk);
	for (size_t at = 16;; at += 16) {
		__m256i k;

		PIN_POINTER(rk);
#pragma GCC unroll 9
		for (int round = 1; round < 10; round++) {
			k = rk_twice(rk, round);
			eight_round(&e[0], k);
			if (eights == 2)
				eight_round(&e[1], k);
		}
		if (at == 16 * nblk)
			break;
		k = rk_twice(rk, AES_NI_K10_K0);
		eight_next(&e[0], k, at);
		if (eights == 2)
			eight_next(&e[1], k, at);
	}
	eight_end(&e[0], lane, rk);
	if (eights == 2)
		eight_end(&e[1], lane + 8, rk);
}

VAES static void one_key_8(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	one_key(lanes, n, nblk, 1);
}

VAES static void one_key_16(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	one_key(lanes, n, nblk, 2);
}

void smb3sign_cbcmac_lanes_vaes(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	size_t same = 1;

	while (same < n && lanes[same].rk == lanes[0].rk)
		same++;
	if (n == 1)
		smb3sign_cbcmac_lanes_ni(lanes, n, nblk);
	else if (same == n && n <= 8)
		one_key_8(lanes, n, nblk);
	else if (same == n)
		one_key_16(lanes, n, nblk);
	else
		for (size_t done = 0; done < n; done += 8)
			smb3sign_cbcmac_lanes_ni(lanes + done, n - done < 8 ? n - done : 8, nblk);
}

#endif
#endif
