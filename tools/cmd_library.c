/* SPDX-License-Identifier: MIT */
/* The cpu and selftest subcommands: what the library says of itself on this machine. */
#include <stdio.h>
#include <string.h>

#include "smb3sign.h"
#include "tool.h"

int cmd_cpu(int argc, char **argv)
{
	static const char usage[] =
		"Usage: smb3sign cpu\n"
		"\n"
		"Prints the processor features seen, the kernels available and left out, and the override in force\n"
		"(SMB3SIGN_CPU_DISABLE, features to do without, as \"sha,pclmul\", or \"all\").\n";
	const char *text;
	int status;

	if (only_help(argc, argv, usage, &status))
		return status;
	text = smb3sign_cpu();
	fputs(text, stdout);
	if (*text && text[strlen(text) - 1] != '\n')
		putchar('\n');
	return STATUS_GOOD;
}

int cmd_selftest(int argc, char **argv)
{
	static const char usage[] =
		"Usage: smb3sign selftest\n"
		"\n"
		"Computes known answers with every kernel that this machine can run and SMB3SIGN_CPU_DISABLE leaves.\n"
		"Exit status: 0 all are right; 1 one is wrong.\n";
	int status, err;

	if (only_help(argc, argv, usage, &status))
		return status;
	err = smb3sign_selftest();
	printf("selftest: %s\n", err ? smb3sign_strerror(err) : "OK");
	return err ? STATUS_BAD : STATUS_GOOD;
}
