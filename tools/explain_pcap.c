/* SPDX-License-Identifier: MIT */
/*
 * verify-pcap --explain: remembers what the keys of a capture were made of, and gives explain.c what surrounds a
 * message that is BAD. What explained a message of a connection's direction is tried first on the next one, so that a
 * peer that is wrong throughout costs little.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "explain.h"
#include "explain_pcap.h"
#include "tool.h"

/*
 * Bytes through MACs: for one message, in all, and, once those are used up, what the single mistakes take of a message.
 * An unexplained message of some hundred bytes costs about 20 MB.
 */
#define EFFORT_MESSAGE         (UINT64_C(1) << 32)
#define EFFORT_CAPTURE         (UINT64_C(1) << 35)
#define EFFORT_SINGLE(message) (UINT64_C(256) * ((message) + 2048))

/* Rings that nobody uses any more are kept up to this number. */
#define OLD_RINGS 32

/* What made a ring. */
struct known {
	struct ring *ring;
	unsigned connection;
	int bound;
	struct negotiated negotiated;
	struct chain *chain; /* NULL: unknown */
	struct known *next;  /* an older one */
};

struct finding_count {
	struct explanation explanation;
	uint64_t count, first; /* first: packet */
	struct finding_count *next;
};

struct explainer {
	int json;
	uint64_t effort, unexplained;
	struct known *known;
	struct finding_count *findings;
	struct {
		unsigned connection;
		struct chain *chain;
	} negotiations[2]; /* the latest two, of two connections */
};

struct explainer *explainer_new(int json)
{
	struct explainer *x = allocate(sizeof *x);

	x->json = json;
	x->effort = EFFORT_CAPTURE;
	return x;
}

static void forget_known(struct known *k)
{
	ring_drop(k->ring);
	free(k->chain);
	free(k);
}

/* ---- Preauthentication hashes */

static struct chain *copy_chain(const struct chain *c)
{
	struct chain *copy = allocate(sizeof *copy);

	*copy = *c;
	return copy;
}

static void remember_negotiation(struct explainer *x, unsigned connection, const struct chain *chain)
{
	if (x->negotiations[0].connection != connection) {
		free(x->negotiations[1].chain);
		x->negotiations[1] = x->negotiations[0];
		x->negotiations[0].chain = NULL;
	}
	free(x->negotiations[0].chain);
	x->negotiations[0].connection = connection;
	x->negotiations[0].chain = copy_chain(chain);
}

struct chain *explainer_negotiate(struct explainer *x, struct chain *chain, unsigned connection,
				  const struct message *m)
{
	if (!x)
		return NULL;
	if (!m->response) {
		free(chain);
		chain = allocate(sizeof *chain);
		chain_init(chain);
	}
	if (chain)
		chain_negotiate(chain, m->bytes, m->len);
	if (chain && m->response)
		remember_negotiation(x, connection, chain);
	return chain;
}

static struct known *known_session(const struct explainer *x, uint64_t session)
{
	struct known *k = x->known;

	while (k && (k->ring->session != session || k->bound))
		k = k->next;
	return k;
}

/* The connection that a bind may be confused with is the session's own, otherwise the latest other one. */
struct chain *explainer_begin(struct explainer *x, const struct chain *connection, const struct smb *c,
			      const struct message *m, int binding)
{
	const struct known *session = x && binding ? known_session(x, m->session) : NULL;
	const struct chain *other = session ? session->chain : NULL;
	struct chain *exchange;

	if (!x || !connection)
		return NULL;
	for (int i = 0; i < 2 && !other; i++)
		if (x->negotiations[i].chain && x->negotiations[i].connection != c->number)
			other = x->negotiations[i].chain;
	exchange = allocate(sizeof *exchange);
	chain_begin(exchange, connection, other);
	return exchange;
}

void explainer_setup(struct chain *exchange, struct chain *connection, const struct message *m)
{
	if (exchange && connection)
		chain_setup(exchange, connection, m->bytes, m->len);
}

/* ---- Keys */

