/* SPDX-License-Identifier: MIT */
/*
 * kdf.c: smb3sign_kdf against OpenSSL's KBKDF and against HMAC block by block; smb3sign_derive and smb3sign_key_derive
 * for every dialect, use and length of session key against labels and contexts written down here again (MS-SMB2
 * 3.1.4.2, 3.2.5.3.1). Published values are in test_vectors.c.
 */
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "support.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const unsigned dialects[] = {0x0202, 0x0210, 0x0300, 0x0302, 0x0311};

/* ---- References ---- */

/* SP 800-108 5.1 with HMAC as the PRF, a block at a time. */
static void ref_kdf(const uint8_t *ki, size_t ki_len, const uint8_t *label, size_t label_len, const uint8_t *context,
		    size_t context_len, uint8_t *out, size_t out_len)
{
	size_t len = 4 + label_len + 1 + context_len + 4;
	uint8_t *input = calloc(1, len), block[32];

	ck_assert_ptr_nonnull(input);
	if (label_len)
		memcpy(input + 4, label, label_len);
	if (context_len)
		memcpy(input + 4 + label_len + 1, context, context_len);
	for (size_t i = 0; i < 4; i++)
		input[len - 1 - i] = (uint8_t)(8 * out_len >> 8 * i);
	for (uint32_t counter = 1; out_len; counter++) {
		size_t take = out_len < 32 ? out_len : 32;

		for (size_t i = 0; i < 4; i++)
			input[3 - i] = (uint8_t)(counter >> 8 * i);
		ref_hmac_sha256(ki, ki_len, input, len, block);
		memcpy(out, block, take);
		out += take;
		out_len -= take;
	}
	free(input);
}

static void openssl_kbkdf(uint8_t *ki, size_t ki_len, uint8_t *label, size_t label_len, uint8_t *context,
			  size_t context_len, uint8_t *out, size_t out_len)
{
	char digest[] = "SHA256", mac[] = "HMAC", mode[] = "counter";
	OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
			       OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_MAC, mac, 0),
			       OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_MODE, mode, 0),
			       OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, ki, ki_len),
			       OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, label, label_len),
			       OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, context, context_len),
			       OSSL_PARAM_construct_end()};
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "KBKDF", NULL);
	EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;

	ck_assert_msg(ctx && EVP_KDF_derive(ctx, out, out_len, params) == 1, "OpenSSL: KBKDF failed");
	written_by_openssl(out, out_len);
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
}

/* The key that one use of one dialect derives; labels and contexts with the NUL that SMB gives them. */
static void ref_derive(unsigned dialect, unsigned use, const uint8_t *session_key, size_t len, const uint8_t *preauth,
		       uint8_t *out, size_t out_len)
{
	static const struct {
		const char *label, *context;
		size_t label_len, context_len;
	} smb30[] = {{"SMB2AESCMAC", "SmbSign", 12, 8},
		     {"SMB2AESCCM", "ServerIn ", 11, 10},
		     {"SMB2AESCCM", "ServerOut", 11, 10},
		     {"SMB2APP", "SmbRpc", 8, 7}},
	  smb311[] = {{"SMBSigningKey", NULL, 14, 64},
		      {"SMBC2SCipherKey", NULL, 16, 64},
		      {"SMBS2CCipherKey", NULL, 16, 64},
		      {"SMBAppKey", NULL, 10, 64}};
	uint8_t ki[64] = {0};

	memcpy(ki, session_key, len);
	if (out_len == 16)
		len = 16;
	if (dialect < 0x0300)
		memcpy(out, ki, 16);
	else if (dialect < 0x0311)
		ref_kdf(ki, len, (const uint8_t *)smb30[use].label, smb30[use].label_len,
			(const uint8_t *)smb30[use].context, smb30[use].context_len, out, out_len);
	else
		ref_kdf(ki, len, (const uint8_t *)smb311[use].label, smb311[use].label_len, preauth, 64, out, out_len);
}

