/* SPDX-License-Identifier: MIT */
/*
 * bind.c: which connections a session can be bound to. The rows are those of smbtorture's smb2.session.bind_negative_*,
 * by name, with Windows' answers; then every combination against what the rows say in general.
 */
#include "support.h"

enum { H = SMB3SIGN_HMAC_SHA256, C = SMB3SIGN_AES_CMAC, G = SMB3SIGN_AES_GMAC };
enum { NONE = 0, CCM = 1, GCM = 2, CCM256 = 3, GCM256 = 4 };
#define OK                   0u
#define NOT_SUPPORTED        0xc00000bbu
#define REQUEST_NOT_ACCEPTED 0xc00000d0u
#define OUT_OF_SEQUENCE      0xc000042au
#define INVALID_PARAMETER    0xc000000du

static uint32_t status(unsigned dialect, unsigned alg, unsigned cipher, unsigned new_dialect, unsigned new_alg,
		       unsigned new_cipher)
{
	const smb3sign_binding session = {dialect, alg, cipher, {0, 0, 0}};
	const smb3sign_binding connection = {new_dialect, new_alg, new_cipher, {0, 0, 0}};

	return smb3sign_bind_status(&session, &connection);
}

START_TEST(test_rows)
{
	static const struct {
		const char *name;
		unsigned session[3], connection[3];
		uint32_t status;
	} rows[] = {
		{"the same", {0x0311, G, GCM}, {0x0311, G, GCM}, OK},
		{"smb3signCtoH", {0x0311, C, CCM}, {0x0311, H, CCM}, OK},
		{"smb3signHtoC", {0x0311, H, CCM}, {0x0311, C, CCM}, OK},
		{"smb3signCtoG", {0x0311, C, CCM}, {0x0311, G, CCM}, NOT_SUPPORTED},
		{"smb3signHtoG", {0x0311, H, CCM}, {0x0311, G, CCM}, NOT_SUPPORTED},
		{"smb3signGtoC", {0x0311, G, CCM}, {0x0311, C, CCM}, OUT_OF_SEQUENCE},
		{"smb3signGtoH", {0x0311, G, CCM}, {0x0311, H, CCM}, OUT_OF_SEQUENCE},
		{"smb3sneGtoC", {0x0311, G, GCM}, {0x0311, C, CCM}, OUT_OF_SEQUENCE},
		{"smb3sneGtoH", {0x0311, G, GCM}, {0x0311, H, CCM}, OUT_OF_SEQUENCE},
		{"smb3sneCtoG", {0x0311, C, CCM}, {0x0311, G, GCM}, NOT_SUPPORTED},
		{"smb3sneHtoG", {0x0311, H, CCM}, {0x0311, G, GCM}, NOT_SUPPORTED},
		{"smb3signC30toG", {0x0300, C, CCM}, {0x0311, G, CCM}, NOT_SUPPORTED},
		{"smb3signC302toG", {0x0302, C, CCM}, {0x0311, G, CCM}, NOT_SUPPORTED},
		{"smb3signH2XtoG", {0x0210, H, NONE}, {0x0311, G, CCM}, NOT_SUPPORTED},
		{"smb3signH2XtoG, 2.0.2", {0x0202, H, NONE}, {0x0311, G, CCM}, NOT_SUPPORTED},
		{"smb3signGtoC30", {0x0311, G, CCM}, {0x0300, C, CCM}, OUT_OF_SEQUENCE},
		{"smb3signGtoH2X", {0x0311, G, CCM}, {0x0210, H, NONE}, OUT_OF_SEQUENCE},
		{"smb3encGtoC", {0x0311, C, GCM}, {0x0311, C, CCM}, INVALID_PARAMETER},
		{"smb3encGtoC, GMAC", {0x0311, G, GCM}, {0x0311, G, CCM}, INVALID_PARAMETER},
		{"smb202", {0x0202, H, NONE}, {0x0202, H, NONE}, REQUEST_NOT_ACCEPTED},
		{"smb210", {0x0210, H, NONE}, {0x0210, H, NONE}, REQUEST_NOT_ACCEPTED},
		{"smb2to3", {0x0210, H, NONE}, {0x0300, C, CCM}, INVALID_PARAMETER},
		{"smb2to3, 3.1.1 without GMAC", {0x0210, H, NONE}, {0x0311, C, CCM}, INVALID_PARAMETER},
		{"smb3to2", {0x0302, C, CCM}, {0x0210, H, NONE}, REQUEST_NOT_ACCEPTED},
		{"smb3to3", {0x0302, C, CCM}, {0x0311, C, CCM}, INVALID_PARAMETER},
		{"3.0 to 3.0.2", {0x0300, C, CCM}, {0x0302, C, CCM}, INVALID_PARAMETER},
		{"3.0 without encryption", {0x0300, C, CCM}, {0x0300, C, NONE}, INVALID_PARAMETER},
		{"AES-256", {0x0311, G, GCM256}, {0x0311, G, GCM}, INVALID_PARAMETER},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const unsigned *s = rows[i].session, *c = rows[i].connection;
		uint32_t got = status(s[0], s[1], s[2], c[0], c[1], c[2]);

		ck_assert_msg(got == rows[i].status, "%s: %#x", rows[i].name, got);
	}
}
END_TEST

