/* SPDX-License-Identifier: MIT */
/* The sign and verify subcommands: one transport frame in a file (a message or a compound), one key for all of it. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "file.h"
#include "header.h"
#include "hex.h"
#include "tool.h"

#define KEY_OPTIONS                             \
	"  --alg ALG      gmac, cmac or hmac\n" \
	"  --key HEX      the signing key, 16 bytes (of SMB 2.0.2 and 2.1: the session key)\n"

static const char sign_usage[] =
	"Usage: smb3sign sign --alg gmac|cmac|hmac --key HEX [--output FILE] FILE\n"
	"\n"
	"Signs every message of FILE, which holds a message or a compound as on the wire without the 4-byte transport\n"
	"prefix (\"-\": standard input), and writes the result to standard output. What the Signature fields hold "
	"before\n"
	"does not matter. All of them are signed, or nothing is written.\n"
	"\n" KEY_OPTIONS "  --output FILE  write to this file instead, which may be the one that is read\n"
	"\n"
	"Exit status: 0; 1 if the protocol never signs such a message; 2 if the input is malformed, or for usage.\n";

static const char verify_usage[] =
	"Usage: smb3sign verify --alg gmac|cmac|hmac --key HEX FILE\n"
	"\n"
	"Verifies every message of FILE, which holds a message or a compound as on the wire without the 4-byte "
	"transport\n"
	"prefix (\"-\": standard input), and prints a line for each: offset, command, MessageId, SessionId, and OK, "
	"BAD,\n"
	"UNSIGNED (no flag and no right signature), or EXEMPT (never signed, so not verified).\n"
	"\n" KEY_OPTIONS "\n"
	"Exit status: 0 if all are OK; 1 if not; 2 if the input is malformed, or for usage.\n";

struct job {
	unsigned alg;
	smb3sign_key *key;
	const char *output; /* NULL: standard output */
	uint8_t *frame;
	size_t len;
};

/* Fills *job and raw; 1 to go on, 0 if only help was asked for, -1 after a complaint. */
static int read_options(struct job *job, uint8_t raw[SMB3SIGN_KEY_LEN], int argc, char **argv, int signing)
{
	static const struct option options[] = {
		{"alg", required_argument, NULL, 'a'},
		{"key", required_argument, NULL, 'k'},
		{"help", no_argument, NULL, 'h'},
		{"output", required_argument, NULL, 'o'},
		{NULL, 0, NULL, 0},
	};
	const struct named *alg = NULL;
	int opt, have_key = 0;

	while ((opt = getopt_long(argc, argv, "ho:", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(signing ? sign_usage : verify_usage, stdout);
			return 0;
		} else if (opt == 'a') {
			alg = find_named("--alg", algorithm_options, optarg);
			if (!alg)
				return -1;
		} else if (opt == 'k' && !hex_decode_exactly("--key", optarg, raw, SMB3SIGN_KEY_LEN)) {
			have_key = 1;
		} else if (opt == 'o' && signing) {
			job->output = optarg;
		} else {
			if (opt == 'o')
				complain("--output is for sign");
			return -1;
		}
	}
	if (!alg || !have_key || optind != argc - 1) {
		complain("--alg, --key and one FILE are needed");
		return -1;
	}
	job->alg = alg->value;
	return 1;
}

/* As read_options, and makes the key. */
static int prepare(struct job *job, int argc, char **argv, int signing)
{
	uint8_t raw[SMB3SIGN_KEY_LEN];
	int go = read_options(job, raw, argc, argv, signing);
	int err = go > 0 ? smb3sign_key_new(&job->key, job->alg, raw, sizeof raw, SMB3SIGN_ROLE_ANY) : SMB3SIGN_OK;

	wipe(raw, sizeof raw);
	if (err) {
		complain("--key: %s", smb3sign_strerror(err));
		return -1;
	}
	return go;
}

static int sign_frame(const struct job *job, const char *path)
{
	int err = smb3sign_sign_frame(job->key, job->frame, job->len);

	if (err) {
		complain("%s: %s", path, smb3sign_strerror(err));
		return err == SMB3SIGN_E_EXEMPT ? STATUS_BAD : STATUS_TROUBLE;
	}
	return write_message(job->output, job->frame, job->len) ? STATUS_TROUBLE : STATUS_GOOD;
}

static int verify_one(const smb3sign_key *key, const uint8_t *msg, size_t len, size_t off)
{
	struct header h = read_header(msg);
	int err = smb3sign_verify_buf(key, msg, len);

	printf("offset %zu %s mid %" PRIu64 " sid 0x%016" PRIx64 " ", off, command_name(h.command), h.message_id,
	       h.session_id);
	switch (err) {
	case SMB3SIGN_OK:
		puts("OK");
		return STATUS_GOOD;
	case SMB3SIGN_E_SIGNATURE:
		puts("BAD");
		return STATUS_BAD;
	case SMB3SIGN_E_UNSIGNED:
		puts("UNSIGNED");
		return STATUS_BAD;
	case SMB3SIGN_E_EXEMPT:
		printf("EXEMPT (%s)\n", exemption_name(smb3sign_exempt(smb3sign_key_alg(key), msg)));
		return STATUS_BAD;
	default:
		puts(smb3sign_strerror(err));
		return STATUS_TROUBLE;
	}
}

static int verify_frame(const struct job *job, const char *path)
{
	int status = STATUS_GOOD;

	for (size_t off = 0, n = 0; off < job->len || !job->len; off += n) {
		int err = smb3sign_frame_next(job->frame, job->len, off, &n);
		int one;

		if (err) {
			complain("%s: offset %zu: %s", path, off, smb3sign_strerror(err));
			return STATUS_TROUBLE;
		}
		one = verify_one(job->key, job->frame + off, n, off);
		if (one > status)
			status = one;
	}
	return status;
}

static int run(int argc, char **argv, int signing)
{
	struct job job = {0, NULL, NULL, NULL, 0};
	int go = prepare(&job, argc, argv, signing);
	int status = STATUS_TROUBLE;

	if (go < 0)
		return bad_usage(argv[0]);
	if (!go)
		return STATUS_GOOD;
	if (!read_message(argv[optind], &job.frame, &job.len))
		status = signing ? sign_frame(&job, argv[optind]) : verify_frame(&job, argv[optind]);
	smb3sign_key_free(job.key);
	free(job.frame);
	return status;
}

int cmd_sign(int argc, char **argv)
{
	return run(argc, argv, 1);
}

int cmd_verify(int argc, char **argv)
{
	return run(argc, argv, 0);
}
