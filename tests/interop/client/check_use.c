/* SPDX-License-Identifier: MIT */
/* Ordinary use of one dialect with one algorithm: what a client does in a day, every signature checked both ways. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "command.h"

enum { FILE_LEN = 300001, ECHOS = 200, OPLOCK_BATCH = 9 };

struct use {
	struct channel c;
	struct session s;
	uint8_t file[FILE_ID_LEN];
	uint8_t sent[FILE_LEN], received[FILE_LEN];
};

static const char *write_file(struct use *u)
{
	struct request r;
	const char *why = NULL;

	for (uint32_t at = 0, n; !why && at < FILE_LEN; at += n) {
		n = FILE_LEN - at < u->c.io_max ? FILE_LEN - at : u->c.io_max;
		request_init(&r);
		add_write(&u->c, &r, u->file, at, u->sent + at, n);
		why = call_gives(&u->c, &r, STATUS_SUCCESS);
	}
	return why;
}

static const char *read_file(struct use *u)
{
	struct request r;
	const char *why = NULL;
	const uint8_t *data;
	size_t len;

	for (uint32_t at = 0, n; !why && at < FILE_LEN; at += n) {
		n = FILE_LEN - at < u->c.io_max ? FILE_LEN - at : u->c.io_max;
		request_init(&r);
		add_read(&u->c, &r, u->file, at, n);
		why = call_gives(&u->c, &r, STATUS_SUCCESS);
		data = why ? NULL : answer_data(&u->c.pending[0], &len);
		if (data && len == n)
			memcpy(u->received + at, data, len);
		else if (!why)
			why = "a malformed answer";
	}
	if (!why && memcmp(u->sent, u->received, FILE_LEN))
		why = "other bytes than were written";
	return why;
}

/* CREATE, one more, CLOSE in a frame, each with a signature of its own; the whole answer again as one frame. */
static const char *compound(struct use *u, unsigned command)
{
	struct channel *c = &u->c;
	struct request r;
	const char *why;
	const uint8_t *data;
	size_t len, bad;

	request_init(&r);
	add_create(c, &r, "file", FILE_OPEN, 0);
	if (command == READ)
		add_read(c, &r, related_file, FILE_LEN - 13, 13); /* 13: the answer is padded */
	else
		add_query_size(c, &r, related_file);
	add_close(c, &r, related_file);
	why = call_gives(c, &r, STATUS_SUCCESS);
	if (why)
		return why;
	if (c->pending[2].msg - c->pending[0].msg >= (long)c->in_len ||
	    smb3sign_verify_frame(c->key, c->in, c->in_len, &bad))
		return "smb3sign_verify_frame refuses the answer";
	data = answer_data(&c->pending[1], &len);
	if (command == READ)
		return data && len == 13 && !memcmp(data, u->sent + FILE_LEN - 13, 13)
			       ? NULL
			       : "other bytes than were written";
	return data && len >= 16 && get64(data + 8) == FILE_LEN ? NULL : "not the file's size";
}

/*
 * CHANGE_NOTIFY goes asynchronous: its interim response is not signed. Many MessageIds later it is cancelled, under
 * AES-GMAC with its own MessageId, which the guard must have held.
 */
static const char *notify_and_cancel(struct channel *c, const uint8_t *directory)
{
	struct request notify, cancel;
	struct pending waiting;
	unsigned verified = c->verified;
	const char *why = NULL;
	int err;

	request_init(&notify);
	add_change_notify(c, &notify, directory);
	c->n_pending = 0;
	err = channel_send(c, &notify);
	if (!err)
		err = channel_receive(c);
	if (err)
		return c->why;
	waiting = c->pending[0];
	if (!waiting.interim || waiting.finished || c->verified != verified)
		return "no interim response without a signature";
	for (int i = 0; !why && i < ECHOS; i++)
		why = echo(c);
	if (why)
		return why;
	request_init(&cancel);
	add_cancel(c, &cancel, &waiting);
	c->pending[0] = waiting;
	c->n_pending = 1;
	err = channel_send(c, &cancel);
	if (!err && c->guard && smb3sign_guard_claim(c->guard, cancel.bytes) != SMB3SIGN_E_NONCE)
		return "the guard lets a second CANCEL pass";
	verified = c->verified;
	if (!err)
		err = channel_receive(c);
	if (err)
		return c->why;
	return c->pending[0].finished && c->pending[0].status == STATUS_CANCELLED && c->verified == verified + 1
		       ? NULL
		       : "not cancelled, or without a signature";
}

