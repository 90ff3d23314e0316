/* SPDX-License-Identifier: MIT */
/* The messages that all jobs work on. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "message.h"

enum { L1_SHARE = 16384, MAX_COUNT = 16 };

/* READ response (command 8), MessageId 5, SessionId 1, Flags SERVER_TO_REDIR and SIGNED: bench_nonce is its nonce. */
void make_message(uint8_t *m, size_t len)
{
	memcpy(m, "\xfeSMB\x40", 5);
	m[12] = 8;
	m[16] = 0x09;
	m[24] = 5;
	m[40] = 1;
	for (size_t i = SMB3SIGN_HEADER_LEN; i < len; i++)
		m[i] = (uint8_t)(7 * i + 3);
}

size_t message_stride(size_t len)
{
	return (len + 127) / 64 * 64;
}

void ring_make(struct ring *r, size_t len, size_t count)
{
	r->len = len;
	r->mask = count - 1;
	r->stride = message_stride(len);
	r->mem = new_lines(count * r->stride);
	for (size_t i = 0; i < count; i++)
		make_message(ring_message(r, i), len);
}

void ring_free(struct ring *r)
{
	free(r->mem);
}

size_t ring_count(size_t len)
{
	size_t count = 1;

	while (count < MAX_COUNT && 2 * count * len <= L1_SHARE)
		count *= 2;
	return count;
}

void cut(smb3sign_iov pieces[N_PIECES], uint8_t *msg, size_t len)
{
	size_t body = len - SMB3SIGN_HEADER_LEN, from = 0;

	for (size_t i = 0; i < N_PIECES; i++) {
		size_t to = body * ((i + 1) * (i + 2) / 2) / (N_PIECES * (N_PIECES + 1) / 2);

		pieces[i].iov_base = msg + SMB3SIGN_HEADER_LEN + from;
		pieces[i].iov_len = to - from;
		from = to;
	}
}
