/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the input as a NEGOTIATE message and as the Data of its SIGNING context; as ids that are ours.
 * caps_find, caps_choose and caps_accept must agree with a reading of MS-SMB2 2.2.3, 2.2.3.1, 2.2.4 and of smb3sign.h
 * that is written here in 64-bit offsets; what caps_append appends must be what caps_encode writes, and be found again.
 */
#include "fuzz.h"

enum { MAX_IDS = 8, MAX_SPARE = 40 };

/* What there is of contexts. */
struct found {
	uint64_t at, len; /* the SIGNING context's Data; at 0: there is none */
	uint64_t end;     /* of what must stand before another context */
	uint64_t count, is_311;
};

/* Algorithms that we would use, sensible or not. */
struct ids {
	size_t n;
	uint16_t *id;
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* 16 or 32 bits, little-endian, of which all bytes must be in the message. */
static uint64_t field(const uint8_t *m, uint64_t len, uint64_t at, unsigned bytes)
{
	uint64_t v = 0;

	require(at + bytes <= len);
	while (bytes--)
		v = v << 8 | m[at + bytes];
	return v;
}

static int find_in_list(const uint8_t *m, uint64_t len, uint64_t at, uint64_t count, struct found *f)
{
	while (count--) {
		uint64_t n;

		at = (at + 7) / 8 * 8;
		if (at + 8 > len)
			return SMB3SIGN_E_MESSAGE;
		n = field(m, len, at + 2, 2);
		if (at + 8 + n > len)
			return SMB3SIGN_E_MESSAGE;
		if (field(m, len, at, 2) == 8 && f->at)
			return SMB3SIGN_E_MESSAGE;
		if (field(m, len, at, 2) == 8) {
			f->at = at + 8;
			f->len = n;
		}
		at += 8 + n;
		f->end = at;
	}
	return SMB3SIGN_OK;
}

/* at: NegotiateContextOffset; f->end: where the list may start at the earliest. */
static int find_at(const uint8_t *m, uint64_t len, uint64_t at, struct found *f)
{
	if (!f->count)
		return SMB3SIGN_OK;
	if (at % 8 || at < f->end)
		return SMB3SIGN_E_MESSAGE;
	return find_in_list(m, len, at, f->count, f);
}

static int find_in_request(const uint8_t *m, uint64_t len, struct found *f)
{
	uint64_t dialects;

	if (len < 100 || field(m, len, 64, 2) != 36)
		return SMB3SIGN_E_MESSAGE;
	dialects = field(m, len, 66, 2);
	if (dialects == 0 || 100 + 2 * dialects > len)
		return SMB3SIGN_E_MESSAGE;
	for (uint64_t i = 0; i < dialects; i++)
		if (field(m, len, 100 + 2 * i, 2) == 0x311)
			f->is_311 = 1;
	f->end = 100 + 2 * dialects;
	f->count = f->is_311 ? field(m, len, 96, 2) : 0;
	return find_at(m, len, field(m, len, 92, 4), f);
}

/* The security buffer is "what stands before" the contexts, and must itself be in the message. */
static int find_in_response(const uint8_t *m, uint64_t len, struct found *f)
{
	uint64_t buffer, end = 128;

	if (len < 128 || field(m, len, 64, 2) != 65)
		return SMB3SIGN_E_MESSAGE;
	if (field(m, len, 122, 2)) {
		buffer = field(m, len, 120, 2);
		end = buffer + field(m, len, 122, 2);
		if (buffer < 128 || end > len)
			return SMB3SIGN_E_MESSAGE;
	}
	f->end = end;
	f->is_311 = field(m, len, 68, 2) == 0x311;
	f->count = f->is_311 ? field(m, len, 70, 2) : 0;
	return find_at(m, len, field(m, len, 124, 4), f);
}

static int find(const uint8_t *m, uint64_t len, struct found *f)
{
	memset(f, 0, sizeof(*f));
	if (len < 64 || memcmp(m, "\xfeSMB\x40\0", 6) != 0 || field(m, len, 12, 2) != 0)
		return SMB3SIGN_E_MESSAGE;
	return m[16] & 1 ? find_in_response(m, len, f) : find_in_request(m, len, f);
}

static int require_find(const uint8_t *m, size_t size, struct found *f)
{
	const void *at = f;
	size_t len = 4711;
	int want = find(m, size, f);

	require(smb3sign_caps_find(m, size, &at, &len) == want);
	if (want)
		require(at == f && len == 4711);
	else if (!f->at)
		require(!at && !len);
	else
		require(at == m + f->at && len == f->len);
	return want;
}

/* ---- What both sides make of it */

static int lists(const struct ids *ids, uint64_t id)
{
	int times = 0;

	for (size_t i = 0; i < ids->n; i++)
		times += ids->id[i] == id;
	return times;
}

static int has_unknown(const struct ids *ids)
{
	return lists(ids, 0) + lists(ids, 1) + lists(ids, 2) < (int)ids->n;
}

static void require_accept(const uint8_t *data, size_t len, const struct ids *offered)
{
	unsigned got = 4711, id = data && len >= 4 ? (unsigned)field(data, len, 2, 2) : SMB3SIGN_AES_CMAC;
	int want = id < 3 && lists(offered, id) ? SMB3SIGN_OK : SMB3SIGN_E_UNSUPPORTED;

	if (data && (len < 4 || field(data, len, 0, 2) != 1))
		want = SMB3SIGN_E_MESSAGE;
	require(smb3sign_caps_accept(data, len, offered->id, offered->n, &got) == want);
	require(got == (want ? 4711 : id));
}

/* The place in our list of one of the peer's, n if it is not in it. */
static size_t rank(const struct ids *mine, uint64_t id)
{
	size_t i = 0;

	while (i < mine->n && mine->id[i] != id)
		i++;
	return i;
}

/* Of those that the peer lists, the one that is first of ours. */
static int choose(const uint8_t *data, uint64_t len, const struct ids *mine, unsigned *alg, int *matched)
{
	size_t best = mine->n;

	if (has_unknown(mine))
		return SMB3SIGN_E_INVAL;
	if (data) {
		uint64_t count = len < 2 ? 0 : field(data, len, 0, 2);

		if (!count || 2 + 2 * count > len)
			return SMB3SIGN_E_MESSAGE;
		for (uint64_t i = 0; i < count; i++) {
			size_t r = rank(mine, field(data, len, 2 + 2 * i, 2));

			best = r < best ? r : best;
		}
	}
	if (best == mine->n && !lists(mine, SMB3SIGN_AES_CMAC))
		return SMB3SIGN_E_UNSUPPORTED;
	*matched = best < mine->n;
	*alg = *matched ? mine->id[best] : SMB3SIGN_AES_CMAC;
	return SMB3SIGN_OK;
}

static void require_choose(const uint8_t *data, size_t len, const struct ids *mine)
{
	unsigned got = 4711, alg = 4711;
	int got_matched = 4712, matched = 4712;
	int want = choose(data, len, mine, &alg, &matched);

	require(smb3sign_caps_choose(data, len, mine->id, mine->n, &got, &got_matched) == want);
	require(got == alg && got_matched == matched);
}

/* ---- What we write */

/* Of two mistakes in one list either may be told. */
static int is_refusal(const struct ids *ids, int err)
{
	int twice = lists(ids, 0) > 1 || lists(ids, 1) > 1 || lists(ids, 2) > 1;

	return (err == SMB3SIGN_E_UNSUPPORTED && has_unknown(ids)) || (err == SMB3SIGN_E_INVAL && (twice || !ids->n));
}

static int is_proper(const struct ids *ids)
{
	return !is_refusal(ids, SMB3SIGN_E_UNSUPPORTED) && !is_refusal(ids, SMB3SIGN_E_INVAL);
}

/* Into exactly so many bytes. */
static void require_encode(const struct ids *ids, size_t room)
{
	static const uint8_t before[MAX_SPARE];
	uint8_t *out = exact_copy(before, room, 0);
	size_t len = room, want = 2 + 2 * ids->n;
	int err = smb3sign_caps_encode(ids->id, ids->n, out, &len);

	if (!is_proper(ids))
		require(is_refusal(ids, err));
	else
		require(err == (room < want ? SMB3SIGN_E_INVAL : SMB3SIGN_OK));
	require(len == (err ? room : want));
	require(!err || memcmp(out, before, room) == 0);
	if (!err)
		require(field(out, len, 0, 2) == ids->n);
	for (size_t i = 0; !err && i < ids->n; i++)
		require(field(out, len, 2 + 2 * i, 2) == ids->id[i]);
	exact_free(out);
}

/* Where the next context goes, 0 if there must not be one. */
static uint64_t place_to_append(const uint8_t *m, uint64_t len, struct found *f)
{
	if (find(m, len, f) || !f->is_311 || f->at || f->count == 0xffff || (f->end + 7) / 8 * 8 < len)
		return 0;
	return (len + 7) / 8 * 8;
}

/* The message is as it was, but for the two fields and what is new behind it. */
static void require_appended(const uint8_t *m, const uint8_t *old, uint64_t old_len, uint64_t at, const struct found *f)
{
	unsigned is_response = old[16] & 1, offset = is_response ? 124 : 92, count = is_response ? 70 : 96;

	for (uint64_t i = 0; i < old_len; i++)
		if ((i < offset || i >= offset + 4) && (i < count || i >= count + 2))
			require(m[i] == old[i]);
	for (uint64_t i = old_len; i < at; i++)
		require(m[i] == 0);
	require(field(m, at, count, 2) == f->count + 1);
	require(field(m, at, offset, 4) == (f->count ? field(old, old_len, offset, 4) : at));
	require(memcmp(m + at, "\x08\0", 2) == 0 && memcmp(m + at + 4, "\0\0\0\0", 4) == 0);
}

static void require_append(const uint8_t *old, size_t old_len, size_t spare, const struct ids *ids)
{
	const size_t cap = old_len + spare;
	uint8_t encoded[2 + 2 * MAX_IDS], *m = malloc(cap ? cap : 1);
	size_t len = old_len, encoded_len = sizeof(encoded);
	struct found was, is;
	uint64_t at = place_to_append(old, old_len, &was);
	int err;

	require(m);
	memset(m, 0x5a, cap);
	memcpy(m, old, old_len);
	err = smb3sign_caps_append(m, &len, cap, ids->id, ids->n);
	if (!is_proper(ids)) {
		require(is_refusal(ids, err));
	} else {
		require(!smb3sign_caps_encode(ids->id, ids->n, encoded, &encoded_len));
		if (!at)
			require(err == SMB3SIGN_E_MESSAGE);
		else
			require(err == (cap < at + 8 + encoded_len ? SMB3SIGN_E_INVAL : SMB3SIGN_OK));
	}
	if (err) {
		require(len == old_len && memcmp(m, old, old_len) == 0);
	} else {
		require(len == at + 8 + encoded_len);
		require_appended(m, old, old_len, at, &was);
		require(require_find(m, len, &is) == SMB3SIGN_OK);
		require(is.at == at + 8 && is.len == encoded_len);
		require(memcmp(m + is.at, encoded, encoded_len) == 0);
	}
	for (size_t i = len; i < cap; i++)
		require(m[i] == 0x5a);
	free(m);
}

/* Most ids are known ones. */
static void take_ids(struct input *in, struct ids *ids)
{
	ids->n = take8(in) % (MAX_IDS + 1);
	ids->id = malloc(ids->n ? ids->n * sizeof(*ids->id) : 1);
	require(ids->id);
	for (size_t i = 0; i < ids->n; i++) {
		unsigned id = take8(in);

		ids->id[i] = (uint16_t)(id < 0xf8 ? id % 3 : id << 8 | (id & 3));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct ids ids;
	size_t spare = take8(&in) % MAX_SPARE;
	struct found f;
	uint8_t *m;

	take_ids(&in, &ids);
	m = exact_copy(in.p, in.left, size % 16);
	if (!require_find(m, in.left, &f)) {
		const uint8_t *found = f.at ? m + f.at : NULL;

		require_accept(found, f.len, &ids);
		require_choose(found, f.len, &ids);
	}
	require_accept(m, in.left, &ids);
	require_choose(m, in.left, &ids);
	require_encode(&ids, spare);
	require_append(m, in.left, spare, &ids);
	require(!in.left || memcmp(m, in.p, in.left) == 0);
	exact_free(m);
	free(ids.id);
	return 0;
}