/* ---- smb3sign_kdf ---- */

START_TEST(test_kdf_random)
{
	for (int round = 0; round < 3000; round++) {
		uint8_t ki[200], label[150], context[150], got[400], want[400], more[400];
		size_t ki_len = rng_below(201), label_len = rng_below(151), context_len = rng_below(151);
		size_t out_len = 1 + rng_below(399);

		rng_fill(ki, sizeof(ki));
		rng_fill(label, sizeof(label));
		rng_fill(context, sizeof(context));
		rng_fill(got, sizeof(got));
		memcpy(more, got, sizeof(got));
		ck_assert_int_eq(smb3sign_kdf(ki, ki_len, label, label_len, context, context_len, got, out_len),
				 SMB3SIGN_OK);
		ref_kdf(ki, ki_len, label, label_len, context, context_len, want, out_len);
		ck_assert_mem_eq(got, want, out_len);
		ck_assert_mem_eq(got + out_len, more + out_len, sizeof(got) - out_len);
		if (ki_len == 0)
			continue; /* OpenSSL wants a key */
		openssl_kbkdf(ki, ki_len, label, label_len, context, context_len, want, out_len);
		ck_assert_mem_eq(got, want, out_len);
	}
}
END_TEST

/* Counters above 16 bits: their bytes are big-endian. */
START_TEST(test_kdf_long)
{
	const size_t out_len = 65600 * 32 + 5;
	uint8_t *got = guard_end(out_len), *want = guard_end(out_len);
	uint8_t ki[16], label[12], context[8];

	rng_fill(ki, sizeof(ki));
	rng_fill(label, sizeof(label));
	rng_fill(context, sizeof(context));
	ck_assert_int_eq(smb3sign_kdf(ki, 16, label, 12, context, 8, got, out_len), SMB3SIGN_OK);
	openssl_kbkdf(ki, 16, label, 12, context, 8, want, out_len);
	ck_assert_msg(memcmp(got, want, out_len) == 0, "long output differs");
}
END_TEST

/* Input is only read, up to its end; output is only written up to its end. */
START_TEST(test_kdf_guards)
{
	for (size_t len = 0; len <= 70; len++) {
		uint8_t *ki = guard_end(len), *label = guard_start(len), *context = guard_end(len);
		uint8_t *out = guard_end(len + 1), want[71];

		guard_readonly(ki);
		guard_readonly(label);
		guard_readonly(context);
		ck_assert_int_eq(smb3sign_kdf(ki, len, label, len, context, len, out, len + 1), SMB3SIGN_OK);
		ref_kdf(ki, len, label, len, context, len, want, len + 1);
		ck_assert_mem_eq(out, want, len + 1);
		guard_free_all();
	}
}
END_TEST

START_TEST(test_kdf_empty)
{
	uint8_t x[16], got[16], want[16];

	rng_fill(x, sizeof(x));
	for (unsigned which = 0; which < 8; which++) {
		const uint8_t *ki = which & 1 ? NULL : x, *label = which & 2 ? NULL : x,
			      *context = which & 4 ? NULL : x;
		const size_t ki_len = ki ? 16 : 0, label_len = label ? 16 : 0, context_len = context ? 16 : 0;

		ck_assert_int_eq(smb3sign_kdf(ki, ki_len, label, label_len, context, context_len, got, 16),
				 SMB3SIGN_OK);
		ref_kdf(ki, ki_len, label, label_len, context, context_len, want, 16);
		ck_assert_mem_eq(got, want, 16);
		/* Empty without NULL. */
		ck_assert_int_eq(smb3sign_kdf(x, ki_len, x, label_len, x, context_len, got, 16), SMB3SIGN_OK);
		ck_assert_mem_eq(got, want, 16);
	}
}
END_TEST

