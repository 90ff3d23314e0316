/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the input as a NEGOTIATE message and as the Data of its SIGNING context. caps_find and caps_accept must
 * agree with a reading of MS-SMB2 2.2.3, 2.2.3.1, 2.2.4 and of smb3sign.h that is written here in 64-bit offsets.
 */
#include "fuzz.h"

enum { MAX_OFFERED = 8 };

struct found {
	uint64_t at, len; /* at 0: no such context */
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
		if (field(m, len, at, 2) == 8)
			*f = (struct found){at + 8, n};
		at += 8 + n;
	}
	return SMB3SIGN_OK;
}

/* at: NegotiateContextOffset; before: where the list may start at the earliest. */
static int find_at(const uint8_t *m, uint64_t len, uint64_t at, uint64_t count, uint64_t before, struct found *f)
{
	if (!count)
		return SMB3SIGN_OK;
	if (at % 8 || at < before)
		return SMB3SIGN_E_MESSAGE;
	return find_in_list(m, len, at, count, f);
}

static int find_in_request(const uint8_t *m, uint64_t len, struct found *f)
{
	uint64_t dialects, has_311 = 0;

	if (len < 100 || field(m, len, 64, 2) != 36)
		return SMB3SIGN_E_MESSAGE;
	dialects = field(m, len, 66, 2);
	if (dialects == 0 || 100 + 2 * dialects > len)
		return SMB3SIGN_E_MESSAGE;
	for (uint64_t i = 0; i < dialects; i++)
		if (field(m, len, 100 + 2 * i, 2) == 0x311)
			has_311 = 1;
	if (!has_311)
		return SMB3SIGN_OK;
	return find_at(m, len, field(m, len, 92, 4), field(m, len, 96, 2), 100 + 2 * dialects, f);
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
	if (field(m, len, 68, 2) != 0x311)
		return SMB3SIGN_OK;
	return find_at(m, len, field(m, len, 124, 4), field(m, len, 70, 2), end, f);
}

static int find(const uint8_t *m, uint64_t len, struct found *f)
{
	*f = (struct found){0, 0};
	if (len < 64 || memcmp(m, "\xfeSMB\x40\0", 6) != 0 || field(m, len, 12, 2) != 0)
		return SMB3SIGN_E_MESSAGE;
	return m[16] & 1 ? find_in_response(m, len, f) : find_in_request(m, len, f);
}

static void accept_data(const uint8_t *data, size_t len, const uint16_t *offered, size_t n)
{
	unsigned got = 4711, id = SMB3SIGN_AES_CMAC;
	int want = SMB3SIGN_E_UNSUPPORTED;
	int err = smb3sign_caps_accept(data, len, offered, n, &got);

	if (data && len >= 4)
		id = data[2] | (unsigned)data[3] << 8;
	for (size_t i = 0; i < n; i++)
		if (offered[i] == id && id < 3)
			want = SMB3SIGN_OK;
	if (data && (len < 4 || data[0] != 1 || data[1] != 0))
		want = SMB3SIGN_E_MESSAGE;
	require(err == want);
	require(got == (want ? 4711 : id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint16_t *offered;
	uint8_t *m;
	const void *at = &in;
	size_t n = take8(&in) % (MAX_OFFERED + 1), len = 4711;
	struct found f;
	int want;

	offered = malloc(n ? n * sizeof(*offered) : 1);
	require(offered);
	for (size_t i = 0; i < n; i++)
		offered[i] = (uint16_t)take8(&in);
	m = exact_copy(in.p, in.left, size % 16);
	want = find(m, in.left, &f);
	require(smb3sign_caps_find(m, in.left, &at, &len) == want);
	if (want)
		require(at == &in && len == 4711);
	else if (!f.at)
		require(!at && !len);
	else
		require(at == m + f.at && len == f.len);
	if (!want)
		accept_data(at, len, offered, n);
	accept_data(m, in.left, offered, n);
	require(!in.left || memcmp(m, in.p, in.left) == 0);
	exact_free(m);
	free(offered);
	return 0;
}
