/* SPDX-License-Identifier: MIT */
/*
 * negotiate.c: the SIGNING_CAPABILITIES context in requests and responses that are built here (MS-SMB2 2.2.3, 2.2.4),
 * in the published ones, and in damaged ones; the client's choice (3.2.5.2) and the server's (3.3.5.4) from what the
 * context says; and the context as it is built.
 */
#include "support.h"
#include "vectors.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ROOM = 1024, PREAUTH = 1, ENCRYPTION = 2, NETNAME = 5, SIGNING = 8, POSIX = 0x0100 };

/* ---- Building NEGOTIATE messages ---- */

/* Where NegotiateContextOffset and NegotiateContextCount stand, from the header: request, response. */
enum { REQUEST_OFFSET = 64 + 28, REQUEST_COUNT = 64 + 32, RESPONSE_OFFSET = 64 + 60, RESPONSE_COUNT = 64 + 6 };
/* The first byte behind the fixed part. */
enum { REQUEST_FIXED = 64 + 36, RESPONSE_FIXED = 64 + 64 };

struct negotiate {
	uint8_t bytes[ROOM];
	size_t len;
	unsigned contexts;
	int response;
};

static void begin_request(struct negotiate *n, const uint16_t *dialects, size_t count)
{
	rng_fill(n->bytes, ROOM);
	make_header(n->bytes, 0x00, 0, 1, 0);
	put_le16(n->bytes + 64, 36);
	put_le16(n->bytes + 66, (unsigned)count);
	for (size_t i = 0; i < count; i++)
		put_le16(n->bytes + REQUEST_FIXED + 2 * i, dialects[i]);
	n->len = REQUEST_FIXED + 2 * count;
	n->contexts = 0;
	n->response = 0;
}

/* security: bytes of the security buffer between the fixed part and the contexts. */
static void begin_response(struct negotiate *n, unsigned dialect, size_t security)
{
	rng_fill(n->bytes, ROOM);
	make_header(n->bytes, 0x00, 1, 1, 0);
	put_le16(n->bytes + 64, 65);
	put_le16(n->bytes + 68, dialect);
	put_le16(n->bytes + 64 + 56, RESPONSE_FIXED);
	put_le16(n->bytes + 64 + 58, (unsigned)security);
	n->len = RESPONSE_FIXED + security;
	n->contexts = 0;
	n->response = 1;
}

static void set_list(struct negotiate *n, size_t offset, unsigned count)
{
	put_le32(n->bytes + (n->response ? RESPONSE_OFFSET : REQUEST_OFFSET), (uint32_t)offset);
	put_le16(n->bytes + (n->response ? RESPONSE_COUNT : REQUEST_COUNT), count);
}

/* Returns the offset of the new context's Data. */
static size_t add_context(struct negotiate *n, unsigned type, const void *data, size_t data_len)
{
	size_t at = (n->len + 7) / 8 * 8;

	ck_assert_uint_le(at + 8 + data_len, ROOM);
	put_le16(n->bytes + at, type);
	put_le16(n->bytes + at + 2, (unsigned)data_len);
	put_le32(n->bytes + at + 4, 0);
	if (data_len)
		memcpy(n->bytes + at + 8, data, data_len);
	n->len = at + 8 + data_len;
	if (n->contexts++ == 0)
		set_list(n, at, 1);
	put_le16(n->bytes + (n->response ? RESPONSE_COUNT : REQUEST_COUNT), n->contexts);
	return at + 8;
}

static const uint16_t all_dialects[] = {0x0202, 0x0210, 0x0300, 0x0302, 0x0311};
static const uint8_t three_ids[] = {3, 0, 2, 0, 1, 0, 0, 0}; /* GMAC, CMAC, HMAC */
static const uint8_t some_bytes[40] = {1, 0, 32, 0, 1};

static void begin_any(struct negotiate *n, int response)
{
	if (response)
		begin_response(n, 0x0311, rng_below(100));
	else
		begin_request(n, all_dialects, COUNT(all_dialects));
}

/* ---- Finding ---- */

/*
 * The library looks at a copy that ends at an inaccessible page and cannot be written. want_at: offset of the Data that
 * it must find, 0 if it must find nothing.
 */
static void check_find(const uint8_t *bytes, size_t len, int want, size_t want_at, size_t want_len)
{
	uint8_t *copy = guard_end(len);
	const void *none = three_ids, *data = none;
	size_t data_len = 12345;
	int got;

	memcpy(copy, bytes, len);
	guard_readonly(copy);
	got = smb3sign_caps_find(copy, len, &data, &data_len);
	ck_assert_msg(got == want, "%zu bytes: %d, not %d", len, got, want);
	if (want != SMB3SIGN_OK) {
		ck_assert_ptr_eq(data, none);
		ck_assert_uint_eq(data_len, 12345);
	} else if (!want_at) {
		ck_assert_ptr_null(data);
		ck_assert_uint_eq(data_len, 0);
	} else {
		ck_assert_ptr_eq(data, copy + want_at);
		ck_assert_uint_eq(data_len, want_len);
	}
	guard_free_all();
}

static void check_message(const struct negotiate *n, int want, size_t want_at, size_t want_len)
{
	check_find(n->bytes, n->len, want, want_at, want_len);
}

