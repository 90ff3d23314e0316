/* SPDX-License-Identifier: MIT */
/* Bodies of requests, field by field, at their offsets in MS-SMB2 2.2. What is not set is zero. */
#include "command.h"

#include <string.h>

enum {
	ALL_ACCESS = 0x001f01ff, /* MS-SMB2 2.2.13.1.1 */
	SHARE_ALL = 7,
	IMPERSONATION = 2,
	INFO_FILE = 1,
	FILE_STANDARD_INFORMATION = 5,
	NOTIFY_NAMES = 0x3,
	IS_FSCTL = 1
};

#define FSCTL_VALIDATE_NEGOTIATE_INFO 0x00140204u

const uint8_t related_file[FILE_ID_LEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static unsigned credits_for(uint32_t len)
{
	return len ? (len + UNIT - 1) / UNIT : 1;
}

void add_tree_connect(struct channel *c, struct request *r, const char *path)
{
	uint8_t *body = request_add(c, r, TREE_CONNECT, 9, 8 + 2 * strlen(path), 1);

	put16(body + 4, HEADER + 8);
	put16(body + 6, (unsigned)put_utf16(body + 8, path));
}

void add_create(struct channel *c, struct request *r, const char *name, unsigned disposition, unsigned options)
{
	/* The name of the share's root is empty, but the buffer never is. */
	size_t name_len = 2 * strlen(name);
	uint8_t *body = request_add(c, r, CREATE, 57, 56 + (name_len ? name_len : 1), 1);

	put32(body + 4, IMPERSONATION);
	put32(body + 24, ALL_ACCESS);
	put32(body + 32, SHARE_ALL);
	put32(body + 36, disposition);
	put32(body + 40, options);
	put16(body + 44, HEADER + 56);
	put16(body + 46, (unsigned)put_utf16(body + 56, name));
}

void add_read(struct channel *c, struct request *r, const uint8_t *file, uint64_t offset, uint32_t len)
{
	uint8_t *body = request_add(c, r, READ, 49, 49, credits_for(len));

	put32(body + 4, len);
	put64(body + 8, offset);
	memcpy(body + 16, file, FILE_ID_LEN);
}

void add_write(struct channel *c, struct request *r, const uint8_t *file, uint64_t offset, const void *data,
	       uint32_t len)
{
	uint8_t *body = request_add(c, r, WRITE, 49, 48, credits_for(len));

	put16(body + 2, HEADER + 48);
	put32(body + 4, len);
	put64(body + 8, offset);
	memcpy(body + 16, file, FILE_ID_LEN);
	r->payload = data;
	r->payload_len = len;
}

void add_query_size(struct channel *c, struct request *r, const uint8_t *file)
{
	uint8_t *body = request_add(c, r, QUERY_INFO, 41, 41, 1);

	body[2] = INFO_FILE;
	body[3] = FILE_STANDARD_INFORMATION;
	put32(body + 4, 64);
	memcpy(body + 24, file, FILE_ID_LEN);
}

static void add_file(struct channel *c, struct request *r, unsigned command, const uint8_t *file)
{
	memcpy(request_add(c, r, command, 24, 24, 1) + 8, file, FILE_ID_LEN);
}

void add_flush(struct channel *c, struct request *r, const uint8_t *file)
{
	add_file(c, r, FLUSH, file);
}

void add_close(struct channel *c, struct request *r, const uint8_t *file)
{
	add_file(c, r, CLOSE, file);
}

void add_change_notify(struct channel *c, struct request *r, const uint8_t *directory)
{
	uint8_t *body = request_add(c, r, CHANGE_NOTIFY, 32, 32, 1);

	put32(body + 4, 4096);
	memcpy(body + 8, directory, FILE_ID_LEN);
	put32(body + 24, NOTIFY_NAMES);
}

void add_validate_negotiate(struct channel *c, struct request *r)
{
	uint8_t *body = request_add(c, r, IOCTL, 57, 56 + 26, 1);

	put32(body + 4, FSCTL_VALIDATE_NEGOTIATE_INFO);
	memcpy(body + 8, related_file, FILE_ID_LEN);
	put32(body + 24, HEADER + 56);
	put32(body + 28, 26);
	put32(body + 44, 24);
	put32(body + 48, IS_FSCTL);
	/* As negotiated, or the server ends the connection. */
	channel_offer(c, body + 56, body + 60, body + 76);
	put16(body + 78, 1);
	put16(body + 80, c->dialect);
	r->must_sign = 1;
}

void add_empty(struct channel *c, struct request *r, unsigned command)
{
	(void)request_add(c, r, command, 4, 4, 1);
}

/*
 * A request that went asynchronous is named by its AsyncId; MessageId is 0 then, as Windows sends it, but under
 * AES-GMAC it is the request's own, for the nonce (MS-SMB2 3.2.4.24 and its note).
 */
void add_cancel(struct channel *c, struct request *r, const struct pending *of)
{
	uint8_t *hdr = request_add(c, r, CANCEL, 4, 4, 0) - HEADER;

	put16(hdr + HDR_CREDITS, 0);
	put64(hdr + HDR_MESSAGE_ID, get64(of->request + HDR_MESSAGE_ID));
	if (of->interim) {
		put32(hdr + HDR_FLAGS, FLAG_ASYNC);
		put64(hdr + HDR_ASYNC_ID, of->async_id);
		if (c->alg != SMB3SIGN_AES_GMAC)
			put64(hdr + HDR_MESSAGE_ID, 0);
	}
}

const uint8_t *created_file(const struct pending *p)
{
	return p->msg && p->len >= HEADER + 88 ? p->msg + HEADER + 64 : NULL;
}

const uint8_t *answer_data(const struct pending *p, size_t *len)
{
	size_t at;

	if (!p->msg || p->len < HEADER + 8)
		return NULL;
	at = get16(p->msg + HEADER + 2); /* READ: a byte, and a reserved one that is 0 */
	*len = get32(p->msg + HEADER + 4);
	return at <= p->len && p->len - at >= *len ? p->msg + at : NULL;
}
