/* SPDX-License-Identifier: MIT */
/*
 * The code of docs/integrate-libsmb2.md and docs/integrate-server.md talking to each other: NEGOTIATE, SESSION_SETUP, a
 * compound, messages that were tampered with, an answer that comes after LOGOFF, a bind. test_readme.sh puts the code
 * of each guide into a file of that name.
 */
#include "integrate-libsmb2.c"
#include "integrate-server.c"

#include <stdio.h>

enum { NEGOTIATE = 0, SESSION_SETUP = 1, READ = 8, CHANGE_NOTIFY = 0x0f, FRAME = 1024 };

#define PENDING         0x103u
#define MORE_PROCESSING 0xc0000016u
#define ACCESS_DENIED   0xc0000022u

static const uint8_t gss_key[16] = "the session's", bind_gss_key[16] = "the channel's";
static const uint64_t session_id = 0x1122334455667788;

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(int ok, const char *condition, int line)
{
	if (!ok) {
		fprintf(stderr, "guides.c:%d: not so: %s\n", line, condition);
		exit(1);
	}
}

static void put64(uint8_t *p, uint64_t v)
{
	put32(p, (uint32_t)v);
	put32(p + 4, (uint32_t)(v >> 32));
}

/* A message with an empty body of this length. */
static size_t message(uint8_t *m, unsigned command, uint64_t id, uint64_t session, int response, uint32_t status,
		      size_t body)
{
	memset(m, 0, SMB3SIGN_HEADER_LEN + body);
	put32(m, 0x424d53fe);
	m[4] = 64;
	put32(m + 8, response ? status : 0);
	m[HDR_COMMAND] = (uint8_t)command;
	put32(m + HDR_FLAGS, (response ? 1u : 0u) | (response && status == PENDING ? 2u : 0u));
	put64(m + 24, id);
	put64(m + 40, session);
	return SMB3SIGN_HEADER_LEN + body;
}

/* NEGOTIATE of 3.1.1 with one context, which means nothing here. */
static size_t negotiate_message(uint8_t *m, int response)
{
	size_t fixed = response ? 64 : 40, len = message(m, NEGOTIATE, 0, 0, response, 0, fixed + 16);
	uint8_t *body = m + SMB3SIGN_HEADER_LEN;

	body[0] = response ? 65 : 36;
	put32(body + (response ? 4 : 36), 0x0311);
	if (response) {
		body[6] = 1;
		put32(body + 60, SMB3SIGN_HEADER_LEN + fixed);
	} else {
		body[2] = 1;
		put32(body + 28, SMB3SIGN_HEADER_LEN + fixed);
		body[32] = 1;
	}
	body[fixed] = 1; /* its type; its length is 8 */
	body[fixed + 2] = 8;
	return len;
}

/* Header and body as libsmb2 has them. */
static void split(struct smb2_iovec iov[2], uint8_t *m, size_t len)
{
	iov[0] = (struct smb2_iovec){m, SMB3SIGN_HEADER_LEN, NULL};
	iov[1] = (struct smb2_iovec){m + SMB3SIGN_HEADER_LEN, len - SMB3SIGN_HEADER_LEN, NULL};
}

static void client_sends(struct signing *s, uint8_t *m, size_t len)
{
	struct smb2_iovec iov[2];

	split(iov, m, len);
	CHECK(!signing_sign(s, iov, 2, 0));
	CHECK(!signing_saw(s, iov, 2));
}

static int client_checks(struct signing *s, uint8_t *m, size_t len, const uint8_t *request)
{
	struct smb2_iovec iov[2];
	int verdict;

	split(iov, m, len);
	verdict = signing_check(s, iov, 2, request, 0);
	CHECK(!signing_saw(s, iov, 2));
	return verdict;
}

static void negotiate_both(struct signing *s, struct connection *c)
{
	uint8_t request[FRAME], response[FRAME];
	size_t len = negotiate_message(request, 0), response_len = negotiate_message(response, 1);

	CHECK(!signing_offer(s, request, &len, sizeof(request)));
	client_sends(s, request, len);
	CHECK(!negotiate(c, 0x0311, request, len, response, &response_len, sizeof(response)));
	CHECK(c->alg == SMB3SIGN_AES_GMAC);
	CHECK(client_checks(s, response, response_len, request) == REPLY_GOOD);
	CHECK(!signing_negotiated(s, 0x0311, response, response_len));
	CHECK(s->alg == SMB3SIGN_AES_GMAC);
}