/* The context alone, first, in the middle, last; Data of 0 to 40 bytes; for requests and responses. */
START_TEST(test_find)
{
	static const unsigned others[] = {PREAUTH, ENCRYPTION, 3, NETNAME, 6, 7, POSIX, 0, 9, 0x0800, 0xffff};
	struct negotiate n;

	for (int round = 0; round < 400; round++) {
		size_t before = rng_below(5), behind = rng_below(5), data_len = rng_below(41), at;

		begin_any(&n, _i);
		for (size_t i = 0; i < before; i++)
			add_context(&n, others[rng_below(COUNT(others))], some_bytes, rng_below(41));
		at = add_context(&n, SIGNING, some_bytes, data_len);
		for (size_t i = 0; i < behind; i++)
			add_context(&n, others[rng_below(COUNT(others))], some_bytes, rng_below(41));
		check_message(&n, SMB3SIGN_OK, at, data_len);
		/* Bytes behind the last context are padding. */
		n.len += rng_below(8);
		check_message(&n, SMB3SIGN_OK, at, data_len);
	}
}
END_TEST

/* A message in memory of any alignment. */
START_TEST(test_find_alignments)
{
	static uint8_t room[ROOM + 64];
	struct negotiate n;
	size_t at;

	begin_any(&n, _i);
	add_context(&n, PREAUTH, some_bytes, 38);
	at = add_context(&n, SIGNING, three_ids, sizeof(three_ids));
	for (size_t shift = 0; shift < 64; shift++) {
		const void *data;
		size_t data_len;

		memcpy(room + shift, n.bytes, n.len);
		ck_assert_int_eq(smb3sign_caps_find(room + shift, n.len, &data, &data_len), SMB3SIGN_OK);
		ck_assert_ptr_eq(data, room + shift + at);
		ck_assert_uint_eq(data_len, sizeof(three_ids));
	}
}
END_TEST

START_TEST(test_find_none)
{
	struct negotiate n;

	begin_any(&n, _i);
	set_list(&n, (n.len + 7) / 8 * 8, 0);
	check_message(&n, SMB3SIGN_OK, 0, 0);
	begin_any(&n, _i);
	add_context(&n, PREAUTH, some_bytes, 38);
	add_context(&n, ENCRYPTION, some_bytes, 4);
	check_message(&n, SMB3SIGN_OK, 0, 0);
	/* Type 8 in a place that is no type; 0x0800 is another type. */
	add_context(&n, 0x0800, "\x08\x00\x04\x00\x00\x00\x00\x00\x01\x00\x01\x00", 12);
	check_message(&n, SMB3SIGN_OK, 0, 0);
	/* A context that the count leaves out. */
	add_context(&n, SIGNING, three_ids, sizeof(three_ids));
	put_le16(n.bytes + (_i ? RESPONSE_COUNT : REQUEST_COUNT), n.contexts - 1);
	check_message(&n, SMB3SIGN_OK, 0, 0);
}
END_TEST

/* Contexts are 3.1.1's: in other messages the same bytes are ClientStartTime or reserved. */
START_TEST(test_find_other_dialects)
{
	static const uint16_t old[] = {0x0202, 0x0210, 0x0300, 0x0302}, reversed[] = {0x1103, 0x0302};
	static const unsigned chosen[] = {0x0202, 0x0210, 0x0300, 0x0302, 0x02ff, 0x1103};
	struct negotiate n;

	begin_request(&n, old, COUNT(old));
	add_context(&n, SIGNING, three_ids, sizeof(three_ids));
	check_message(&n, SMB3SIGN_OK, 0, 0);
	begin_request(&n, reversed, COUNT(reversed));
	add_context(&n, SIGNING, three_ids, sizeof(three_ids));
	check_message(&n, SMB3SIGN_OK, 0, 0);
	begin_request(&n, old, COUNT(old));
	memset(n.bytes + REQUEST_OFFSET, 0xff, 8);
	check_message(&n, SMB3SIGN_OK, 0, 0);
	for (size_t i = 0; i < COUNT(chosen); i++) {
		begin_response(&n, chosen[i], 20);
		add_context(&n, SIGNING, three_ids, 4);
		check_message(&n, SMB3SIGN_OK, 0, 0);
		put_le32(n.bytes + RESPONSE_OFFSET, 0xffffffff);
		check_message(&n, SMB3SIGN_OK, 0, 0);
	}
	/* 0x0311 anywhere in the list will do. */
	for (size_t i = 0; i < 5; i++) {
		uint16_t list[5] = {0x0202, 0x0210, 0x0300, 0x0302, 0x0302};
		size_t at;

		list[i] = 0x0311;
		begin_request(&n, list, 5);
		at = add_context(&n, SIGNING, three_ids, sizeof(three_ids));
		check_message(&n, SMB3SIGN_OK, at, sizeof(three_ids));
	}
}
END_TEST

START_TEST(test_find_published)
{
	for (size_t i = 0; i < COUNT(preauth_vectors); i++) {
		uint8_t msg[2048];
		size_t len = unhex(msg, sizeof(msg), preauth_vectors[i].message);

		/* None of them has the context: they are older than it. The SESSION_SETUP messages are refused. */
		check_find(msg, len, msg[12] == 0x00 ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE, 0, 0);
	}
}
END_TEST

START_TEST(test_find_second)
{
	struct negotiate n;

	for (size_t between = 0; between < 3; between++) {
		begin_any(&n, _i);
		add_context(&n, SIGNING, three_ids, sizeof(three_ids));
		for (size_t i = 0; i < between; i++)
			add_context(&n, PREAUTH, some_bytes, 38);
		add_context(&n, SIGNING, three_ids, sizeof(three_ids));
		check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
	}
}
END_TEST

