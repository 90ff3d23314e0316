/* SPDX-License-Identifier: MIT */
/*
 * AES-128 with AES-NI as inline parts: for the kernels in aes_ni.c and for GMAC, which encrypts one block among its
 * GHASH.
 *
 * Round keys are read from the key for every block. That costs nothing, for the rounds wait for each other and not for
 * loads; kept in registers they would sooner or later be spilled, and a copy on the stack outlives the key.
 */
#ifndef SMB3SIGN_AES_NI_H
#define SMB3SIGN_AES_NI_H

#include "x86.h"

#ifdef SMB3SIGN_X86

/* Round keys 0 to 10, and behind them the sum of 10 and 0, which a chain of blocks wants. */
enum { AES_NI_RK_SIZE = 12 * 16, AES_NI_K10_K0 = 11 };

/* Where a key is aligned to 16 bytes, AESENC takes the round key from memory itself, without a load before it. */
TARGET("sse2") INLINE __m128i aes_ni_rk(const void *rk, int round)
{
	const __m128i *k = (const __m128i *)rk + round;

	return KEY_ALIGN >= 16 ? _mm_load_si128(k) : _mm_loadu_si128(k);
}

/*
 * No round key is read before the round before is done with: otherwise the compiler reads all of them at once and
 * spills them. The processor reads ahead all the same.
 */
#define AES_NI_IN_ORDER(rk, s) __asm__("" : "+r"(rk), "+x"(s))

/* The nine middle rounds. */
TARGET("aes,ssse3") INLINE __m128i aes_ni_middle(const void *rk, __m128i s)
{
#pragma GCC unroll 9
	for (int i = 1; i < 10; i++) {
		AES_NI_IN_ORDER(rk, s);
		s = _mm_aesenc_si128(s, aes_ni_rk(rk, i));
	}
	AES_NI_IN_ORDER(rk, s);
	return s;
}

TARGET("aes,ssse3") INLINE __m128i aes_ni_encrypt(const void *rk, __m128i in)
{
	__m128i s = aes_ni_middle(rk, _mm_xor_si128(in, aes_ni_rk(rk, 0)));

	PIN_POINTER(rk);
	return _mm_aesenclast_si128(s, aes_ni_rk(rk, 10));
}

/* aes_lanes.c; the latter needs VAES. */
void smb3sign_cbcmac_lanes_ni(struct smb3sign_lane *lanes, size_t n, size_t nblk);
void smb3sign_cbcmac_lanes_vaes(struct smb3sign_lane *lanes, size_t n, size_t nblk);

#endif
#endif
