/* SPDX-License-Identifier: MIT */
/* The derive subcommand: one key from a session key, for SMB 3.1.1 with the hash of an exchange given or computed. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "header.h"
#include "hex.h"
#include "smb3sign.h"
#include "tool.h"

static const char usage[] =
	"Usage: smb3sign derive --dialect DIALECT --use USE --session-key HEX [OPTION...]\n"
	"\n"
	"Derives a key from a session key (MS-SMB2 3.1.4.2) and prints it in hexadecimal.\n"
	"\n"
	"  --dialect DIALECT   2.0.2, 2.1, 3.0, 3.0.2 or 3.1.1\n"
	"  --use USE           signing; c2s, s2c (cipher keys, client to server and back); application\n"
	"  --session-key HEX   the key that the authentication gave; \"\" is an anonymous session's\n"
	"  --preauth HEX       3.1.1: the 64 bytes of the preauthentication integrity hash after the last\n"
	"                      SESSION_SETUP request; or\n"
	"  --message FILE      3.1.1: the messages to hash, in order, each option one more: both NEGOTIATE messages, "
	"then\n"
	"                      the SESSION_SETUP messages, without transport prefix. The final SESSION_SETUP response\n"
	"                      does not belong to the hash and is left out. \"-\" is standard input.\n"
	"  --length N          16 (default), or 32 for the cipher keys of AES-256\n"
	"\n"
	"Exit status: 0, or 2 if it cannot be derived.\n";

static const struct named uses[] = {
	{"signing", SMB3SIGN_USE_SIGNING},
	{"c2s", SMB3SIGN_USE_CLIENT_TO_SERVER},
	{"s2c", SMB3SIGN_USE_SERVER_TO_CLIENT},
	{"application", SMB3SIGN_USE_APPLICATION},
	{NULL, 0},
};

struct request {
	const struct named *dialect, *use;
	int have_key, have_preauth, have_messages;
	uint8_t session_key[SESSION_KEY_MAX];
	size_t session_key_len;
	smb3sign_preauth preauth;
	size_t length;
};

static int hash_file(smb3sign_preauth *preauth, const char *path)
{
	smb3sign_iov iov = {NULL, 0};
	uint8_t *bytes;
	int err;

	if (read_message(path, &bytes, &iov.iov_len))
		return -1;
	iov.iov_base = bytes;
	err = smb3sign_preauth_update(preauth, &iov, 1);
	free(bytes);
	if (err == SMB3SIGN_E_EXEMPT) {
		complain("%s: does not belong to the hash, left out", path);
		return 0;
	}
	if (err)
		complain("%s: %s", path, smb3sign_strerror(err));
	return err;
}

static int read_length(const char *text, size_t *length)
{
	if (!strcmp(text, "16"))
		*length = 16;
	else if (!strcmp(text, "32"))
		*length = 32;
	else {
		complain("--length: 16 or 32");
		return -1;
	}
	return 0;
}

/* One option into *r: 0, or -1 after a complaint. */
static int take_option(struct request *r, int opt, const char *arg)
{
	switch (opt) {
	case 'd':
		r->dialect = find_named("--dialect", dialect_options, arg);
		return r->dialect ? 0 : -1;
	case 'u':
		r->use = find_named("--use", uses, arg);
		return r->use ? 0 : -1;
	case 'k':
		r->have_key = 1;
		return hex_decode_session_key("--session-key", arg, r->session_key, &r->session_key_len);
	case 'p':
		r->have_preauth = 1;
		return hex_decode_exactly("--preauth", arg, r->preauth.hash, sizeof r->preauth.hash);
	case 'm':
		if (!r->have_messages)
			smb3sign_preauth_init(&r->preauth);
		r->have_messages = 1;
		return hash_file(&r->preauth, arg);
	case 'l':
		return read_length(arg, &r->length);
	default:
		return -1;
	}
}

static int check_request(const struct request *r)
{
	if (!r->dialect || !r->use || !r->have_key)
		complain("--dialect, --use and --session-key are needed");
	else if (r->have_preauth && r->have_messages)
		complain("--preauth or --message, not both");
	else if (r->dialect->value == 0x0311 && !r->have_preauth && !r->have_messages)
		complain("3.1.1 needs --preauth or --message");
	else if (r->dialect->value != 0x0311 && (r->have_preauth || r->have_messages))
		complain("--preauth and --message are for 3.1.1");
	else
		return 0;
	return -1;
}

static int derive(const struct request *r)
{
	uint8_t key[32];
	int err = smb3sign_derive(r->dialect->value, r->use->value, r->session_key, r->session_key_len, &r->preauth,
				  key, r->length);

	if (err) {
		complain("%s, %s, %zu bytes: %s", r->dialect->name, r->use->name, r->length, smb3sign_strerror(err));
		return STATUS_TROUBLE;
	}
	hex_print_line(key, r->length);
	wipe(key, sizeof key);
	return STATUS_GOOD;
}

int cmd_derive(int argc, char **argv)
{
	static const struct option options[] = {
		{"dialect", required_argument, NULL, 'd'},
		{"use", required_argument, NULL, 'u'},
		{"session-key", required_argument, NULL, 'k'},
		{"preauth", required_argument, NULL, 'p'},
		{"message", required_argument, NULL, 'm'},
		{"length", required_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct request r = {.length = 16};
	int opt, status = STATUS_TROUBLE;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(usage, stdout);
			status = STATUS_GOOD;
			goto out;
		}
		if (take_option(&r, opt, optarg))
			goto bad;
	}
	if (optind < argc) {
		complain("unexpected argument '%s'", argv[optind]);
		goto bad;
	}
	if (check_request(&r))
		goto bad;
	status = derive(&r);
	goto out;
bad:
	status = bad_usage(argv[0]);
out:
	wipe(&r, sizeof r);
	return status;
}
