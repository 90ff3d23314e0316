/* SPDX-License-Identifier: MIT */
/*
 * One direction of a TCP connection as frames: collecting them, telling SMB from other traffic, and finding the way
 * back in.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"
#include "transport.h"

enum { PREFIX_LEN = 4, LOOK_LEN = 8 /* prefix and ProtocolId */ };

/* NetBIOS session service packet types */
enum { TYPE_MESSAGE = 0x00, TYPE_REQUEST = 0x81, TYPE_KEEPALIVE = 0x85 };

void transport_init(struct splitter *s, struct transport *t, int dir)
{
	*s = (struct splitter){.transport = t, .dir = dir};
}

void transport_free(struct splitter *s)
{
	free(s->buf);
}

static void problem(struct splitter *s, const struct place *at, uint64_t pos, const char *text, uint64_t n)
{
	const struct smb *c = &s->transport->smb;

	report_problem(&c->v->report,
		       "packet %" PRIu64 ", connection %u, %s, stream offset %" PRIu64 ": %" PRIu64 " %s", at->packet,
		       c->number,
		       c->server < 0         ? "?>?"
		       : s->dir == c->server ? "S>C"
					     : "C>S",
		       pos, n, text);
}

/*
 * The first 8 bytes of a message frame; the ProtocolIds of SMB2, TRANSFORM, COMPRESSION and SMB1 are FE, FD, FC and FF.
 */
static int looks_like_frame(uint64_t look)
{
	unsigned id = (unsigned)(look >> 24) & 0xff;
	uint32_t len = (uint32_t)(look >> 32) & 0xffffff;

	/* The compression transform's header is the shortest of the others, 16 bytes. */
	return look >> 56 == TYPE_MESSAGE && (look & 0xffffff) == 0x534d42 && id >= 0xfc &&
	       len >= (id == 0xfe ? SMB3SIGN_HEADER_LEN : 16);
}

static uint64_t load_look(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < LOOK_LEN; i++)
		v = v << 8 | p[i];
	return v;
}

static void append(struct splitter *s, const uint8_t *data, size_t n)
{
	size_t room = s->room ? s->room : 512;

	if (s->have + n > s->room) {
		while (room < s->have + n)
			room *= 2;
		s->buf = reallocate(s->buf, room);
		s->room = room;
	}
	memcpy(s->buf + s->have, data, n);
}

/* The bytes collected, 8 at most, are no frame: the next one may begin among them. */
static void lose_sync(struct splitter *s)
{
	s->searching = 1;
	s->skipped = s->have;
	s->window = UINT64_MAX;
	for (size_t i = 0; i < s->have; i++)
		s->window = s->window << 8 | s->buf[i];
	s->have = 0;
	s->lost = 0;
}

static void recognise(struct transport *t)
{
	if (t->kind != KIND_SMB) {
		t->kind = KIND_SMB;
		smb_recognised(&t->smb);
	}
}

static void finish_frame(struct splitter *s, const struct place *at)
{
	int message = s->buf[0] == TYPE_MESSAGE && s->need >= LOOK_LEN;

	if (s->lost)
		s->transport->smb.v->report.incomplete++;
	else if (message)
		smb_frame(&s->transport->smb, s->dir, s->buf + PREFIX_LEN, s->need - PREFIX_LEN,
			  s->frame_pos + PREFIX_LEN, at);
	s->have = 0;
	s->lost = 0;
}

static void not_a_frame(struct splitter *s, const struct place *at)
{
	if (s->transport->kind == KIND_SMB)
		problem(s, at, s->frame_pos, "bytes are no transport frame", s->have);
	else if (s->from_start)
		s->transport->kind = KIND_OTHER;
	lose_sync(s);
}

/* The prefix is complete. */
static void check_prefix(struct splitter *s, const struct place *at)
{
	const uint8_t *p = s->buf;
	size_t len = (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];

	s->need = PREFIX_LEN + len;
	/* An empty message is a keep-alive of some sort. The other types have a 17-bit length. */
	if (p[0] == TYPE_MESSAGE ? len && s->need < LOOK_LEN : p[0] < TYPE_REQUEST || p[0] > TYPE_KEEPALIVE || p[1] > 1)
		not_a_frame(s, at);
}

