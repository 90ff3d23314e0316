/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: arbitrary bytes as a capture (pcap or pcapng) for the verify-pcap subcommand, which runs in this process
 * on a file in memory, with the session keys of one of the captures in tests/data. It must end with one of its
 * statuses, leave no memory behind, and end the same when it says less or more; it must come to an end with a user's
 * password for keys, too. On their way packets and frames are moved (--wrap)
 * into blocks of exactly their length, since they are parts of larger buffers otherwise, where AddressSanitizer sees no
 * end to them.
 */
#define _GNU_SOURCE /* memfd_create */
#include <getopt.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../tools/packet.h"
#include "../tools/tool.h"
#include "fuzz.h"

enum { MAX_KEYS = 160 };

/* Whose sessions the captures are. */
static const char user[] = "--user=smb3signtest%Not-A-Secret-1";

static const char *const options[] = {
	"--quiet",
#ifdef SMB3SIGN_NETTLE
	"--explain",
	"--json",
	user,
#endif
};
enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

static char path[64];
static int file = -1;

/* Keys as --session-key takes them, in keys.txt's order, and which capture each belongs to. */
static struct {
	unsigned capture;
	char text[64];
} keys[MAX_KEYS];
static size_t n_keys;
static unsigned captures;

static void read_keys(void)
{
	char line[256], name[64], last[64] = "", session[32], key[40];
	FILE *f = fopen(SMB3SIGN_KEYS, "r");

	require(f);
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#' || sscanf(line, "%63s %31s %39s", name, session, key) != 3)
			continue;
		captures += strcmp(name, last) != 0;
		strcpy(last, name);
		require(n_keys < MAX_KEYS);
		keys[n_keys].capture = captures - 1;
		snprintf(keys[n_keys].text, sizeof(keys[n_keys].text), "%s=%s", session, key);
		n_keys++;
	}
	fclose(f);
	require(captures);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	read_keys();
	file = memfd_create("capture", 0);
	require(file >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return 0;
}

/* tools/smb.h has names in common with support.h. */
struct smb;
struct place;

enum packet_kind __real_packet_parse(int link, const uint8_t *bytes, size_t captured, size_t wire, struct segment *s);
enum packet_kind __wrap_packet_parse(int link, const uint8_t *bytes, size_t captured, size_t wire, struct segment *s);
void __real_smb_frame(struct smb *c, int dir, const uint8_t *frame, size_t len, uint64_t offset,
		      const struct place *at);
void __wrap_smb_frame(struct smb *c, int dir, const uint8_t *frame, size_t len, uint64_t offset,
		      const struct place *at);

/* The segment's data is in it, until the next packet is read. */
static uint8_t *packet;

enum packet_kind __wrap_packet_parse(int link, const uint8_t *bytes, size_t captured, size_t wire, struct segment *s)
{
	exact_free(packet);
	packet = exact_copy(bytes, captured, 0);
	return __real_packet_parse(link, packet, captured, wire, s);
}

void __wrap_smb_frame(struct smb *c, int dir, const uint8_t *frame, size_t len, uint64_t offset, const struct place *at)
{
	uint8_t *copy = exact_copy(frame, len, 0);

	__real_smb_frame(c, dir, copy, len, offset, at);
	exact_free(copy);
}

/* option: one that it is given besides, or NULL; the user stands for keys. */
static int run(unsigned capture, const char *option)
{
	char *argv[2 * MAX_KEYS + 5];
	int argc = 0, status;

	argv[argc++] = (char *)(uintptr_t) "verify-pcap";
	if (option)
		argv[argc++] = (char *)(uintptr_t)option;
	if (option == user)
		argv[argc++] = (char *)(uintptr_t) "--explain";
	argv[argc++] = path;
	for (size_t i = 0; i < n_keys; i++) {
		if (option == user || keys[i].capture != capture)
			continue;
		argv[argc++] = (char *)(uintptr_t) "--session-key";
		argv[argc++] = keys[i].text;
	}
	argv[argc] = NULL;
	optind = 0; /* glibc: from the start again */
	status = cmd_verify_pcap(argc, argv);
	exact_free(packet);
	packet = NULL;
	return status;
}

/* Byte 0 chooses the keys and an option; the rest is the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	unsigned choice = take8(&in), capture = choice % captures;
	const char *option = options[choice / captures % OPTIONS];
	int status, other;

	require(ftruncate(file, 0) == 0);
	require(pwrite(file, in.p, in.left, 0) == (ssize_t)in.left);
	status = run(capture, NULL);
	require(status == STATUS_GOOD || status == STATUS_BAD || status == STATUS_TROUBLE);
	other = run(capture, option);
	if (option == user)
		require(other == STATUS_GOOD || other == STATUS_BAD || other == STATUS_TROUBLE);
	else
		require(other == status);
	return 0;
}
