/* SPDX-License-Identifier: MIT */
/*
 * Which keys a message may be signed with. The rules are those of MS-SMB2 3.1.4.1 (signing), 3.2.5.3 and 3.3.5.5
 * (session setup, binding, re-authentication):
 *
 * A SESSION_SETUP exchange starts from the connection's preauthentication hash and has its own copy. Its final response
 * with STATUS_SUCCESS makes a session key, which signs that response; or, if the exchange binds an existing session to
 * this connection, a channel key. What comes before that in a bind is signed with the session's key, and so with the
 * session's algorithm. A re-authentication keeps its keys. Everything else is signed with the channel's key.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "explain_pcap.h"
#include "smb.h"
#include "tool.h"

enum { DIALECT_300 = 0x0300, DIALECT_311 = 0x0311, DIALECT_WILDCARD = 0x02ff };

enum exchange_kind {
	EXCHANGE_NEW,
	EXCHANGE_BIND,
	EXCHANGE_REAUTH,
	EXCHANGE_UNKNOWN /* names a session that this connection does not have: its beginning may be missing */
};

struct exchange {
	uint64_t id; /* SessionId as the last leg had it: some servers leave 0 until the end */
	enum exchange_kind kind;
	int have_hash;
	smb3sign_preauth hash;
	struct chain *chain; /* the explainer's */
	int have_challenge;
	uint8_t challenge[NTLM_CHALLENGE_LEN];
	struct ntlm_outcome ntlm; /* of the last request with an AUTHENTICATE message */
	struct exchange *next;
};

void follow_free(struct smb *c)
{
	while (c->exchanges.root)
		tree_remove(&c->exchanges, tree_any(&c->exchanges), tree_by_id);
	while (c->all) {
		struct exchange *e = c->all;

		c->all = e->next;
		free(e->chain);
		wipe(&e->ntlm, sizeof e->ntlm);
		free(e);
	}
	ring_table_free(&c->channels);
	free(c->chain);
}

static void problem(struct smb *c, const struct message *m, const char *text)
{
	report_problem(&c->v->report, "packet %" PRIu64 ", connection %u, %s %s: %s", m->at->packet, c->number,
		       command_name(m->h.command), m->response ? "response" : "request", text);
}

/* ---- NEGOTIATE */

/*
 * The ids that a NEGOTIATE request lists, AES-CMAC if it has no such context, as bits; those that nobody knows are left
 * out.
 */
static unsigned offered_algorithms(struct smb *c, const struct message *m)
{
	const void *data;
	size_t len;
	unsigned ids = 0;

	if (smb3sign_caps_find(m->bytes, m->len, &data, &len)) {
		problem(c, m, "malformed signing capabilities");
		return 0;
	}
	if (!data)
		return 1u << SMB3SIGN_AES_CMAC;
	for (size_t i = 1; 2 * i + 2 <= len && i <= get_le16(data); i++) {
		unsigned id = get_le16((const uint8_t *)data + 2 * i);

		if (id <= SMB3SIGN_AES_GMAC)
			ids |= 1u << id;
	}
	return ids;
}

static int selected_algorithm(struct smb *c, const struct message *m)
{
	uint16_t offered[3];
	size_t len, n = 0;
	const void *data;
	unsigned alg;
	int err;

	for (uint16_t id = 0; id <= SMB3SIGN_AES_GMAC; id++)
		if (c->offered & 1u << id)
			offered[n++] = id;
	err = smb3sign_caps_find(m->bytes, m->len, &data, &len);
	if (!err)
		err = smb3sign_caps_accept(data, len, offered, n, &alg);
	if (!err)
		return (int)alg;
	problem(c, m,
		err == SMB3SIGN_E_UNSUPPORTED ? "selects a signing algorithm that was not offered"
					      : "malformed signing capabilities");
	return -1;
}

static int hash_message(smb3sign_preauth *hash, const struct message *m)
{
	/* The library only reads it; writev()'s type has no const. */
	smb3sign_iov iov = {(void *)(uintptr_t)m->bytes, m->len};

	return smb3sign_preauth_update(hash, &iov, 1);
}

static void follow_negotiate_request(struct smb *c, const struct message *m)
{
	c->offered = offered_algorithms(c, m);
	smb3sign_preauth_init(&c->hash);
	c->have_hash = !hash_message(&c->hash, m);
	c->chain = explainer_negotiate(c->v->explainer, c->chain, c->number, m);
}

static void follow_negotiate_response(struct smb *c, const struct message *m)
{
	const unsigned any = 1u << SMB3SIGN_HMAC_SHA256 | 1u << SMB3SIGN_AES_CMAC | 1u << SMB3SIGN_AES_GMAC;
	unsigned dialect;

	if (m->h.status != STATUS_SUCCESS || m->len < SMB3SIGN_HEADER_LEN + 6)
		return;
	dialect = get_le16(m->bytes + SMB3SIGN_HEADER_LEN + 4);
	if (dialect == DIALECT_WILDCARD) /* answers SMB1; the real negotiation follows */
		return;
	c->negotiated.dialect = dialect;
	if (!c->have_hash) /* the request is not in the capture: the server's word counts */
		c->offered = any;
	if (dialect < DIALECT_300)
		c->negotiated.alg = SMB3SIGN_HMAC_SHA256;
	else if (dialect < DIALECT_311)
		c->negotiated.alg = SMB3SIGN_AES_CMAC;
	else
		c->negotiated.alg = selected_algorithm(c, m);
	if (c->have_hash && hash_message(&c->hash, m))
		c->have_hash = 0;
	c->chain = explainer_negotiate(c->v->explainer, c->chain, c->number, m);
}

