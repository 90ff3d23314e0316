/* SPDX-License-Identifier: MIT */
/*
 * The probes of arm64. AES's round is the pair AESE, AESMC, which most cores fuse; a spread goes round twelve
 * registers. The assembler is told of the extensions here, so that no compiler flag is needed.
 */
#include "probe.h"

#ifdef __aarch64__
#ifdef __linux__
#include <sys/auxv.h>
#endif

#define CLOBBERS "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v15"

#define LOOP(name, times, body)                                                                                      \
	static void name(void *unused, uint64_t calls)                                                               \
	{                                                                                                            \
		(void)unused;                                                                                        \
		for (; calls; calls--)                                                                               \
			__asm__ volatile(".arch_extension crypto\n\t.rept " times "\n\t" body ".endr" ::: CLOBBERS); \
	}
#define PROBES(name, step)                 \
	LOOP(name##_chain, "120", step(0)) \
	LOOP(name##_spread, "10",          \
	     step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) step(11))

#define AES(n)   "aese v" #n ".16b, v15.16b\n\taesmc v" #n ".16b, v" #n ".16b\n\t"
#define PMULL(n) "pmull v" #n ".1q, v" #n ".1d, v15.1d\n\t"

PROBES(aes, AES)
PROBES(pmull, PMULL)

/* SHA256H wants the halves of the state in two registers, SHA256H2 the other way round; the two overlap. */
#define SHA_STEP "mov v2.16b, v0.16b\n\tsha256h q0, q1, v15.4s\n\tsha256h2 q1, q2, v15.4s\n\t"
#define SHA(n)   "sha256h q" #n ", q15, v15.4s\n\t"
LOOP(sha_chain, "120", SHA_STEP)
LOOP(sha_spread, "10", SHA(0) SHA(1) SHA(2) SHA(3) SHA(4) SHA(5) SHA(6) SHA(7) SHA(8) SHA(9) SHA(10) SHA(11))

/* The Linux kernel's HWCAP bits. */
enum { HAS_AES = 1u << 3, HAS_PMULL = 1u << 4, HAS_SHA2 = 1u << 6 };

/* Every arm64 system that is not Linux (Apple's, Windows) asks for these extensions. */
uint32_t probe_features(void)
{
#ifdef __linux__
	return (uint32_t)getauxval(AT_HWCAP);
#else
	return HAS_AES | HAS_PMULL | HAS_SHA2;
#endif
}

const struct probe probes[] = {
	{"AESE + AESMC", PROBE_AES, 1, HAS_AES, aes_chain, aes_spread},
	{"PMULL", PROBE_CLMUL, 1, HAS_PMULL, pmull_chain, pmull_spread},
	{"SHA256H", PROBE_SHA, 1, HAS_SHA2, sha_chain, sha_spread},
	{NULL, PROBE_AES, 0, 0, NULL, NULL},
};

/* Four rounds an instruction. */
const unsigned probe_sha_steps = 16;

const int probe_counts_cycles = 1;

void probe_additions(void *unused, uint64_t calls)
{
	uint64_t sum = 0, one = 1;

	(void)unused;
	for (; calls; calls--)
		__asm__ volatile(".rept 120\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(one));
}

#endif
