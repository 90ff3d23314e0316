/* SPDX-License-Identifier: MIT */
/*
 * What the subcommands share: their entry points, exit statuses, complaints, and memory. A subcommand gets its own name
 * as argv[0], reports to standard output, complains to standard error, and returns its exit status.
 */
#ifndef SMB3SIGN_TOOL_H
#define SMB3SIGN_TOOL_H

#include <stddef.h>
#include <stdint.h>

enum {
	STATUS_GOOD = 0,
	STATUS_BAD = 1,    /* a signature is wrong or missing, a message cannot be signed, a known answer fails */
	STATUS_TROUBLE = 2 /* usage, files, malformed or incomplete input, no memory */
};

int cmd_sign(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_verify_pcap(int argc, char **argv);
int cmd_derive(int argc, char **argv);
int cmd_cpu(int argc, char **argv);
int cmd_selftest(int argc, char **argv);

#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
void complain(const char *format, ...);

/* Points to the subcommand's --help; returns STATUS_TROUBLE. */
int bad_usage(const char *title);

/* For subcommands without options: 0 to go on, else *status is the subcommand's result. */
int only_help(int argc, char **argv, const char *usage, int *status);

/* Never NULL: without memory the program ends with STATUS_TROUBLE. The memory of allocate() is zero. */
void *allocate(size_t n);
void *reallocate(void *p, size_t n);

/* Overwrites a secret in a way the compiler must keep. */
void wipe(void *p, size_t n);

#endif
