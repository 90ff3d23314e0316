/* SPDX-License-Identifier: MIT */
/*
 * A server that is busy verifies requests by the dozen: with AES-CMAC and HMAC-SHA256 many messages side by side take
 * little longer than one. Requests of all connections go into one queue, whatever their keys and algorithms.
 *
 *     batch_queue hmac|cmac|gmac SIGNING_KEY < frames-from-the-client
 *
 * prints a line for each message, in their order. Exit status: 0 all are right, 1 some are not.
 */
#include "example.h"

enum { QUEUE_MAX = 64 };

struct queue {
	smb3sign_msg msg[QUEUE_MAX];
	smb3sign_iov body[QUEUE_MAX];
	size_t n, enough;
	void (*done)(uint8_t *msg, int result); /* it owns the message again */
};

/* Call this, too, whenever there is nothing more to read: no message waits for one that may not come. */
static int queue_flush(struct queue *q)
{
	int first_error = smb3sign_verify_batch(q->msg, q->n);

	for (size_t i = 0; i < q->n; i++)
		q->done(q->msg[i].hdr, q->msg[i].result);
	q->n = 0;
	return first_error;
}

/* The message stays where it is until done() has it: it is verified in place, and only read. */
static int queue_add(struct queue *q, const smb3sign_key *key, uint8_t *msg, size_t len)
{
	smb3sign_iov *body = &q->body[q->n];

	*body = (smb3sign_iov){msg + SMB3SIGN_HEADER_LEN, len - SMB3SIGN_HEADER_LEN};
	q->msg[q->n] = (smb3sign_msg){.key = key, .hdr = msg, .body = body, .body_cnt = 1};
	q->n++;
	return q->n == q->enough ? queue_flush(q) : SMB3SIGN_OK;
}

/* Here a server would process the request, or answer smb3sign_ntstatus(result). */
static void report(uint8_t *msg, int result)
{
	printf("%llu: %s\n", (unsigned long long)message_id(msg), smb3sign_strerror(result));
	free(msg);
}

/* A copy of each frame, since several wait at a time. */
static uint8_t *copy_of(const uint8_t *frame, size_t len)
{
	uint8_t *msg = malloc(len);

	if (!msg)
		quit("no memory");
	return memcpy(msg, frame, len);
}

int main(int argc, char **argv)
{
	static uint8_t frame[FRAME_MAX];
	static struct queue queue = {.done = report};
	smb3sign_key *key = key_of_arguments(argc, argv, SMB3SIGN_ROLE_SERVER);
	size_t len, msg_len;
	int wrong = 0;

	/* Twice the width of the kernels: a lane whose message is at its end goes on with the next. */
	queue.enough = 2 * smb3sign_batch_width(key);
	if (queue.enough > QUEUE_MAX)
		queue.enough = QUEUE_MAX;
	while (read_frame(frame, &len)) {
		if (smb3sign_frame_next(frame, len, 0, &msg_len) != SMB3SIGN_OK || msg_len != len)
			quit("not one SMB2 message");
		wrong |= queue_add(&queue, key, copy_of(frame, len), len) != SMB3SIGN_OK;
	}
	wrong |= queue_flush(&queue) != SMB3SIGN_OK;
	smb3sign_key_free(key);
	return wrong;
}
