/* SPDX-License-Identifier: MIT */
/*
 * TCP connections from captured segments. Each direction counts its bytes in 64 bits from the first one on; segments
 * wait in a heap, lowest offset first, until their turn comes. Bytes that are not in the capture show as a hole that
 * the other side has acknowledged: HOLE_PACKETS packets of the connection later it is passed on as a gap. What a
 * connection holds back is limited to HELD_MAX bytes.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tcp.h"
#include "tool.h"
#include "transport.h"
#include "tree.h"

#define HELD_MAX     ((size_t)16 << 20)
#define HOLE_PACKETS 64

struct chunk {
	uint64_t offset; /* of the first byte in its stream */
	uint64_t after;  /* the other direction up to here comes first: it was acknowledged */
	struct place at;
	uint64_t serial;       /* packets of the connection up to here */
	uint32_t len, missing; /* bytes in data, bytes behind them that the snapshot length cut off */
	uint8_t data[];
};

struct flow {
	struct splitter splitter;
	int started, saw_syn;
	uint32_t isn;        /* initial sequence number, if saw_syn */
	uint64_t next;       /* the offset of the next byte to pass on ... */
	uint32_t next_seq;   /* ... and its sequence number */
	uint64_t end;        /* FIN stands here; UINT64_MAX: not seen */
	uint64_t acked;      /* by the other side */
	uint64_t hole_since; /* packets of the connection when bytes at `next` were missed first; 0: they are not */
	struct chunk **heap;
	size_t count, room;
};

struct connection {
	struct endpoint ends[2]; /* in byte order. Direction d sends from ends[d]. */
	struct transport transport;
	struct flow flows[2];
	uint64_t packets;
	size_t held;
	int reset, cut;
	struct connection *previous, *next; /* in the order of their first packets */
};

struct tcp {
	struct verifier *v;
	struct tree open; /* by endpoints */
	struct connection *first, *last;
};

struct tcp *tcp_new(struct verifier *v)
{
	struct tcp *t = allocate(sizeof *t);

	t->v = v;
	return t;
}

/* ---- The heap of a flow */

/* What a chunk costs, malloc's overhead included. */
static size_t weight(const struct chunk *k)
{
	return sizeof *k + k->len + 2 * sizeof(void *);
}

/* By offset; of two with the same the one captured first: what was seen first counts. */
static int comes_before(const struct chunk *a, const struct chunk *b)
{
	return a->offset != b->offset ? a->offset < b->offset : a->at.packet < b->at.packet;
}

static void push(struct flow *f, struct chunk *k)
{
	size_t i = f->count++;

	if (f->count > f->room) {
		f->room = f->room ? 2 * f->room : 8;
		f->heap = reallocate(f->heap, f->room * sizeof *f->heap);
	}
	for (; i && comes_before(k, f->heap[(i - 1) / 2]); i = (i - 1) / 2)
		f->heap[i] = f->heap[(i - 1) / 2];
	f->heap[i] = k;
}

static struct chunk *pop(struct flow *f)
{
	struct chunk *top = f->heap[0], *last = f->heap[--f->count];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < f->count; i = child) {
		if (child + 1 < f->count && comes_before(f->heap[child + 1], f->heap[child]))
			child++;
		if (comes_before(last, f->heap[child]))
			break;
		f->heap[i] = f->heap[child];
	}
	f->heap[i] = last;
	return top;
}

/* ---- Passing on */

static void advance(struct flow *f, uint64_t n)
{
	f->next += n;
	f->next_seq += (uint32_t)n;
	f->hole_since = 0;
}

/* The lowest chunk, whose offset is not above f->next: what is new of it. */
static void pass_on(struct connection *c, struct flow *f)
{
	struct chunk *k = pop(f);
	uint64_t old = f->next - k->offset;

	c->held -= weight(k);
	if (old < k->len) {
		transport_data(&f->splitter, k->data + old, k->len - (size_t)old, &k->at);
		advance(f, k->len - old);
		old = k->len;
	}
	if (old - k->len < k->missing) {
		uint64_t lost = k->missing - (old - k->len);

		transport_gap(&f->splitter, lost, &k->at);
		advance(f, lost);
	}
	free(k);
}

