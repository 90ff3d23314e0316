/* SPDX-License-Identifier: MIT */
/*
 * What must be refused is refused: by the server, requests with a flipped bit and unsigned ones; by the client, answers
 * with a flipped bit and those whose signature was taken off.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "command.h"

enum { FILE_LEN = 100 };

struct spoilt {
	const struct options *o;
	struct channel c;
	struct session s;
	uint8_t file[FILE_ID_LEN], directory[FILE_ID_LEN];
};

/* ---- the kinds of request ---- */

static void tree(struct spoilt *t, struct request *r)
{
	add_tree_connect(&t->c, r, t->o->share);
}

static void create(struct spoilt *t, struct request *r)
{
	add_create(&t->c, r, "file", FILE_OPEN, 0);
}

/* The data goes into the frame, so that its last byte is the message's. */
static void write_data(struct spoilt *t, struct request *r)
{
	static const uint8_t other[FILE_LEN] = {1};

	add_write(&t->c, r, t->file, 0, other, FILE_LEN);
	memcpy(r->bytes + r->len, r->payload, r->payload_len);
	r->len += r->payload_len;
	r->payload = NULL;
	r->payload_len = 0;
}

static void read_data(struct spoilt *t, struct request *r)
{
	add_read(&t->c, r, t->file, 0, FILE_LEN);
}

static void query(struct spoilt *t, struct request *r)
{
	add_query_size(&t->c, r, t->file);
}

static void flush(struct spoilt *t, struct request *r)
{
	add_flush(&t->c, r, t->file);
}

static void close_directory(struct spoilt *t, struct request *r)
{
	add_close(&t->c, r, t->directory);
}

static void notify(struct spoilt *t, struct request *r)
{
	add_change_notify(&t->c, r, t->directory);
}

static void echo_request(struct spoilt *t, struct request *r)
{
	add_empty(&t->c, r, ECHO);
}

static void validate(struct spoilt *t, struct request *r)
{
	add_validate_negotiate(&t->c, r);
}

static void compound(struct spoilt *t, struct request *r)
{
	add_create(&t->c, r, "file", FILE_OPEN, 0);
	add_read(&t->c, r, related_file, 0, FILE_LEN);
	add_close(&t->c, r, related_file);
}

static void tree_disconnect(struct spoilt *t, struct request *r)
{
	add_empty(&t->c, r, TREE_DISCONNECT);
}

static void logoff(struct spoilt *t, struct request *r)
{
	add_empty(&t->c, r, LOGOFF);
}

static const struct kind {
	const char *name;
	void (*add)(struct spoilt *t, struct request *r);
	unsigned element;
	int waits; /* for something to happen */
	int old;   /* not in 3.1.1 */
} kinds[] = {
	{"TREE_CONNECT", tree, 0, 0, 0},
	{"CREATE", create, 0, 0, 0},
	{"WRITE", write_data, 0, 0, 0},
	{"READ", read_data, 0, 0, 0},
	{"QUERY_INFO", query, 0, 0, 0},
	{"FLUSH", flush, 0, 0, 0},
	{"CHANGE_NOTIFY", notify, 0, 1, 0},
	{"CLOSE", close_directory, 0, 0, 0},
	{"ECHO", echo_request, 0, 0, 0},
	{"FSCTL_VALIDATE_NEGOTIATE_INFO", validate, 0, 0, 1},
	{"a compound's READ", compound, 1, 0, 0},
	{"a compound's CLOSE", compound, 2, 0, 0},
	{"TREE_DISCONNECT", tree_disconnect, 0, 0, 0},
	{"LOGOFF", logoff, 0, 0, 0},
};

static const long places[] = {HDR_SIGNATURE, HDR_CREDITS, -1};

/* ---- */

static int connect_files(struct spoilt *t)
{
	const char *why;

	if (connect_all(t->o, &t->c, &t->s, 1))
		return WRONG;
	why = open_file(&t->c, "file", FILE_OPEN, 0, t->file);
	if (!why)
		why = open_file(&t->c, "", FILE_OPEN, DIRECTORY_FILE, t->directory);
	return why && !check(0, why, "open") ? WRONG : OK;
}