START_TEST(test_kdf_errors)
{
	uint8_t x[16], out[16];

	rng_fill(x, sizeof(x));
	memcpy(out, "untouched before", 16);
	ck_assert_int_eq(smb3sign_kdf(NULL, 1, x, 16, x, 16, out, 16), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_kdf(x, 16, NULL, 1, x, 16, out, 16), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_kdf(x, 16, x, 16, NULL, 1, out, 16), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_kdf(x, 16, x, 16, x, 16, NULL, 16), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_kdf(x, 16, x, 16, x, 16, NULL, 0), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_kdf(x, 16, x, 16, x, 16, out, 0), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_kdf(x, 16, x, 16, x, 16, out, 0x20000000), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_kdf(x, 16, x, 16, x, 16, out, SIZE_MAX), SMB3SIGN_E_INVAL);
	ck_assert_mem_eq(out, "untouched before", 16);
}
END_TEST

/* ---- smb3sign_derive ---- */

static int is_cipher(unsigned use)
{
	return use == SMB3SIGN_USE_CLIENT_TO_SERVER || use == SMB3SIGN_USE_SERVER_TO_CLIENT;
}

static int expected_result(unsigned dialect, unsigned use, size_t out_len)
{
	if (dialect < 0x0300 && is_cipher(use))
		return SMB3SIGN_E_UNSUPPORTED;
	if (out_len == 16 || (out_len == 32 && dialect == 0x0311 && is_cipher(use)))
		return SMB3SIGN_OK;
	return SMB3SIGN_E_INVAL;
}

static void check_derive(unsigned dialect, unsigned use, size_t key_len, size_t out_len)
{
	smb3sign_preauth preauth, zero = {{0}};
	const uint8_t *session_key = guard_end(key_len);
	uint8_t *got = guard_end(out_len), want[64];
	const int result = expected_result(dialect, use, out_len);

	guard_readonly(session_key);
	rng_fill(preauth.hash, 64);
	memcpy(want, got, out_len);
	if (result == SMB3SIGN_OK)
		ref_derive(dialect, use, session_key, key_len, preauth.hash, want, out_len);
	ck_assert_int_eq(smb3sign_derive(dialect, use, session_key, key_len, &preauth, got, out_len), result);
	ck_assert_mem_eq(got, want, out_len);
	if (dialect == 0x0311)
		return;
	/* The other dialects ignore the hash. */
	for (int i = 0; i < 2; i++) {
		if (result == SMB3SIGN_OK)
			rng_fill(got, out_len);
		ck_assert_int_eq(smb3sign_derive(dialect, use, session_key, key_len, i ? &zero : NULL, got, out_len),
				 result);
		ck_assert_mem_eq(got, want, out_len);
	}
}

START_TEST(test_derive)
{
	for (unsigned use = 0; use < 4; use++)
		for (size_t key_len = 0; key_len <= 64; key_len++) {
			check_derive(dialects[_i], use, key_len, 16);
			if (dialects[_i] >= 0x0300)
				check_derive(dialects[_i], use, key_len, 32);
			guard_free_all();
		}
}
END_TEST

START_TEST(test_derive_out_len)
{
	static const size_t lens[] = {0, 1, 8, 15, 17, 20, 24, 31, 33, 48, 64};

	for (unsigned use = 0; use < 4; use++) {
		if (dialects[_i] < 0x0300 && is_cipher(use))
			continue; /* two reasons to refuse */
		for (size_t i = 0; i < COUNT(lens); i++)
			check_derive(dialects[_i], use, 16, lens[i]);
	}
}
END_TEST