/* ---- NTLM in SESSION_SETUP, for the users whose passwords are given */

/* The security buffer (MS-SMB2 2.2.5, 2.2.6), whose offset and length are at `at` of the body; empty if malformed. */
static const uint8_t *security_buffer(const struct message *m, size_t *len)
{
	size_t at = SMB3SIGN_HEADER_LEN + (m->response ? 4 : 12);
	size_t offset;

	*len = 0;
	if (m->len < at + 4)
		return m->bytes;
	offset = get_le16(m->bytes + at);
	if (offset > m->len || get_le16(m->bytes + at + 2) > m->len - offset)
		return m->bytes;
	*len = get_le16(m->bytes + at + 2);
	return m->bytes + offset;
}

static void follow_ntlm_challenge(const struct smb *c, struct exchange *e, const struct message *m)
{
	size_t len;
	const uint8_t *buffer = security_buffer(m, &len);

	if (c->v->users.given.count && !ntlm_find_challenge(buffer, len, e->challenge))
		e->have_challenge = 1;
}

static void follow_ntlm_proof(const struct smb *c, struct exchange *e, const struct message *m)
{
	size_t len;
	const uint8_t *buffer = security_buffer(m, &len);

	if (e->have_challenge)
		ntlm_authenticate(&c->v->users.given, e->challenge, buffer, len, &e->ntlm);
}

/* The exchange that begins a session or channel has been accepted; no key can be had from it. */
static void miss_ntlm_key(struct smb *c, const struct ntlm_outcome *o, const struct message *m)
{
	const unsigned guest_or_null = 0x0003; /* SessionFlags, the third and fourth byte of the body */
	char text[NTLM_WHO_MAX + 80];

	/* Guests are let in whatever the proof is, and do not sign. */
	if (m->len >= SMB3SIGN_HEADER_LEN + 4 && get_le16(m->bytes + SMB3SIGN_HEADER_LEN + 2) & guest_or_null)
		return;
	switch (o->result) {
	case NTLM_WRONG_PASSWORD:
		snprintf(text, sizeof text, "%s has another password than given: the NTLM proof does not fit", o->who);
		problem(c, m, text);
		break;
	case NTLM_VERSION_1:
		snprintf(text, sizeof text, "%s used NTLMv1, of which no session key is found", o->who);
		problem(c, m, text);
		break;
	case NTLM_MALFORMED:
		problem(c, m, "malformed NTLM AUTHENTICATE message in the request, or one that is not in Unicode");
		break;
	default:
		users_note_other(&c->v->users, o);
		break;
	}
}

static void use_ntlm_key(struct smb *c, const struct exchange *e, const struct message *m, struct ring *ring)
{
	if (e->ntlm.result == NTLM_KEY)
		ring_prepend(ring, e->ntlm.key, &c->negotiated, e->have_hash ? &e->hash : NULL);
	else if (c->v->users.given.count)
		miss_ntlm_key(c, &e->ntlm, m);
}

/* ---- SESSION_SETUP */

static void hash_leg(struct smb *c, struct exchange *e, const struct message *m)
{
	if (!e->have_hash || e->kind == EXCHANGE_REAUTH)
		return;
	if (hash_message(&e->hash, m))
		e->have_hash = 0;
	explainer_setup(e->chain, c->chain, m);
}

/* Request: the exchange that this leg continues, no longer waiting; NULL: it begins one. */
static struct exchange *resume_exchange(struct smb *c, uint64_t session)
{
	struct exchange *e = tree_find(&c->exchanges, &session, tree_by_id);

	if (e)
		tree_remove(&c->exchanges, e, tree_by_id);
	return e;
}

static struct exchange *begin_exchange(struct smb *c, const struct message *m)
{
	const unsigned binding = 0x01; /* SMB2_SESSION_FLAG_BINDING, Flags being the third byte of the body */
	struct exchange *e = allocate(sizeof *e);

	e->id = m->session;
	e->have_hash = c->have_hash && c->negotiated.dialect == DIALECT_311;
	e->hash = c->hash;
	if (m->session && m->len > SMB3SIGN_HEADER_LEN + 2 && m->bytes[SMB3SIGN_HEADER_LEN + 2] & binding &&
	    c->negotiated.dialect >= DIALECT_300) {
		e->kind = EXCHANGE_BIND;
	} else if (ring_table_get(&c->channels, m->session)) {
		e->kind = EXCHANGE_REAUTH;
	} else if (m->session) {
		e->kind = EXCHANGE_UNKNOWN;
		e->have_hash = 0;
	}
	if (e->have_hash)
		e->chain = explainer_begin(c->v->explainer, c->chain, c, m, e->kind == EXCHANGE_BIND);
	e->next = c->all;
	c->all = e;
	return e;
}