static void check_protocol(struct splitter *s, const struct place *at)
{
	if (s->buf[0] != TYPE_MESSAGE)
		return;
	if (!looks_like_frame(load_look(s->buf)))
		not_a_frame(s, at);
	else
		recognise(s->transport);
}

/* How many bytes of the frame there must be before something can be decided. */
static size_t next_stop(const struct splitter *s)
{
	if (s->have < PREFIX_LEN)
		return PREFIX_LEN;
	return s->have < LOOK_LEN && s->need >= LOOK_LEN ? LOOK_LEN : s->need;
}

/* Returns how many bytes it used, at least one. */
static size_t collect(struct splitter *s, const uint8_t *data, size_t len, const struct place *at)
{
	size_t n = next_stop(s) - s->have;

	if (n > len)
		n = len;
	if (!s->have)
		s->frame_pos = s->pos;
	if (!s->lost)
		append(s, data, n);
	s->have += n;
	if (s->have == PREFIX_LEN)
		check_prefix(s, at);
	else if (s->have == LOOK_LEN && !s->lost)
		check_protocol(s, at);
	if (!s->searching && s->have >= PREFIX_LEN && s->have == s->need)
		finish_frame(s, at);
	return n;
}

/*
 * A frame that is there from its first byte to its last goes on as it is, and its length is returned; 0: it takes more
 * than one segment, or is none.
 */
static size_t take_whole(struct splitter *s, const uint8_t *data, size_t len, const struct place *at)
{
	size_t need;

	if (s->have || len < LOOK_LEN || !looks_like_frame(load_look(data)))
		return 0;
	need = PREFIX_LEN + ((size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3]);
	if (need > len)
		return 0;
	recognise(s->transport);
	smb_frame(&s->transport->smb, s->dir, data + PREFIX_LEN, need - PREFIX_LEN, s->pos + PREFIX_LEN, at);
	return need;
}

static size_t search(struct splitter *s, const uint8_t *data, size_t len, const struct place *at)
{
	size_t n = 0;

	while (n < len) {
		s->window = s->window << 8 | data[n++];
		if (looks_like_frame(s->window))
			break;
	}
	s->skipped += n;
	if (!n || !looks_like_frame(s->window))
		return n;
	recognise(s->transport);
	s->searching = 0;
	s->frame_pos = s->pos + n - LOOK_LEN;
	if (s->skipped > LOOK_LEN)
		problem(s, at, s->frame_pos, "bytes skipped up to the next frame", s->skipped - LOOK_LEN);
	for (int i = 0; i < LOOK_LEN; i++) {
		uint8_t byte = (uint8_t)(s->window >> (56 - 8 * i));

		append(s, &byte, 1);
		s->have++;
	}
	check_prefix(s, at);
	if (s->have == s->need)
		finish_frame(s, at);
	return n;
}

void transport_data(struct splitter *s, const uint8_t *data, size_t len, const struct place *at)
{
	while (len && s->transport->kind != KIND_OTHER) {
		size_t n = s->searching ? 0 : take_whole(s, data, len, at);

		if (!n)
			n = s->searching ? search(s, data, len, at) : collect(s, data, len, at);

		data += n;
		len -= n;
		s->pos += n;
	}
}

void transport_gap(struct splitter *s, uint64_t n, const struct place *at)
{
	if (s->transport->kind == KIND_SMB)
		problem(s, at, s->pos, "bytes are not in the capture", n);
	s->from_start = 0;
	s->pos += n;
	if (s->searching) {
		s->window = UINT64_MAX;
		s->skipped = 0;
	} else if (s->have >= LOOK_LEN && n <= s->need - s->have) {
		s->lost += (size_t)n;
		s->have += (size_t)n;
		if (s->have == s->need)
			finish_frame(s, at);
	} else {
		if (s->have >= LOOK_LEN)
			s->transport->smb.v->report.incomplete++;
		s->have = 0;
		lose_sync(s);
	}
}

void transport_end(struct splitter *s, int reset, const struct place *at)
{
	if (s->transport->kind != KIND_SMB)
		return;
	if (s->searching && s->skipped)
		problem(s, at, s->pos, "bytes skipped, and no further frame", s->skipped);
	if (!s->searching && s->have) {
		s->transport->smb.v->report.incomplete++;
		if (!reset)
			problem(s, at, s->frame_pos, "bytes of an unfinished frame at the end of the stream", s->have);
	}
}
