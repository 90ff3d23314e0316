/* SPDX-License-Identifier: MIT */
/*
 * preauth.c: the published exchange in every segmentation, random messages against OpenSSL's SHA-512, what belongs into
 * the hash and what does not (MS-SMB2 3.2.5.2, 3.2.5.3, 3.3.5.4, 3.3.5.5), and malformed messages.
 */
#include <openssl/evp.h>

#include "support.h"
#include "vectors.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The two published exchanges are the two halves of the table. */
enum { STEPS = COUNT(preauth_vectors) / 2 };

static int update_buf(smb3sign_preauth *p, const uint8_t *msg, size_t len)
{
	return smb3sign_preauth_update(p, &(smb3sign_iov){(void *)(uintptr_t)msg, len}, 1);
}

static void ref_update(uint8_t hash[64], const uint8_t *msg, size_t len)
{
	uint8_t *both = malloc(64 + len);

	ck_assert_ptr_nonnull(both);
	memcpy(both, hash, 64);
	memcpy(both + 64, msg, len);
	ck_assert(EVP_Digest(both, 64 + len, hash, NULL, EVP_sha512(), NULL));
	written_by_openssl(hash, 64);
	free(both);
}

START_TEST(test_init)
{
	static const uint8_t zero[64];
	smb3sign_preauth p;

	rng_fill(&p, sizeof(p));
	smb3sign_preauth_init(&p);
	ck_assert_mem_eq(p.hash, zero, 64);
	ck_assert_uint_eq(sizeof(p), 64);
	smb3sign_preauth_init(NULL);
}
END_TEST

/* One exchange from the start, a value that goes from message to message. */
START_TEST(test_exchange)
{
	smb3sign_preauth p;

	smb3sign_preauth_init(&p);
	for (size_t i = (size_t)_i * STEPS; i < ((size_t)_i + 1) * STEPS; i++) {
		uint8_t msg[2048];
		size_t len = unhex(msg, sizeof(msg), preauth_vectors[i].message);

		assert_hex(p.hash, preauth_vectors[i].before);
		ck_assert_int_eq(update_buf(&p, msg, len), SMB3SIGN_OK);
		assert_hex(p.hash, preauth_vectors[i].after);
	}
}
END_TEST

/* Cut anywhere in two and in three, in single bytes, with empty segments: the header may lie in many pieces. */
START_TEST(test_segmentation)
{
	const struct preauth_vector *v = &preauth_vectors[_i];
	uint8_t msg[2048], want[64];
	size_t len = unhex(msg, sizeof(msg), v->message);
	smb3sign_preauth before, p;
	smb3sign_iov iov[2048];

	unhex(before.hash, 64, v->before);
	unhex(want, 64, v->after);
	for (size_t a = 0; a <= len; a++) {
		for (size_t b = a; b <= len; b += 1 + (len - a) / 8) {
			iov[0] = (smb3sign_iov){msg, a};
			iov[1] = (smb3sign_iov){msg + a, b - a};
			iov[2] = (smb3sign_iov){msg + b, len - b};
			p = before;
			ck_assert_int_eq(smb3sign_preauth_update(&p, iov, 3), SMB3SIGN_OK);
			ck_assert_mem_eq(p.hash, want, 64);
		}
	}
	for (size_t i = 0; i < len; i++)
		iov[i] = (smb3sign_iov){msg + i, 1};
	p = before;
	ck_assert_int_eq(smb3sign_preauth_update(&p, iov, len), SMB3SIGN_OK);
	ck_assert_mem_eq(p.hash, want, 64);
	for (int round = 0; round < 100; round++) {
		p = before;
		ck_assert_int_eq(smb3sign_preauth_update(&p, iov, random_split(iov, 16, msg, len)), SMB3SIGN_OK);
		ck_assert_mem_eq(p.hash, want, 64);
	}
}
END_TEST