/* Cut at every length: a context that is announced and not whole is malformed. */
START_TEST(test_find_truncated)
{
	struct negotiate n;
	size_t at;

	begin_any(&n, _i);
	add_context(&n, PREAUTH, some_bytes, 38);
	at = add_context(&n, SIGNING, three_ids, sizeof(three_ids));
	for (size_t len = 0; len < n.len; len++)
		check_find(n.bytes, len, SMB3SIGN_E_MESSAGE, 0, 0);
	check_message(&n, SMB3SIGN_OK, at, sizeof(three_ids));
	/* The other order: what follows the SIGNING context is looked at too. */
	begin_any(&n, _i);
	add_context(&n, SIGNING, three_ids, 4);
	add_context(&n, PREAUTH, some_bytes, 38);
	for (size_t len = 0; len < n.len; len++)
		check_find(n.bytes, len, SMB3SIGN_E_MESSAGE, 0, 0);
	/* Fixed parts and dialects without contexts. */
	begin_any(&n, _i);
	set_list(&n, 0, 0);
	for (size_t len = 0; len < (_i ? RESPONSE_FIXED : n.len); len++)
		check_find(n.bytes, len, SMB3SIGN_E_MESSAGE, 0, 0);
}
END_TEST

START_TEST(test_find_malformed)
{
	struct negotiate n;
	const size_t fixed = _i ? RESPONSE_FIXED : REQUEST_FIXED + 2 * COUNT(all_dialects);
	const size_t offset_at = _i ? RESPONSE_OFFSET : REQUEST_OFFSET;
	size_t at;

	begin_any(&n, _i);
	at = add_context(&n, SIGNING, three_ids, sizeof(three_ids));
	/* Into the header, into the fixed part, past the end, far past it. */
	for (size_t offset = 0; offset < fixed; offset += 4) {
		put_le32(n.bytes + offset_at, (uint32_t)offset);
		check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
	}
	for (size_t offset = n.len - 7; offset < n.len + 20; offset++) {
		put_le32(n.bytes + offset_at, (uint32_t)offset);
		check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
	}
	for (unsigned bit = 16; bit < 32; bit++) {
		put_le32(n.bytes + offset_at, (uint32_t)(at - 8) | (uint32_t)1 << bit);
		check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
	}
	put_le32(n.bytes + offset_at, 0xfffffff8);
	check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
	put_le32(n.bytes + offset_at, (uint32_t)(at - 8));
	/* Data that leaves the message. */
	for (unsigned data_len = sizeof(three_ids) + 1; data_len <= 0xffff; data_len += 1 + data_len / 4) {
		put_le16(n.bytes + at - 6, data_len);
		check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
	}
	put_le16(n.bytes + at - 6, sizeof(three_ids));
	/* More contexts than there are. */
	for (unsigned count = 2; count <= 0xffff; count += 1 + count / 2) {
		put_le16(n.bytes + (_i ? RESPONSE_COUNT : REQUEST_COUNT), count);
		check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
	}
	put_le16(n.bytes + (_i ? RESPONSE_COUNT : REQUEST_COUNT), 1);
	check_message(&n, SMB3SIGN_OK, at, sizeof(three_ids));
}
END_TEST

/*
 * NegotiateContextOffset is a multiple of 8 (MS-SMB2 2.2.3, 2.2.4), and the contexts stand behind the security buffer.
 */
START_TEST(test_find_misplaced)
{
	struct negotiate n;
	const size_t offset_at = _i ? RESPONSE_OFFSET : REQUEST_OFFSET;
	size_t at;

	for (unsigned shift = 1; shift < 8; shift++) {
		begin_any(&n, _i);
		n.len = (n.len + 7) / 8 * 8;
		at = n.len;
		add_context(&n, SIGNING, three_ids, sizeof(three_ids));
		memmove(n.bytes + at + shift, n.bytes + at, n.len - at);
		n.len += shift;
		put_le32(n.bytes + offset_at, (uint32_t)(at + shift));
		check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
	}
	begin_response(&n, 0x0311, 40);
	at = add_context(&n, SIGNING, three_ids, sizeof(three_ids));
	check_message(&n, SMB3SIGN_OK, at, sizeof(three_ids));
	put_le16(n.bytes + 64 + 58, 41);
	check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
}
END_TEST

/*
 * A response's security buffer: anywhere behind the fixed part, whole, and before the contexts. An empty one is nowhere,
 * whatever its offset.
 */
START_TEST(test_find_security_buffer)
{
	static const struct {
		unsigned offset, length;
		int want;
	} rows[] = {
		{RESPONSE_FIXED, 40, SMB3SIGN_OK},
		{RESPONSE_FIXED + 8, 32, SMB3SIGN_OK},
		{RESPONSE_FIXED + 39, 1, SMB3SIGN_OK},
		{RESPONSE_FIXED - 1, 1, SMB3SIGN_E_MESSAGE},
		{RESPONSE_FIXED - 1, 40, SMB3SIGN_E_MESSAGE},
		{64, 8, SMB3SIGN_E_MESSAGE},
		{0, 1, SMB3SIGN_E_MESSAGE},
		{RESPONSE_FIXED + 8, 33, SMB3SIGN_E_MESSAGE}, /* into the contexts */
		{RESPONSE_FIXED + 40, 1, SMB3SIGN_E_MESSAGE},
		{0xffff, 1, SMB3SIGN_E_MESSAGE}, /* outside the message */
		{0xffff, 0xffff, SMB3SIGN_E_MESSAGE},
		{RESPONSE_FIXED, 0xffff, SMB3SIGN_E_MESSAGE},
		{0, 0, SMB3SIGN_OK},
		{0xffff, 0, SMB3SIGN_OK},
	};
	struct negotiate n;

	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t at;
		int inside;

		begin_response(&n, 0x0311, 40);
		at = add_context(&n, SIGNING, three_ids, sizeof(three_ids));
		put_le16(n.bytes + 64 + 56, rows[i].offset);
		put_le16(n.bytes + 64 + 58, rows[i].length);
		check_message(&n, rows[i].want, at, sizeof(three_ids));
		/* Without contexts it has to lie in the message all the same. */
		begin_response(&n, 0x0311, 40);
		set_list(&n, 0, 0);
		put_le16(n.bytes + 64 + 56, rows[i].offset);
		put_le16(n.bytes + 64 + 58, rows[i].length);
		inside = rows[i].offset >= RESPONSE_FIXED && rows[i].offset + rows[i].length <= n.len;
		check_message(&n, inside || !rows[i].length ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE, 0, 0);
	}
}
END_TEST

