/* SPDX-License-Identifier: MIT */
/*
 * Frames out and in: MessageIds and credits, policy, guard, signing, verification, and the faults that tests ask for.
 * Everything that knows of signing is here and in session.c.
 */
#include "client.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "peer.h"
#include "session.h"

int fail(struct channel *c, int result, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(c->why, sizeof(c->why), format, ap);
	va_end(ap);
	return result;
}

/* ---- building ---- */

void request_init(struct request *r)
{
	r->len = r->last = r->payload_len = 0;
	r->count = 0;
	r->must_sign = 0;
	r->payload = NULL;
}

/* The message before is final: it is padded, and NextCommand covers the padding (MS-SMB2 3.2.4.1.4). */
static void link_to_last(struct request *r)
{
	size_t end = (r->len + 7) & ~(size_t)7;

	memset(r->bytes + r->len, 0, end - r->len);
	put32(r->bytes + r->last + HDR_NEXT, (uint32_t)(end - r->last));
	r->len = r->last = end;
}

uint8_t *request_add(struct channel *c, struct request *r, unsigned command, unsigned structure_size, size_t body_len,
		     unsigned credits)
{
	uint8_t *hdr;
	int related = r->count > 0;

	if (related)
		link_to_last(r);
	hdr = r->bytes + r->last;
	memset(hdr, 0, HEADER + body_len);
	put32(hdr, 0x424d53fe);
	put16(hdr + 4, HEADER);
	put16(hdr + 6, c->dialect == SMB202 ? 0 : credits);
	put16(hdr + HDR_COMMAND, command);
	put16(hdr + HDR_CREDITS, 256);
	put32(hdr + HDR_FLAGS, related ? FLAG_RELATED : 0);
	put64(hdr + HDR_MESSAGE_ID, c->next_id);
	if (related) {
		/* The session, the tree and the file of the message before. */
		put32(hdr + HDR_TREE_ID, 0xffffffff);
		put64(hdr + HDR_SESSION_ID, UINT64_MAX);
	} else if (c->session) {
		put32(hdr + HDR_TREE_ID, c->session->tree_id);
		put64(hdr + HDR_SESSION_ID, c->session->id);
	}
	c->next_id += credits;
	c->credits -= credits;
	put16(hdr + HEADER, structure_size);
	r->len = r->last + HEADER + body_len;
	r->count++;
	return hdr + HEADER;
}

/* ---- what the policy is to know ---- */

/* Session.SigningRequired and the rest hold from when there is a key; a bind has the session's from the start. */
static unsigned state(const struct channel *c)
{
	unsigned s = c->dialect == SMB311 ? SMB3SIGN_SMB311 : 0;

	if (c->setup)
		s |= SMB3SIGN_HAVE_SESSION;
	if (session_binding(c))
		s |= SMB3SIGN_HAVE_KEY | SMB3SIGN_REQUIRED | SMB3SIGN_BINDING;
	else if (c->key)
		s |= SMB3SIGN_HAVE_SESSION | SMB3SIGN_HAVE_KEY | (c->session->required ? SMB3SIGN_REQUIRED : 0u);
	if (c->session && c->session->guest)
		s |= SMB3SIGN_GUEST;
	return s;
}

/* ---- out ---- */

/* 1: the frame is to be signed. Its messages share a session, so they share the answer. */
static int must_sign(struct channel *c, const struct request *r)
{
	unsigned s = state(c) | (r->must_sign ? SMB3SIGN_MUST_SIGN : 0u);
	int sign = 0;

	for (size_t off = 0, n; !smb3sign_frame_next(r->bytes, r->len, off, &n); off += n) {
		const uint8_t *hdr = r->bytes + off;

		sign = smb3sign_send_policy(SMB3SIGN_ROLE_CLIENT, hdr, s);
		if (sign < 0)
			return fail(c, WRONG, "command %u: smb3sign_send_policy: %s", get16(hdr + HDR_COMMAND),
				    smb3sign_strerror(sign));
	}
	return sign;
}

/* Requests of a bind are under the session's key, whose guard is another channel's and rightly does not know them. */
static int claim(struct channel *c, const struct request *r)
{
	if (!c->guard || session_binding(c))
		return OK;
	for (size_t off = 0, n; !smb3sign_frame_next(r->bytes, r->len, off, &n); off += n) {
		int err = smb3sign_guard_claim(c->guard, r->bytes + off);

		if (err)
			return fail(c, WRONG, "smb3sign_guard_claim: %s", smb3sign_strerror(err));
	}
	return OK;
}