static void pass_gap(struct flow *f, uint64_t to, const struct place *at)
{
	transport_gap(&f->splitter, to - f->next, at);
	advance(f, to - f->next);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int is_ready(const struct flow *f, const struct flow *other)
{
	return f->count && f->heap[0]->offset <= f->next &&
	       (!other->started || least(f->heap[0]->after, other->end) <= other->next);
}

/* Where the acknowledged hole at f->next ends; f->next if there is none. */
static uint64_t hole_end(const struct flow *f)
{
	uint64_t end = least(f->acked, f->end);

	if (f->count)
		end = least(end, f->heap[0]->offset);
	return end > f->next ? end : f->next;
}

/*
 * One acknowledged sequence number with nothing behind it is a FIN that the capture has not, sooner than a byte. (Were
 * it a byte, the next frame would show it.)
 */
static int is_unseen_fin(const struct flow *f)
{
	return !f->count && f->end == UINT64_MAX && f->acked == f->next + 1;
}

/*
 * Closes the hole at f->next if it is old: 1. It is as old as the chunk behind it, or as the acknowledgment where there
 * is none.
 */
static int close_hole(const struct connection *c, struct flow *f, const struct place *at)
{
	uint64_t end = hole_end(f);

	if (end == f->next)
		return 0;
	if (!f->hole_since)
		f->hole_since = c->packets;
	if (c->packets - (f->count ? f->heap[0]->serial : f->hole_since) < HOLE_PACKETS)
		return 0;
	if (is_unseen_fin(f))
		advance(f, 1);
	else
		pass_gap(f, end, at);
	return 1;
}

static void pump(struct connection *c, const struct place *at)
{
	int progress;

	do {
		progress = 0;
		for (int d = 0; d < 2; d++) {
			while (is_ready(&c->flows[d], &c->flows[!d])) {
				pass_on(c, &c->flows[d]);
				progress = 1;
			}
			progress |= close_hole(c, &c->flows[d], at);
		}
	} while (progress);
}

/* Passes on the chunk captured first of the two that are next in their directions, whatever it waits for. */
static void force(struct connection *c, const struct place *at)
{
	struct flow *f = &c->flows[0], *g = &c->flows[1];

	if (!f->count || (g->count && g->heap[0]->at.packet < f->heap[0]->at.packet))
		f = g;
	if (f->heap[0]->offset > f->next)
		pass_gap(f, f->heap[0]->offset, at);
	pass_on(c, f);
}

/* ---- Connections */

static int by_endpoints(const void *a, const void *b)
{
	return memcmp(a, b, 2 * sizeof(struct endpoint));
}

static void name_ends(struct connection *c)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	for (int d = 0; d < 2; d++) {
		const struct endpoint *e = &c->ends[d];
		int ipv4 = !memcmp(e->address, mapped, sizeof mapped);
		char address[INET6_ADDRSTRLEN] = "";

		inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? e->address + 12 : e->address, address, sizeof address);
		snprintf(c->transport.smb.ends[d], sizeof c->transport.smb.ends[d], ipv4 ? "%s:%u" : "[%s]:%u", address,
			 (unsigned)e->port[0] << 8 | e->port[1]);
	}
}

static struct connection *open_connection(struct tcp *t, const struct endpoint ends[2])
{
	struct connection *c = allocate(sizeof *c);

	memcpy(c->ends, ends, sizeof c->ends);
	smb_init(&c->transport.smb, t->v);
	name_ends(c);
	for (int d = 0; d < 2; d++) {
		transport_init(&c->flows[d].splitter, &c->transport, d);
		c->flows[d].end = UINT64_MAX;
	}
	tree_add(&t->open, c, by_endpoints);
	c->previous = t->last;
	if (t->last)
		t->last->next = c;
	else
		t->first = c;
	t->last = c;
	return c;
}

/* What is still held comes out, gaps and all; acknowledged bytes that never came are the last gap. */
static void flush(struct connection *c, const struct place *at)
{
	while (c->flows[0].count || c->flows[1].count)
		force(c, at);
	for (int d = 0; d < 2; d++) {
		struct flow *f = &c->flows[d];

		if (hole_end(f) > f->next && !is_unseen_fin(f))
			pass_gap(f, hole_end(f), at);
		transport_end(&f->splitter, c->reset, at);
	}
	if (c->transport.kind == KIND_UNKNOWN && c->cut)
		report_problem(&c->transport.smb.v->report,
			       "%s - %s: cut by the snapshot length: cannot tell if it is SMB",
			       c->transport.smb.ends[0], c->transport.smb.ends[1]);
}

static void close_connection(struct tcp *t, struct connection *c, const struct place *at)
{
	flush(c, at);
	tree_remove(&t->open, c, by_endpoints);
	if (c->previous)
		c->previous->next = c->next;
	else
		t->first = c->next;
	if (c->next)
		c->next->previous = c->previous;
	else
		t->last = c->previous;
	for (int d = 0; d < 2; d++) {
		transport_free(&c->flows[d].splitter);
		free(c->flows[d].heap);
	}
	smb_free(&c->transport.smb);
	free(c);
}

/* Its connection, and the direction in *dir. A SYN with another sequence number than before begins a new one. */
static struct connection *find_connection(struct tcp *t, const struct segment *s, int *dir, const struct place *at)
{
	struct endpoint ends[2] = {s->from, s->to};
	struct connection *c;

