/* SPDX-License-Identifier: MIT */
/*
 * The first and only process of the guest that bochs.sh boots: runs the commands of /commands one after the other,
 * copies what they print to Bochs' debug port, and tells after each its exit status and its length in million
 * instructions: what RDTSC counts here. A command is NUL-terminated words (NAME=VALUE for its environment, a program's
 * name, arguments) and an empty word.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

enum { DEBUG_PORT = 0xe9, SHUTDOWN_PORT = 0x8900, MAX_WORDS = 64 };

static void print(const char *s, size_t n)
{
	while (n--)
		outb((unsigned char)*s++, DEBUG_PORT);
}

static void execute(char **words, int output)
{
	char path[256];

	for (; *words && strchr(*words, '='); words++)
		putenv(*words);
	if (!*words)
		_exit(127);
	iopl(0);
	dup2(output, 1);
	dup2(output, 2);
	close(output);
	snprintf(path, sizeof(path), "/programs/%s", *words);
	execv(path, words);
	_exit(127);
}

static void run(char **words)
{
	unsigned long long start = __rdtsc();
	int pipe_end[2], status = 0;
	char text[4096];
	ssize_t n;

	if (pipe(pipe_end))
		return;
	if (fork() == 0) {
		close(pipe_end[0]);
		execute(words, pipe_end[1]);
	}
	close(pipe_end[1]);
	while ((n = read(pipe_end[0], text, sizeof(text))) > 0)
		print(text, (size_t)n);
	close(pipe_end[0]);
	wait(&status);
	n = snprintf(text, sizeof(text), "\n@exit %d %llu\n",
		     WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), (__rdtsc() - start) / 1000000);
	print(text, (size_t)n);
}

static void run_all(void)
{
	static char commands[65536];
	int fd = open("/commands", O_RDONLY);
	ssize_t got = fd < 0 ? 0 : read(fd, commands, sizeof(commands) - 2);

	if (fd >= 0)
		close(fd);
	for (char *s = commands; got > 0 && s < commands + got; s++) {
		char *words[MAX_WORDS + 1];
		size_t n = 0;

		for (; *s; s += strlen(s) + 1)
			if (n < MAX_WORDS)
				words[n++] = s;
		words[n] = NULL;
		run(words);
	}
}

int main(void)
{
	mkdir("/proc", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 01777);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	if (iopl(3))
		return 1;
	setenv("TMPDIR", "/tmp", 1);
	print("\n@begin\n", 8);
	run_all();
	print("\n@end\n", 6);
	for (const char *s = "Shutdown"; *s; s++)
		outb((unsigned char)*s, SHUTDOWN_PORT);
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}