/* Those that only the explainer still has, beyond some. */
static void forget_old(struct explainer *x)
{
	struct known **at = &x->known;
	int old = 0;

	while (*at) {
		struct known *k = *at;

		if (k->ring->users == 1 && ++old > OLD_RINGS) {
			*at = k->next;
			forget_known(k);
		} else {
			at = &k->next;
		}
	}
}

void explainer_ring(struct explainer *x, struct ring *ring, struct smb *c, const struct message *m,
		    struct chain *exchange, int bound)
{
	struct known *k;

	if (!x || !ring->count)
		return;
	k = allocate(sizeof *k);
	k->ring = ring_share(ring);
	k->connection = c->number;
	k->bound = bound;
	k->negotiated = c->negotiated;
	if (exchange && c->chain) {
		chain_final(exchange, c->chain, m->bytes, m->len);
		k->chain = copy_chain(exchange);
	}
	k->next = x->known;
	x->known = k;
	forget_old(x);
}

static void add_key(struct suspect *s, enum key_relation relation, const struct ring *ring,
		    const struct given_key *from, const struct known *k)
{
	struct key_material *key = &s->keys[s->n_keys];

	for (size_t i = 0; i < s->n_keys; i++)
		if (s->keys[i].bytes == from->bytes && s->keys[i].chain == (k ? k->chain : NULL))
			return;
	if (s->n_keys == KEYS_MAX)
		return;
	s->n_keys++;
	*key = (struct key_material){
		.relation = relation,
		.session = ring->session,
		.dialect = k ? k->negotiated.dialect : 0,
		.is_signing_key = from->is_signing_key,
		.bytes = from->bytes,
		.len = from->len,
		.chain = k ? k->chain : NULL,
	};
}

static const struct known *find_known(const struct explainer *x, const struct ring *ring)
{
	const struct known *k = x->known;

	while (k && k->ring != ring)
		k = k->next;
	return k;
}

/* The candidates of a key that is due, those that are known to be another channel's left out. */
static void add_due(const struct explainer *x, struct suspect *s, const struct ring *ring)
{
	const struct known *k = find_known(x, ring);

	for (size_t i = 0; i < ring->count && s->n_keys < KEYS_MAX / 2; i++) {
		const struct given_key *from = ring->candidates[i].from;

		if (ring->settled || ring->count == 1 || !from->taken)
			add_key(s, KEY_DUE, ring, from, k);
	}
}

static enum key_relation relate(const struct known *own, const struct known *k, const struct message *m)
{
	if (k->ring->session != m->session)
		return KEY_OTHER_SESSION;
	if (own && own->bound && !k->bound)
		return KEY_SESSION;
	if (own && !own->bound && k->bound && m->h.command == COMMAND_SESSION_SETUP)
		return KEY_CHANNEL;
	return KEY_SAME_SESSION;
}

/* A ring that has not verified anything and has several candidates does not say which key is its own. */
static void add_others(const struct explainer *x, struct suspect *s, const struct message *m, int of_session)
{
	const struct known *own = find_known(x, m->rings[0]);

	for (const struct known *k = x->known; k; k = k->next) {
		if (k->ring == m->rings[0] || k->ring == m->rings[1] || (k->ring->session == m->session) != of_session)
			continue;
		if (k->ring->settled || k->ring->count == 1)
			add_key(s, relate(own, k, m), k->ring, k->ring->candidates[0].from, k);
	}
}

static void take_keys(const struct explainer *x, const struct message *m, struct suspect *s)
{
	for (int i = 0; i < 2; i++)
		if (m->rings[i])
			add_due(x, s, m->rings[i]);
	add_others(x, s, m, 1);
	add_others(x, s, m, 0);
}

/* ---- Messages */

static const struct finding_count *count_finding(struct explainer *x, const struct explanation *e, uint64_t packet)
{
	struct finding_count **at = &x->findings;

	while (*at && strcmp((*at)->explanation.id, e->id))
		at = &(*at)->next;
	if (!*at) {
		*at = allocate(sizeof **at);
		(*at)->explanation = *e;
		(*at)->first = packet;
	}
	(*at)->count++;
	return *at;
}

