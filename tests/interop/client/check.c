/* SPDX-License-Identifier: MIT */
/* What all checks share: lines, a connection that is ready for use, and a call that is expected to work. */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

static char about[64];
static unsigned failures;

void check_about(unsigned dialect, unsigned alg)
{
	static const char *const names[] = {"HMAC-SHA256", "AES-CMAC", "AES-GMAC"};

	snprintf(about, sizeof(about), "%x.%x.%x %s", dialect >> 8, dialect >> 4 & 0xf, dialect & 0xf, names[alg]);
}

int check(int ok, const char *why, const char *name, ...)
{
	va_list ap;

	printf("%s: %s: ", ok ? "ok" : "FAILED", about);
	va_start(ap, name);
	vprintf(name, ap);
	va_end(ap);
	if (!ok)
		printf(": %s", why);
	putchar('\n');
	fflush(stdout);
	failures += !ok;
	return ok;
}

unsigned checks_failed(void)
{
	return failures;
}

const char *call_gives(struct channel *c, struct request *r, uint32_t status)
{
	unsigned verified = c->verified, due = r->count;

	if (channel_call(c, r))
		return c->why;
	for (size_t i = 0; i < c->n_pending; i++) {
		if (c->pending[i].status == status)
			continue;
		snprintf(c->why, sizeof(c->why), "command %u: status %08x", get16(c->pending[i].request + HDR_COMMAND),
			 (unsigned)c->pending[i].status);
		return c->why;
	}
	if (c->session->required && c->verified - verified != due) {
		snprintf(c->why, sizeof(c->why), "%u signatures verified, not %u", c->verified - verified, due);
		return c->why;
	}
	return NULL;
}

int tree_connect(struct channel *c, const char *share)
{
	struct request r;
	const char *why;

	request_init(&r);
	add_tree_connect(c, &r, share);
	why = call_gives(c, &r, STATUS_SUCCESS);
	if (!why)
		c->session->tree_id = get32(c->pending[0].msg + HDR_TREE_ID);
	return why ? WRONG : OK;
}

int connect_all(const struct options *o, struct channel *c, struct session *s, int required)
{
	const uint16_t algs[1] = {(uint16_t)o->alg};
	uint32_t status = 0;
	int err = channel_open(c, o->port, o->dialect, algs, 1);

	if (err || (err = session_setup(c, s, NULL, o->user, o->password, required, &status)) || status ||
	    (err = tree_connect(c, o->share))) {
		if (status)
			snprintf(c->why, sizeof(c->why), "SESSION_SETUP: %08x", (unsigned)status);
		check(0, c->why, "connect");
		return WRONG;
	}
	return OK;
}

const char *open_file(struct channel *c, const char *name, unsigned disposition, unsigned options,
		      uint8_t file[FILE_ID_LEN])
{
	struct request r;
	const char *why;

	request_init(&r);
	add_create(c, &r, name, disposition, options);
	why = call_gives(c, &r, STATUS_SUCCESS);
	if (!why && !created_file(&c->pending[0]))
		why = "a malformed answer";
	if (!why)
		memcpy(file, created_file(&c->pending[0]), FILE_ID_LEN);
	return why;
}

const char *close_file(struct channel *c, const uint8_t *file)
{
	struct request r;

	request_init(&r);
	add_close(c, &r, file);
	return call_gives(c, &r, STATUS_SUCCESS);
}

const char *echo(struct channel *c)
{
	struct request r;

	request_init(&r);
	add_empty(c, &r, ECHO);
	return call_gives(c, &r, STATUS_SUCCESS);
}

void disconnect(struct channel *c, struct session *s)
{
	channel_close(c);
	session_free(s);
}
