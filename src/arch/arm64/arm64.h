/* SPDX-License-Identifier: MIT */
/*
 * Which arm64 kernels this build has, and loads and stores for them. Some compilers take an instruction set from flags
 * only (clang before 16, gcc 12 for SHA3), so each kernel has a file of its own, and the build system compiles it with
 * -march and says so by SMB3SIGN_FLAGS_...; with a plain `cc src/...` those kernels are there that the compiler has
 * switched on by itself, as Apple's has. Nothing outside a kernel is compiled for a processor that may not be there.
 *
 * Little-endian only. On big-endian arm64, which Linux has and hardly anybody runs, the portable kernels do the work.
 */
#ifndef SMB3SIGN_ARM64_H
#define SMB3SIGN_ARM64_H

#if defined(__aarch64__) && defined(__GNUC__) && !defined(__AARCH64EB__)
#define SMB3SIGN_ARM64
/* AESE, PMULL, SHA256H: "crypto" to compilers, apart in the processor's own account. */
#if (defined(SMB3SIGN_FLAGS_ARM64_CE) || (defined(__ARM_FEATURE_AES) && defined(__ARM_FEATURE_SHA2))) && \
	!defined(SMB3SIGN_WITHOUT_ARM64_CE)
#define SMB3SIGN_ARM64_CE
#endif
/* EOR3, SHA512H. */
#if (defined(SMB3SIGN_FLAGS_ARM64_SHA3) || (defined(__ARM_FEATURE_SHA3) && defined(__ARM_FEATURE_SHA512))) && \
	!defined(SMB3SIGN_WITHOUT_ARM64_SHA3) && defined(SMB3SIGN_ARM64_CE)
#define SMB3SIGN_ARM64_SHA3
#endif
#endif

#ifdef SMB3SIGN_ARM64
#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "../../kernels.h"
#include "../../util.h"

/* As PIN_POINTER: the compiler may not look into this vector, so it does not reorder the sum that it is. */
#define PIN_VECTOR(v) __asm__("" : "+w"(v))

typedef uint8x16_t block16;

INLINE block16 block_xor(block16 a, block16 b)
{
	return veorq_u8(a, b);
}

INLINE block16 block_or(block16 a, block16 b)
{
	return vorrq_u8(a, b);
}

INLINE uint8x16_t load(const void *p)
{
	return vld1q_u8(p);
}

INLINE void store(void *p, uint8x16_t v)
{
	vst1q_u8(p, v);
}

INLINE uint8x16_t zero(void)
{
	return vdupq_n_u8(0);
}

INLINE uint8x16_t of_words(uint64_t lo, uint64_t hi)
{
	return vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(lo), vcreate_u64(hi)));
}

/* n bytes, 1 <= n <= 15, zeros behind them. */
INLINE uint8x16_t load_partial(const uint8_t *p, size_t n)
{
	uint64_t w[2];

	load_partial_words(w, p, n);
	return of_words(w[0], w[1]);
}

/* Spelled out: gcc 12 would go through the stack, where the right signature of a forged message is not to stay. */
INLINE struct smb3sign_tag tag_of(uint8x16_t v)
{
	struct smb3sign_tag tag;

	__asm__("umov %0, %1.d[0]" : "=r"(tag.word[0]) : "w"(v));
	__asm__("umov %0, %1.d[1]" : "=r"(tag.word[1]) : "w"(v));
	return tag;
}

/* The 16 bytes at offset 16 of the header, Flags first, with flags or-ed in. */
INLINE uint8x16_t load_flags(const uint8_t *hdr, uint8_t set_flags)
{
	return vorrq_u8(load(hdr + 16), of_words(set_flags, 0));
}

/* A block with 0x80 at byte n, 0 <= n <= 15: where the padding of SHA-256 and CMAC starts. */
INLINE uint8x16_t pad_mark(size_t n)
{
	static const uint8_t marks[31] = {[15] = 0x80};

	return load(marks + 15 - n);
}
#endif

#endif
