/* SPDX-License-Identifier: MIT */
/*
 * NEGOTIATE and SESSION_SETUP: what a key depends on. The library is given the messages, the algorithms and the key
 * that NTLM gave, and nothing of what MS-SMB2 makes of them is known here.
 */
#include "session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/rand.h>

enum {
	SIGNING_ENABLED = 1,
	SIGNING_REQUIRED = 2,
	CAP_LARGE_MTU = 0x4,
	FLAG_BINDING = 1,
	SESSION_IS_GUEST_OR_NULL = 3,
	PREAUTH_CONTEXT = 1,
	PREAUTH_SHA512 = 1,
	SALT_LEN = 32,
	GUARD_WINDOW = 64 /* far below the credits in use, so that what is not held falls out */
};

int session_binding(const struct channel *c)
{
	return c->setup && c->setup->binding;
}

int session_saw(struct channel *c, const uint8_t *msg, size_t len)
{
	const smb3sign_iov iov = {(void *)msg, len};
	int err = smb3sign_preauth_update(c->setup ? &c->setup->hash : &c->hash, &iov, 1);

	return err && err != SMB3SIGN_E_EXEMPT ? fail(c, WRONG, "smb3sign_preauth_update: %s", smb3sign_strerror(err))
					       : OK;
}

int session_key_due(const struct channel *c, const uint8_t *msg)
{
	return c->setup && !c->key && get16(msg + HDR_COMMAND) == SESSION_SETUP &&
	       get32(msg + HDR_STATUS) == STATUS_SUCCESS;
}

int session_derive(struct channel *c, const uint8_t *msg)
{
	struct session *s = c->session;
	int err;

	s->guest = (get16(msg + HEADER + 2) & SESSION_IS_GUEST_OR_NULL) != 0;
	if (s->guest)
		return fail(c, REFUSED, "the server made us a guest");
	err = smb3sign_key_derive(&c->key, c->alg, c->dialect, c->setup->gss_key, NTLM_KEY_LEN, &c->setup->hash,
				  SMB3SIGN_ROLE_CLIENT);
	if (!err)
		err = smb3sign_derive(c->dialect, SMB3SIGN_USE_SIGNING, c->setup->gss_key, NTLM_KEY_LEN,
				      &c->setup->hash, c->raw_key, sizeof(c->raw_key));
	if (!err && c->alg == SMB3SIGN_AES_GMAC)
		err = smb3sign_guard_new(&c->guard, GUARD_WINDOW);
	/* The first channel's key is the session's, which outlives the channel. */
	if (!err && !c->setup->binding)
		err = smb3sign_key_dup(&s->key, c->key);
	return err ? fail(c, WRONG, "making the key: %s", smb3sign_strerror(err)) : OK;
}

/* ---- NEGOTIATE ---- */

/* One client, so one GUID: binds depend on it. */
void channel_offer(const struct channel *c, uint8_t capabilities[4], uint8_t guid[16], uint8_t mode[2])
{
	static uint8_t our_guid[16];
	static int made;

	if (!made)
		made = RAND_bytes(our_guid, sizeof(our_guid)) == 1;
	put32(capabilities, c->dialect >= SMB210 ? CAP_LARGE_MTU : 0);
	memcpy(guid, our_guid, sizeof(our_guid));
	put16(mode, SIGNING_ENABLED);
}

/* SMB2_PREAUTH_INTEGRITY_CAPABILITIES, the one context that 3.1.1 cannot do without (MS-SMB2 2.2.3.1.1). */
static void add_preauth_context(struct request *r, uint8_t *body)
{
	size_t at = (r->len + 7) & ~(size_t)7;
	uint8_t *context = r->bytes + at;

	memset(r->bytes + r->len, 0, at - r->len + 14 + SALT_LEN);
	put32(body + 28, (uint32_t)at);
	put16(body + 32, 1);
	put16(context, PREAUTH_CONTEXT);
	put16(context + 2, 6 + SALT_LEN);
	put16(context + 8, 1);
	put16(context + 10, SALT_LEN);
	put16(context + 12, PREAUTH_SHA512);
	(void)RAND_bytes(context + 14, SALT_LEN);
	r->len = at + 14 + SALT_LEN;
}

static int read_negotiate_response(struct channel *c, const uint8_t *msg, size_t len, const uint16_t *algs,
				   size_t n_algs)
{
	const uint8_t *body = msg + HEADER;
	const void *data;
	size_t data_len;
	int err;

	if (len < HEADER + 64 || get16(body + 4) != c->dialect)
		return fail(c, REFUSED, "the server chose another dialect");
	c->server_mode = get16(body + 2);
	c->io_max = get32(body + 24) & CAP_LARGE_MTU ? IO_MAX : UNIT;
	if (get32(body + 32) < c->io_max)
		c->io_max = get32(body + 32);
	if (get32(body + 36) < c->io_max)
		c->io_max = get32(body + 36);
	if (c->dialect != SMB311) {
		c->alg = c->dialect < SMB300 ? SMB3SIGN_HMAC_SHA256 : SMB3SIGN_AES_CMAC;
		return OK;
	}
	err = smb3sign_caps_find(msg, len, &data, &data_len);
	if (!err)
		err = smb3sign_caps_accept(data, data_len, algs, n_algs, &c->alg);
	return err ? fail(c, REFUSED, "the server's signing capabilities: %s", smb3sign_strerror(err)) : OK;
}