static int again(struct spoilt *t)
{
	disconnect(&t->c, &t->s);
	return connect_files(t);
}

static int call(struct spoilt *t, const struct kind *k, struct fault fault)
{
	struct request r;
	int err;

	request_init(&r);
	k->add(t, &r);
	fault.element = k->element;
	t->c.fault = fault;
	err = channel_call(&t->c, &r);
	t->c.fault.kind = FAULT_NONE;
	return err;
}

/* The server refuses: with ACCESS_DENIED, or by leaving. NULL, or why not. */
static const char *server_refuses(struct spoilt *t, const struct kind *k, struct fault fault)
{
	int err = call(t, k, fault);

	if (err == LOST)
		return again(t) ? "no connection after it" : NULL;
	if (err)
		return t->c.why;
	if (t->c.pending[k->element].status == STATUS_ACCESS_DENIED)
		return NULL;
	snprintf(t->c.why, sizeof(t->c.why), "byte %ld: status %08x", fault.offset,
		 (unsigned)t->c.pending[k->element].status);
	return t->c.why;
}

/* The client refuses the answer. The request was right and has had its effect: a new connection for what follows. */
static const char *client_refuses(struct spoilt *t, const struct kind *k, struct fault fault)
{
	int err = call(t, k, fault);

	if (err != REFUSED)
		return err ? t->c.why : "accepted";
	return again(t) ? "no connection after it" : NULL;
}

static void check_server(struct spoilt *t, const struct kind *k)
{
	const char *why = NULL;

	for (size_t i = 0; !why && i < sizeof(places) / sizeof(places[0]); i++)
		why = server_refuses(t, k, (struct fault){.kind = FAULT_REQUEST_BIT, .offset = places[i]});
	check(!why, why, "%s with a flipped bit is refused", k->name);
	why = server_refuses(t, k, (struct fault){.kind = FAULT_UNSIGNED});
	check(!why, why, "%s unsigned is refused", k->name);
}

static void check_client(struct spoilt *t, const struct kind *k)
{
	const char *why = NULL;

	for (size_t i = 0; !why && i < sizeof(places) / sizeof(places[0]); i++)
		why = client_refuses(t, k, (struct fault){.kind = FAULT_RESPONSE_BIT, .offset = places[i]});
	if (!why)
		why = client_refuses(t, k, (struct fault){.kind = FAULT_RESPONSE_STRIPPED});
	check(!why, why, "the answer to %s with a flipped bit, or stripped, is found", k->name);
}

/* Nothing answers a CANCEL; the request that it names must go on until its directory is closed. */
static const char *cancel_in_vain(struct spoilt *t, struct fault fault)
{
	struct channel *c = &t->c;
	struct request r;
	struct pending waiting;
	int err;

	request_init(&r);
	notify(t, &r);
	c->n_pending = 0;
	err = channel_send(c, &r);
	if (!err)
		err = channel_receive(c);
	waiting = c->pending[0];
	request_init(&r);
	add_cancel(c, &r, &waiting);
	c->fault = fault;
	if (!err)
		err = channel_send(c, &r);
	c->fault.kind = FAULT_NONE;
	request_init(&r);
	close_directory(t, &r);
	if (!err)
		err = channel_send(c, &r);
	while (!err && !(c->pending[0].finished && c->pending[1].finished))
		err = channel_receive(c);
	if (err)
		return err == LOST && !again(t) ? NULL : c->why;
	if (c->pending[0].status == STATUS_CANCELLED)
		return "it cancels";
	return again(t) ? "no connection after it" : NULL;
}