/* The first of: exactly one side has GMAC; the new connection is below 3.0; something differs. */
START_TEST(test_all)
{
	static const unsigned dialects[] = {0x0202, 0x0210, 0x0300, 0x0302, 0x0311};

	for (unsigned i = 0; i < 5 * 3 * 5 * 5 * 3 * 5; i++) {
		unsigned d = i % 5, a = i / 5 % 3, c = i / 15 % 5, nd = i / 75 % 5, na = i / 375 % 3, nc = i / 1125;
		uint32_t got = status(dialects[d], a, c, dialects[nd], na, nc);

		if ((a == G) != (na == G))
			ck_assert_uint_eq(got, a == G ? OUT_OF_SEQUENCE : NOT_SUPPORTED);
		else if (nd < 2)
			ck_assert_uint_eq(got, REQUEST_NOT_ACCEPTED);
		else
			ck_assert_uint_eq(got, d == nd && c == nc ? OK : INVALID_PARAMETER);
	}
}
END_TEST

START_TEST(test_invalid)
{
	smb3sign_binding good = {0x0311, G, GCM, {0, 0, 0}};

	ck_assert_uint_eq(smb3sign_bind_status(NULL, &good), INVALID_PARAMETER);
	ck_assert_uint_eq(smb3sign_bind_status(&good, NULL), INVALID_PARAMETER);
	for (size_t i = 0; i < 3; i++) {
		smb3sign_binding bad = good;

		bad.reserved[i] = 1;
		ck_assert_uint_eq(smb3sign_bind_status(&bad, &good), INVALID_PARAMETER);
		ck_assert_uint_eq(smb3sign_bind_status(&good, &bad), INVALID_PARAMETER);
	}
	for (unsigned bad = 3; bad < 0x10000; bad = 2 * bad + 1) {
		ck_assert_uint_eq(status(0x0311, bad, GCM, 0x0311, bad, GCM), INVALID_PARAMETER);
		ck_assert_uint_eq(status(0x0311, G, GCM, 0x0311, bad, GCM), INVALID_PARAMETER);
	}
	for (unsigned dialect = 0; dialect < 0x10000; dialect++) {
		int known = dialect == 0x0202 || dialect == 0x0210 || dialect == 0x0300 || dialect == 0x0302 ||
			    dialect == 0x0311;

		if (!known) /* the wildcard 0x02ff is none of them */
			ck_assert_uint_eq(status(dialect, C, CCM, dialect, C, CCM), INVALID_PARAMETER);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("bind");
	TCase *tc = add_case(s, "bind_status");

	tcase_add_test(tc, test_rows);
	tcase_add_test(tc, test_all);
	tcase_add_test(tc, test_invalid);
	return run_suite(s);
}
