/* SPDX-License-Identifier: MIT */
/*
 * The limits of this core for one message:
 *     CMAC  10 latencies of an AES round for each block of 16 bytes: each block waits for the one before.
 *     HMAC  as many latencies of a SHA-256 step as a block of 64 bytes has, for the message with its padding and for
 *           the outer block. (The inner and outer key blocks were done with the key.)
 *     GMAC  3 carry-less products (Karatsuba) for each block of 16 bytes and the length, as many at once as the widest
 *           registers hold. The reductions vanish among them, the AES of the nonce too.
 * Independent messages can overlap and be quicker than the first two; so the share of the limit is that of chained
 * ones.
 */
#include <stdio.h>

#include "bench.h"
#include "figures.h"
#include "harness.h"
#include "limits.h"
#include "probe.h"
#include "smb3sign.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
const struct probe probes[] = {{NULL, PROBE_AES, 0, 0, NULL, NULL}};
const unsigned probe_sha_steps = 0;
const int probe_counts_cycles = 0;

uint32_t probe_features(void)
{
	return 0;
}

/* Only so that it takes time. */
void probe_additions(void *unused, uint64_t calls)
{
	volatile uint64_t sum = 0;

	(void)unused;
	for (; calls; calls--)
		sum = sum + 1;
}
#endif

/* In cycles; 0: this core has no such instruction. clmul is for 128 bits in the best width. */
static double aes_latency, sha_latency, clmul_throughput;

static void keep(const struct probe *p, double latency, double throughput)
{
	double per_lane = throughput / p->lanes;

	if (p->of == PROBE_AES && p->lanes == 1)
		aes_latency = latency;
	else if (p->of == PROBE_SHA)
		sha_latency = latency;
	else if (p->of == PROBE_CLMUL && (clmul_throughput <= 0 || per_lane < clmul_throughput))
		clmul_throughput = per_lane;
}

static void measure_probe(const struct probe *p, double seconds)
{
	struct job jobs[] = {{.run = p->chain}, {.run = p->spread}};
	double clock = harness_run(jobs, 2, seconds) / PROBE_STEPS;

	figures_add("core", p->name, "latency", 0, jobs[0].ns / PROBE_STEPS, clock * jobs[0].ns);
	figures_add("core", p->name, "throughput", 0, jobs[1].ns / PROBE_STEPS, clock * jobs[1].ns);
	keep(p, clock * jobs[0].ns, clock * jobs[1].ns);
	printf("  %-20s %8.2f %10.2f\n", p->name, clock * jobs[0].ns, clock * jobs[1].ns);
}

void limits_measure(double seconds)
{
	progress("the core's limits");
	printf("Instructions of this core, cycles\n  %-20s %8s %10s\n", "", "latency", "throughput");
	for (const struct probe *p = probes; p->name; p++)
		if (probe_usable(p))
			measure_probe(p, seconds);
	putchar('\n');
}

double limits_cycles(unsigned alg, size_t len)
{
	double blocks = (double)((len + 15) / 16);

	switch (alg) {
	case SMB3SIGN_HMAC_SHA256:
		return (double)((len + 9 + 63) / 64 + 1) * probe_sha_steps * sha_latency;
	case SMB3SIGN_AES_CMAC:
		return blocks * 10 * aes_latency;
	default:
		return (blocks + 1) * 3 * clmul_throughput;
	}
}

const char *limits_name(unsigned alg)
{
	static const char *const names[N_ALGS] = {
		"one SHA-256 step after another",
		"one AES round after another",
		"3 carry-less products a block",
	};

	return names[alg];
}