/* The final response, and at 3.1.1 the one before it too, which is not signed but hashed into the key. */
static void check_session_setup(const struct options *o)
{
	const uint16_t algs[1] = {(uint16_t)o->alg};
	const char *why = NULL;

	for (unsigned leg = o->dialect == SMB311 ? 0 : 1; !why && leg < 2; leg++) {
		struct channel c;
		struct session s;
		uint32_t status;
		int err = channel_open(&c, o->port, o->dialect, algs, 1);

		if (!err) {
			c.fault = (struct fault){.kind = FAULT_RESPONSE_BIT, .skip = leg, .offset = HDR_CREDITS};
			err = session_setup(&c, &s, NULL, o->user, o->password, 1, &status);
			why = err == REFUSED && c.verified == 0 ? NULL : err ? c.why : "accepted";
			disconnect(&c, &s);
		} else {
			why = "no connection";
		}
	}
	check(!why, why, "a flipped bit in SESSION_SETUP responses is found");
}

static void check_cancel(struct spoilt *t)
{
	const char *why = NULL;

	for (size_t i = 0; !why && i < sizeof(places) / sizeof(places[0]); i++)
		why = cancel_in_vain(t, (struct fault){.kind = FAULT_REQUEST_BIT, .offset = places[i]});
	if (!why)
		why = cancel_in_vain(t, (struct fault){.kind = FAULT_UNSIGNED});
	check(!why, why, "CANCEL with a flipped bit, or unsigned, cancels nothing");
}

static const char *again_refused(struct spoilt *t, struct fault fault)
{
	const struct options *o = t->o;
	uint32_t status = 0;
	int err;

	t->c.fault = fault;
	err = session_again(&t->c, o->user, o->password, &status);
	t->c.fault.kind = FAULT_NONE;
	if (err && err != LOST)
		return t->c.why;
	if (!err && status != STATUS_ACCESS_DENIED)
		return "it is not";
	return again(t) ? "no connection after it" : NULL;
}

static void check_again(struct spoilt *t)
{
	const char *why = NULL;

	for (size_t i = 0; !why && i < sizeof(places) / sizeof(places[0]); i++)
		why = again_refused(t, (struct fault){.kind = FAULT_REQUEST_BIT, .offset = places[i]});
	if (!why)
		why = again_refused(t, (struct fault){.kind = FAULT_UNSIGNED});
	check(!why, why, "SESSION_SETUP again with a flipped bit, or unsigned, is refused");
}

/* The WRITEs so far were all refused. */
static void check_unchanged(struct spoilt *t)
{
	static const uint8_t zeros[FILE_LEN];
	struct request r;
	const uint8_t *data;
	const char *why;
	size_t len;

	request_init(&r);
	read_data(t, &r);
	why = call_gives(&t->c, &r, STATUS_SUCCESS);
	data = why ? NULL : answer_data(&t->c.pending[0], &len);
	check(data && len == FILE_LEN && !memcmp(data, zeros, len), why ? why : "other bytes",
	      "nothing has been written");
}

static void check_kinds(struct spoilt *t)
{
	const size_t n = sizeof(kinds) / sizeof(kinds[0]);

	for (size_t i = 0; i < n; i++)
		if (!kinds[i].old || t->o->dialect != SMB311)
			check_server(t, &kinds[i]);
	check_cancel(t);
	check_again(t);
	check_unchanged(t);
	for (size_t i = 0; i < n; i++)
		if (!kinds[i].waits && (!kinds[i].old || t->o->dialect != SMB311))
			check_client(t, &kinds[i]);
}

void check_spoilt(const struct options *o)
{
	static const uint8_t zeros[FILE_LEN];
	struct spoilt t = {.o = o};
	struct request r;
	const char *why;

	check_session_setup(o);
	if (connect_all(o, &t.c, &t.s, 1))
		return;
	why = open_file(&t.c, "file", FILE_OVERWRITE_IF, 0, t.file);
	request_init(&r);
	add_write(&t.c, &r, t.file, 0, zeros, FILE_LEN);
	if (!why)
		why = call_gives(&t.c, &r, STATUS_SUCCESS);
	if (why)
		check(0, why, "a file");
	else if (!again(&t))
		check_kinds(&t);
	disconnect(&t.c, &t.s);
}