/* Only the first 16 bytes count for 16 bytes of key; all of them for 32. */
START_TEST(test_derive_session_key_tail)
{
	smb3sign_preauth preauth;
	uint8_t a[32], b[32], from_a[32], from_b[32];

	rng_fill(preauth.hash, 64);
	rng_fill(a, 32);
	memcpy(b, a, 32);
	b[16] ^= 1;
	for (unsigned use = 0; use < 4; use++) {
		for (size_t i = 0; i < COUNT(dialects); i++) {
			if (dialects[i] < 0x0300 && is_cipher(use))
				continue;
			ck_assert_int_eq(smb3sign_derive(dialects[i], use, a, 32, &preauth, from_a, 16), SMB3SIGN_OK);
			ck_assert_int_eq(smb3sign_derive(dialects[i], use, b, 32, &preauth, from_b, 16), SMB3SIGN_OK);
			ck_assert_mem_eq(from_a, from_b, 16);
		}
		if (!is_cipher(use))
			continue;
		ck_assert_int_eq(smb3sign_derive(0x0311, use, a, 32, &preauth, from_a, 32), SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_derive(0x0311, use, b, 32, &preauth, from_b, 32), SMB3SIGN_OK);
		ck_assert_mem_ne(from_a, from_b, 16);
	}
}
END_TEST

START_TEST(test_derive_errors)
{
	static const unsigned strange[] = {0, 0x02ff, 0x0201, 0x0301, 0x0310, 0x0312, 0x10311, 0x1103, UINT32_MAX};
	smb3sign_preauth preauth, zero = {{0}};
	uint8_t key[16], out[16];

	rng_fill(key, sizeof(key));
	rng_fill(preauth.hash, 64);
	memcpy(out, "untouched before", 16);
	for (size_t i = 0; i < COUNT(strange); i++)
		ck_assert_int_eq(smb3sign_derive(strange[i], SMB3SIGN_USE_SIGNING, key, 16, &preauth, out, 16),
				 SMB3SIGN_E_UNSUPPORTED);
	for (size_t i = 0; i < COUNT(dialects); i++) {
		const unsigned d = dialects[i], use = SMB3SIGN_USE_SIGNING;

		ck_assert_int_eq(smb3sign_derive(d, 4, key, 16, &preauth, out, 16), SMB3SIGN_E_UNSUPPORTED);
		ck_assert_int_eq(smb3sign_derive(d, UINT32_MAX, key, 16, &preauth, out, 16), SMB3SIGN_E_UNSUPPORTED);
		ck_assert_int_eq(smb3sign_derive(d, use, NULL, 0, &preauth, out, 16), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_derive(d, use, NULL, 16, &preauth, out, 16), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_derive(d, use, key, 16, &preauth, NULL, 16), SMB3SIGN_E_INVAL);
	}
	for (unsigned use = 0; use < 4; use++) {
		ck_assert_int_eq(smb3sign_derive(0x0311, use, key, 16, NULL, out, 16), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_derive(0x0311, use, key, 16, &zero, out, 16), SMB3SIGN_E_INVAL);
	}
	/* One bit anywhere is not "all zero". */
	ck_assert_mem_eq(out, "untouched before", 16);
	for (size_t i = 0; i < 64; i++) {
		smb3sign_preauth one = {{0}};

		one.hash[i] = 0x80;
		ck_assert_int_eq(smb3sign_derive(0x0311, SMB3SIGN_USE_SIGNING, key, 16, &one, out, 16), SMB3SIGN_OK);
	}
}
END_TEST

/* ---- smb3sign_key_derive ---- */

static int expected_alg(unsigned alg, unsigned dialect)
{
	if (alg > SMB3SIGN_AES_GMAC)
		return 0;
	if (dialect < 0x0300)
		return alg == SMB3SIGN_HMAC_SHA256;
	if (dialect < 0x0311)
		return alg == SMB3SIGN_AES_CMAC;
	return 1;
}

