/* SPDX-License-Identifier: MIT */
/*
 * What an SMB connection says: each frame of it is taken apart into messages, NEGOTIATE and SESSION_SETUP are followed
 * to learn algorithms and keys, and each message gets its verdict.
 */
#ifndef SMB3SIGN_SMB_H
#define SMB3SIGN_SMB_H

#include <stddef.h>
#include <stdint.h>

#include "filter.h"
#include "keys.h"
#include "report.h"
#include "tree.h"
#include "users.h"

/* What holds for the whole capture. */
struct verifier {
	struct report report;
	struct filter filter;
	struct given_keys given;
	struct explainer *explainer; /* NULL: nothing is to be explained */
	struct users users;           /* whose session keys their NTLM exchanges give */
	struct tree sessions;        /* rings of session keys: binds name sessions of other connections */
	unsigned connections;
};

struct exchange;

struct smb {
	struct verifier *v;
	unsigned number;  /* for people: from 1 in the order in which connections turn out to be SMB */
	int announced;    /* report_connection() has been called */
	char ends[2][64]; /* for people: the endpoint that sends in each direction */
	int server;       /* the direction (0 or 1) that the server sends in, -1: unknown yet */
	struct negotiated negotiated;
	unsigned offered;      /* signing algorithms of the NEGOTIATE request: a bit (1 << id) for each */
	int have_hash;         /* `hash` covers the NEGOTIATE request, and the response once `negotiated` is known */
	smb3sign_preauth hash; /* MS-SMB2 3.1.4.4.1, Connection.PreauthIntegrityHashValue */
	struct tree requests;  /* those without final response, by MessageId */
	struct tree exchanges; /* those that wait for their next SESSION_SETUP request, by SessionId */
	struct exchange *all;  /* every exchange, to be freed with the connection */
	struct tree channels;  /* rings of channel keys */

	/* Kept for the explainer (explain_pcap.h). */
	struct chain *chain;   /* of the NEGOTIATE messages; NULL: there is none */
	uint8_t before[2][16]; /* the signature of the latest message of each direction */
	int have_before[2];
	const char *hint[2]; /* what explained the last BAD message of each direction */
};

void smb_init(struct smb *c, struct verifier *v);
void smb_recognised(struct smb *c); /* before the first frame */
void smb_free(struct smb *c);

/* A whole frame of len > 3 bytes that travels in direction dir and starts at `offset` of its stream. */
void smb_frame(struct smb *c, int dir, const uint8_t *frame, size_t len, uint64_t offset, const struct place *at);

/* ---- Between smb.c and follow.c */

struct request {
	uint64_t message_id;
	uint64_t session; /* of the chain */
	struct exchange *exchange;
	uint8_t header[SMB3SIGN_HEADER_LEN];
};

struct message {
	const uint8_t *bytes;
	size_t len;
	struct header h;
	uint64_t session; /* whose key counts: that of the chain for a RELATED element */
	int response;
	int dir;
	const struct place *at;
	const uint8_t *frame; /* that it is a part of */
	size_t frame_len;
	struct request *request; /* the message itself, or what it answers; NULL: unknown */
	struct ring *rings[2];   /* to be tried in this order; NULL: none */
};

/* Learns from the message and fills m->rings. */
void follow_message(struct smb *c, struct message *m);
void follow_free(struct smb *c);

#endif