/* Messages that count, of any length, from any hash. */
static void make_hashed(uint8_t *msg, size_t len)
{
	unsigned kind = (unsigned)rng_below(4);

	rng_fill(msg + 64, len - 64);
	make_header(msg, kind < 2 ? 0x00 : 0x01, kind % 2, rng_u64(), rng_u64());
	if (kind == 1) {
		put_le16(msg + 64, 65);
		put_le16(msg + 64 + 4, 0x0311);
	}
	if (kind == 3)
		put_le32(msg + 8, 0xc0000016);
}

START_TEST(test_random)
{
	for (int round = 0; round < 1500; round++) {
		size_t len = 136 + rng_below(round % 50 ? 600 : 70000);
		uint8_t *msg = guard_end(len), want[64];
		smb3sign_iov iov[8];
		size_t n;
		smb3sign_preauth p;

		make_hashed(msg, len);
		guard_readonly(msg);
		rng_fill(p.hash, 64);
		memcpy(want, p.hash, 64);
		ref_update(want, msg, len);
		n = random_split(iov, 8, msg, len);
		ck_assert_int_eq(smb3sign_preauth_update(&p, iov, n), SMB3SIGN_OK);
		ck_assert_mem_eq(p.hash, want, 64);
		guard_free_all();
	}
}
END_TEST

/* Every length of a SESSION_SETUP request: the padding of SHA-512 at all positions. */
START_TEST(test_lengths)
{
	for (size_t len = 64; len <= 64 + 3 * 128; len++) {
		uint8_t msg[64 + 3 * 128], want[64];
		smb3sign_preauth p;

		make_header(msg, 0x01, 0, 2, 0);
		rng_fill(msg + 64, len - 64);
		rng_fill(p.hash, 64);
		memcpy(want, p.hash, 64);
		ref_update(want, msg, len);
		ck_assert_int_eq(update_buf(&p, msg, len), SMB3SIGN_OK);
		ck_assert_mem_eq(p.hash, want, 64);
	}
}
END_TEST

static void assert_refused(const uint8_t *msg, size_t len, int want)
{
	smb3sign_preauth p, before;
	smb3sign_iov iov[6];

	rng_fill(p.hash, 64);
	before = p;
	ck_assert_int_eq(update_buf(&p, msg, len), want);
	ck_assert_mem_eq(p.hash, before.hash, 64);
	for (int round = 0; round < 8; round++) {
		ck_assert_int_eq(smb3sign_preauth_update(&p, iov, random_split(iov, 6, msg, len)), want);
		ck_assert_mem_eq(p.hash, before.hash, 64);
	}
}

static void assert_hashed(const uint8_t *msg, size_t len)
{
	smb3sign_preauth p;
	uint8_t want[64];

	rng_fill(p.hash, 64);
	memcpy(want, p.hash, 64);
	ref_update(want, msg, len);
	ck_assert_int_eq(update_buf(&p, msg, len), SMB3SIGN_OK);
	ck_assert_mem_eq(p.hash, want, 64);
}

START_TEST(test_which)
{
	static const uint32_t statuses[] = {0, 0xc000006d, 0xc0000022, 0x103, 0xc0000017, 0x160000c0};
	uint8_t msg[160];

	rng_fill(msg, sizeof(msg));
	/* Every other command, both ways. */
	for (unsigned command = 2; command <= 0x14; command++)
		for (uint32_t flags = 0; flags <= 1; flags++) {
			make_header(msg, command, flags, 3, 4);
			put_le32(msg + 8, flags ? 0xc0000016 : 0);
			assert_refused(msg, sizeof(msg), SMB3SIGN_E_EXEMPT);
		}
	make_header(msg, 0x0100, 0, 3, 4);
	assert_refused(msg, sizeof(msg), SMB3SIGN_E_EXEMPT);
	make_header(msg, 0x0101, 0, 3, 4);
	assert_refused(msg, sizeof(msg), SMB3SIGN_E_EXEMPT);
	/* SESSION_SETUP: requests always (the field is not a Status there), responses with MORE_PROCESSING_REQUIRED. */
	for (size_t i = 0; i < COUNT(statuses); i++) {
		make_header(msg, 0x01, 1, 3, 4);
		put_le32(msg + 8, statuses[i]);
		assert_refused(msg, sizeof(msg), SMB3SIGN_E_EXEMPT);
		msg[16] = 9;
		assert_refused(msg, sizeof(msg), SMB3SIGN_E_EXEMPT);
		msg[16] = 0;
		assert_hashed(msg, sizeof(msg));
		msg[16] = 8;
		assert_hashed(msg, sizeof(msg));
	}
	make_header(msg, 0x01, 1, 3, 4);
	put_le32(msg + 8, 0xc0000016);
	assert_hashed(msg, sizeof(msg));
	msg[16] = 9;
	assert_hashed(msg, sizeof(msg));
}
END_TEST