static void print_json(const struct finding *f, const struct explanations *e)
{
	const struct header *h = &f->header;

	printf("{\"packet\":%" PRIu64 ",\"microseconds\":%" PRId64
	       ",\"connection\":%u,\"from_server\":%s,\"command\":\"%s\","
	       "\"message_id\":%" PRIu64 ",\"session_id\":\"0x%016" PRIx64
	       "\",\"algorithm\":\"%s\",\"verdict\":\"%s\",",
	       f->at.packet, f->at.usec, f->connection, f->from_server ? "true" : "false", command_name(h->command),
	       h->message_id, h->session_id, f->alg < 0 ? "-" : algorithm_name((unsigned)f->alg),
	       f->verdict == VERDICT_BAD ? "BAD" : "UNSIGNED");
	explain_print_json(e);
	puts("}");
}

static void explain_message(struct explainer *x, struct smb *c, const struct message *m, const struct finding *f,
			    int quiet)
{
	struct suspect s = {
		.frame = m->frame,
		.frame_len = m->frame_len,
		.off = (size_t)(m->bytes - m->frame),
		.len = m->len,
		.alg = f->alg < 0 ? SMB3SIGN_AES_CMAC : (unsigned)f->alg,
		.request = m->response && m->request ? m->request->header : NULL,
		.before = c->have_before[m->dir] ? c->before[m->dir] : NULL,
	};
	uint64_t allowed = x->effort < EFFORT_MESSAGE ? x->effort : EFFORT_MESSAGE, left;
	struct explanations e;

	take_keys(x, m, &s);
	if (!s.n_keys)
		return;
	if (allowed < EFFORT_SINGLE(m->len))
		allowed = EFFORT_SINGLE(m->len);
	left = allowed;
	explain(&s, c->hint[m->dir], &left, &e);
	x->effort -= x->effort < allowed - left ? x->effort : allowed - left;
	if (e.count && e.found[0].mistakes)
		c->hint[m->dir] = count_finding(x, &e.found[0], f->at.packet)->explanation.id;
	else if (f->verdict != VERDICT_BAD)
		return;
	else
		x->unexplained++;
	if (x->json)
		print_json(f, &e);
	else if (!quiet)
		explain_print(&e);
}

static int has_signature(const struct message *m)
{
	for (int i = 48; i < 64; i++)
		if (m->bytes[i])
			return 1;
	return 0;
}

void explainer_message(struct explainer *x, struct smb *c, const struct message *m, const struct finding *f)
{
	if (!x)
		return;
	if (f && m->rings[0] && m->rings[0]->count &&
	    (f->verdict == VERDICT_BAD || (f->verdict == VERDICT_UNSIGNED && has_signature(m))))
		explain_message(x, c, m, f, c->v->report.quiet);
	memcpy(c->before[m->dir], m->bytes + 48, sizeof c->before[m->dir]);
	c->have_before[m->dir] = 1;
}

void explainer_summary(const struct explainer *x)
{
	if (!x || x->json)
		return;
	puts(x->findings || x->unexplained ? "what was done wrong:" : "nothing to explain");
	for (const struct finding_count *n = x->findings; n; n = n->next)
		printf("%8" PRIu64 " from packet %" PRIu64 " on: matches if %s: fix: %s\n", n->count, n->first,
		       n->explanation.when, n->explanation.fix);
	if (x->unexplained)
		printf("%8" PRIu64 " without a match\n", x->unexplained);
}

void explainer_free(struct explainer *x)
{
	if (!x)
		return;
	while (x->findings) {
		struct finding_count *n = x->findings;

		x->findings = n->next;
		free(n);
	}
	while (x->known) {
		struct known *k = x->known;

		x->known = k->next;
		forget_known(k);
	}
	free(x->negotiations[0].chain);
	free(x->negotiations[1].chain);
	free(x);
}
