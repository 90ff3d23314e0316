/* SPDX-License-Identifier: MIT */
/*
 * What an SMB connection says: frames into messages, responses to their requests, and the verdict over each message.
 * Which keys come into question is follow.c's matter.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "explain_pcap.h"
#include "smb.h"
#include "tool.h"

void smb_init(struct smb *c, struct verifier *v)
{
	*c = (struct smb){.v = v, .server = -1, .negotiated = {0, -1}};
}

/* Under a filter only connections of which messages are shown. */
static void announce(struct smb *c)
{
	int client = c->server < 0 ? 0 : !c->server;

	if (c->announced)
		return;
	c->announced = 1;
	report_connection(&c->v->report, c->number, c->ends[client], c->ends[!client]);
}

void smb_recognised(struct smb *c)
{
	c->number = ++c->v->connections;
	if (!c->v->filter.count)
		announce(c);
}

void smb_free(struct smb *c)
{
	struct request *r;

	while ((r = tree_any(&c->requests))) {
		tree_remove(&c->requests, r, tree_by_id);
		free(r);
	}
	follow_free(c);
}

static void remember(struct smb *c, struct message *m)
{
	struct request *r = tree_find(&c->requests, &m->h.message_id, tree_by_id);

	if (!r) {
		r = allocate(sizeof *r);
		r->message_id = m->h.message_id;
		tree_add(&c->requests, r, tree_by_id);
	}
	r->session = m->session;
	r->exchange = NULL;
	memcpy(r->header, m->bytes, sizeof r->header);
	m->request = r;
}

static void forget(struct smb *c, struct request *r)
{
	tree_remove(&c->requests, r, tree_by_id);
	free(r);
}

/* OK, or what the first ring says. */
static int verify_with_rings(struct message *m, int *alg)
{
	int err = SMB3SIGN_OK;

	for (size_t i = 0; i < 2 && m->rings[i] && m->rings[i]->count; i++) {
		int one = ring_verify(m->rings[i], m->bytes, m->len);

		if (!i || !one) {
			err = one;
			*alg = (int)smb3sign_key_alg(m->rings[i]->candidates[0].key);
		}
		if (!one)
			break;
	}
	return err;
}

/* Signed, and not verified. */
static enum verdict judge_failure(const struct message *m, int have_key)
{
	if (m->response && m->request && smb3sign_is_echo(m->bytes, m->request->header))
		return VERDICT_ECHO;
	if (!have_key || ring_is_foreign(m->rings[0]))
		return VERDICT_NO_KEY;
	return VERDICT_BAD;
}

static void judge(const struct smb *c, struct message *m, struct finding *f)
{
	int reason, have_key;

	/* A ring of no keys says no more than no ring. */
	if (!m->rings[0] || !m->rings[0]->count) {
		m->rings[0] = m->rings[1];
		m->rings[1] = NULL;
	}
	have_key = m->rings[0] && m->rings[0]->count;
	f->alg = have_key ? (int)smb3sign_key_alg(m->rings[0]->candidates[0].key) : c->negotiated.alg;
	reason = smb3sign_exempt(f->alg < 0 ? SMB3SIGN_AES_CMAC : (unsigned)f->alg, m->bytes);
	if (reason > 0) {
		f->verdict = VERDICT_EXEMPT;
		f->why = exemption_name(reason);
		return;
	}
	if (have_key && !verify_with_rings(m, &f->alg))
		f->verdict = VERDICT_OK;
	else
		f->verdict = m->h.flags & FLAG_SIGNED ? judge_failure(m, have_key) : VERDICT_UNSIGNED;
	if (f->verdict == VERDICT_BAD && m->response && !m->request)
		f->why = "or an echo: its request is not in the capture";
}

/* To its request, or among the requests. */
static void match(struct smb *c, struct message *m)
{
	if (m->response)
		m->request = tree_find(&c->requests, &m->h.message_id, tree_by_id);
	else if (m->h.command != COMMAND_CANCEL) /* has its target's MessageId, or 0, and no answer */
		remember(c, m);
	/* A response to a RELATED request that comes alone has its chain in the request. */
	if (m->response && m->request && m->h.flags & FLAG_RELATED)
		m->session = m->request->session;
}

static int is_wanted(const struct smb *c, const struct message *m)
{
	struct filter_subject subject = {{
		[FILTER_SESSION] = m->session,
		[FILTER_MID] = m->h.message_id,
		[FILTER_COMMAND] = m->h.command,
		[FILTER_CONNECTION] = c->number,
	}};

	return filter_matches(&c->v->filter, &subject);
}

/* Which key is a channel's shows at the first messages, wanted or not; later ones that are not wanted cost nothing. */
static int is_undecided(const struct message *m)
{
	return m->rings[0] && !m->rings[0]->settled;
}

static void take_message(struct smb *c, struct message *m)
{
	int wanted;
	struct finding f = {.at = *m->at, .connection = c->number, .header = m->h, .alg = c->negotiated.alg};

	if (c->server < 0)
		c->server = m->response ? m->dir : !m->dir;
	f.from_server = m->dir == c->server;
	if (m->response != f.from_server) {
		/*
		 * A response from the client or a request from the server has been reflected; nothing follows from it.
		 */
		f.verdict = VERDICT_BAD;
		f.why = "wrong direction";
	} else {
		match(c, m);
		follow_message(c, m);
	}
	wanted = is_wanted(c, m);
	if (m->response == f.from_server && (wanted || is_undecided(m)))
		judge(c, m, &f);
	if (wanted) {
		announce(c);
		report_message(&c->v->report, &f);
	} else {
		c->v->report.left_out++;
	}
	explainer_message(c->v->explainer, c, m, wanted ? &f : NULL);
	if (m->response && m->request && m->h.status != STATUS_PENDING)
		forget(c, m->request);
}

static void take_compound(struct smb *c, int dir, const uint8_t *frame, size_t len, uint64_t offset,
			  const struct place *at)
{
	uint64_t session = 0;

	for (size_t off = 0, n = 0; off < len; off += n) {
		struct message m = {.bytes = frame + off, .dir = dir, .at = at, .frame = frame, .frame_len = len};

		if (smb3sign_frame_next(frame, len, off, &n)) {
			report_problem(&c->v->report,
				       "packet %" PRIu64 ", connection %u, stream offset %" PRIu64
				       ": malformed header or NextCommand",
				       at->packet, c->number, offset + off);
			return;
		}
		m.len = n;
		m.h = read_header(m.bytes);
		m.response = (m.h.flags & FLAG_RESPONSE) != 0;
		if (!off || !(m.h.flags & FLAG_RELATED))
			session = m.h.session_id;
		m.session = session;
		take_message(c, &m);
	}
}

void smb_frame(struct smb *c, int dir, const uint8_t *frame, size_t len, uint64_t offset, const struct place *at)
{
	switch (frame[0]) {
	case 0xff:
		c->v->report.smb1++;
		break;
	case 0xfd:
		c->v->report.encrypted++;
		break;
	case 0xfc:
		c->v->report.compressed++;
		break;
	default:
		take_compound(c, dir, frame, len, offset, at);
		break;
	}
}
