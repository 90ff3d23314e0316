/* SPDX-License-Identifier: MIT */
/*
 * What every run begins with, so that its reader can see how far to believe the rest: doing nothing should take a cycle
 * a time, and anything beside itself should take exactly as long.
 */
#include <stdio.h>

#include "bench.h"
#include "check.h"
#include "harness.h"
#include "ours.h"
#include "peer.h"

enum { SIZE = 256 };

static void run_nothing(void *unused, uint64_t calls)
{
	(void)unused;
	for (; calls; calls--)
		__asm__ volatile("");
}

struct openssl {
	void *self;
	const struct ring *ring;
};

static void run_openssl(void *arg, uint64_t calls)
{
	struct openssl *o = arg;
	uint8_t tag[16];

	peer_openssl.mac(o->self, o->ring, tag, calls);
}

void check_stopwatch(double seconds)
{
	struct ours ours[MAX_OURS];
	size_t n = ours_make(ours, SMB3SIGN_AES_CMAC, NULL);
	struct openssl openssl;
	struct task task;
	struct ring ring;
	struct job jobs[5] = {
		{.run = run_nothing},
		{.run = run_openssl, .arg = &openssl},
		{.run = run_openssl, .arg = &openssl},
		{.run = ours_sign, .arg = &task},
		{.run = ours_sign, .arg = &task},
	};
	double clock;

	progress("the stopwatch");
	ring_make(&ring, SIZE, ring_count(SIZE));
	task_make(&task, &ours[0], &ring);
	openssl = (struct openssl){peer_openssl.open(SMB3SIGN_AES_CMAC, bench_key, bench_nonce), &ring};
	if (!openssl.self)
		die("OpenSSL has no CMAC");
	clock = harness_run(jobs, 5, seconds);
	if (clock > 0)
		printf("Core clock %.3f GHz. ", clock);
	printf("Nothing takes %.2f ns; over %d bytes of CMAC, OpenSSL takes %.3f of itself, ours %.3f of "
	       "itself.\n\n",
	       jobs[0].ns, SIZE, jobs[1].ns / jobs[2].ns, jobs[3].ns / jobs[4].ns);
	peer_openssl.close(openssl.self);
	task_end(&task);
	ring_free(&ring);
	ours_free(ours, n);
}
