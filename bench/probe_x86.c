/* SPDX-License-Identifier: MIT */
/*
 * The probes of x86-64. A chain repeats one instruction on one register; a spread goes round twelve registers, enough
 * to cover a latency of 6 cycles at two a cycle. The values do not matter: none of these instructions is faster for
 * some.
 */
#include "cpu.h"
#include "probe.h"

#ifdef __x86_64__

#define CLOBBERS                                                                                                   \
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
		"xmm13", "xmm14", "xmm15"

/* `end` is what the wide registers' use must be followed by. */
#define LOOP(name, times, body, end)                                                       \
	static void name(void *unused, uint64_t calls)                                     \
	{                                                                                  \
		(void)unused;                                                              \
		for (; calls; calls--)                                                     \
			__asm__ volatile(".rept " times "\n\t" body ".endr" ::: CLOBBERS); \
		__asm__ volatile(end ::: CLOBBERS);                                        \
	}
#define CHAIN(name, step, end) LOOP(name, "120", step(0), end)
#define SPREAD(name, step, end) \
	LOOP(name, "10",        \
	     step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) step(11), end)
#define PROBES(name, step, end)        \
	CHAIN(name##_chain, step, end) \
	SPREAD(name##_spread, step, end)

#define AES_128(n)   "aesenc %%xmm15, %%xmm" #n "\n\t"
#define AES_256(n)   "vaesenc %%ymm15, %%ymm" #n ", %%ymm" #n "\n\t"
#define AES_512(n)   "vaesenc %%zmm15, %%zmm" #n ", %%zmm" #n "\n\t"
#define CLMUL_128(n) "pclmulqdq $0, %%xmm15, %%xmm" #n "\n\t"
#define CLMUL_256(n) "vpclmulqdq $0, %%ymm15, %%ymm" #n ", %%ymm" #n "\n\t"
#define CLMUL_512(n) "vpclmulqdq $0, %%zmm15, %%zmm" #n ", %%zmm" #n "\n\t"
#define ZEROUPPER    "vzeroupper"

PROBES(aes_128, AES_128, "")
PROBES(aes_256, AES_256, ZEROUPPER)
PROBES(aes_512, AES_512, ZEROUPPER)
PROBES(clmul_128, CLMUL_128, "")
PROBES(clmul_256, CLMUL_256, ZEROUPPER)
PROBES(clmul_512, CLMUL_512, ZEROUPPER)

/* SHA256RNDS2 reads XMM0 too. In SHA-256 the two halves of the state take turns as its operands. */
#define SHA_TURNS "sha256rnds2 %%xmm2, %%xmm1\n\tsha256rnds2 %%xmm1, %%xmm2\n\t"
#define SHA(n)    "sha256rnds2 %%xmm15, %%xmm" #n "\n\t"
LOOP(sha_chain, "60", SHA_TURNS, "")
LOOP(sha_spread, "10", SHA(1) SHA(2) SHA(3) SHA(4) SHA(5) SHA(6) SHA(7) SHA(8) SHA(9) SHA(10) SHA(11) SHA(12), "")

uint32_t probe_features(void)
{
	return smb3sign_cpu_detect();
}

const struct probe probes[] = {
	{"AESENC", PROBE_AES, 1, SMB3SIGN_CPU_AES, aes_128_chain, aes_128_spread},
	{"VAESENC 256 bit", PROBE_AES, 2, SMB3SIGN_CPU_VPCLMUL, aes_256_chain, aes_256_spread},
	{"VAESENC 512 bit", PROBE_AES, 4, SMB3SIGN_CPU_AVX512, aes_512_chain, aes_512_spread},
	{"PCLMULQDQ", PROBE_CLMUL, 1, SMB3SIGN_CPU_PCLMUL, clmul_128_chain, clmul_128_spread},
	{"VPCLMULQDQ 256 bit", PROBE_CLMUL, 2, SMB3SIGN_CPU_VPCLMUL, clmul_256_chain, clmul_256_spread},
	{"VPCLMULQDQ 512 bit", PROBE_CLMUL, 4, SMB3SIGN_CPU_AVX512, clmul_512_chain, clmul_512_spread},
	{"SHA256RNDS2", PROBE_SHA, 1, SMB3SIGN_CPU_SHA, sha_chain, sha_spread},
	{NULL, PROBE_AES, 0, 0, NULL, NULL},
};

/* Two rounds an instruction. */
const unsigned probe_sha_steps = 32;

/* From a register: some cores do additions of a small constant while renaming, in no time. */
const int probe_counts_cycles = 1;

void probe_additions(void *unused, uint64_t calls)
{
	uint64_t sum = 0, one = 1;

	(void)unused;
	for (; calls; calls--)
		__asm__ volatile(".rept 120\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(one) : "cc");
}

#endif