START_TEST(test_key_derive)
{
	const unsigned dialect = dialects[_i];

	for (unsigned alg = 0; alg < 5; alg++)
		for (size_t len = 0; len <= 64; len++) {
			smb3sign_preauth preauth;
			uint8_t session_key[64], raw[16], *msg = new_message(150);
			smb3sign_key *none = (smb3sign_key *)(void *)raw, *key = none;
			unsigned role = msg[16] & 1 ? SMB3SIGN_ROLE_SERVER : SMB3SIGN_ROLE_CLIENT;
			int err;

			rng_fill(session_key, sizeof(session_key));
			rng_fill(preauth.hash, 64);
			err = smb3sign_key_derive(&key, alg, dialect, session_key, len, &preauth, role);
			if (expected_alg(alg, dialect)) {
				ck_assert_int_eq(err, SMB3SIGN_OK);
				ck_assert_uint_eq(smb3sign_key_alg(key), alg);
				ref_derive(dialect, SMB3SIGN_USE_SIGNING, session_key, len, preauth.hash, raw, 16);
				msg[16] |= 8;
				ref_signature(alg, raw, msg, 150, msg + 48);
				/* The peer's message: the role came through. */
				ck_assert_int_eq(smb3sign_verify_buf(key, msg, 150), SMB3SIGN_E_MESSAGE);
				memset(raw, 0, 16);
				ck_assert_int_eq(smb3sign_compute(key, msg, &(smb3sign_iov){msg + 64, 86}, 1, raw),
						 SMB3SIGN_OK);
				ck_assert_mem_eq(raw, msg + 48, 16);
				smb3sign_key_free(key);
			} else {
				ck_assert_int_eq(err, SMB3SIGN_E_UNSUPPORTED);
				ck_assert_ptr_eq(key, none);
			}
			free(msg);
		}
}
END_TEST

START_TEST(test_key_derive_errors)
{
	smb3sign_preauth preauth, zero = {{0}};
	uint8_t k[16];
	smb3sign_key *none = (smb3sign_key *)(void *)k, *key = none;
	const unsigned cmac = SMB3SIGN_AES_CMAC, any = SMB3SIGN_ROLE_ANY;

	rng_fill(k, sizeof(k));
	rng_fill(preauth.hash, 64);
	ck_assert_int_eq(smb3sign_key_derive(NULL, cmac, 0x0311, k, 16, &preauth, any), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_key_derive(&key, cmac, 0x0311, NULL, 0, &preauth, any), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_key_derive(&key, cmac, 0x0311, NULL, 16, &preauth, any), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_key_derive(&key, cmac, 0x0311, k, 16, NULL, any), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_key_derive(&key, cmac, 0x0311, k, 16, &zero, any), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_key_derive(&key, cmac, 0x0311, k, 16, &preauth, 3), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_key_derive(&key, cmac, 0x02ff, k, 16, &preauth, any), SMB3SIGN_E_UNSUPPORTED);
	ck_assert_int_eq(smb3sign_key_derive(&key, cmac, 0x0312, k, 16, &preauth, any), SMB3SIGN_E_UNSUPPORTED);
	ck_assert_int_eq(smb3sign_key_derive(&key, 0xffff, 0x0311, k, 16, &preauth, any), SMB3SIGN_E_UNSUPPORTED);
	ck_assert_ptr_eq(key, none);
	/* The hash is 3.1.1's. */
	ck_assert_int_eq(smb3sign_key_derive(&key, cmac, 0x0300, k, 16, NULL, any), SMB3SIGN_OK);
	smb3sign_key_free(key);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kdf");
	TCase *kdf = add_case(s, "kdf"), *derive = add_case(s, "derive"), *key = add_case(s, "key_derive");

	tcase_add_test(kdf, test_kdf_random);
	tcase_add_test(kdf, test_kdf_long);
	tcase_add_test(kdf, test_kdf_guards);
	tcase_add_test(kdf, test_kdf_empty);
	tcase_add_test(kdf, test_kdf_errors);
	tcase_add_loop_test(derive, test_derive, 0, COUNT(dialects));
	tcase_add_loop_test(derive, test_derive_out_len, 0, COUNT(dialects));
	tcase_add_test(derive, test_derive_session_key_tail);
	tcase_add_test(derive, test_derive_errors);
	tcase_add_loop_test(key, test_key_derive, 0, COUNT(dialects));
	tcase_add_test(key, test_key_derive_errors);
	return run_suite(s);
}
