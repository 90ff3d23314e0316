/* SPDX-License-Identifier: MIT */
/*
 * policy.c: which responses pass for the unsigned errors of a server without a session, smb3sign_is_echo; what is to be
 * done with received messages and what is to be signed, by a list of rules as data, row by row and over every
 * combination.
 */
#include "support.h"

/* An emulator takes its time: some of the states there. */
#ifdef SMB3SIGN_EMULATED
#define STATE_STEP rng_below(30)
#else
#define STATE_STEP 0
#endif

/* A signed request and the error that echoes it. */
static void make_pair(uint8_t request[64], uint8_t response[64])
{
	make_header(request, 0x05, 8, 0x1122334455667788, 0x99);
	make_header(response, 0x05, 1, 0x1122334455667788, 0x99);
	put_le32(response + 8, 0xc0000203);
	memcpy(response + 48, request + 48, 16);
}

START_TEST(test_is)
{
	uint8_t *request = guard_end(64), *response = guard_end(64);

	for (int round = 0; round < 200; round++) {
		make_pair(request, response);
		put_le32(response + 8, 0xc0000000u | (uint32_t)rng_u64());
		/* What else a server may fill in. */
		rng_fill(response + 6, 2);
		rng_fill(response + 14, 2);
		rng_fill(response + 32, 16);
		response[16] = (uint8_t)(1 | rng_u64());
		ck_assert_int_eq(smb3sign_is_echo(response, request), 1);
		memset(response + 48, 0, 16);
		ck_assert_int_eq(smb3sign_is_echo(response, request), 1);
		/* An unsigned request has nothing to copy but zeros. */
		memset(request + 48, 0, 16);
		ck_assert_int_eq(smb3sign_is_echo(response, request), 1);
	}
}
END_TEST

START_TEST(test_only_reads)
{
	uint8_t *request = guard_end(64), *response = guard_start(64);

	make_pair(request, response);
	guard_readonly(request);
	guard_readonly(response);
	ck_assert_int_eq(smb3sign_is_echo(response, request), 1);
}
END_TEST

START_TEST(test_status)
{
	static const uint32_t no[] = {0,          1,          0x103,      0x40000000, 0x80000005, 0x80000006,
				      0x4000000c, 0x0c000203, 0x3fffffff, 0x7fffffff, 0xb0000203, 0xbfffffff};
	uint8_t request[64], response[64];

	make_pair(request, response);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		put_le32(response + 8, no[i]);
		ck_assert_msg(smb3sign_is_echo(response, request) == 0, "Status %#x", (unsigned)no[i]);
	}
}
END_TEST