static int sign(struct channel *c, struct request *r)
{
	const smb3sign_key *key = session_binding(c) ? c->session->key : c->key;
	const smb3sign_iov body[2] = {{r->bytes + HEADER, r->len - HEADER}, {(void *)r->payload, r->payload_len}};
	int err;

	if (claim(c, r))
		return WRONG;
	if (c->peer)
		return peer_sign(c->peer, r->bytes, body, 2) ? fail(c, WRONG, "libcrypto fails to sign") : OK;
	if (r->payload)
		err = smb3sign_sign(key, r->bytes, body, 2);
	else if (r->count > 1)
		err = smb3sign_sign_frame(key, r->bytes, r->len);
	else
		err = smb3sign_sign_buf(key, r->bytes, r->len);
	return err ? fail(c, WRONG, "signing: %s", smb3sign_strerror(err)) : OK;
}

/* A message of a frame; NULL if there are fewer. */
static uint8_t *element(uint8_t *frame, size_t len, unsigned which, size_t *msg_len)
{
	for (size_t off = 0; !smb3sign_frame_next(frame, len, off, msg_len); off += *msg_len)
		if (!which--)
			return frame + off;
	return NULL;
}

/* Flips the bit that the fault names in the frame; the message must be there and that long. */
static int flip(struct channel *c, uint8_t *frame, size_t len)
{
	size_t n = 0, at;
	uint8_t *msg = element(frame, len, c->fault.element, &n);

	at = c->fault.offset < 0 ? n - (size_t)-c->fault.offset : (size_t)c->fault.offset;
	if (!msg || at >= n)
		return fail(c, WRONG, "there is no byte %ld in message %u", c->fault.offset, c->fault.element);
	msg[at] ^= 1;
	return OK;
}

static void note_pending(struct channel *c, const struct request *r)
{
	for (size_t off = 0, n; !smb3sign_frame_next(r->bytes, r->len, off, &n); off += n) {
		const uint8_t *hdr = r->bytes + off;

		if (get16(hdr + HDR_COMMAND) == CANCEL) /* it has no answer, MS-SMB2 3.3.5.16 */
			continue;
		c->pending[c->n_pending] = (struct pending){.must_sign = r->must_sign};
		memcpy(c->pending[c->n_pending++].request, hdr, HEADER);
	}
}

int channel_send(struct channel *c, struct request *r)
{
	const struct iovec frame[2] = {{r->bytes, r->len}, {(void *)r->payload, r->payload_len}};
	int signing = must_sign(c, r), err = OK;

	if (signing < 0)
		return WRONG;
	if (c->n_pending + r->count > sizeof(c->pending) / sizeof(c->pending[0]))
		return fail(c, WRONG, "too many requests at once");
	if (c->fault.kind == FAULT_REQUEST_BIT && !signing)
		return fail(c, WRONG, "the request to be spoilt would not be signed");
	if (signing && c->fault.kind != FAULT_UNSIGNED)
		err = sign(c, r);
	if (!err && c->fault.kind == FAULT_REQUEST_BIT)
		err = flip(c, r->bytes, r->len);
	if (!err)
		err = session_saw(c, r->bytes, r->len);
	if (err)
		return err;
	note_pending(c, r);
	return wire_send(c->fd, frame, 2) ? fail(c, LOST, "the connection is gone") : OK;
}

/* ---- in ---- */

static struct pending *find_pending(struct channel *c, const uint8_t *msg)
{
	for (size_t i = 0; i < c->n_pending; i++) {
		struct pending *p = &c->pending[i];

		if (!p->finished && get64(p->request + HDR_MESSAGE_ID) == get64(msg + HDR_MESSAGE_ID) &&
		    get16(p->request + HDR_COMMAND) == get16(msg + HDR_COMMAND))
			return p;
	}
	return NULL;
}

static int verify(struct channel *c, const uint8_t *msg, size_t len, uint32_t status)
{
	/* Of a bind, the responses before the last are under the session's key, MS-SMB2 3.3.4.1.1. */
	const smb3sign_key *key = session_binding(c) && status ? c->session->key : c->key;
	int err = c->peer ? peer_verify(c->peer, msg, len) : smb3sign_verify_buf(key, msg, len);

	if (err)
		return fail(c, REFUSED, "command %u: %s", get16(msg + HDR_COMMAND), smb3sign_strerror(err));
	c->verified++;
	return OK;
}

/*
 * An interim response: the request goes on under its MessageId, for as long as the server likes. A CANCEL of it will be
 * signed under that MessageId, however many others have passed then.
 */
static int note_interim(struct channel *c, struct pending *p, const uint8_t *msg)
{
	int err = c->guard ? smb3sign_guard_hold(c->guard, msg) : SMB3SIGN_OK;

	if (p->interim)
		return fail(c, REFUSED, "a second interim response");
	p->interim = 1;
	p->async_id = get64(msg + HDR_ASYNC_ID);
	return err ? fail(c, WRONG, "smb3sign_guard_hold: %s", smb3sign_strerror(err)) : OK;
}

