/* SPDX-License-Identifier: MIT */
/*
 * For objects.py, compiled as the library's kernels are: what the structs of kernels.h look like in this build; kernels that
 * leak, which it has to report; and kernels that do the like without leaking, which it has to let pass.
 */
#include <string.h>

#include "key.h"

#define OFFSET(type, member) (uint32_t) offsetof(struct smb3sign_##type, member)

extern const uint32_t ct_layout[];
const uint32_t ct_layout[] = {
	sizeof(struct smb3sign_lane),  OFFSET(lane, p),        OFFSET(lane, rk),
	sizeof(struct smb3sign_short), OFFSET(short, key),     OFFSET(short, hdr),
	OFFSET(short, body),           OFFSET(short, len),     OFFSET(short, caller),
	OFFSET(key, secret),           OFFSET(aes, expand),    OFFSET(aes, encrypt),
	OFFSET(aes, cbcmac),           OFFSET(aes, cmac),      OFFSET(aes, cbcmac_lanes),
	OFFSET(ghash, setkey),         OFFSET(ghash, blocks),  OFFSET(ghash, gmac),
	OFFSET(ghash, gmac_short),     OFFSET(sha256, blocks), OFFSET(sha256, hmac),
	OFFSET(sha256, blocks_lanes),  OFFSET(sha512, blocks),
};

#define BLOCKS(name) static void name(uint32_t state[8], const uint8_t *p, size_t nblk)

/* Kernels by the name of what is wrong with them. */
#define KERNEL(kind)                                                        \
	extern const struct smb3sign_sha256 smb3sign_sha256_planted_##kind; \
	const struct smb3sign_sha256 smb3sign_sha256_planted_##kind = {.name = #kind, .blocks = kind}

static const uint32_t table[256] = {1, 2, 3};

BLOCKS(branch)
{
	for (; nblk--; p++)
		if (*p & 1)
			state[nblk & 7] = state[0] * 77 + state[3] / 5;
}
KERNEL(branch);

BLOCKS(lookup)
{
	while (nblk--)
		state[0] ^= table[*p++];
}
KERNEL(lookup);

/* Where it writes. */
BLOCKS(store)
{
	while (nblk--)
		state[*p++ & 7] = 1;
}
KERNEL(store);

/* A loop that a secret ends. */
BLOCKS(early_exit)
{
	size_t i = 0;

	while (i < 8 * nblk && p[i] == (uint8_t)state[i & 7])
		i++;
	state[0] = (uint32_t)i;
}
KERNEL(early_exit);

BLOCKS(division)
{
	state[0] = state[1] / (p[0] | 1u);
	state[1] = (uint32_t)nblk;
}
KERNEL(division);

/* A length that comes from the message. */
BLOCKS(length)
{
	memset(state, (int)nblk, p[0] & 31u);
}
KERNEL(length);

/* Through the stack and back. */
BLOCKS(spilled)
{
	uint32_t volatile words[8];

	for (size_t i = 0; i < 8; i++)
		words[i] = state[i];
	while (nblk--)
		state[nblk & 7] = table[words[p == NULL] & 255];
}
KERNEL(spilled);

/* Sums that stay on the stack. */
typedef uint64_t vector __attribute__((vector_size(16)));

static void left_behind(const void *key, uint8_t acc[16], unsigned whole, const uint8_t *p, size_t nblk)
{
	vector volatile kept;
	vector sum = {whole}, block;

	for (; nblk--; p += 16) {
		memcpy(&block, p, 16);
		sum ^= block;
		kept = sum;
	}
	memcpy(acc, key, 16);
	acc[0] ^= (uint8_t)kept[0];
}
extern const struct smb3sign_ghash smb3sign_ghash_planted_left_behind;
const struct smb3sign_ghash smb3sign_ghash_planted_left_behind = {.name = "left", .blocks = left_behind};

/* Not wrong: selects by masks; indices, lengths and pointers that are public, through the stack too. */
BLOCKS(harmless)
{
	uint8_t const *volatile where[2] = {p, p + 64 * (nblk - 1)};
	uint32_t mask;

	for (size_t i = 0; i < 64 * nblk; i++)
		state[i & 7] += (i & 1 ? where[0] : where[1])[i & 63] ^ table[i & 255];
	mask = 0u - (state[0] >> 31);
	for (size_t i = 0; i < 8; i++)
		state[i] = (state[i] & mask) | (p[i] & ~mask);
	if (nblk > 7)
		state[7]++;
}
KERNEL(harmless);

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET(isa) __attribute__((target(isa)))

TARGET("sse4.1") BLOCKS(movemask)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);

	if (_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128())))
		state[0] = (uint32_t)nblk;
}
KERNEL(movemask);

TARGET("sse4.1") BLOCKS(ptest)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);

	if (_mm_testz_si128(v, v))
		state[0] = (uint32_t)nblk;
}
KERNEL(ptest);

TARGET("sse4.1") BLOCKS(extract)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);

	state[0] = table[_mm_extract_epi8(v, 3)] + (uint32_t)nblk;
}
KERNEL(extract);

TARGET("avx2") BLOCKS(gather)
{
	__m256i i = _mm256_loadu_si256((const __m256i *)(const void *)p), v;

	v = _mm256_i32gather_epi32((const int *)(const void *)table, _mm256_srli_epi32(i, 24), 4);
	_mm256_storeu_si256((__m256i *)(void *)state, v);
	state[0] += (uint32_t)nblk;
}
KERNEL(gather);

TARGET("avx512f,avx512bw") BLOCKS(mask_register)
{
	__m512i v = _mm512_loadu_si512(p);

	if (_mm512_cmpeq_epi8_mask(v, _mm512_setzero_si512()))
		state[0] = (uint32_t)nblk;
}
KERNEL(mask_register);
#endif

#ifdef __aarch64__
#include <arm_neon.h>

BLOCKS(maximum)
{
	if (vmaxvq_u8(vld1q_u8(p)))
		state[0] = (uint32_t)nblk;
}
KERNEL(maximum);

BLOCKS(extract)
{
	state[0] = table[vgetq_lane_u8(vld1q_u8(p), 3)] + (uint32_t)nblk;
}
KERNEL(extract);

BLOCKS(compare)
{
	if (vgetq_lane_f64(vreinterpretq_f64_u8(vld1q_u8(p)), 0) > 1.0)
		state[0] = (uint32_t)nblk;
}
KERNEL(compare);
#endif
