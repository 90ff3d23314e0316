/* SPDX-License-Identifier: MIT */
/* The smb3sign command: finds the subcommand, and makes sure that what it printed arrived. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "smb3sign.h"
#include "tool.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *purpose;
} commands[] = {
	{"sign", cmd_sign, "sign a message or compound"},
	{"verify", cmd_verify, "verify a message or compound"},
	{"explain", cmd_explain, "say what was done wrong where a signature is"},
	{"verify-pcap", cmd_verify_pcap, "verify every message of a packet capture"},
	{"derive", cmd_derive, "derive a key from a session key"},
	{"cpu", cmd_cpu, "processor features and kernels"},
	{"selftest", cmd_selftest, "known answers through every kernel of this machine"},
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static void print_usage(void)
{
	fputs("Usage: smb3sign COMMAND [OPTION...]\n"
	      "       smb3sign --help | --version\n"
	      "\n"
	      "Signs and verifies SMB2 and SMB3 messages.\n"
	      "\n",
	      stdout);
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-12s %s\n", commands[i].name, commands[i].purpose);
	fputs("\n"
	      "'smb3sign COMMAND --help' describes a command.\n"
	      "\n"
	      "Exit status: 0 all is well; 1 a signature is wrong or missing; 2 wrong usage, or input that cannot be "
	      "read, is\n"
	      "malformed or incomplete.\n",
	      stdout);
}

static int run(int argc, char **argv)
{
	char title[32];

	if (argc < 2) {
		complain("which command?");
		return bad_usage("smb3sign");
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_usage();
		return STATUS_GOOD;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("smb3sign %s\n", smb3sign_version());
		return STATUS_GOOD;
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		snprintf(title, sizeof title, "smb3sign %s", commands[i].name);
		argv[1] = title;
		return commands[i].run(argc - 1, argv + 1);
	}
	complain("no command '%s'", argv[1]);
	return bad_usage("smb3sign");
}

int main(int argc, char **argv)
{
	int status = run(argc, argv);

	/* A full disk shows when the last buffer goes out. */
	if (ferror(stdout) || fclose(stdout)) {
		complain("standard output: %s", strerror(errno));
		status = STATUS_TROUBLE;
	}
	return status;
}
