/* SPDX-License-Identifier: MIT */
/*
 * The explain subcommand: messages in a file whose signatures are wrong, and the keys and hashes at hand for them, for
 * explain.c to say what was done wrong.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "explain.h"
#include "file.h"
#include "header.h"
#include "hex.h"
#include "tool.h"

static const char usage[] =
	"Usage: smb3sign explain --alg ALG --key HEX [OPTION...] FILE...\n"
	"       smb3sign explain --dialect DIALECT --session-key HEX [OPTION...] FILE...\n"
	"\n"
	"Says what was done wrong when the messages of FILE were signed. A FILE holds a message or a\n"
	"compound as on the wire without the 4-byte transport prefix (\"-\": standard input). For each\n"
	"message whose signature is wrong, the usual mistakes are tried, each alone and every two\n"
	"together, and what gives the signature that the message has is named: \"matches if ...: fix: ...\".\n"
	"\n"
	"  --alg ALG               gmac, cmac or hmac: what the message should be signed with; needed with\n"
	"                          --key and for 3.1.1\n"
	"  --key HEX               the signing key, 16 bytes: mistakes of its derivation cannot be found\n"
	"                          then\n"
	"  --dialect DIALECT       2.0.2, 2.1, 3.0, 3.0.2 or 3.1.1\n"
	"  --session-key HEX       the session key that the authentication gave, whole\n"
	"  --preauth HEX           3.1.1: the 64 bytes of the preauthentication hash; or\n"
	"  --message FILE          3.1.1: the messages to hash, in order, each option one more: both\n"
	"                          NEGOTIATE messages, then all SESSION_SETUP messages with the final\n"
	"                          response, without transport prefix; mistakes in hashing can be found so\n"
	"  --channel-key HEX       after a bind: the session key that the bind's authentication gave, ...\n"
	"  --channel-preauth HEX   ... its hash, ...\n"
	"  --channel-message FILE  ... or the messages of its connection\n"
	"  --request FILE          the request that a response answers (its signature may have been copied)\n"
	"  --json                  a JSON object a line for each message, instead of text\n"
	"\n"
	"Exit status: 0 if all signatures are right; 1 if one is wrong, explained or not; 2 if the input is\n"
	"malformed, or for usage.\n";

/* 4 GiB of bytes through MACs: some seconds. */
#define EFFORT (UINT64_C(1) << 32)

enum { FILES_MAX = 32 };

/* What made a key: the session's, or the channel's. */
struct origin {
	int have_key, have_preauth;
	uint8_t key[SESSION_KEY_MAX];
	size_t key_len;
	const char *files[FILES_MAX];
	size_t n_files;
	struct chain connection, exchange;
	int begun;
};

struct job {
	unsigned dialect;
	int alg; /* -1: not given */
	int is_signing_key;
	struct origin session, channel;
	const char *request_file;
	uint8_t *request;
	int json;
	int several; /* files: lines say which */
	const char *path;
	uint8_t *frame;
	size_t len;
};

/* ---- Preauthentication hashes */

static void hash_setup(struct origin *o, const struct chain *other, const uint8_t *msg, size_t len)
{
	struct header h = read_header(msg);
	int response = (h.flags & FLAG_RESPONSE) != 0;

	if (!o->begun && !response) {
		chain_begin(&o->exchange, &o->connection, other);
		o->begun = 1;
	}
	if (!response || h.status == STATUS_MORE_PROCESSING_REQUIRED) {
		chain_setup(&o->exchange, &o->connection, msg, len);
	} else {
		chain_final(&o->exchange, &o->connection, msg, len);
		o->begun = 0;
	}
}

static int hash_file(struct origin *o, const struct chain *other, const char *path)
{
	uint8_t *msg;
	size_t len;
	int err = read_message(path, &msg, &len);
	unsigned command;

	if (err)
		return err;
	if (smb3sign_exempt(SMB3SIGN_AES_CMAC, len < SMB3SIGN_HEADER_LEN ? (const uint8_t[64]){0} : msg) < 0) {
		complain("%s: not an SMB2 message", path);
		err = -1;
	} else {
		command = read_header(msg).command;
		if (command == COMMAND_NEGOTIATE)
			chain_negotiate(&o->connection, msg, len);
		else if (command == COMMAND_SESSION_SETUP)
			hash_setup(o, other, msg, len);
	}
	free(msg);
	return err;
}

static int hash_files(struct origin *o, const struct chain *other)
{
	if (!o->n_files)
		return 0;
	chain_init(&o->connection);
	o->exchange = o->connection;
	for (size_t i = 0; i < o->n_files; i++)
		if (hash_file(o, other, o->files[i]))
			return -1;
	o->have_preauth = 1;
	return 0;
}

