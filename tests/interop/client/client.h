/* SPDX-License-Identifier: MIT */
/*
 * A minimal SMB 2/3 client: channels (a connection each), sessions, and request frames. Every request goes through
 * smb3sign_send_policy and every response through smb3sign_receive_policy; keys and signatures are the library's alone.
 * Requests wait for their answers, one frame at a time but for CANCEL.
 */
#ifndef INTEROP_CLIENT_H
#define INTEROP_CLIENT_H

#include <smb3sign.h>

#include "wire.h"

enum { SMB202 = 0x0202, SMB210 = 0x0210, SMB300 = 0x0300, SMB302 = 0x0302, SMB311 = 0x0311 };

enum {
	NEGOTIATE = 0x00,
	SESSION_SETUP = 0x01,
	LOGOFF = 0x02,
	TREE_CONNECT = 0x03,
	TREE_DISCONNECT = 0x04,
	CREATE = 0x05,
	CLOSE = 0x06,
	FLUSH = 0x07,
	READ = 0x08,
	WRITE = 0x09,
	LOCK = 0x0a,
	IOCTL = 0x0b,
	CANCEL = 0x0c,
	ECHO = 0x0d,
	QUERY_DIRECTORY = 0x0e,
	CHANGE_NOTIFY = 0x0f,
	QUERY_INFO = 0x10,
	OPLOCK_BREAK = 0x12
};

#define STATUS_SUCCESS                  0x00000000u
#define STATUS_PENDING                  0x00000103u
#define STATUS_MORE_PROCESSING_REQUIRED 0xc0000016u
#define STATUS_ACCESS_DENIED            0xc0000022u
#define STATUS_CANCELLED                0xc0000120u

enum {
	HEADER = SMB3SIGN_HEADER_LEN,
	HDR_STATUS = 8,
	HDR_COMMAND = 12,
	HDR_CREDITS = 14,
	HDR_FLAGS = 16,
	HDR_NEXT = 20,
	HDR_MESSAGE_ID = 24,
	HDR_ASYNC_ID = 32,
	HDR_TREE_ID = 36,
	HDR_SESSION_ID = 40,
	HDR_SIGNATURE = 48,
	FLAG_ASYNC = 0x2,
	FLAG_RELATED = 0x4,
	FLAG_SIGNED = 0x8,
	CHAIN_MAX = 4,
	FRAME_MAX = 16384, /* of a request, without the data of a WRITE */
	IO_MAX = 1 << 20,  /* bytes of one READ or WRITE */
	UNIT = 65536,      /* bytes that a credit pays for, MS-SMB2 3.1.5.2 */
	FILE_ID_LEN = 16
};

/* What goes wrong on purpose, with each frame until it is reset. */
struct fault {
	enum { FAULT_NONE, FAULT_REQUEST_BIT, FAULT_UNSIGNED, FAULT_RESPONSE_BIT, FAULT_RESPONSE_STRIPPED } kind;
	unsigned skip;    /* frames to leave alone first */
	unsigned element; /* of a compound */
	long offset;      /* of the byte whose lowest bit is flipped; negative: from the message's end */
};

struct session {
	uint64_t id;
	unsigned dialect, alg;
	smb3sign_key *key; /* Session.SigningKey */
	int required, guest;
	uint32_t tree_id;
};

/* A request that has been sent, and the answer to it. */
struct pending {
	uint8_t request[HEADER];
	int must_sign; /* FSCTL_VALIDATE_NEGOTIATE_INFO */
	int interim;   /* STATUS_PENDING has come, with this AsyncId: */
	uint64_t async_id;
	int finished;
	int act; /* what smb3sign_receive_policy said of the answer */
	uint32_t status;
	const uint8_t *
		msg; /* the answer, valid until the next frame is received; NULL if only its status is to be believed */
	size_t len;
};

struct channel {
	int fd;
	unsigned dialect, alg;
	unsigned server_mode; /* SecurityMode of the NEGOTIATE response */
	uint32_t io_max;      /* bytes of one READ or WRITE */
	smb3sign_preauth hash;
	uint64_t next_id;
	unsigned credits;
	struct session *session;
	smb3sign_key *key;                 /* Channel.SigningKey */
	uint8_t raw_key[SMB3SIGN_KEY_LEN]; /* the same, for what is compared with the library */
	smb3sign_guard *guard;             /* of that key, if it is for AES-GMAC */
	struct setup *setup;               /* the SESSION_SETUP exchange under way */
	struct pending pending[2 * CHAIN_MAX];
	size_t n_pending;
	struct fault fault;
	struct peer *peer; /* OpenSSL signs instead, to compare */
	unsigned verified; /* responses whose signature was right */
	unsigned breaks;   /* oplock break notifications, which have none */
	uint8_t *in;
	size_t in_len;
	char why[160]; /* of the last call that was not OK */
};

/* A frame being built. */
struct request {
	uint8_t bytes[FRAME_MAX];
	size_t len, last; /* last: where the last message starts */
	unsigned count;
	int must_sign;       /* FSCTL_VALIDATE_NEGOTIATE_INFO */
	const void *payload; /* of a WRITE, which follows bytes[] on the wire */
	size_t payload_len;
};

/* Results: OK, the connection is gone, the client refuses what came (why says more), anything else. */
enum { OK = 0, LOST = -1, REFUSED = -2, WRONG = -3 };

int fail(struct channel *c, int result, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Open a channel and negotiate one dialect; at 3.1.1 with these signing algorithms. */
int channel_open(struct channel *c, unsigned port, unsigned dialect, const uint16_t *algs, size_t n_algs);
void channel_close(struct channel *c);

/* Capabilities, ClientGuid and SecurityMode of every NEGOTIATE request of this dialect. */
void channel_offer(const struct channel *c, uint8_t capabilities[4], uint8_t guid[16], uint8_t mode[2]);

/*
 * Authenticate. bind NULL: a new session, which is put into *s; else that session is bound to this channel. *status is
 * what the server said last. required: we want every message signed.
 */
int session_setup(struct channel *c, struct session *s, struct session *bind, const char *user, const char *password,
		  int required, uint32_t *status);
void session_free(struct session *s);

/* Authenticate again, which keeps the keys (MS-SMB2 3.3.5.5.2). */
int session_again(struct channel *c, const char *user, const char *password, uint32_t *status);

/*
 * Append a message to a frame, linked to the one before it; its body, zeroed. credits: how many it costs. StructureSize
 * is filled in.
 */
void request_init(struct request *r);
uint8_t *request_add(struct channel *c, struct request *r, unsigned command, unsigned structure_size, size_t body_len,
		     unsigned credits);

int channel_send(struct channel *c, struct request *r);
int channel_receive(struct channel *c);

/* Send, receive until every message of the frame has its final answer: c->pending[0 .. r->count). */
int channel_call(struct channel *c, struct request *r);

#endif