/* A connection without channel for the session can only mean the session itself. */
static void use_channel(struct smb *c, struct message *m)
{
	m->rings[0] = ring_table_get(&c->channels, m->session);
	if (!m->rings[0] && c->negotiated.dialect)
		m->rings[0] = ring_table_get(&c->v->sessions, m->session);
}

/*
 * The keys for what precedes the end of an exchange. Binding uses the session's key (MS-SMB2 3.3.5.5, 3.3.4.1.1), but a
 * Samba server that has a channel already refuses with the channel's. Re-authentication on a bound channel uses the
 * channel's key according to the server text (3.3.5.2.4) and Samba, the session's according to the client text
 * (3.2.4.1.1). A new session has none; should there have been one with its SessionId before, it is over.
 */
static void use_setup_keys(struct smb *c, const struct exchange *e, struct message *m)
{
	int binding = e && e->kind == EXCHANGE_BIND;
	struct ring *session = ring_table_get(&c->v->sessions, m->session);
	struct ring *channel = ring_table_get(&c->channels, m->session);

	if (e && e->kind == EXCHANGE_NEW)
		return;
	if (session == channel)
		session = NULL;
	m->rings[0] = binding && session ? session : channel;
	m->rings[1] = m->rings[0] == session ? channel : session;
}

static void follow_setup_request(struct smb *c, struct message *m)
{
	struct exchange *e = resume_exchange(c, m->session);

	if (!e)
		e = begin_exchange(c, m);
	hash_leg(c, e, m);
	m->request->exchange = e;
	follow_ntlm_proof(c, e, m);
	use_setup_keys(c, e, m);
}

static void await_next_leg(struct smb *c, struct exchange *e, const struct message *m)
{
	struct exchange *other;

	follow_ntlm_challenge(c, e, m);
	hash_leg(c, e, m);
	/* Should two requests of one exchange be under way, it may wait already. */
	other = tree_find(&c->exchanges, &e->id, tree_by_id);
	if (other == e)
		tree_remove(&c->exchanges, e, tree_by_id);
	e->id = m->session;
	other = tree_find(&c->exchanges, &e->id, tree_by_id);
	if (other)
		tree_remove(&c->exchanges, other, tree_by_id);
	tree_add(&c->exchanges, e, tree_by_id);
}

/* The exchange has succeeded: its key is the channel's, and the session's too unless it binds. */
static void finish_exchange(struct smb *c, const struct exchange *e, struct message *m)
{
	struct ring *ring = ring_new(&c->v->given, m->session, &c->negotiated, e->have_hash ? &e->hash : NULL);

	use_ntlm_key(c, e, m, ring);
	ring_table_put(&c->channels, ring);
	if (e->kind != EXCHANGE_BIND)
		ring_table_put(&c->v->sessions, ring_share(ring));
	explainer_ring(c->v->explainer, ring, c, m, e->chain, e->kind == EXCHANGE_BIND);
	m->rings[0] = ring;
}

static void follow_setup_response(struct smb *c, struct message *m)
{
	struct exchange *e = m->request ? m->request->exchange : NULL;

	if (e && m->h.status == STATUS_SUCCESS && e->kind != EXCHANGE_REAUTH && m->session) {
		finish_exchange(c, e, m);
		return;
	}
	use_setup_keys(c, e, m);
	if (e && m->h.status == STATUS_MORE_PROCESSING_REQUIRED)
		await_next_leg(c, e, m);
}

/* ---- All messages */

/*
 * The capture has not seen the session begin: keys that were given for it can still serve. Keys without SessionId do if
 * the connection's beginning is missing too; on a whole connection a session that was never set up has no key.
 */
static void use_given_keys(struct smb *c, struct message *m)
{
	struct ring *ring;

	if (!m->session || m->session == UINT64_MAX)
		return;
	if (c->negotiated.dialect && !given_keys_name(&c->v->given, m->session))
		return;
	ring = ring_new(&c->v->given, m->session, &c->negotiated, NULL);
	if (ring->count) {
		ring_table_put(&c->channels, ring);
		explainer_ring(c->v->explainer, ring, c, m, NULL, 0);
		m->rings[0] = ring;
	} else {
		ring_drop(ring);
	}
}

void follow_message(struct smb *c, struct message *m)
{
	switch (m->h.command) {
	case COMMAND_NEGOTIATE:
		if (m->response)
			follow_negotiate_response(c, m);
		else
			follow_negotiate_request(c, m);
		break;
	case COMMAND_SESSION_SETUP:
		if (m->response)
			follow_setup_response(c, m);
		else
			follow_setup_request(c, m);
		break;
	default:
		use_channel(c, m);
		if (!m->rings[0] && m->h.flags & FLAG_SIGNED)
			use_given_keys(c, m);
		break;
	}
}