/* One response, in a frame of its own. */
static size_t server_answers(const struct channel *ch, uint8_t *frame, const uint8_t *response, size_t len,
			     unsigned state)
{
	struct reply r = {.frame = frame, .room = FRAME};

	CHECK(!reply_add(&r, ch, response, len, state));
	CHECK(!reply_sign(&r));
	return r.len;
}

static void log_on(struct signing *s, struct channel *ch)
{
	uint8_t request[FRAME], response[FRAME], frame[FRAME];
	struct exchange e;
	uint32_t status;
	size_t len;

	exchange_start(&e, ch->connection, 0);
	signing_setup_starts(s);
	len = message(request, SESSION_SETUP, 1, 0, 0, 0, 24);
	client_sends(s, request, len);
	CHECK(admit(ch, request, len, SMB3SIGN_SMB311, &status) == PROCESS);
	CHECK(!exchange_saw(&e, request, len));
	len = message(response, SESSION_SETUP, 1, session_id, 1, MORE_PROCESSING, 8);
	len = server_answers(ch, frame, response, len, session_state(ch));
	CHECK(!exchange_saw(&e, frame, len));
	CHECK(client_checks(s, frame, len, request) == REPLY_GOOD);

	len = message(request, SESSION_SETUP, 2, session_id, 0, 0, 24);
	client_sends(s, request, len);
	CHECK(admit(ch, request, len, session_state(ch), &status) == PROCESS);
	CHECK(!exchange_saw(&e, request, len));
	CHECK(!exchange_done(&e, ch, gss_key, sizeof(gss_key)));
	ch->session->required = 1;
	len = message(response, SESSION_SETUP, 2, session_id, 1, 0, 8);
	len = server_answers(ch, frame, response, len, session_state(ch));
	CHECK(!exchange_saw(&e, frame, len)); /* must change nothing */
	CHECK(frame[HDR_FLAGS] & FLAG_SIGNED);
	CHECK(!signing_session_key(s, gss_key, sizeof(gss_key)));
	s->required = 1;
	CHECK(client_checks(s, frame, len, request) == REPLY_GOOD);
	s->in_setup = 0;
}

/* Three requests in a frame, three responses in a frame; bodies of 17, 18 and 19 bytes, so that there is padding. */
static void compound(struct signing *s, const struct channel *ch)
{
	uint8_t request[3][FRAME], frame[FRAME], response[FRAME], reply[FRAME];
	struct reply r = {.frame = reply, .room = sizeof(reply)};
	size_t total = 0, len;
	uint32_t status;

	for (unsigned i = 0; i < 3; i++) {
		len = message(request[i], READ, 4 + i, session_id, 0, 0, 17 + i);
		if (i < 2) {
			len = (len + 7) & ~(size_t)7;
			put32(request[i] + HDR_NEXT, len);
		}
		client_sends(s, request[i], len);
		memcpy(frame + total, request[i], len);
		total += len;
	}
	for (size_t off = 0; off < total; off += len) {
		CHECK(!smb3sign_frame_next(frame, total, off, &len));
		CHECK(admit(ch, frame + off, len, session_state(ch), &status) == PROCESS);
		frame[off + 70] ^= 1;
		CHECK(admit(ch, frame + off, len, session_state(ch), &status) == ANSWER && status == ACCESS_DENIED);
	}
	for (unsigned i = 0; i < 3; i++) {
		len = message(response, READ, 4 + i, session_id, 1, 0, 17 + i);
		CHECK(!reply_add(&r, ch, response, len, session_state(ch)));
	}
	CHECK(!reply_sign(&r));
	for (size_t off = 0, i = 0; off < r.len; off += len, i++) {
		CHECK(!smb3sign_frame_next(reply, r.len, off, &len));
		CHECK(client_checks(s, reply + off, len, request[i]) == REPLY_GOOD);
		reply[off + HDR_FLAGS] &= (uint8_t)~FLAG_SIGNED;
		memset(reply + off + 48, 0, 16);
		CHECK(client_checks(s, reply + off, len, request[i]) == REPLY_DISCONNECT);
	}
	CHECK(reply_sign(&r) == SMB3SIGN_E_NONCE); /* signing twice */
}