/* The hash alone: nothing but that it might be zero is known of the messages. */
static int take_preauth(struct origin *o, const char *what, const char *text)
{
	chain_init(&o->exchange);
	memset(o->exchange.len, 0, sizeof o->exchange.len);
	o->exchange.len[CHAIN_RIGHT] = o->exchange.len[CHAIN_ZERO] = 64;
	o->have_preauth = 1;
	return hex_decode_exactly(what, text, o->exchange.value[CHAIN_RIGHT], 64);
}

/* ---- Options */

static int take_file(struct origin *o, const char *path)
{
	if (o->n_files == FILES_MAX) {
		complain("more than %d messages of an exchange", FILES_MAX);
		return -1;
	}
	o->files[o->n_files++] = path;
	return 0;
}

static int take_option(struct job *job, int opt, const char *arg)
{
	struct origin *s = &job->session, *c = &job->channel;
	const struct named *named;

	switch (opt) {
	case 'a':
		named = find_named("--alg", algorithm_options, arg);
		job->alg = named ? (int)named->value : -1;
		return named ? 0 : -1;
	case 'd':
		named = find_named("--dialect", dialect_options, arg);
		job->dialect = named ? named->value : 0;
		return named ? 0 : -1;
	case 'k':
		s->have_key = job->is_signing_key = 1;
		s->key_len = SMB3SIGN_KEY_LEN;
		return hex_decode_exactly("--key", arg, s->key, s->key_len);
	case 's':
		s->have_key = 1;
		return hex_decode_session_key("--session-key", arg, s->key, &s->key_len);
	case 'S':
		c->have_key = 1;
		return hex_decode_session_key("--channel-key", arg, c->key, &c->key_len);
	case 'p':
		return take_preauth(s, "--preauth", arg);
	case 'P':
		return take_preauth(c, "--channel-preauth", arg);
	case 'm':
		return take_file(s, arg);
	case 'M':
		return take_file(c, arg);
	case 'r':
		job->request_file = arg;
		return 0;
	case 'j':
		job->json = 1;
		return 0;
	default:
		return -1;
	}
}

/* The algorithm is the dialect's own below 3.1.1. */
static int check_job(struct job *job)
{
	if (job->alg < 0 && job->dialect && job->dialect < 0x0311)
		job->alg = job->dialect < 0x0300 ? SMB3SIGN_HMAC_SHA256 : SMB3SIGN_AES_CMAC;
	if (!job->session.have_key)
		complain("--key or --session-key is needed");
	else if (!job->is_signing_key && !job->dialect)
		complain("--session-key needs --dialect");
	else if (job->alg < 0)
		complain("--alg is needed");
	else if (job->is_signing_key && job->channel.have_key)
		complain("--channel-key goes with --session-key");
	else
		return 0;
	return -1;
}

