/* SPDX-License-Identifier: MIT */
/* The fields of an SMB2 header (MS-SMB2 2.2.1) that the tool shows or follows, and names for people. */
#ifndef SMB3SIGN_HEADER_H
#define SMB3SIGN_HEADER_H

#include <stdint.h>
#include <string.h>

#include "smb3sign.h"

enum {
	FLAG_RESPONSE = 0x1, /* SMB2_FLAGS_SERVER_TO_REDIR */
	FLAG_RELATED = 0x4,
	FLAG_SIGNED = 0x8
};

enum { COMMAND_NEGOTIATE = 0x00, COMMAND_SESSION_SETUP = 0x01, COMMAND_CANCEL = 0x0c };

#define STATUS_SUCCESS                  0x00000000u
#define STATUS_PENDING                  0x00000103u
#define STATUS_MORE_PROCESSING_REQUIRED 0xc0000016u

static inline unsigned get_le16(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

static inline uint32_t get_le32(const uint8_t *p)
{
	return get_le16(p) | (uint32_t)get_le16(p + 2) << 16;
}

static inline uint64_t get_le64(const uint8_t *p)
{
	return get_le32(p) | (uint64_t)get_le32(p + 4) << 32;
}

struct header {
	unsigned command;
	uint32_t status; /* of a response; in a request ChannelSequence */
	uint32_t flags;
	uint64_t message_id;
	uint64_t session_id;
};

/* From 64 bytes at p. */
static inline struct header read_header(const uint8_t *p)
{
	struct header h = {
		.command = get_le16(p + 12),
		.status = get_le32(p + 8),
		.flags = get_le32(p + 16),
		.message_id = get_le64(p + 24),
		.session_id = get_le64(p + 40),
	};

	return h;
}

const char *command_name(unsigned command);

const char *algorithm_name(unsigned alg);

/* What words of the command line stand for. Lists end with a NULL. */
struct named {
	const char *name;
	unsigned value;
};

extern const struct named algorithm_options[], dialect_options[];

/* NULL after a complaint that names the option `what`. */
const struct named *find_named(const char *what, const struct named *list, const char *name);

/* Why a message is never signed: for a result of smb3sign_exempt() above 0. */
const char *exemption_name(int reason);

#endif