START_TEST(test_find_dialect_count)
{
	struct negotiate n;

	begin_request(&n, all_dialects, COUNT(all_dialects));
	add_context(&n, SIGNING, three_ids, sizeof(three_ids));
	/* The list of dialects leaves the message, or runs into the contexts. */
	put_le16(n.bytes + 66, 0xffff);
	check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
	put_le16(n.bytes + 66, (unsigned)(n.len - REQUEST_FIXED) / 2 + 1);
	check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
	put_le16(n.bytes + 66, COUNT(all_dialects) + 4);
	check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
}
END_TEST

START_TEST(test_find_not_negotiate)
{
	struct negotiate n;

	begin_any(&n, _i);
	add_context(&n, SIGNING, three_ids, sizeof(three_ids));
	for (unsigned bit = 0; bit < 16; bit++) {
		put_le16(n.bytes + 12, 1u << bit);
		check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
	}
	put_le16(n.bytes + 12, 0);
	for (size_t bit = 0; bit < 48; bit++) {
		n.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		check_message(&n, SMB3SIGN_E_MESSAGE, 0, 0);
		n.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}
END_TEST

START_TEST(test_find_null)
{
	struct negotiate n;
	const void *data;
	size_t data_len;

	begin_any(&n, _i);
	add_context(&n, SIGNING, three_ids, sizeof(three_ids));
	ck_assert_int_eq(smb3sign_caps_find(NULL, n.len, &data, &data_len), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_find(n.bytes, n.len, NULL, &data_len), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_find(n.bytes, n.len, &data, NULL), SMB3SIGN_E_INVAL);
}
END_TEST

/* Damaged at random: an answer is OK or E_MESSAGE, what is found lies inside, nothing outside is read. */
START_TEST(test_find_damaged)
{
	unsigned found = 0, refused = 0;

	for (int round = 0; round < 10000; round++) {
		struct negotiate n;
		const void *data;
		uint8_t *copy;
		size_t data_len, len;
		int err;

		begin_any(&n, _i);
		for (size_t i = 1 + rng_below(4); i; i--)
			add_context(&n, rng_below(2) ? SIGNING : (unsigned)rng_below(10), some_bytes, rng_below(41));
		for (size_t i = rng_below(4); i; i--) {
			static const uint8_t edges[] = {0, 1, 7, 8, 0x7f, 0x80, 0xff};

			n.bytes[64 + rng_below(n.len - 64)] = edges[rng_below(7)];
		}
		len = rng_below(4) ? n.len : rng_below(n.len + 1);
		copy = guard_end(len);
		memcpy(copy, n.bytes, len);
		err = smb3sign_caps_find(copy, len, &data, &data_len);
		if (err == SMB3SIGN_OK && data) {
			const uint8_t *at = data;

			ck_assert(at >= copy + 64 && at <= copy + len && data_len <= (size_t)(copy + len - at));
			ck_assert(at[-8] == SIGNING && at[-7] == 0);
			found++;
		} else if (err != SMB3SIGN_OK) {
			ck_assert_int_eq(err, SMB3SIGN_E_MESSAGE);
			refused++;
		}
		guard_free_all();
	}
	ck_assert_uint_ge(found, 300);
	ck_assert_uint_ge(refused, 300);
}
END_TEST

/* ---- Accepting ---- */

static void check_accept(const uint8_t *bytes, size_t len, const uint16_t *offered, size_t n_offered, int want,
			 unsigned want_alg)
{
	uint8_t *data = NULL;
	unsigned alg = 12345;

	if (bytes) {
		data = guard_end(len);
		memcpy(data, bytes, len);
		guard_readonly(data);
	}
	ck_assert_int_eq(smb3sign_caps_accept(data, len, offered, n_offered, &alg), want);
	ck_assert_uint_eq(alg, want == SMB3SIGN_OK ? want_alg : 12345);
	guard_free_all();
}

START_TEST(test_accept)
{
	static const uint16_t offers[][3] = {{2, 1, 0}, {1, 2, 0}, {0, 1, 2}};

	for (unsigned id = 0; id <= 0x0202; id += id < 5 || id % 0x100 >= 0xfe || id % 0x100 < 3 ? 1 : 31) {
		const uint8_t data[40] = {1, 0, (uint8_t)id, (uint8_t)(id >> 8), 0xff, 0xff};

		for (size_t i = 0; i < COUNT(offers); i++) {
			for (size_t n = 0; n <= 3; n++) {
				int is_offered = 0;

				for (size_t j = 0; j < n; j++)
					is_offered |= offers[i][j] == id;
				/* 4 bytes; 8 as Linux rounds up; more. */
				for (size_t len = 4; len <= sizeof(data); len++)
					check_accept(data, len, offers[i], n,
						     is_offered ? SMB3SIGN_OK : SMB3SIGN_E_UNSUPPORTED, id);
			}
		}
	}
}
END_TEST

/* No context means AES-CMAC, if that was offered. */
START_TEST(test_accept_default)
{
	static const uint16_t all[] = {2, 1, 0}, cmac[] = {1}, gmac[] = {2}, others[] = {2, 0};

	check_accept(NULL, 0, all, 3, SMB3SIGN_OK, SMB3SIGN_AES_CMAC);
	check_accept(NULL, 0, cmac, 1, SMB3SIGN_OK, SMB3SIGN_AES_CMAC);
	check_accept(NULL, 0, gmac, 1, SMB3SIGN_E_UNSUPPORTED, 0);
	check_accept(NULL, 0, others, 2, SMB3SIGN_E_UNSUPPORTED, 0);
	check_accept(NULL, 0, all, 1, SMB3SIGN_E_UNSUPPORTED, 0);
	check_accept(NULL, 0, all, 0, SMB3SIGN_E_UNSUPPORTED, 0);
}
END_TEST

START_TEST(test_accept_malformed)
{
	static const uint16_t all[] = {2, 1, 0};

	for (unsigned count = 0; count <= 0xffff; count++) {
		uint8_t data[16] = {(uint8_t)count, (uint8_t)(count >> 8), 1, 0, 2, 0, 0, 0, 1, 0};

		if (count != 1 && (count < 300 || count % 251 == 0))
			check_accept(data, sizeof(data), all, 3, SMB3SIGN_E_MESSAGE, 0);
	}
	/* An empty context is not the same as none; too short for one id. */
	for (size_t len = 0; len < 4; len++)
		check_accept((const uint8_t *)"\1\0\1", len, all, 3, SMB3SIGN_E_MESSAGE, 0);
}
END_TEST

START_TEST(test_accept_null)
{
	static const uint16_t all[] = {2, 1, 0};
	const uint8_t data[] = {1, 0, 1, 0};
	unsigned alg = 12345;

	ck_assert_int_eq(smb3sign_caps_accept(data, 4, NULL, 0, &alg), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_accept(data, 4, NULL, 3, &alg), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_accept(NULL, 0, NULL, 3, &alg), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_accept(data, 4, all, 3, NULL), SMB3SIGN_E_INVAL);
	ck_assert_uint_eq(alg, 12345);
}
END_TEST

/* From the message to the algorithm, with what servers send: exact, and padded as Linux pads. */
START_TEST(test_find_then_accept)
{
	static const uint16_t offered[] = {SMB3SIGN_AES_GMAC, SMB3SIGN_AES_CMAC};

	for (size_t padded = 4; padded <= 8; padded += 4)
		for (unsigned id = 0; id < 3; id++) {
			const uint8_t chosen[8] = {1, 0, (uint8_t)id};
			struct negotiate n;
			const void *data;
			size_t len;
			unsigned alg = 12345;
			int err;

			begin_response(&n, 0x0311, 33);
			add_context(&n, PREAUTH, some_bytes, 38);
			add_context(&n, SIGNING, chosen, padded);
			ck_assert_int_eq(smb3sign_caps_find(n.bytes, n.len, &data, &len), SMB3SIGN_OK);
			err = smb3sign_caps_accept(data, len, offered, 2, &alg);
			ck_assert_int_eq(err, id ? SMB3SIGN_OK : SMB3SIGN_E_UNSUPPORTED);
			ck_assert_uint_eq(alg, id ? id : 12345);
		}
	/* A context without Data is found, and is not taken for "none". */
	struct negotiate n;
	const void *data = NULL;
	size_t len = 12345;
	unsigned alg;

	begin_response(&n, 0x0311, 33);
	add_context(&n, SIGNING, NULL, 0);
	ck_assert_int_eq(smb3sign_caps_find(n.bytes, n.len, &data, &len), SMB3SIGN_OK);
	ck_assert_ptr_nonnull(data);
	ck_assert_uint_eq(len, 0);
	ck_assert_int_eq(smb3sign_caps_accept(data, len, offered, 2, &alg), SMB3SIGN_E_MESSAGE);
}
END_TEST

/* ---- Choosing ---- */

static void check_choose(const void *bytes, size_t len, const uint16_t *mine, size_t n, int want, unsigned want_alg,
			 int want_matched)
{
	uint8_t *data = bytes ? memcpy(guard_end(len), bytes, len) : NULL;
	uint16_t *ours = memcpy(guard_end(n * sizeof(*mine)), mine, n * sizeof(*mine));
	unsigned alg = 12345;
	int matched = 678;
	int got;

	if (data)
		guard_readonly(data);
	guard_readonly(ours);
	got = smb3sign_caps_choose(data, len, ours, n, &alg, &matched);
	ck_assert_msg(got == want, "%zu bytes: %d, not %d", len, got, want);
	ck_assert_uint_eq(alg, want == SMB3SIGN_OK ? want_alg : 12345);
	ck_assert_int_eq(matched, want == SMB3SIGN_OK ? want_matched : 678);
	guard_free_all();
}

/*
 * The server's order decides, whatever the client's; unknown ids, repeated ids and bytes behind the list do not count.
 */
START_TEST(test_choose_order)
{
	static const uint16_t mine[] = {2, 1, 0}, other[] = {0, 1, 2};
	static const uint8_t windows[] = {3, 0, 2, 0, 1, 0, 0, 0}, reversed[] = {3, 0, 0, 0, 1, 0, 2, 0};
	static const uint8_t linux_cmac[] = {1, 0, 1, 0, 0, 0, 0, 0}, twice[] = {3, 0, 1, 0, 1, 0, 1, 0};
	static const uint8_t unknown[] = {4, 0, 3, 0, 0xff, 0xff, 0, 1, 0, 0}, behind[] = {1, 0, 0, 0, 2, 0, 1, 0};

	check_choose(windows, 8, mine, 3, SMB3SIGN_OK, SMB3SIGN_AES_GMAC, 1);
	check_choose(reversed, 8, mine, 3, SMB3SIGN_OK, SMB3SIGN_AES_GMAC, 1);
	check_choose(windows, 8, other, 3, SMB3SIGN_OK, SMB3SIGN_HMAC_SHA256, 1);
	check_choose(windows, 8, other + 1, 2, SMB3SIGN_OK, SMB3SIGN_AES_CMAC, 1);
	check_choose(linux_cmac, 8, mine, 3, SMB3SIGN_OK, SMB3SIGN_AES_CMAC, 1);
	check_choose(twice, 8, mine, 3, SMB3SIGN_OK, SMB3SIGN_AES_CMAC, 1);
	check_choose(unknown, 10, mine, 3, SMB3SIGN_OK, SMB3SIGN_HMAC_SHA256, 1);
	check_choose(behind, 8, mine, 3, SMB3SIGN_OK, SMB3SIGN_HMAC_SHA256, 1);
}
END_TEST

/* All lists of up to four ids against all orders of ours, by the rule as it stands: our first that the client lists. */
START_TEST(test_choose_all)
{
	static const uint16_t ours[][3] = {{2, 1, 0}, {2, 0, 1}, {1, 2, 0}, {1, 0, 2}, {0, 1, 2}, {0, 2, 1}, {1, 1, 1}};

	for (unsigned list = 0; list < 5 * 5 * 5 * 5; list++)
		for (unsigned count = 1; count <= 4; count++)
			for (size_t o = 0; o < COUNT(ours); o++)
				for (size_t n = 1; n <= 3; n++) {
					const uint8_t ids[4] = {(uint8_t)(list % 5), (uint8_t)(list / 5 % 5),
								(uint8_t)(list / 25 % 5), (uint8_t)(list / 125)};
					uint8_t data[10] = {(uint8_t)count};
					int want = -1, has_cmac = 0;

					for (size_t i = 0; i < 4; i++)
						data[2 + 2 * i] = ids[i];
					for (size_t i = n; i-- > 0;) {
						has_cmac |= ours[o][i] == 1;
						for (size_t j = 0; j < count; j++)
							want = ids[j] == ours[o][i] ? ours[o][i] : want;
					}
					check_choose(data, 2 + 2 * count, ours[o], n,
						     want >= 0 || has_cmac ? SMB3SIGN_OK : SMB3SIGN_E_UNSUPPORTED,
						     want >= 0 ? (unsigned)want : SMB3SIGN_AES_CMAC, want >= 0);
				}
}
END_TEST

/* No context, or nothing in common: AES-CMAC, which has to be among ours. */
START_TEST(test_choose_default)
{
	static const uint16_t all[] = {2, 1, 0}, gmac[] = {2}, none[] = {0};
	static const uint8_t hmac_only[] = {1, 0, 0, 0}, unknown[] = {1, 0, 9, 0};

	check_choose(NULL, 0, all, 3, SMB3SIGN_OK, SMB3SIGN_AES_CMAC, 0);
	check_choose(NULL, 0, gmac, 1, SMB3SIGN_E_UNSUPPORTED, 0, 0);
	check_choose(NULL, 0, none, 0, SMB3SIGN_E_UNSUPPORTED, 0, 0);
	check_choose(hmac_only, 4, all, 2, SMB3SIGN_OK, SMB3SIGN_AES_CMAC, 0);
	check_choose(hmac_only, 4, gmac, 1, SMB3SIGN_E_UNSUPPORTED, 0, 0);
	check_choose(unknown, 4, all, 3, SMB3SIGN_OK, SMB3SIGN_AES_CMAC, 0);
}
END_TEST

/* A malformed context is refused: to take it for none would be a downgrade (MS-SMB2 3.3.5.4). */
START_TEST(test_choose_malformed)
{
	static const uint16_t all[] = {2, 1, 0};

	for (unsigned count = 0; count < 40; count++)
		for (size_t len = 0; len < 100; len++) {
			uint8_t data[100] = {(uint8_t)count};
			int good = count && len >= 2 + 2 * (size_t)count;

			for (size_t i = 2; i + 2 <= len; i += 2)
				data[i] = 1;
			check_choose(data, len, all, 3, good ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE, SMB3SIGN_AES_CMAC, 1);
		}
	check_choose((const uint8_t *)"\xff\xff\1", 4, all, 3, SMB3SIGN_E_MESSAGE, 0, 0);
	check_choose((const uint8_t *)"\0\1\1", 4, all, 3, SMB3SIGN_E_MESSAGE, 0, 0);
}
END_TEST

START_TEST(test_choose_invalid)
{
	static const uint16_t all[] = {2, 1, 0}, odd[] = {1, 3}, big[] = {0x0101};
	unsigned alg = 12345;
	int matched = 678;

	ck_assert_int_eq(smb3sign_caps_choose(three_ids, 8, NULL, 0, &alg, &matched), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_choose(three_ids, 8, all, 3, NULL, &matched), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_choose(three_ids, 8, all, 3, &alg, NULL), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_choose(three_ids, 8, odd, 2, &alg, &matched), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_choose(three_ids, 8, big, 1, &alg, &matched), SMB3SIGN_E_INVAL);
	ck_assert_uint_eq(alg, 12345);
	ck_assert_int_eq(matched, 678);
}
END_TEST

/* ---- Building ---- */

static const struct {
	uint16_t ids[3];
	size_t n;
	uint8_t bytes[8];
} encoded[] = {{{2, 1, 0}, 3, {3, 0, 2, 0, 1, 0, 0, 0}},
	       {{1}, 1, {1, 0, 1, 0}},
	       {{2}, 1, {1, 0, 2, 0}},
	       {{0, 2}, 2, {2, 0, 0, 0, 2, 0}}};

/* ids that are refused, with the reason. */
static const struct {
	uint16_t ids[4];
	size_t n;
	int err;
} refused[] = {{{1}, 0, SMB3SIGN_E_INVAL},
	       {{1, 1}, 2, SMB3SIGN_E_INVAL},
	       {{2, 1, 2}, 3, SMB3SIGN_E_INVAL},
	       {{3}, 1, SMB3SIGN_E_UNSUPPORTED},
	       {{2, 0x0102}, 2, SMB3SIGN_E_UNSUPPORTED},
	       {{0, 1, 2, 3}, 4, SMB3SIGN_E_UNSUPPORTED}};

START_TEST(test_encode)
{
	uint8_t out[16];
	size_t len;

	for (size_t i = 0; i < COUNT(encoded); i++) {
		size_t want = 2 + 2 * encoded[i].n;
		uint8_t *exact = guard_end(want);

		for (len = 0; len < want;) {
			size_t room = len;

			ck_assert_int_eq(smb3sign_caps_encode(encoded[i].ids, encoded[i].n, exact, &room),
					 SMB3SIGN_E_INVAL);
			ck_assert_uint_eq(room, len++);
		}
		ck_assert_int_eq(smb3sign_caps_encode(encoded[i].ids, encoded[i].n, exact, &len), SMB3SIGN_OK);
		ck_assert_uint_eq(len, want);
		ck_assert_mem_eq(exact, encoded[i].bytes, want);
		guard_free_all();
	}
	for (size_t i = 0; i < COUNT(refused); i++) {
		len = sizeof(out);
		memset(out, 0x5a, sizeof(out));
		ck_assert_int_eq(smb3sign_caps_encode(refused[i].ids, refused[i].n, out, &len), refused[i].err);
		ck_assert_uint_eq(len, sizeof(out));
		for (size_t j = 0; j < sizeof(out); j++)
			ck_assert_uint_eq(out[j], 0x5a);
	}
	len = sizeof(out);
	ck_assert_int_eq(smb3sign_caps_encode(NULL, 1, out, &len), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_encode(encoded[0].ids, 3, NULL, &len), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_encode(encoded[0].ids, 3, out, NULL), SMB3SIGN_E_INVAL);
}
END_TEST

/* Like add_context, which writes what is wanted, behind any number of contexts, the last padded or not. */
START_TEST(test_append)
{
	for (unsigned before = 0; before < 4; before++)
		for (size_t length = 0; length < 9; length++)
			for (size_t padded = 0; padded < 2; padded++)
				for (size_t i = 0; i < COUNT(encoded); i++) {
					struct negotiate n, want;
					size_t len, cap, data_at;
					const void *data;

					begin_any(&n, _i);
					set_list(&n, 0x12345678, 0);
					for (unsigned j = 0; j < before; j++)
						add_context(&n, j ? NETNAME : PREAUTH, some_bytes, length);
					if (padded) {
						size_t end = (n.len + 7) / 8 * 8;

						memset(n.bytes + n.len, 0xee, end - n.len);
						n.len = end;
					}
					want = n;
					memset(want.bytes + want.len, 0, 8);
					data_at = add_context(&want, SIGNING, encoded[i].bytes, 2 + 2 * encoded[i].n);
					for (cap = n.len; cap < want.len; cap++) {
						uint8_t *small = memcpy(guard_end(cap), n.bytes, cap);

						len = n.len;
						ck_assert_int_eq(smb3sign_caps_append(small, &len, cap, encoded[i].ids,
										      encoded[i].n),
								 SMB3SIGN_E_INVAL);
						ck_assert_uint_eq(len, n.len);
						ck_assert_mem_eq(small, n.bytes, cap);
						guard_free_all();
					}
					uint8_t *exact = guard_end(want.len);

					memcpy(exact, n.bytes, n.len);
					memset(exact + n.len, 0x77, want.len - n.len);
					len = n.len;
					ck_assert_int_eq(smb3sign_caps_append(exact, &len, want.len, encoded[i].ids,
									      encoded[i].n),
							 SMB3SIGN_OK);
					ck_assert_uint_eq(len, want.len);
					ck_assert_mem_eq(exact, want.bytes, want.len);
					ck_assert_int_eq(smb3sign_caps_find(exact, len, &data, &len), SMB3SIGN_OK);
					ck_assert_ptr_eq(data, exact + data_at);
					/* A second one is refused. */
					len = want.len;
					ck_assert_int_eq(smb3sign_caps_append(exact, &len, want.len, encoded[i].ids,
									      encoded[i].n),
							 SMB3SIGN_E_MESSAGE);
					guard_free_all();
				}
}
END_TEST

/* The twelve bytes of a response's context, by hand. */
START_TEST(test_append_bytes)
{
	static const uint8_t want[12] = {8, 0, 4, 0, 0, 0, 0, 0, 1, 0, 2, 0};
	static const uint16_t gmac[] = {SMB3SIGN_AES_GMAC};
	struct negotiate n;
	size_t len;

	begin_response(&n, 0x0311, 3);
	set_list(&n, 0, 0);
	len = n.len;
	ck_assert_int_eq(smb3sign_caps_append(n.bytes, &len, ROOM, gmac, 1), SMB3SIGN_OK);
	ck_assert_uint_eq(len, 136 + 12);
	ck_assert_mem_eq(n.bytes + 136, want, 12);
	ck_assert_mem_eq(n.bytes + 131, "\0\0\0\0\0", 5);
	ck_assert_mem_eq(n.bytes + 64 + 60, "\x88\0\0\0", 4);
	ck_assert_mem_eq(n.bytes + 64 + 6, "\1\0", 2);
}
END_TEST

static void refuse_append(const struct negotiate *n, const uint16_t *ids, size_t count, int want)
{
	struct negotiate copy = *n;
	size_t len = n->len;

	ck_assert_int_eq(smb3sign_caps_append(copy.bytes, &len, ROOM, ids, count), want);
	ck_assert_uint_eq(len, n->len);
	ck_assert_mem_eq(copy.bytes, n->bytes, ROOM);
}

START_TEST(test_append_refused)
{
	static const uint16_t ids[] = {2, 1, 0}, older[] = {0x0202, 0x0302};
	struct negotiate n, bad;
	size_t len;

	begin_any(&n, _i);
	set_list(&n, 0, 0);
	add_context(&n, PREAUTH, some_bytes, 38);
	for (size_t i = 0; i < COUNT(refused); i++)
		refuse_append(&n, refused[i].ids, refused[i].n, refused[i].err);
	refuse_append(&n, NULL, 1, SMB3SIGN_E_INVAL);
	len = n.len;
	ck_assert_int_eq(smb3sign_caps_append(NULL, &len, ROOM, ids, 3), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_append(n.bytes, NULL, ROOM, ids, 3), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_append(n.bytes, &len, n.len - 1, ids, 3), SMB3SIGN_E_INVAL);
	/* Bytes behind the list, or before it where there is none. */
	bad = n;
	bad.len += 9;
	refuse_append(&bad, ids, 3, SMB3SIGN_E_MESSAGE);
	begin_any(&bad, _i);
	set_list(&bad, 0, 0);
	bad.len += 8;
	refuse_append(&bad, ids, 3, SMB3SIGN_E_MESSAGE);
	/* Cut short; another command; another dialect; no more numbers for contexts. */
	bad = n;
	bad.len -= 1;
	refuse_append(&bad, ids, 3, SMB3SIGN_E_MESSAGE);
	for (len = 0; len < 64; len++) {
		bad.len = len;
		refuse_append(&bad, ids, 3, SMB3SIGN_E_MESSAGE);
	}
	bad = n;
	bad.bytes[12] = 1;
	refuse_append(&bad, ids, 3, SMB3SIGN_E_MESSAGE);
	if (_i)
		begin_response(&bad, 0x0302, 8);
	else
		begin_request(&bad, older, 2);
	set_list(&bad, 0, 0);
	refuse_append(&bad, ids, 3, SMB3SIGN_E_MESSAGE);
}
END_TEST

/* 65535 contexts leave no number for one more. */
START_TEST(test_append_most)
{
	static const uint16_t ids[] = {1};
	size_t len = 104 + 8 * 65535u, cap = len + 16;
	uint8_t *m = calloc(1, cap);
	struct negotiate n;

	ck_assert_ptr_nonnull(m);
	begin_request(&n, all_dialects + 4, 1);
	n.len = 104;
	memcpy(m, n.bytes, 104);
	put_le32(m + REQUEST_OFFSET, 104);
	for (size_t i = 0; i < 65535; i++)
		put_le16(m + 104 + 8 * i, NETNAME);
	put_le16(m + REQUEST_COUNT, 65535);
	ck_assert_int_eq(smb3sign_caps_append(m, &len, cap, ids, 1), SMB3SIGN_E_MESSAGE);
	put_le16(m + REQUEST_COUNT, 65534);
	len -= 8;
	ck_assert_int_eq(smb3sign_caps_append(m, &len, cap, ids, 1), SMB3SIGN_OK);
	free(m);
}
END_TEST

/* Requests (0) and responses (1). */
static void add_both(TCase *tc, const TTest *test)
{
	tcase_add_loop_test(tc, test, 0, 2);
}

int main(void)
{
	Suite *s = suite_create("negotiate");
	TCase *find = add_case(s, "caps_find"), *accept = add_case(s, "caps_accept");
	TCase *choose = add_case(s, "caps_choose"), *build = add_case(s, "caps_encode, caps_append");

	add_both(find, test_find);
	add_both(find, test_find_alignments);
	add_both(find, test_find_none);
	tcase_add_test(find, test_find_other_dialects);
	tcase_add_test(find, test_find_published);
	add_both(find, test_find_second);
	add_both(find, test_find_truncated);
	add_both(find, test_find_malformed);
	add_both(find, test_find_misplaced);
	tcase_add_test(find, test_find_security_buffer);
	tcase_add_test(find, test_find_dialect_count);
	add_both(find, test_find_not_negotiate);
	add_both(find, test_find_null);
	add_both(find, test_find_damaged);
	tcase_add_test(accept, test_accept);
	tcase_add_test(accept, test_accept_default);
	tcase_add_test(accept, test_accept_malformed);
	tcase_add_test(accept, test_accept_null);
	tcase_add_test(accept, test_find_then_accept);
	tcase_add_test(choose, test_choose_order);
	tcase_add_test(choose, test_choose_all);
	tcase_add_test(choose, test_choose_default);
	tcase_add_test(choose, test_choose_malformed);
	tcase_add_test(choose, test_choose_invalid);
	tcase_add_test(build, test_encode);
	add_both(build, test_append);
	tcase_add_test(build, test_append_bytes);
	add_both(build, test_append_refused);
	tcase_add_test(build, test_append_most);
	return run_suite(s);
}
