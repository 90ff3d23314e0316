/* SPDX-License-Identifier: MIT */
/* policy.c: which responses pass for the unsigned errors of a server without a session, smb3sign_is_echo. */
#include "support.h"

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

int main(void)
{
	Suite *s = suite_create("policy");
	TCase *tc = add_case(s, "is_echo");

	tcase_add_test(tc, test_is);
	tcase_add_test(tc, test_only_reads);
	tcase_add_test(tc, test_status);
	tcase_add_test(tc, test_bits);
	tcase_add_test(tc, test_no_pair);
	return run_suite(s);
}
