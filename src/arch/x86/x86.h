/* SPDX-License-Identifier: MIT */
/*
 * Which x86 kernels this build has. The build system probes compiler and assembler and defines SMB3SIGN_WITHOUT_... for
 * what they cannot do; a plain `cc src/...` builds everything. Instruction sets come from function attributes, never
 * from flags, so that nothing outside a kernel is compiled for a processor that may not be there.
 */
#ifndef SMB3SIGN_X86_H
#define SMB3SIGN_X86_H

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#define SMB3SIGN_X86
#ifndef SMB3SIGN_WITHOUT_SSSE3
#define SMB3SIGN_X86_SSSE3
#endif
#ifndef SMB3SIGN_WITHOUT_AES_NI
#define SMB3SIGN_X86_AES_NI
#endif
#if !defined(SMB3SIGN_WITHOUT_PCLMUL) && defined(SMB3SIGN_X86_AES_NI)
#define SMB3SIGN_X86_PCLMUL
#endif
/* With i386's eight registers, compilers spill powers of H in the wide ones. */
#if !defined(SMB3SIGN_WITHOUT_VPCLMUL) && defined(SMB3SIGN_X86_PCLMUL) && defined(__x86_64__)
#define SMB3SIGN_X86_VPCLMUL
#endif
#if !defined(SMB3SIGN_WITHOUT_AVX512) && defined(SMB3SIGN_X86_VPCLMUL)
#define SMB3SIGN_X86_AVX512
#endif
#if defined(SMB3SIGN_X86_AES_NI) && defined(__x86_64__)
#define SMB3SIGN_X86_AES_LANES
#endif
#if defined(SMB3SIGN_X86_VPCLMUL) && defined(SMB3SIGN_X86_AES_LANES)
#define SMB3SIGN_X86_VAES
#endif
#ifndef SMB3SIGN_WITHOUT_SHA_NI
#define SMB3SIGN_X86_SHA_NI
#endif
#ifdef __x86_64__ /* i386 has too few registers: sha256_template.h */
#ifndef SMB3SIGN_WITHOUT_SHA256_AVX2
#define SMB3SIGN_X86_SHA256_AVX2
#endif
#if !defined(SMB3SIGN_WITHOUT_SHA256_AVX512) && defined(SMB3SIGN_X86_SHA256_AVX2)
#define SMB3SIGN_X86_SHA256_AVX512
#endif
#ifdef SMB3SIGN_X86_SSSE3
#define SMB3SIGN_X86_SHA256_SSSE3
#endif
#endif
#endif

#ifdef SMB3SIGN_X86
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "../../kernels.h"
#include "../../util.h"

#define TARGET(isa) __attribute__((target(isa)))

/* As PIN_POINTER: gcc would reorder a sum of vectors, and spill what it then has to keep. */
#define PIN_VECTOR(v) __asm__("" : "+x"(v))

typedef __m128i block16;

TARGET("sse2") INLINE block16 zero(void)
{
	return _mm_setzero_si128();
}

TARGET("sse2") INLINE block16 of_words(uint64_t lo, uint64_t hi)
{
	return _mm_set_epi64x((int64_t)hi, (int64_t)lo);
}

TARGET("sse2") INLINE block16 block_xor(block16 a, block16 b)
{
	return _mm_xor_si128(a, b);
}

TARGET("sse2") INLINE block16 block_or(block16 a, block16 b)
{
	return _mm_or_si128(a, b);
}

TARGET("sse2") INLINE __m128i load(const void *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

TARGET("sse2") INLINE void store(void *p, __m128i v)
{
	_mm_storeu_si128((__m128i *)p, v);
}

/* The halves of every byte. */
TARGET("sse2") INLINE __m128i low_nibbles(__m128i v)
{
	return _mm_and_si128(v, _mm_set1_epi8(0x0f));
}

TARGET("sse2") INLINE __m128i high_nibbles(__m128i v)
{
	return low_nibbles(_mm_srli_epi16(v, 4));
}

/* n bytes, 1 <= n <= 15, zeros behind them. */
TARGET("sse2") INLINE __m128i load_partial(const uint8_t *p, size_t n)
{
	uint64_t w[2];

	load_partial_words(w, p, n);
	return of_words(w[0], w[1]);
}

TARGET("sse2") INLINE struct smb3sign_tag tag_of(__m128i v)
{
	struct smb3sign_tag tag;

#ifdef __x86_64__
	tag.word[0] = (uint64_t)_mm_cvtsi128_si64(v);
	tag.word[1] = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(v, v));
#else
	store(&tag, v);
#endif
	return tag;
}

/* The 16 bytes at offset 16 of the header, Flags first, with flags or-ed in. */
TARGET("sse2") INLINE __m128i load_flags(const uint8_t *hdr, uint8_t set_flags)
{
	return _mm_or_si128(load(hdr + 16), _mm_cvtsi32_si128(set_flags));
}

/* A block with 0x80 at byte n, 0 <= n <= 15: where the padding of SHA-256 and CMAC starts. */
TARGET("sse2") INLINE __m128i pad_mark(size_t n)
{
	static const uint8_t marks[31] = {[15] = 0x80};

	return load(marks + 15 - n);
}
#endif

#endif