/* 1 to go on, 0 if only help was asked for, -1 after a complaint. */
static int read_options(struct job *job, int argc, char **argv)
{
	static const struct option options[] = {
		{"alg", required_argument, NULL, 'a'},
		{"dialect", required_argument, NULL, 'd'},
		{"key", required_argument, NULL, 'k'},
		{"session-key", required_argument, NULL, 's'},
		{"preauth", required_argument, NULL, 'p'},
		{"message", required_argument, NULL, 'm'},
		{"channel-key", required_argument, NULL, 'S'},
		{"channel-preauth", required_argument, NULL, 'P'},
		{"channel-message", required_argument, NULL, 'M'},
		{"request", required_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (take_option(job, opt, optarg))
			return -1;
	}
	if (optind == argc) {
		complain("a FILE is needed");
		return -1;
	}
	job->several = argc - optind > 1;
	return check_job(job) ? -1 : 1;
}

/* ---- Messages */

static struct key_material material(const struct job *job, const struct origin *o, enum key_relation relation)
{
	return (struct key_material){
		.relation = relation,
		.dialect = job->dialect,
		.is_signing_key = job->is_signing_key,
		.bytes = o->key,
		.len = o->key_len,
		.chain = o->have_preauth ? &o->exchange : NULL,
	};
}

/*
 * Of a bound channel's connection the session's key signs what precedes the end of the bind, the channel's all else
 * (MS-SMB2 3.3.4.1.1, 3.3.5.5).
 */
static void take_keys(const struct job *job, const struct header *h, struct suspect *s)
{
	int response = (h->flags & FLAG_RESPONSE) != 0;
	int binding = h->command == COMMAND_SESSION_SETUP && !(response && h->status == STATUS_SUCCESS);
	int channel_due = job->channel.have_key && !binding;

	if (channel_due) {
		s->keys[s->n_keys++] = material(job, &job->channel, KEY_DUE);
		s->keys[s->n_keys++] = material(job, &job->session, KEY_SESSION);
	} else {
		s->keys[s->n_keys++] = material(job, &job->session, KEY_DUE);
		if (job->channel.have_key)
			s->keys[s->n_keys++] = material(job, &job->channel, KEY_CHANNEL);
	}
}

static void print_result(const struct job *job, const struct header *h, size_t off, const char *verdict,
			 const struct explanations *e)
{
	if (job->json) {
		putchar('{');
		explain_print_json_string("file", job->path);
		printf(",\"offset\":%zu,\"command\":\"%s\",\"message_id\":%" PRIu64 ",\"session_id\":\"0x%016" PRIx64
		       "\",\"verdict\":\"%s\",",
		       off, command_name(h->command), h->message_id, h->session_id, verdict);
		explain_print_json(e);
		puts("}");
		return;
	}
	if (job->several)
		printf("%s: ", job->path);
	printf("offset %zu %s mid %" PRIu64 " sid 0x%016" PRIx64 " %s\n", off, command_name(h->command), h->message_id,
	       h->session_id, verdict);
	if (!strcmp(verdict, "BAD") || !strcmp(verdict, "UNSIGNED"))
		explain_print(e);
}

static int explain_one(const struct job *job, size_t off, size_t len, const uint8_t *before)
{
	const uint8_t *msg = job->frame + off;
	struct header h = read_header(msg);
	struct suspect s = {job->frame,      job->len, off, len, .alg = (unsigned)job->alg, .request = job->request,
			    .before = before};
	struct explanations e = {.tried = 0};
	const char *verdict = h.flags & FLAG_SIGNED ? "BAD" : "UNSIGNED";
	uint64_t effort = EFFORT;

	if (smb3sign_exempt((unsigned)job->alg, msg) > 0) {
		print_result(job, &h, off, "EXEMPT", &e);
		return STATUS_BAD;
	}
	take_keys(job, &h, &s);
	explain(&s, NULL, &effort, &e);
	if (e.count && !e.found[0].mistakes)
		verdict = "OK";
	print_result(job, &h, off, verdict, &e);
	return strcmp(verdict, "OK") ? STATUS_BAD : STATUS_GOOD;
}

static int explain_frame(const struct job *job)
{
	const uint8_t *before = NULL;
	int status = STATUS_GOOD;

	for (size_t off = 0, n = 0; off < job->len || !job->len; off += n) {
		int err = smb3sign_frame_next(job->frame, job->len, off, &n);
		int one;

		if (err) {
			complain("%s: offset %zu: %s", job->path, off, smb3sign_strerror(err));
			return STATUS_TROUBLE;
		}
		one = explain_one(job, off, n, before);
		if (one > status)
			status = one;
		before = job->frame + off + 48;
	}
	return status;
}

static int read_request(struct job *job)
{
	size_t len;

	if (!job->request_file)
		return 0;
	if (read_message(job->request_file, &job->request, &len))
		return -1;
	if (len >= SMB3SIGN_HEADER_LEN)
		return 0;
	complain("%s: not an SMB2 message", job->request_file);
	return -1;
}

static int explain_file(struct job *job, const char *path)
{
	int status = STATUS_TROUBLE;

	job->path = path;
	if (!read_message(path, &job->frame, &job->len))
		status = explain_frame(job);
	free(job->frame);
	job->frame = NULL;
	return status;
}

/* The worst status of all files. */
static int explain_files(struct job *job, char **paths)
{
	int status = STATUS_GOOD;

	if (hash_files(&job->session, NULL) ||
	    hash_files(&job->channel, job->session.n_files ? &job->session.connection : NULL) || read_request(job))
		return STATUS_TROUBLE;
	for (; *paths; paths++) {
		int one = explain_file(job, *paths);

		if (one > status)
			status = one;
	}
	return status;
}

int cmd_explain(int argc, char **argv)
{
	struct job *job = allocate(sizeof *job);
	int status = STATUS_TROUBLE, go;

	job->alg = -1;
	go = read_options(job, argc, argv);
	if (go < 0)
		bad_usage(argv[0]);
	else if (!go)
		status = STATUS_GOOD;
	else
		status = explain_files(job, argv + optind);
	free(job->request);
	wipe(job, sizeof *job);
	free(job);
	return status;
}