/* Every single bit that counts, in either header. */
START_TEST(test_bits)
{
	uint8_t request[64], response[64];

	make_pair(request, response);
	for (size_t bit = 0; bit < 8 * 64; bit++) {
		const size_t byte = bit / 8;
		const uint8_t mask = (uint8_t)(1u << bit % 8);
		/* ProtocolId, StructureSize, Command, direction, MessageId, Signature. */
		const int both = byte < 6 || byte == 12 || byte == 13 || (byte == 16 && mask == 1) ||
				 (byte >= 24 && byte < 32) || byte >= 48;
		/* Severity, the upper two bits of Status. */
		const int status = byte == 11 && mask >= 0x40;

		response[byte] ^= mask;
		ck_assert_msg(smb3sign_is_echo(response, request) == !(both || status), "response, bit %zu", bit);
		response[byte] ^= mask;
		request[byte] ^= mask;
		ck_assert_msg(smb3sign_is_echo(response, request) == !both, "request, bit %zu", bit);
		request[byte] ^= mask;
	}
	/* A zero Signature is right whatever the request's, a nearly zero one is not. */
	memset(response + 48, 0, 16);
	ck_assert_int_eq(smb3sign_is_echo(response, request), 1);
	for (size_t bit = 0; bit < 128; bit++) {
		response[48 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_eq(smb3sign_is_echo(response, request), 0);
		response[48 + bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}
END_TEST

START_TEST(test_no_pair)
{
	uint8_t request[64], response[64];

	make_pair(request, response);
	ck_assert_int_eq(smb3sign_is_echo(NULL, request), 0);
	ck_assert_int_eq(smb3sign_is_echo(response, NULL), 0);
	ck_assert_int_eq(smb3sign_is_echo(NULL, NULL), 0);
	ck_assert_int_eq(smb3sign_is_echo(request, response), 0);
	ck_assert_int_eq(smb3sign_is_echo(response, response), 0);
	ck_assert_int_eq(smb3sign_is_echo(request, request), 0);
}
END_TEST

/* ---- receive_policy and send_policy: the rules as data ---- */

enum {
	/* state */
	D = SMB3SIGN_DECRYPTED,
	R = SMB3SIGN_REQUIRED,
	S = SMB3SIGN_HAVE_SESSION,
	K = SMB3SIGN_HAVE_KEY,
	G = SMB3SIGN_GUEST,
	P = SMB3SIGN_PEER_SIGNED,
	V311 = SMB3SIGN_SMB311,
	B = SMB3SIGN_BINDING,
	M = SMB3SIGN_MUST_SIGN,
	E = SMB3SIGN_ECHO,
	ALL_STATES = 1024,
	/* of the message, above them: what a rule asks of it */
	RESPONSE = 1024,
	ASYNC = 2048,
	RELATED = 4096,
	SIGNED = 8192,
	SESSION0 = 1 << 14,
	MID_ONES = 1 << 15,
	MID_ZERO = 1 << 16,
	SUCCESS = 1 << 17,
	PENDING = 1 << 18,
	ERROR = 1 << 19 /* severity 3 */
};
enum {
	NEGOTIATE = 0,
	SESSION_SETUP = 1,
	TREE_CONNECT = 3,
	CREATE = 5,
	CANCEL = 12,
	BREAK = 0x12,
	NOTIFY = 0x13,
	ANY = -1
};
enum {
	ACCESS_DENIED = (int)0xc0000022u,
	INVALID_PARAMETER = (int)0xc000000du,
	NOT_SUPPORTED = (int)0xc00000bbu,
	NAME_DELETED = (int)0xc00000c9u,
	CLOSED = (int)0xc0000128u,
	SESSION_DELETED = (int)0xc0000203u,
	OUT_OF_SEQUENCE = (int)0xc000042au,
	MORE_PROCESSING = (int)0xc0000016u,
	NOT_FOUND = (int)0xc0000034u
};

/*
 * The first rule that fits decides. It fits if all of `with` and none of `without` hold, at least one of `some` if any are
 * given, and command and status are those given.
 */
struct rule {
	const char *name;
	int command, with, without, some, status;
	int result;
	int answer; /* NTSTATUS */
};
#define PASS       SMB3SIGN_ACT_PASS
#define VERIFY     SMB3SIGN_ACT_VERIFY
#define DISCARD    SMB3SIGN_ACT_DISCARD
#define REJECT     SMB3SIGN_ACT_REJECT
#define STATUS     SMB3SIGN_ACT_STATUS_ONLY
#define DISCONNECT SMB3SIGN_ACT_DISCONNECT

static const struct rule server_receives[] = {
	{"a response", ANY, RESPONSE, 0, 0, 0, DISCONNECT, 0},
	{"decrypted", ANY, D, 0, 0, 0, PASS, 0},
	{"CANCEL, signed, no key", CANCEL, SIGNED, K, 0, 0, DISCARD, 0},
	{"CANCEL, required, no key", CANCEL, R, K, 0, 0, DISCARD, 0},
	{"CANCEL that is wanted signed", CANCEL, 0, 0, SIGNED | R, 0, VERIFY, 0},
	{"CANCEL", CANCEL, 0, 0, 0, 0, PASS, 0},
	{"NEGOTIATE signed", NEGOTIATE, SIGNED, 0, 0, 0, REJECT, INVALID_PARAMETER},
	{"related, SessionId 0", ANY, RELATED | SESSION0, 0, R | SIGNED, 0, REJECT, INVALID_PARAMETER},
	{"signed, no session", ANY, SIGNED, S, 0, 0, REJECT, SESSION_DELETED},
	{"signed, no key", ANY, SIGNED, K, 0, 0, REJECT, NOT_SUPPORTED},
	{"signed", ANY, SIGNED, 0, 0, 0, VERIFY, 0},
	{"binding unsigned", ANY, B, 0, 0, 0, REJECT, INVALID_PARAMETER},
	{"SESSION_SETUP before there is a key", SESSION_SETUP, 0, K, 0, 0, PASS, 0},
	{"required", ANY, R, 0, 0, 0, VERIFY, 0},
	{"TREE_CONNECT in the clear", TREE_CONNECT, V311, G, 0, 0, DISCONNECT, 0},
	{"VALIDATE_NEGOTIATE_INFO unsigned", ANY, M, 0, 0, 0, REJECT, ACCESS_DENIED},
	{"the rest", ANY, 0, 0, 0, 0, PASS, 0},
};

static const struct rule client_receives[] = {
	{"a request", ANY, 0, RESPONSE, 0, 0, DISCARD, 0},
	{"decrypted", ANY, D, 0, 0, 0, PASS, 0},
	{"NEGOTIATE", NEGOTIATE, 0, 0, 0, 0, PASS, 0},
	{"break notification", BREAK, MID_ONES, 0, 0, 0, PASS, 0},
	{"interim response", ANY, PENDING | ASYNC, 0, 0, 0, PASS, 0},
	{"VALIDATE_NEGOTIATE_INFO unsigned, errors too", ANY, M, SIGNED, 0, 0, DISCONNECT, 0},
	{"VALIDATE_NEGOTIATE_INFO, no session", ANY, M, S, 0, 0, DISCARD, 0},
	{"VALIDATE_NEGOTIATE_INFO, no error believed", ANY, M, 0, 0, 0, VERIFY, 0},
	{"session deleted", ANY, 0, 0, 0, SESSION_DELETED, STATUS, 0},
	{"bind refused: algorithm", SESSION_SETUP, 0, 0, 0, OUT_OF_SEQUENCE, STATUS, 0},
	{"bind refused: GMAC", SESSION_SETUP, 0, 0, 0, NOT_SUPPORTED, STATUS, 0},
	{"setup refused", SESSION_SETUP, 0, 0, 0, ACCESS_DENIED, STATUS, 0},
	{"echo: tree gone", ANY, E, 0, 0, NAME_DELETED, STATUS, 0},
	{"echo: file closed", ANY, E, 0, 0, CLOSED, STATUS, 0},
	{"echo: invalid", ANY, E, 0, 0, INVALID_PARAMETER, STATUS, 0},
	{"no session", ANY, 0, S, 0, 0, DISCARD, 0},
	{"final SESSION_SETUP", SESSION_SETUP, SUCCESS, G, V311 | R | SIGNED, 0, VERIFY, 0},
	{"notification signed", NOTIFY, SIGNED, 0, 0, 0, VERIFY, 0},
	{"notification", NOTIFY, 0, 0, 0, 0, PASS, 0},
	{"required or signed", ANY, 0, 0, R | SIGNED, 0, VERIFY, 0},
	{"the rest", ANY, 0, 0, 0, 0, PASS, 0},
};

static const struct rule client_sends[] = {
	{"a response", ANY, RESPONSE, 0, 0, 0, SMB3SIGN_E_MESSAGE, 0},
	{"NEGOTIATE", NEGOTIATE, 0, 0, 0, 0, 0, 0},
	{"SessionId 0", ANY, SESSION0, 0, 0, 0, 0, 0},
	{"MessageId all ones", ANY, MID_ONES, 0, 0, 0, 0, 0},
	{"CANCEL of MessageId 0, by HMAC's and CMAC's rules", CANCEL, MID_ZERO | R | K, D | G, 0, 0, 1, 0},
	{"CANCEL of MessageId 0, no key", CANCEL, MID_ZERO | R, D | G | K, 0, 0, SMB3SIGN_E_UNSUPPORTED, 0},
	{"CANCEL of MessageId 0, as others", CANCEL, MID_ZERO | K, D | G, B | M, 0, 1, 0},
	{"CANCEL of MessageId 0, as others, no key", CANCEL, MID_ZERO, D | G | K, B | M, 0, SMB3SIGN_E_UNSUPPORTED, 0},
	{"MessageId 0", ANY, MID_ZERO, 0, 0, 0, 0, 0},
	{"encrypted", ANY, D, 0, 0, 0, 0, 0},
	{"guest", ANY, G, 0, 0, 0, 0, 0},
	{"first legs have no key", SESSION_SETUP, 0, K | B, 0, 0, 0, 0},
	{"required, binding or to be signed", ANY, K, 0, R | B | M, 0, 1, 0},
	{"the same without a key", ANY, 0, 0, R | B | M, 0, SMB3SIGN_E_UNSUPPORTED, 0},
	{"TREE_CONNECT", TREE_CONNECT, V311 | K, 0, 0, 0, 1, 0},
	{"TREE_CONNECT without a key", TREE_CONNECT, V311, 0, 0, 0, SMB3SIGN_E_UNSUPPORTED, 0},
	{"the rest", ANY, 0, 0, 0, 0, 0, 0},
};

static const struct rule server_sends[] = {
	{"a request", ANY, 0, RESPONSE, 0, 0, SMB3SIGN_E_MESSAGE, 0},
	{"NEGOTIATE", NEGOTIATE, 0, 0, 0, 0, 0, 0},
	{"SessionId 0", ANY, SESSION0, 0, 0, 0, 0, 0},
	{"interim", ANY, PENDING, 0, 0, 0, 0, 0},
	{"MessageId all ones", ANY, MID_ONES, 0, 0, 0, 0, 0},
	{"MessageId 0", ANY, MID_ZERO, 0, 0, 0, 0, 0},
	{"answer to a CANCEL", CANCEL, 0, 0, 0, 0, 0, 0},
	{"encrypted", ANY, D, 0, 0, 0, 0, 0},
	{"guest", ANY, G, 0, 0, 0, 0, 0},
	{"no session", ANY, 0, S | K, 0, 0, 0, 0},
	{"an error, no key", ANY, ERROR, K, 0, 0, 0, 0},
	{"required, request signed, or binding", ANY, K, 0, R | P | B, 0, 1, 0},
	{"the same without a key", ANY, 0, 0, R | P | B, 0, SMB3SIGN_E_UNSUPPORTED, 0},
	{"final SESSION_SETUP", SESSION_SETUP, SUCCESS | K, 0, 0, 0, 1, 0},
	{"final SESSION_SETUP without a key", SESSION_SETUP, SUCCESS, 0, 0, 0, SMB3SIGN_E_UNSUPPORTED, 0},
	{"the rest", ANY, 0, 0, 0, 0, 0, 0},
};

static const struct rule *first_match(const struct rule *r, int command, int facts, int status)
{
	for (;; r++)
		if ((r->command == ANY || r->command == command) && (facts & r->with) == r->with &&
		    !(facts & r->without) && (!r->some || (facts & r->some)) && (!r->status || r->status == status))
			return r;
}

/* The header and state that the facts describe. */
static void make_by_facts(uint8_t hdr[64], int command, int facts, int status)
{
	make_header(hdr, (unsigned)command, 0,
		    facts & MID_ONES   ? UINT64_MAX
		    : facts & MID_ZERO ? 0
				       : 77,
		    facts & SESSION0 ? 0 : 99);
	put_le32(hdr + 16, (facts & RESPONSE ? 1u : 0) | (facts & ASYNC ? 2u : 0) | (facts & RELATED ? 4u : 0) |
				   (facts & SIGNED ? 8u : 0));
	put_le32(hdr + 8, (uint32_t)status);
}

static const int commands[] = {NEGOTIATE, SESSION_SETUP, 2, TREE_CONNECT, CREATE, 0x0b, CANCEL, 0x0d, BREAK, NOTIFY};
static const int statuses[] = {0,
			       0x103,
			       1,
			       (int)0x80000005u /* a warning */,
			       ACCESS_DENIED,
			       INVALID_PARAMETER,
			       NOT_SUPPORTED,
			       NAME_DELETED,
			       CLOSED,
			       SESSION_DELETED,
			       OUT_OF_SEQUENCE,
			       MORE_PROCESSING,
			       NOT_FOUND};

static const struct {
	const char *name;
	unsigned role;
	int sends;
	const struct rule *rules;
	size_t n;
} lists[] = {
	{"server receives", SMB3SIGN_ROLE_SERVER, 0, server_receives, sizeof(server_receives) / sizeof(struct rule)},
	{"client receives", SMB3SIGN_ROLE_CLIENT, 0, client_receives, sizeof(client_receives) / sizeof(struct rule)},
	{"client sends", SMB3SIGN_ROLE_CLIENT, 1, client_sends, sizeof(client_sends) / sizeof(struct rule)},
	{"server sends", SMB3SIGN_ROLE_SERVER, 1, server_sends, sizeof(server_sends) / sizeof(struct rule)},
};
#define LISTS 4

/* Status, in a request, is ChannelSequence: bits that rules for responses look at, and none that others may. */
static int facts_of_status(int status)
{
	return (status == 0 ? SUCCESS : 0) | (status == 0x103 ? PENDING : 0) |
	       ((uint32_t)status >> 30 == 3 ? ERROR : 0);
}

static void check_facts(int list, int command, int facts, int status, long *hits)
{
	const struct rule *r;
	uint8_t hdr[64];
	uint32_t ntstatus = 4711;
	unsigned state = (unsigned)facts & (ALL_STATES - 1);
	int got;

	facts |= facts_of_status(status);
	make_by_facts(hdr, command, facts, status);
	r = first_match(lists[list].rules, command, facts, status);
	if (hits)
		hits[r - lists[list].rules]++;
	if (lists[list].sends) {
		got = smb3sign_send_policy(lists[list].role, hdr, state);
	} else {
		got = smb3sign_receive_policy(lists[list].role, hdr, state, &ntstatus);
		ck_assert_msg(ntstatus == (uint32_t)r->answer, "%s, %s: NTSTATUS %#x", lists[list].name, r->name,
			      ntstatus);
	}
	ck_assert_msg(got == r->result, "%s, \"%s\": %d, not %d (command %#x, facts %#x, Status %#x)", lists[list].name,
		      r->name, got, r->result, (unsigned)command, (unsigned)facts, (unsigned)status);
}

/* Every combination of state, flags, commands and statuses; each rule must have decided some. */
START_TEST(test_rules)
{
	static const int mids[] = {0, MID_ONES, MID_ZERO};
	long hits[32] = {0};

	for (size_t c = 0; c < sizeof(commands) / sizeof(commands[0]); c++)
		for (size_t st = 0; st < sizeof(statuses) / sizeof(statuses[0]); st++)
			for (int flags = 0; flags < 32; flags++)
				for (size_t mid = 0; mid < 3; mid++)
					for (int state = 0; state < ALL_STATES; state += 1 + (int)STATE_STEP)
						check_facts(_i, commands[c], flags * RESPONSE | mids[mid] | state,
							    statuses[st], hits);
	for (size_t i = 0; i < lists[_i].n; i++)
		ck_assert_msg(hits[i] > 0, "%s, \"%s\" decided nothing", lists[_i].name, lists[_i].rules[i].name);
}
END_TEST

/* All other commands and flags count as any. */
START_TEST(test_rules_random)
{
	for (int round = 0; round < 100000; round++) {
		int command = (int)rng_below(3) ? (int)rng_below(0x20) : (int)(rng_u64() & 0xffff);
		int status = (int)rng_below(2) ? (int)(uint32_t)rng_u64() : statuses[rng_below(13)];
		int mid = (int)rng_below(8);

		check_facts((int)rng_below(LISTS), command,
			    (int)(rng_u64() & (SESSION0 * 2 - 1)) | (mid == 0   ? MID_ONES
								     : mid == 1 ? MID_ZERO
										: 0),
			    status, NULL);
	}
}
END_TEST

/* What public implementations got wrong, with the answers by hand. */
static int receive(unsigned role, unsigned command, uint32_t flags, uint32_t status, unsigned state, uint32_t *ntstatus)
{
	uint8_t hdr[64];

	make_header(hdr, command, flags, 5, 99);
	put_le32(hdr + 8, status);
	return smb3sign_receive_policy(role, hdr, state, ntstatus);
}

static int send(unsigned role, unsigned command, uint32_t flags, uint32_t status, unsigned state)
{
	uint8_t hdr[64];

	make_header(hdr, command, flags, 5, 99);
	put_le32(hdr + 8, status);
	return smb3sign_send_policy(role, hdr, state);
}

START_TEST(test_known_cases)
{
	const unsigned server = SMB3SIGN_ROLE_SERVER, client = SMB3SIGN_ROLE_CLIENT;
	uint32_t nt;

	/* SIGNED stripped from a response, from a request. */
	ck_assert_int_eq(receive(client, 8, 1, 0, S | K | R, &nt), VERIFY);
	ck_assert_int_eq(receive(server, 8, 0, 0, S | K | R, &nt), VERIFY);
	/* Decrypted by Windows: SIGNED over a zero Signature. */
	ck_assert_int_eq(receive(client, 8, 9, 0, S | K | R | D, &nt), PASS);
	/* STATUS_PENDING that is not async is no interim response. */
	ck_assert_int_eq(receive(client, 8, 1, 0x103, S | K | R, &nt), VERIFY);
	ck_assert_int_eq(receive(client, 8, 3, 0x103, S | K | R, &nt), PASS);
	/* A request whose ChannelSequence reads as STATUS_PENDING. */
	ck_assert_int_eq(receive(server, 8, 2, 0x103, S | K | R, &nt), VERIFY);
	ck_assert_int_eq(send(client, 8, 0, 0x103, S | K | R), 1);
	/* The last response of a session setup at 3.1.1, unsigned; a guest's. */
	ck_assert_int_eq(receive(client, 1, 1, 0, S | K | V311, &nt), VERIFY);
	ck_assert_int_eq(receive(client, 1, 1, 0, S | G | V311, &nt), PASS);
	ck_assert_int_eq(receive(client, 1, 1, 0, S | K, &nt), PASS);
	/* CANCEL that fails is not answered. */
	ck_assert_int_eq(receive(server, 12, 8, 0, S, &nt), DISCARD);
	ck_assert_uint_eq(nt, 0);
	/* Signed, and the session unknown, or still without a key. */
	ck_assert_int_eq(receive(server, 5, 8, 0, 0, &nt), REJECT);
	ck_assert_uint_eq(nt, 0xc0000203);
	ck_assert_int_eq(receive(server, 5, 8, 0, S, &nt), REJECT);
	ck_assert_uint_eq(nt, 0xc00000bb);
	ck_assert_int_eq(receive(server, 0, 8, 0, 0, &nt), REJECT);
	ck_assert_uint_eq(nt, 0xc000000d);
	/* An unsigned bind; TREE_CONNECT of 3.1.1 in the clear. */
	ck_assert_int_eq(receive(server, 1, 0, 0, S | K | B, &nt), REJECT);
	ck_assert_uint_eq(nt, 0xc000000d);
	ck_assert_int_eq(receive(server, 3, 0, 0, S | K | V311, &nt), DISCONNECT);
	ck_assert_int_eq(receive(server, 3, 0, 0, S | G | V311, &nt), PASS);
	/* FSCTL_VALIDATE_NEGOTIATE_INFO, both ways. */
	ck_assert_int_eq(send(client, 0x0b, 0, 0, S | K | M), 1);
	ck_assert_int_eq(receive(server, 0x0b, 0, 0, S | K | M, &nt), REJECT);
	ck_assert_uint_eq(nt, 0xc0000022);
	ck_assert_int_eq(receive(client, 0x0b, 1, 0, S | K | M, &nt), DISCONNECT);
	/* Its answer forged as an error that elsewhere is believed unsigned: without SIGNED, and with it over zeros. */
	for (size_t i = 0; i < 4; i++) {
		static const uint32_t forged[] = {0xc0000128, 0xc000000d, 0xc00000c9, 0xc0000203};

		ck_assert_int_eq(receive(client, 0x0b, 1, forged[i], S | K | M | E, &nt), DISCONNECT);
		ck_assert_int_eq(receive(client, 0x0b, 9, forged[i], S | K | M | E, &nt), VERIFY);
		ck_assert_int_eq(receive(client, 0x0b, 1, forged[i], S | K | E, &nt), STATUS);
	}
	/* The server's last SESSION_SETUP response, bind legs, re-authentication, interim, break. */
	ck_assert_int_eq(send(server, 1, 1, 0, S | K), 1);
	ck_assert_int_eq(send(server, 1, 1, 0, S | G), 0);
	ck_assert_int_eq(send(server, 1, 1, 0xc0000016, S), 0);
	ck_assert_int_eq(send(server, 1, 1, 0xc0000016, S | K | B), 1);
	ck_assert_int_eq(send(server, 8, 3, 0x103, S | K | R | P), 0);
	/* An error to a signed request is signed; without a key there is nothing to sign it with. */
	ck_assert_int_eq(send(server, 8, 1, 0xc0000034, S | K | P), 1);
	ck_assert_int_eq(send(server, 5, 1, 0xc00000bb, S | P), 0);
	ck_assert_int_eq(send(server, 5, 1, 0xc0000203, P), 0);
	ck_assert_int_eq(send(server, 5, 1, 0, S | P), SMB3SIGN_E_UNSUPPORTED);
	/* A guest's TREE_CONNECT is not signed, another's without a key not sent. */
	ck_assert_int_eq(send(client, 3, 0, 0, S | G | V311), 0);
	ck_assert_int_eq(send(client, 3, 0, 0, S | V311), SMB3SIGN_E_UNSUPPORTED);
	ck_assert_int_eq(send(client, 1, 0, 0, R), 0);
	ck_assert_int_eq(send(client, 1, 0, 0, S | B), SMB3SIGN_E_UNSUPPORTED);
}
END_TEST

START_TEST(test_invalid)
{
	uint8_t *hdr = guard_end(64);
	uint32_t nt = 4711;

	make_header(hdr, 8, 1, 5, 99);
	for (unsigned role = 0; role < 5; role++) {
		int want = role == SMB3SIGN_ROLE_CLIENT || role == SMB3SIGN_ROLE_SERVER ? SMB3SIGN_E_MESSAGE
											: SMB3SIGN_E_INVAL;

		hdr[0] = 0xfd;
		ck_assert_int_eq(smb3sign_receive_policy(role, hdr, 0, &nt), want);
		ck_assert_int_eq(smb3sign_send_policy(role, hdr, 0), want);
		hdr[0] = 0xfe;
		ck_assert_int_eq(smb3sign_receive_policy(role, NULL, 0, &nt), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_receive_policy(role, hdr, 0, NULL), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_send_policy(role, NULL, 0), SMB3SIGN_E_INVAL);
		for (unsigned bit = ALL_STATES; bit; bit <<= 1) {
			ck_assert_int_eq(smb3sign_receive_policy(role, hdr, bit, &nt), SMB3SIGN_E_INVAL);
			ck_assert_int_eq(smb3sign_send_policy(role, hdr, bit), SMB3SIGN_E_INVAL);
		}
	}
	ck_assert_uint_eq(nt, 4711);
	guard_readonly(hdr);
	ck_assert_int_eq(smb3sign_receive_policy(SMB3SIGN_ROLE_CLIENT, hdr, S | K | R, &nt), VERIFY);
	ck_assert_int_eq(smb3sign_send_policy(SMB3SIGN_ROLE_SERVER, hdr, S | K | R), 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("policy");
	TCase *tc = add_case(s, "is_echo"), *rules = add_case(s, "rules");

	tcase_add_test(tc, test_is);
	tcase_add_test(tc, test_only_reads);
	tcase_add_test(tc, test_status);
	tcase_add_test(tc, test_bits);
	tcase_add_test(tc, test_no_pair);
	tcase_add_loop_test(rules, test_rules, 0, LISTS);
	tcase_add_test(rules, test_rules_random);
	tcase_add_test(rules, test_known_cases);
	tcase_add_test(rules, test_invalid);
	return run_suite(s);
}