/* c has the file open; the other's CREATE waits until c has closed it. */
static const char *break_and_close(struct channel *c, struct channel *other, const uint8_t *file)
{
	struct request r;
	const char *why;

	request_init(&r);
	add_create(other, &r, "file", FILE_OPEN, 0);
	if (channel_send(other, &r))
		return other->why;
	if (channel_receive(c))
		return c->why;
	if (c->breaks != 1)
		return "something else came";
	why = close_file(c, file);
	while (!why && !other->pending[0].finished)
		why = channel_receive(other) ? other->why : NULL;
	return why;
}

/* Another session opens the file: the server takes the oplock away, with a message that is not signed. */
static const char *oplock_break(const struct options *o, struct channel *c)
{
	struct channel other;
	struct session s;
	struct request r;
	uint8_t file[FILE_ID_LEN];
	const char *why;

	request_init(&r);
	add_create(c, &r, "file", FILE_OPEN, 0);
	r.bytes[HEADER + 3] = OPLOCK_BATCH;
	why = call_gives(c, &r, STATUS_SUCCESS);
	if (why || !created_file(&c->pending[0]))
		return why ? why : "a malformed answer";
	memcpy(file, created_file(&c->pending[0]), FILE_ID_LEN);
	if (connect_all(o, &other, &s, 1))
		return "no second session";
	why = break_and_close(c, &other, file);
	disconnect(&other, &s);
	return why;
}

static void check_files(struct use *u)
{
	struct channel *c = &u->c;
	struct request r;
	uint8_t directory[FILE_ID_LEN];
	const char *why = open_file(c, "file", FILE_OVERWRITE_IF, 0, u->file);

	check(!why, why, "CREATE");
	why = write_file(u);
	check(!why, why, "WRITE, %d bytes in pieces of %u at most", FILE_LEN, (unsigned)c->io_max);
	request_init(&r);
	add_flush(c, &r, u->file);
	why = call_gives(c, &r, STATUS_SUCCESS);
	check(!why, why, "FLUSH");
	why = read_file(u);
	check(!why, why, "READ gives the same bytes");
	why = close_file(c, u->file);
	check(!why, why, "CLOSE");
	why = compound(u, QUERY_INFO);
	check(!why, why, "compound CREATE, QUERY_INFO, CLOSE");
	why = compound(u, READ);
	check(!why, why, "compound CREATE, READ, CLOSE");
	request_init(&r);
	add_create(c, &r, "missing", FILE_OPEN, 0);
	why = call_gives(c, &r, 0xc0000034);
	check(!why, why, "an error is signed too");
	why = open_file(c, "", FILE_OPEN, DIRECTORY_FILE, directory);
	if (!why)
		why = notify_and_cancel(c, directory);
	check(!why, why, "CHANGE_NOTIFY, %d ECHOs, CANCEL", ECHOS);
}

static void check_end(struct channel *c)
{
	struct request r;
	const char *why;

	request_init(&r);
	add_empty(c, &r, TREE_DISCONNECT);
	why = call_gives(c, &r, STATUS_SUCCESS);
	check(!why, why, "TREE_DISCONNECT");
	request_init(&r);
	add_empty(c, &r, LOGOFF);
	why = call_gives(c, &r, STATUS_SUCCESS);
	check(!why, why, "LOGOFF");
}

static const char *authenticate_again(const struct options *o, struct channel *c)
{
	unsigned verified = c->verified;
	uint32_t status;

	if (session_again(c, o->user, o->password, &status))
		return c->why;
	if (status || c->verified != verified + 2)
		return "refused, or without signatures";
	return echo(c);
}

static void use(const struct options *o, struct use *u)
{
	struct request r;
	const char *why;

	if (connect_all(o, &u->c, &u->s, 1))
		return;
	check(u->c.verified == 2 && u->c.alg == o->alg, "not so", "SESSION_SETUP and TREE_CONNECT end signed");
	for (size_t i = 0; i < FILE_LEN; i++)
		u->sent[i] = (uint8_t)(i * i >> 3);
	if (o->dialect != SMB311) {
		request_init(&r);
		add_validate_negotiate(&u->c, &r);
		why = call_gives(&u->c, &r, STATUS_SUCCESS);
		check(!why, why, "FSCTL_VALIDATE_NEGOTIATE_INFO");
	}
	check_files(u);
	why = oplock_break(o, &u->c);
	check(!why, why, "an oplock break, which is not signed");
	why = authenticate_again(o, &u->c);
	check(!why, why, "SESSION_SETUP again, signed, with the same key");
	check_end(&u->c);
	disconnect(&u->c, &u->s);
}

void check_use(const struct options *o)
{
	struct use *u = calloc(1, sizeof(*u));

	if (u)
		use(o, u);
	else
		check(0, "no memory", "start");
	free(u);
}