/* The answer to an SMB1 negotiation is a NEGOTIATE response with dialect 0x02FF; it is not part of the exchange. */
START_TEST(test_multi_protocol)
{
	uint8_t msg[160];

	for (unsigned dialect = 0; dialect <= 0xffff; dialect += dialect < 0x400 ? 1 : 0x101) {
		rng_fill(msg, sizeof(msg));
		make_header(msg, 0x00, 1, 0, 0);
		put_le16(msg + 64, 65);
		put_le16(msg + 68, dialect);
		if (dialect == 0x02ff)
			assert_refused(msg, sizeof(msg), SMB3SIGN_E_EXEMPT);
		else
			assert_hashed(msg, sizeof(msg));
	}
	/* In a request these bytes are the SecurityMode. */
	make_header(msg, 0x00, 0, 0, 0);
	put_le16(msg + 68, 0x02ff);
	assert_hashed(msg, sizeof(msg));
}
END_TEST

START_TEST(test_malformed)
{
	uint8_t msg[160];
	smb3sign_preauth p, before;

	rng_fill(msg, sizeof(msg));
	make_header(msg, 0x01, 0, 3, 4);
	for (size_t len = 0; len < 64; len++) {
		uint8_t *cut = guard_end(len);

		memcpy(cut, msg, len);
		assert_refused(cut, len, SMB3SIGN_E_MESSAGE);
	}
	for (size_t bit = 0; bit < 48; bit++) {
		msg[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_refused(msg, sizeof(msg), SMB3SIGN_E_MESSAGE);
		msg[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	rng_fill(p.hash, 64);
	before = p;
	ck_assert_int_eq(smb3sign_preauth_update(&p, NULL, 0), SMB3SIGN_E_MESSAGE);
	ck_assert_mem_eq(p.hash, before.hash, 64);
	/* A NEGOTIATE response cut anywhere: nothing behind the end is read. */
	make_header(msg, 0x00, 1, 0, 0);
	for (size_t len = 64; len < 80; len++) {
		uint8_t *cut = guard_end(len);

		memcpy(cut, msg, len);
		ck_assert_int_ne(update_buf(&p, cut, len), SMB3SIGN_E_INVAL);
	}
}
END_TEST

START_TEST(test_null)
{
	uint8_t msg[100];
	smb3sign_preauth p, before;
	smb3sign_iov good = {msg, sizeof(msg)}, null = {NULL, 100};
	smb3sign_iov second_null[2] = {{msg, 100}, {NULL, 1}};

	rng_fill(msg, sizeof(msg));
	make_header(msg, 0x01, 0, 3, 4);
	rng_fill(p.hash, 64);
	before = p;
	ck_assert_int_eq(smb3sign_preauth_update(NULL, &good, 1), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_preauth_update(&p, NULL, 1), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_preauth_update(&p, &null, 1), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_preauth_update(&p, second_null, 2), SMB3SIGN_E_INVAL);
	ck_assert_mem_eq(p.hash, before.hash, 64);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("preauth");
	TCase *hashed = add_case(s, "hashed"), *refused = add_case(s, "refused");

	tcase_add_test(hashed, test_init);
	tcase_add_loop_test(hashed, test_exchange, 0, 2);
	tcase_add_loop_test(hashed, test_segmentation, 0, COUNT(preauth_vectors));
	tcase_add_test(hashed, test_random);
	tcase_add_test(hashed, test_lengths);
	tcase_add_test(refused, test_which);
	tcase_add_test(refused, test_multi_protocol);
	tcase_add_test(refused, test_malformed);
	tcase_add_test(refused, test_null);
	return run_suite(s);
}