	*dir = memcmp(&s->from, &s->to, sizeof s->from) > 0;
	if (*dir) {
		ends[0] = s->to;
		ends[1] = s->from;
	}
	c = tree_find(&t->open, ends, by_endpoints);
	if (c && s->flags & TCP_SYN) {
		const struct flow *f = &c->flows[*dir];

		if (f->started && (!f->saw_syn || f->isn != s->seq)) {
			close_connection(t, c, at);
			c = NULL;
		}
	}
	return c ? c : open_connection(t, ends);
}

/* ---- Segments */

/* The offset of a sequence number, within 2 GiB of the next byte; may be negative. */
static int64_t offset_of(const struct flow *f, uint32_t seq)
{
	uint32_t ahead = seq - f->next_seq;

	return (int64_t)f->next + (ahead < 0x80000000u ? (int64_t)ahead : (int64_t)ahead - 0x100000000);
}

static void start_flow(struct flow *f, uint32_t first_seq)
{
	f->started = 1;
	f->next_seq = first_seq;
}

static void take_syn(struct connection *c, int dir, const struct segment *s)
{
	struct flow *f = &c->flows[dir];

	if (f->started)
		return;
	start_flow(f, s->seq + 1);
	f->saw_syn = 1;
	f->isn = s->seq;
	f->splitter.from_start = 1;
	if (c->transport.smb.server < 0)
		c->transport.smb.server = s->flags & TCP_ACK ? dir : !dir;
}

/* The part that lies ahead of f->next into the heap. */
static void hold(struct connection *c, int dir, uint32_t seq, const struct segment *s, const struct place *at)
{
	struct flow *f = &c->flows[dir], *other = &c->flows[!dir];
	int64_t offset = offset_of(f, seq), after = 0;
	uint64_t skip = offset < (int64_t)f->next ? (uint64_t)((int64_t)f->next - offset) : 0;
	struct chunk *k;

	if (skip >= (uint64_t)s->len + s->missing)
		return;
	if (skip > s->len)
		skip = s->len; /* pass_on leaves out what is old of the missing part */
	if (s->flags & TCP_ACK && other->started)
		after = offset_of(other, s->ack);
	k = allocate(sizeof *k + s->len - (size_t)skip);
	k->offset = (uint64_t)(offset + (int64_t)skip);
	k->after = after > 0 ? (uint64_t)after : 0;
	k->at = *at;
	k->serial = c->packets;
	k->len = s->len - (uint32_t)skip;
	k->missing = s->missing;
	memcpy(k->data, s->data + skip, k->len);
	push(f, k);
	c->held += weight(k);
	c->cut |= s->missing != 0;
}

/* The usual segment: the next one of its direction, and everything that it may not overtake has been passed on. */
static int is_next(const struct flow *f, const struct flow *other, uint32_t seq, const struct segment *s)
{
	uint64_t after = 0;

	if (f->count || s->missing || seq != f->next_seq)
		return 0;
	if (s->flags & TCP_ACK && other->started && offset_of(other, s->ack) > 0)
		after = (uint64_t)offset_of(other, s->ack);
	return !other->started || least(after, other->end) <= other->next;
}

static void take_ack(struct flow *acknowledged, uint32_t ack)
{
	int64_t offset = acknowledged->started ? offset_of(acknowledged, ack) : 0;

	if (offset > (int64_t)acknowledged->acked)
		acknowledged->acked = (uint64_t)offset;
}

void tcp_segment(struct tcp *t, const struct segment *s, const struct place *at)
{
	int dir;
	struct connection *c = find_connection(t, s, &dir, at);
	struct flow *f = &c->flows[dir];
	uint32_t seq = s->flags & TCP_SYN ? s->seq + 1 : s->seq;
	uint32_t len = s->len + s->missing;
	int at_once;

	if (s->flags & TCP_SYN)
		take_syn(c, dir, s);
	if (c->transport.kind == KIND_OTHER)
		return;
	c->packets++;
	/* A reset may carry text, not data (RFC 9293 3.5.3), and any acknowledgment number. */
	if (s->flags & TCP_RST) {
		c->reset = 1;
		return;
	}
	if (len && !f->started)
		start_flow(f, seq);
	at_once = len && is_next(f, &c->flows[!dir], seq, s);
	if (len && !at_once)
		hold(c, dir, seq, s, at);
	if (s->flags & TCP_FIN && f->started && f->end == UINT64_MAX && offset_of(f, seq + len) >= 0)
		f->end = (uint64_t)offset_of(f, seq + len);
	if (s->flags & TCP_ACK)
		take_ack(&c->flows[!dir], s->ack);
	if (at_once) {
		transport_data(&f->splitter, s->data, s->len, at);
		advance(f, s->len);
	}
	pump(c, at);
	while (c->held > HELD_MAX) {
		force(c, at);
		pump(c, at);
	}
}

void tcp_finish(struct tcp *t, const struct place *at)
{
	while (t->first)
		close_connection(t, t->first, at);
	free(t);
}
