/* SPDX-License-Identifier: MIT */
/*
 * One direction of a TCP connection as frames: direct TCP (MS-SMB2 2.1) and NetBIOS session service (RFC 1002 4.3)
 * alike put 4 bytes before each, a type (0: a message) and a length. The first frame shows whether this is SMB at all.
 * After a gap inside a frame the next one is where the length says; otherwise it is looked for by its first 8 bytes.
 */
#ifndef SMB3SIGN_TRANSPORT_H
#define SMB3SIGN_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "report.h"
#include "smb.h"

enum transport_kind { KIND_UNKNOWN, KIND_SMB, KIND_OTHER };

/* What both directions share. */
struct transport {
	struct smb smb;
	enum transport_kind kind;
};

struct splitter {
	struct transport *transport;
	int dir;
	int from_start; /* begins with the connection's first byte: what is no frame there, is no SMB */
	int searching;
	uint64_t pos;       /* offset in the stream of the next byte */
	uint64_t frame_pos; /* of the frame being collected */
	uint8_t *buf;       /* the frame, its prefix included */
	size_t room;
	size_t have, need; /* need is known once the prefix is complete */
	size_t lost;       /* how many bytes of the `have` are missing */
	uint64_t window;   /* searching: the last 8 bytes, the first in the high-order end */
	uint64_t skipped;  /* searching: bytes passed over */
};

void transport_init(struct splitter *s, struct transport *t, int dir);
void transport_free(struct splitter *s);

void transport_data(struct splitter *s, const uint8_t *data, size_t len, const struct place *at);
/* n bytes of the stream are not in the capture. */
void transport_gap(struct splitter *s, uint64_t n, const struct place *at);
/* There is nothing more. reset: because the connection was reset, so that a frame may rightly be unfinished. */
void transport_end(struct splitter *s, int reset, const struct place *at);

#endif
