/* SPDX-License-Identifier: MIT */
/*
 * CBC-MAC chains of several messages side by side. One chain waits ten latencies for each of its blocks; the unit can begin
 * a block's round every half cycle, so eight chains fill it (4 cycles' latency). With one key for all, and VAES, two blocks
 * share an instruction and sixteen chains take the time of eight.
 *
 * The rounds are as in aes_ni.c: the last key, the first key and the next block of the message go in with the last round.
 */
#include "../../kernels.h"
#include "../../cpu.h"
#include "aes_ni.h"

#ifdef SMB3SIGN_X86_AES_NI

/*
 * Each lane with round keys of its own, taken from memory by the instruction itself. The state of a lane that is not there
 * is lane 0's again, and dropped.
 */
TARGET("aes,ssse3")
static void own_keys(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	const uint8_t *p[8];
	const void *rk[8];
	__m128i s[8];

#pragma GCC unroll 8
	for (size_t j = 0; j < 8; j++) {
		const struct smb3sign_lane *lane = &lanes[j < n ? j : 0];

		p[j] = lane->p;
		rk[j] = lane->rk;
		s[j] = _mm_xor_si128(_mm_xor_si128(load(lane->state), load(lane->p)), aes_ni_rk(lane->rk, 0));
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
			__m128i last = _mm_xor_si128(_mm_xor_si128(load(p[j] + at), aes_ni_rk(rk[j], 10)),
						     aes_ni_rk(rk[j], 0));

			s[j] = _mm_aesenclast_si128(s[j], last);
		}
	}
#pragma GCC unroll 8
	for (size_t j = 0; j < 8; j++)
		if (j < n)
			store(lanes[j].state, _mm_aesenclast_si128(s[j], aes_ni_rk(rk[j], 10)));
}

void smb3sign_cbcmac_lanes_ni(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	if (n == 1)
		smb3sign_aes_ni.cbcmac(lanes->rk, (uint8_t *)lanes->state, lanes->p, nblk);
	else
		own_keys(lanes, n, nblk);
}

#ifdef SMB3SIGN_X86_VPCLMUL

#define VAES TARGET("avx2,vaes,aes")

VAES INLINE __m256i rk_twice(const void *rk, int round)
{
	return _mm256_broadcastsi128_si256(aes_ni_rk(rk, round));
}

VAES INLINE __m256i two(const void *low, const void *high)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(load(low)), load(high), 1);
}

VAES static void one_key(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	const void *rk = lanes->rk;
	const uint8_t *p[16];
	__m256i s[8];

	for (size_t j = 0; j < 16; j++)
		p[j] = lanes[j < n ? j : 0].p;
#pragma GCC unroll 8
	for (size_t j = 0; j < 8; j++) {
		const uint32_t *low = lanes[2 * j < n ? 2 * j : 0].state,
			       *high = lanes[2 * j + 1 < n ? 2 * j + 1 : 0].state;

		s[j] = _mm256_xor_si256(_mm256_xor_si256(two(low, high), two(p[2 * j], p[2 * j + 1])), rk_twice(rk, 0));
	}
	for (size_t at = 16;; at += 16) {
		__m256i k;

		PIN_POINTER(rk);
#pragma GCC unroll 9
		for (int round = 1; round < 10; round++) {
			k = rk_twice(rk, round);
#pragma GCC unroll 8
			for (size_t j = 0; j < 8; j++)
				s[j] = _mm256_aesenc_epi128(s[j], k);
		}
		if (at == 16 * nblk)
			break;
		k = _mm256_xor_si256(rk_twice(rk, 10), rk_twice(rk, 0));
#pragma GCC unroll 8
		for (size_t j = 0; j < 8; j++)
			s[j] = _mm256_aesenclast_epi128(s[j],
							_mm256_xor_si256(k, two(p[2 * j] + at, p[2 * j + 1] + at)));
	}
#pragma GCC unroll 8
	for (size_t j = 0; j < 8; j++) {
		s[j] = _mm256_aesenclast_epi128(s[j], rk_twice(rk, 10));
		if (2 * j < n)
			store(lanes[2 * j].state, _mm256_castsi256_si128(s[j]));
		if (2 * j + 1 < n)
			store(lanes[2 * j + 1].state, _mm256_extracti128_si256(s[j], 1));
	}
}

void smb3sign_cbcmac_lanes_vaes(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	size_t same = 1;

	while (same < n && lanes[same].rk == lanes[0].rk)
		same++;
	if (n > 8 && same == n) {
		one_key(lanes, n, nblk);
		return;
	}
	for (size_t done = 0; done < n; done += 8)
		smb3sign_cbcmac_lanes_ni(lanes + done, n - done < 8 ? n - done : 8, nblk);
}

#endif
#endif
