/* SPDX-License-Identifier: MIT */
/* AES-128 with AES-NI as inline parts: for the kernels in aes_ni.c and for GMAC, which encrypts one block among its GHASH. */
#ifndef SMB3SIGN_AES_NI_H
#define SMB3SIGN_AES_NI_H

#include "x86.h"

enum { AES_NI_RK_SIZE = 11 * 16 };

/* The nine middle rounds. */
TARGET("aes,ssse3") INLINE __m128i aes_ni_middle(__m128i s, const __m128i k[11])
{
	for (int i = 1; i < 10; i++)
		s = _mm_aesenc_si128(s, k[i]);
	return s;
}

TARGET("aes,ssse3") INLINE void aes_ni_load_keys(__m128i k[11], const void *rk)
{
	for (int i = 0; i < 11; i++)
		k[i] = load((const uint8_t *)rk + 16 * i);
}

TARGET("aes,ssse3") INLINE __m128i aes_ni_encrypt(const void *rk, __m128i in)
{
	__m128i k[11];

	aes_ni_load_keys(k, rk);
	return _mm_aesenclast_si128(aes_ni_middle(_mm_xor_si128(in, k[0]), k), k[10]);
}

#endif
