/* SPDX-License-Identifier: MIT */
/*
 * Instructions of one GMAC message, kernel by kernel: for processors that nobody has at hand and that are emulated.
 * x86-64 Linux; bench/count-instructions builds it, runs it and makes a table of the lines it prints:
 *     WORK KERNEL BYTES INSTRUCTIONS
 *
 * usage: instructions tsc   by RDTSC, which counts instructions where Bochs emulates it (cycles anywhere else)
 *        instructions step  by single steps that a parent process makes (ptrace): on any processor, some 50,000 a second
 * Both count the call of an empty function too and take it off, so they must agree.
 */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include "key.h"

enum { REPEATS = 50, LONGEST = 65536, TICKS_AT_MOST = 70000, STEPS_AT_MOST = 250000 };

struct work {
	smb3sign_key *key;
	const struct smb3sign_choice *choice;
	smb3sign_iov body;
	uint64_t memory[SMB3SIGN_KEY_SIZE_MAX / 8];
};

static uint8_t header[64], body[LONGEST];
static const uint8_t raw[16] = "0123456789abcde";
static int result; /* of the call, which is not looked at where it would be counted */

static void nothing(struct work *w)
{
	(void)w;
}

static void key_init(struct work *w)
{
	result = smb3sign_key_init_with(&w->key, w->memory, sizeof(w->memory), SMB3SIGN_AES_GMAC, raw, 16,
					SMB3SIGN_ROLE_ANY, w->choice);
}

static void sign(struct work *w)
{
	result = smb3sign_sign(w->key, header, &w->body, 1);
}

static void verify(struct work *w)
{
	result = smb3sign_verify(w->key, header, &w->body, 1);
}

/* ---- Two ways to count */

static int by_steps;

/*
 * The least: the first call may meet pages that are not there yet, and there are the timer's interrupts, one in 80,000
 * instructions of the emulated Linux. What is longer than the time between two has one always, and no count.
 */
static uint64_t ticks(void (*fn)(struct work *w), struct work *w)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < REPEATS; i++) {
		uint64_t start = __rdtsc(), n;

		fn(w);
		n = __rdtsc() - start;
		least = n < least ? n : least;
		if (n > 2 * TICKS_AT_MOST)
			break;
	}
	return least < TICKS_AT_MOST ? least : 0;
}

static void between_traps(void (*fn)(struct work *w), struct work *w)
{
	__asm__ volatile("int3" ::: "memory");
	fn(w);
	__asm__ volatile("int3" ::: "memory");
}

/* Whether the stop is for INT3, not for a step. */
static int at_trap(pid_t child)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, child, NULL, &info) && info.si_code == SI_KERNEL;
}

/* Runs the child up to INT3 at full speed, from there to the next by steps; 0 if that is not what happens. */
static uint64_t steps_of(pid_t child)
{
	uint64_t n = 0;
	int status;

	if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status) || ptrace(PTRACE_CONT, child, NULL, NULL) ||
	    waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status) || !at_trap(child))
		return 0;
	do {
		if (n++ > STEPS_AT_MOST || ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) ||
		    waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
			return 0;
	} while (!at_trap(child));
	return n;
}

static uint64_t steps(void (*fn)(struct work *w), struct work *w)
{
	pid_t child = fork();
	uint64_t n;

	if (child < 0)
		return 0;
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		raise(SIGSTOP);
		between_traps(fn, w);
		_exit(0);
	}
	n = steps_of(child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return n;
}

static uint64_t count(void (*fn)(struct work *w), struct work *w)
{
	return by_steps ? steps(fn, w) : ticks(fn, w);
}

/* Without a count, for it would be too long: no line. */
static void print(const char *what, const char *kernel, size_t bytes, void (*fn)(struct work *w), struct work *w)
{
	uint64_t n = count(fn, w), empty = count(nothing, w);

	if (n && empty)
		printf("%s %s %zu %llu\n", what, kernel, bytes, (unsigned long long)(n - empty));
	fflush(stdout);
}

/* ---- The works */

static void must_be_ok(const char *what)
{
	if (result) {
		fprintf(stderr, "instructions: %s: %s\n", what, smb3sign_strerror(result));
		exit(1);
	}
}

static void count_kernel(const struct smb3sign_ghash *ghash)
{
	static const size_t bytes[] = {64, 256, 1024, 4096, LONGEST};
	static struct work w;
	const struct smb3sign_choice choice = {.aes = ghash->aes ? ghash->aes : &smb3sign_aes_portable, .ghash = ghash};

	w.choice = &choice;
	key_init(&w);
	must_be_ok("key_init");
	print("key_init", ghash->name, 0, key_init, &w);
	/* The whole message, its header included. */
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		w.body = (smb3sign_iov){body, bytes[i] - sizeof(header)};
		sign(&w);
		must_be_ok("sign");
		print("sign", ghash->name, bytes[i], sign, &w);
		verify(&w);
		must_be_ok("verify");
		print("verify", ghash->name, bytes[i], verify, &w);
	}
}

int main(int argc, char **argv)
{
	by_steps = argc == 2 && !strcmp(argv[1], "step");
	if (!by_steps && (argc != 2 || strcmp(argv[1], "tsc") != 0)) {
		fprintf(stderr, "usage: instructions tsc|step\n");
		return 2;
	}
	/* A READ response, MessageId 5, SessionId 1. */
	memcpy(header, "\xfeSMB\x40", 5);
	header[12] = 8;
	header[16] = 1;
	header[24] = 5;
	header[40] = 1;
	for (size_t i = 0; i < LONGEST; i++)
		body[i] = (uint8_t)(i * 31);
	for (size_t i = 0; smb3sign_ghash_kernels[i]; i++)
		if (smb3sign_kernel_usable(smb3sign_ghash_kernels[i]->needs))
			count_kernel(smb3sign_ghash_kernels[i]);
	return 0;
}