/*
 * What answers nothing. An oplock break notification is not signed (MS-SMB2 3.3.4.6). A CANCEL has no answer, but
 * Windows and Samba send one, unsigned, if they refuse its signature; it means nothing to us, and the library must not
 * call it verified.
 */
static int receive_unasked(struct channel *c, const uint8_t *msg, size_t len)
{
	unsigned command = get16(msg + HDR_COMMAND);
	uint32_t unused;

	if (command == OPLOCK_BREAK && get64(msg + HDR_MESSAGE_ID) == UINT64_MAX &&
	    smb3sign_receive_policy(SMB3SIGN_ROLE_CLIENT, msg, state(c), &unused) == SMB3SIGN_ACT_PASS) {
		c->breaks++;
		return OK;
	}
	if (command == CANCEL && smb3sign_verify_buf(c->key, msg, len) == SMB3SIGN_E_EXEMPT)
		return OK;
	return fail(c, REFUSED, "command %u answers no request", command);
}

static int receive_message(struct channel *c, const uint8_t *msg, size_t len)
{
	struct pending *p = find_pending(c, msg);
	uint32_t status = get32(msg + HDR_STATUS), answer;
	int act, err = OK;

	if (!p)
		return receive_unasked(c, msg, len);
	if (session_key_due(c, msg))
		err = session_derive(c, msg);
	if (err)
		return err;
	act = smb3sign_receive_policy(SMB3SIGN_ROLE_CLIENT, msg,
				      state(c) | (p->must_sign ? SMB3SIGN_MUST_SIGN : 0u) |
					      (smb3sign_is_echo(msg, p->request) ? SMB3SIGN_ECHO : 0u),
				      &answer);
	if (act != SMB3SIGN_ACT_PASS && act != SMB3SIGN_ACT_VERIFY && act != SMB3SIGN_ACT_STATUS_ONLY)
		return fail(c, REFUSED, "command %u: the policy says %d", get16(msg + HDR_COMMAND), act);
	if (act == SMB3SIGN_ACT_VERIFY)
		err = verify(c, msg, len, status);
	if (err)
		return err;
	c->credits += get16(msg + HDR_CREDITS);
	if (status == STATUS_PENDING && get32(msg + HDR_FLAGS) & FLAG_ASYNC)
		return note_interim(c, p, msg);
	p->finished = 1;
	p->act = act;
	p->status = status;
	p->msg = act == SMB3SIGN_ACT_STATUS_ONLY ? NULL : msg;
	p->len = len;
	if (c->guard)
		smb3sign_guard_drop(c->guard, msg);
	return OK;
}

/* Spoil what came, but not interim responses, which nobody can check. */
static int spoil(struct channel *c)
{
	size_t n;
	uint8_t *msg = element(c->in, c->in_len, c->fault.element, &n);

	if (!msg)
		return fail(c, WRONG, "there is no message %u in the response", c->fault.element);
	if (get32(msg + HDR_STATUS) == STATUS_PENDING)
		return OK;
	if (c->fault.skip) {
		c->fault.skip--;
		return OK;
	}
	if (c->fault.kind == FAULT_RESPONSE_BIT)
		return flip(c, c->in, c->in_len);
	if (c->fault.kind == FAULT_RESPONSE_STRIPPED) {
		put32(msg + HDR_FLAGS, get32(msg + HDR_FLAGS) & ~(uint32_t)FLAG_SIGNED);
		memset(msg + HDR_SIGNATURE, 0, SMB3SIGN_SIG_LEN);
	}
	return OK;
}

int channel_receive(struct channel *c)
{
	long got = wire_receive(c->fd, c->in, IO_MAX + FRAME_MAX);
	int err;

	if (got < 0)
		return fail(c, LOST, "the connection is gone, or the server says nothing");
	c->in_len = (size_t)got;
	err = c->fault.kind >= FAULT_RESPONSE_BIT ? spoil(c) : OK;
	for (size_t off = 0, n; !err && off < c->in_len; off += n) {
		if (smb3sign_frame_next(c->in, c->in_len, off, &n))
			return fail(c, REFUSED, "a malformed frame");
		err = receive_message(c, c->in + off, n);
		if (!err)
			err = session_saw(c, c->in + off, n);
	}
	return err;
}

static int all_finished(const struct channel *c)
{
	for (size_t i = 0; i < c->n_pending; i++)
		if (!c->pending[i].finished)
			return 0;
	return 1;
}

int channel_call(struct channel *c, struct request *r)
{
	int err;

	c->n_pending = 0;
	err = channel_send(c, r);
	while (!err && !all_finished(c))
		err = channel_receive(c);
	return err;
}
