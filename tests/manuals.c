/* SPDX-License-Identifier: MIT */
/*
 * The examples of the manuals, where they are no whole programs: each in a function that has the names it takes for
 * granted, so that they compile as they stand there (test_manuals.sh takes them out of the pages).
 */
#include <smb3sign.h>
#include <unistd.h>

struct connection {
	int state;
};

int disconnect(struct connection *c);
int refuse(struct connection *c);
void handle_message(struct connection *c, const unsigned char *msg, size_t len);
void consume(const unsigned char *bytes, size_t len);
int take_frame(struct connection *connection, const unsigned char *frame, size_t len);
int take_body(struct connection *connection, const smb3sign_key *key, const unsigned char *hdr, int fd, size_t left);
int answer_negotiate(const unsigned char *request, size_t request_len, unsigned char *response, size_t response_len,
		     size_t room);

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

int take_frame(struct connection *connection, const unsigned char *frame, size_t len)
{
#include "smb3sign_frame.c"
	return 0;
}

int take_body(struct connection *connection, const smb3sign_key *key, const unsigned char *hdr, int fd, size_t left)
{
	unsigned char piece[4096];
	int err;
#include "smb3sign_stream.c"
	return err;
}

int answer_negotiate(const unsigned char *request, size_t request_len, unsigned char *response, size_t response_len,
		     size_t room)
{
#include "smb3sign_caps.c"
	return err;
}
