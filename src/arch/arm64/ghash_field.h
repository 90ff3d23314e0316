/* SPDX-License-Identifier: MIT */
/*
 * Blocks of GHASH as arm64's kernels keep them, "swapped": REV64 reverses the bytes of each half and leaves the halves
 * where they are, so the upper half of the reversed block is in lane 0 and the lower one in lane 1. ghash_template.h
 * has the algebra.
 */
#ifndef SMB3SIGN_GHASH_FIELD_H
#define SMB3SIGN_GHASH_FIELD_H

#include "arm64.h"

#ifdef SMB3SIGN_ARM64

INLINE uint8x16_t load_block(const uint8_t *p)
{
	return vrev64q_u8(load(p));
}

INLINE uint8x16_t swap_halves(uint8x16_t v)
{
	return vextq_u8(v, v, 8);
}

/* x times the reversed H: shift left by one; a bit that falls out is x^128 = x^127 + x^126 + x^121 + 1. */
INLINE uint8x16_t times_x(const uint8_t h[16])
{
	uint64_t hi = load_be64(h), lo = load_be64(h + 8), out = 0 - (hi >> 63);

	return of_words((hi << 1 | lo >> 63) ^ (out & 0xc200000000000000), lo << 1 ^ (out & 1));
}

#endif
#endif