static int negotiate(struct channel *c, const uint16_t *algs, size_t n_algs)
{
	struct request r;
	uint8_t *body;
	int err;

	request_init(&r);
	body = request_add(c, &r, NEGOTIATE, 36, 36 + 2, 1);
	put16(body + 2, 1);
	channel_offer(c, body + 8, body + 12, body + 4);
	put16(body + 36, c->dialect);
	if (c->dialect == SMB311) {
		add_preauth_context(&r, body);
		err = smb3sign_caps_append(r.bytes, &r.len, sizeof(r.bytes), algs, n_algs);
		if (err)
			return fail(c, WRONG, "smb3sign_caps_append: %s", smb3sign_strerror(err));
	}
	err = channel_call(c, &r);
	if (!err && (c->pending[0].status || !c->pending[0].msg))
		return fail(c, WRONG, "NEGOTIATE: %08x", c->pending[0].status);
	return err ? err : read_negotiate_response(c, c->pending[0].msg, c->pending[0].len, algs, n_algs);
}

int channel_open(struct channel *c, unsigned port, unsigned dialect, const uint16_t *algs, size_t n_algs)
{
	int err;

	memset(c, 0, sizeof(*c));
	c->dialect = dialect;
	c->credits = 1;
	smb3sign_preauth_init(&c->hash);
	c->in = malloc(IO_MAX + FRAME_MAX);
	c->fd = c->in ? wire_connect(port) : -1;
	if (c->fd < 0)
		err = fail(c, LOST, "no connection to port %u", port);
	else
		err = negotiate(c, algs, n_algs);
	if (err)
		channel_close(c);
	return err;
}

void channel_close(struct channel *c)
{
	if (c->fd >= 0)
		close(c->fd);
	smb3sign_key_free(c->key);
	smb3sign_guard_free(c->guard);
	free(c->in);
	c->fd = -1;
	c->key = NULL;
	c->guard = NULL;
	c->in = NULL;
}

/* ---- SESSION_SETUP ---- */

static int one_leg(struct channel *c, const uint8_t *token, size_t len, struct pending **answer)
{
	struct request r;
	uint8_t *body;
	int err;

	request_init(&r);
	body = request_add(c, &r, SESSION_SETUP, 25, 24 + len, 1);
	body[2] = session_binding(c) ? FLAG_BINDING : 0;
	body[3] = c->session->required ? SIGNING_REQUIRED : SIGNING_ENABLED;
	put16(body + 12, HEADER + 24);
	put16(body + 14, (unsigned)len);
	memcpy(body + 24, token, len);
	err = channel_call(c, &r);
	*answer = &c->pending[0];
	return err;
}

static int exchange(struct channel *c, const char *user, const char *password, uint32_t *status)
{
	uint8_t token[NTLM_MESSAGE_MAX];
	struct pending *answer;
	size_t at, len;
	int err = one_leg(c, token, ntlm_negotiate(token), &answer);

	if (!err)
		*status = answer->status;
	if (err || *status != STATUS_MORE_PROCESSING_REQUIRED)
		return err;
	at = get16(answer->msg + HEADER + 4);
	len = get16(answer->msg + HEADER + 6);
	if (answer->len < HEADER + 8 || at > answer->len || answer->len - at < len)
		return fail(c, REFUSED, "a malformed SESSION_SETUP response");
	c->session->id = get64(answer->msg + HDR_SESSION_ID);
	len = ntlm_authenticate(token, answer->msg + at, len, user, password, c->setup->gss_key);
	if (!len)
		return fail(c, WRONG, "no NTLM answer to the server's challenge");
	err = one_leg(c, token, len, &answer);
	if (!err)
		*status = answer->status;
	return err;
}

int session_setup(struct channel *c, struct session *s, struct session *bind, const char *user, const char *password,
		  int required, uint32_t *status)
{
	struct setup setup = {.binding = bind != NULL, .hash = c->hash};
	int err;

	*status = 0;
	c->session = bind;
	if (!bind) {
		*s = (struct session){.dialect = c->dialect, .alg = c->alg};
		s->required = required || (c->server_mode & SIGNING_REQUIRED);
		c->session = s;
	}
	c->setup = &setup;
	err = exchange(c, user, password, status);
	c->setup = NULL;
	if (err || *status)
		c->session = NULL;
	return err;
}

int session_again(struct channel *c, const char *user, const char *password, uint32_t *status)
{
	struct setup setup = {.hash = c->hash};
	int err;

	*status = 0;
	c->setup = &setup;
	err = exchange(c, user, password, status);
	c->setup = NULL;
	return err;
}

void session_free(struct session *s)
{
	smb3sign_key_free(s->key);
	s->key = NULL;
}