/* The interim response, then the end of the session, then the answer. */
static void late_answer(struct signing *s, struct channel *ch)
{
	uint8_t request[FRAME], interim[FRAME], frame[FRAME];
	size_t len = message(request, CHANGE_NOTIFY, 9, session_id, 0, 0, 32);
	struct late l;
	uint32_t status;

	client_sends(s, request, len);
	CHECK(admit(ch, request, len, session_state(ch), &status) == PROCESS);
	len = message(interim, CHANGE_NOTIFY, 9, session_id, 1, PENDING, 9);
	CHECK(!late_start(&l, ch, interim, 1));
	len = server_answers(ch, frame, interim, len, session_state(ch));
	CHECK(!(frame[HDR_FLAGS] & FLAG_SIGNED));
	CHECK(client_checks(s, frame, len, request) == REPLY_GOOD);
	channel_end(ch);
	session_end(ch->session);
	len = message(frame, CHANGE_NOTIFY, 9, session_id, 1, 0xc0000120, 9);
	CHECK(!late_finish(&l, interim, frame, len));
	CHECK(client_checks(s, frame, len, request) == REPLY_GOOD);
}

/* libsmb2 has one connection for a session: the client's part of a bind is played here. */
static void bind_channel(const struct signing *first, struct session *session)
{
	struct connection c = {0};
	struct channel ch = {.connection = &c, .session = session};
	struct signing s = {0};
	struct exchange e;
	uint8_t request[FRAME], response[FRAME], frame[FRAME];
	unsigned state;
	uint32_t status;
	size_t len;

	negotiate_both(&s, &c);
	exchange_start(&e, &c, 1);
	signing_setup_starts(&s);
	len = message(request, SESSION_SETUP, 1, session_id, 0, 0, 24);
	CHECK(bind_refused(session, &c, request, 0) == STATUS_INVALID_PARAMETER);
	CHECK(!smb3sign_sign_buf(first->key, request, len));
	CHECK(!bind_refused(session, &c, request, 0));
	c.alg = SMB3SIGN_AES_CMAC;
	CHECK(bind_refused(session, &c, request, 0) == 0xc000042a);
	c.alg = SMB3SIGN_AES_GMAC;
	state = session_state(&ch) | SMB3SIGN_BINDING;
	CHECK(admit(&ch, request, len, state, &status) == PROCESS);
	CHECK(!exchange_saw(&e, request, len));
	CHECK(!hash(&s.session_hash, request, len));
	len = server_answers(&ch, frame, response,
			     message(response, SESSION_SETUP, 1, session_id, 1, MORE_PROCESSING, 8), state);
	CHECK(!smb3sign_verify_buf(first->key, frame, len));
	CHECK(!exchange_saw(&e, frame, len));
	CHECK(!hash(&s.session_hash, frame, len));
	CHECK(!exchange_done(&e, &ch, bind_gss_key, sizeof(bind_gss_key)));
	CHECK(!signing_session_key(&s, bind_gss_key, sizeof(bind_gss_key)));
	len = server_answers(&ch, frame, response, message(response, SESSION_SETUP, 2, session_id, 1, 0, 8), state);
	CHECK(client_checks(&s, frame, len, request) == REPLY_GOOD);
	CHECK(smb3sign_verify_buf(first->key, frame, len) == SMB3SIGN_E_SIGNATURE);
	signing_end(&s);
	channel_end(&ch);
}

int main(void)
{
	struct connection c = {0};
	struct session session = {0};
	struct channel ch = {.connection = &c, .session = &session};
	struct signing s = {0};

	negotiate_both(&s, &c);
	log_on(&s, &ch);
	compound(&s, &ch);
	bind_channel(&s, &session);
	late_answer(&s, &ch);
	signing_end(&s);
	puts("the guides' server and client understand each other");
	return 0;
}
