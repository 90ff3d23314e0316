/* SPDX-License-Identifier: MIT */
/*
 * The first and only process of the guest that bochs.sh boots: runs /program with the NUL-separated arguments and
 * environment of /arguments and /environment, copies what it prints to Bochs' debug port, and tells its exit status.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEBUG_PORT = 0xe9, SHUTDOWN_PORT = 0x8900, MAX_STRINGS = 128 };

static void print(const char *s, size_t n)
{
	while (n--)
		outb((unsigned char)*s++, DEBUG_PORT);
}

/* The file's strings into vector; the buffer must stay. */
static void read_strings(const char *path, char *buffer, size_t size, char **vector)
{
	int fd = open(path, O_RDONLY), n = 0;
	ssize_t got = fd < 0 ? 0 : read(fd, buffer, size - 2);

	if (got < 0)
		got = 0;
	memset(buffer + got, 0, 2);
	if (fd >= 0)
		close(fd);
	for (char *s = buffer; *s && n < MAX_STRINGS - 1; s += strlen(s) + 1)
		vector[n++] = s;
	vector[n] = NULL;
}

static void run(int output)
{
	static char arguments[8192], environment[8192];
	static char *argv[MAX_STRINGS], *envp[MAX_STRINGS];

	read_strings("/arguments", arguments, sizeof(arguments), argv);
	read_strings("/environment", environment, sizeof(environment), envp);
	iopl(0);
	dup2(output, 1);
	dup2(output, 2);
	close(output);
	execve("/program", argv, envp);
	_exit(127);
}

int main(void)
{
	int pipe_end[2], status = 0;
	char text[4096];
	ssize_t n;

	mkdir("/proc", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 01777);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	if (iopl(3) || pipe(pipe_end))
		return 1;
	print("\n@begin\n", 8);
	if (fork() == 0) {
		close(pipe_end[0]);
		run(pipe_end[1]);
	}
	close(pipe_end[1]);
	while ((n = read(pipe_end[0], text, sizeof(text))) > 0)
		print(text, (size_t)n);
	wait(&status);
	n = snprintf(text, sizeof(text), "\n@exit %d\n",
		     WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	print(text, (size_t)n);
	for (const char *s = "Shutdown"; *s; s++)
		outb((unsigned char)*s, SHUTDOWN_PORT);
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}
