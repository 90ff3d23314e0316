/* SPDX-License-Identifier: MIT */
/*
 * A session bound to a second connection (MS-SMB2 3.2.4.2.2.2, 3.3.5.5.2), of every dialect and algorithm: either both
 * channels work, each with its own key, or the server's status is the one that smb3sign_bind_status foretells.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "command.h"

static const struct end {
	unsigned dialect, alg;
	const char *name;
} ends[] = {
	{SMB202, SMB3SIGN_HMAC_SHA256, "2.0.2"},
	{SMB210, SMB3SIGN_HMAC_SHA256, "2.1"},
	{SMB300, SMB3SIGN_AES_CMAC, "3.0"},
	{SMB302, SMB3SIGN_AES_CMAC, "3.0.2"},
	{SMB311, SMB3SIGN_HMAC_SHA256, "3.1.1 HMAC-SHA256"},
	{SMB311, SMB3SIGN_AES_CMAC, "3.1.1 AES-CMAC"},
	{SMB311, SMB3SIGN_AES_GMAC, "3.1.1 AES-GMAC"},
};

struct bind {
	const struct options *o;
	struct channel first, second;
	struct session s;
};

static int open_second(struct bind *b, const struct end *to)
{
	const uint16_t algs[1] = {(uint16_t)to->alg};

	return channel_open(&b->second, b->o->port, to->dialect, algs, 1);
}

static int bind_second(struct bind *b, uint32_t *status)
{
	return session_setup(&b->second, NULL, &b->s, b->o->user, b->o->password, 1, status);
}

/* A file made on the first channel, read and closed on the second. */
static const char *use_both(struct bind *b)
{
	static const char text[] = "one session, two keys";
	uint8_t file[FILE_ID_LEN];
	struct request r;
	const uint8_t *data;
	const char *why = open_file(&b->first, "file", FILE_OVERWRITE_IF, 0, file);
	size_t len;

	if (why)
		return why;
	request_init(&r);
	add_write(&b->first, &r, file, 0, text, sizeof(text));
	why = call_gives(&b->first, &r, STATUS_SUCCESS);
	if (why)
		return why;
	request_init(&r);
	add_read(&b->second, &r, file, 0, sizeof(text));
	why = call_gives(&b->second, &r, STATUS_SUCCESS);
	if (why)
		return why;
	data = answer_data(&b->second.pending[0], &len);
	if (!data || len != sizeof(text) || memcmp(data, text, len))
		return "other bytes";
	why = close_file(&b->second, file);
	return why ? why : echo(&b->first);
}

/* The last response of the bind is still there: the channel's key signed it, and the session's did not. */
static const char *keys_differ(const struct bind *b)
{
	if (smb3sign_verify_buf(b->second.key, b->second.in, b->second.in_len) != SMB3SIGN_OK)
		return "the channel's key does not verify the last response";
	if (smb3sign_verify_buf(b->s.key, b->second.in, b->second.in_len) != SMB3SIGN_E_SIGNATURE)
		return "the session's key verifies the last response";
	return NULL;
}

static void check_end(struct bind *b, const struct end *to)
{
	const smb3sign_binding session = {.dialect = b->s.dialect, .alg = b->s.alg};
	const smb3sign_binding connection = {.dialect = to->dialect, .alg = to->alg};
	const uint32_t expected = smb3sign_bind_status(&session, &connection);
	const char *why = NULL;
	uint32_t status = 0;
	char other[32];

	if (open_second(b, to)) {
		check(0, b->second.why, "a connection of %s", to->name);
		return;
	}
	if (bind_second(b, &status))
		why = b->second.why;
	else if (status != expected)
		why = (snprintf(other, sizeof(other), "status %08x", (unsigned)status), other);
	else if (!expected && !(why = keys_differ(b)))
		why = use_both(b);
	else if (expected)
		why = echo(&b->first);
	if (expected)
		check(!why, why, "bind to %s is refused with %08x, and the session goes on", to->name,
		      (unsigned)expected);
	else
		check(!why, why, "bind to %s, and a file through both channels", to->name);
	channel_close(&b->second);
}

/*
 * The session's key must have signed the bind's requests. What the server answers else is ACCESS_DENIED for a wrong
 * signature and INVALID_PARAMETER for none in MS-SMB2, USER_SESSION_DELETED for both with Samba.
 */
static void check_spoilt_bind(struct bind *b, const struct end *to, struct fault fault, const char *what)
{
	const char *why = NULL;
	uint32_t status = 0;

	if (open_second(b, to)) {
		check(0, b->second.why, "a connection");
		return;
	}
	b->second.fault = fault;
	if (bind_second(b, &status))
		why = b->second.why;
	else if (status == STATUS_SUCCESS || status == STATUS_MORE_PROCESSING_REQUIRED)
		why = "it is not refused";
	else
		why = echo(&b->first);
	check(!why, why, "bind with %s is refused, and the session goes on", what);
	channel_close(&b->second);
}

/* The first response is under the session's key, the last under the channel's: a flipped bit in either is found. */
static void check_spoilt_answers(struct bind *b, const struct end *to)
{
	const char *why = NULL;

	for (unsigned leg = 0; !why && leg < 2; leg++) {
		uint32_t status;

		if (open_second(b, to)) {
			why = b->second.why;
			break;
		}
		b->second.fault = (struct fault){.kind = FAULT_RESPONSE_BIT, .skip = leg, .offset = HDR_CREDITS};
		why = bind_second(b, &status) == REFUSED && b->second.verified == leg ? NULL : "accepted";
		channel_close(&b->second);
	}
	check(!why, why, "a flipped bit in the answers to a bind is found");
}

void check_binds(const struct options *o)
{
	struct bind b = {.o = o};

	if (connect_all(o, &b.first, &b.s, 1))
		return;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (o->dialect >= SMB300 && ends[i].dialect == o->dialect && ends[i].alg == o->alg) {
			check_spoilt_bind(&b, &ends[i], (struct fault){.kind = FAULT_REQUEST_BIT, .offset = -1},
					  "a flipped bit");
			check_spoilt_bind(&b, &ends[i], (struct fault){.kind = FAULT_UNSIGNED}, "unsigned requests");
			check_spoilt_answers(&b, &ends[i]);
		}
		check_end(&b, &ends[i]);
	}
	disconnect(&b.first, &b.s);
}
