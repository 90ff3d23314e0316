/* SPDX-License-Identifier: MIT */
/*
 * GMAC with every GHASH kernel: multiplication bit by bit; then, against OpenSSL, every length past two groups of 64
 * blocks, in guarded memory; every alignment; cuts; and messages drawn at random through all public calls. Small enough
 * to run whole on an emulated processor, where alone some of the kernels can run (avx512.sh): the portable kernel,
 * which takes nine tenths of the other suites' time there, is left to them.
 *
 * SMB3SIGN_TEST_GHASH    names of kernels that must be among those tested, as "avx512,vpclmul"
 * SMB3SIGN_TEST_SEED     the seed of everything random here
 * SMB3SIGN_TEST_ROUNDS   rounds of the random test, or
 * SMB3SIGN_TEST_SECONDS  how long it goes on
 */
#include <time.h>

#include "key.h"
#include "support.h"

enum { GMAC = SMB3SIGN_AES_GMAC, ANY = SMB3SIGN_ROLE_ANY, MAX_KEYS = 8 };

/* ---- A key of each kernel ---- */

static uint8_t raw_key[16];
static smb3sign_key *keys[MAX_KEYS];
static size_t n_keys;

/* The kernels that have GMAC in one call, with the AES inside it; where there are none, the portable one. */
static void keep(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	(void)raw;
	(void)arg;
	if (!key->message && (key->ghash->gmac || n_keys))
		return;
	ck_assert_uint_lt(n_keys, MAX_KEYS);
	ck_assert_int_eq(smb3sign_key_dup(&keys[n_keys++], key), SMB3SIGN_OK);
}

static void free_keys(void)
{
	while (n_keys)
		smb3sign_key_free(keys[--n_keys]);
}

static void new_keys(void)
{
	free_keys();
	rng_fill(raw_key, sizeof(raw_key));
	for_each_kernel(GMAC, raw_key, ANY, keep, NULL);
	ck_assert_msg(n_keys, "no GHASH kernel is tested");
}

static void expect_tag(const smb3sign_key *key, const uint8_t tag[16], const uint8_t want[16], const char *how,
		       size_t body)
{
	if (memcmp(tag, want, 16))
		ck_abort_msg("[%s] wrong tag over a body of %zu bytes, %s", smb3sign_key_impl(key), body, how);
}

static void expect_result(const smb3sign_key *key, int got, int want, const char *how, size_t body)
{
	if (got != want)
		ck_abort_msg("[%s] %d, not %d, over a body of %zu bytes, %s", smb3sign_key_impl(key), got, want, body,
			     how);
}

static int have_kernel(const char *name, size_t len)
{
	for (size_t i = 0; i < n_keys; i++)
		if (strlen(keys[i]->ghash->name) == len && !memcmp(keys[i]->ghash->name, name, len))
			return 1;
	return 0;
}

START_TEST(test_kernels_there)
{
	const char *names = getenv("SMB3SIGN_TEST_GHASH");

	while (names && *names) {
		size_t len = strcspn(names, ",");

		ck_assert_msg(have_kernel(names, len), "%.*s is not tested here", (int)len, names);
		names += len + (names[len] == ',');
	}
}
END_TEST

/*
 * ---- Multiplication: it is bilinear, and GHASH under one key is linear, so what is right for single bits is right
 * ----
 */

/* Three powers of x as keys, all bits, and a block more than the highest power of the key that any kernel has. */
enum { BASIS_BLOCKS = 65 + 64 + 1, EXPONENTS = 128 + 127 * BASIS_BLOCKS };

static uint8_t power_of_x[EXPONENTS][16];

/* Times x, SP 800-38D 6.3: the first byte's top bit is the coefficient of x^0; x^128 = x^7 + x^2 + x + 1. */
static void make_powers_of_x(void)
{
	memset(power_of_x[0], 0, 16);
	power_of_x[0][0] = 0x80;
	for (size_t n = 1; n < EXPONENTS; n++) {
		const uint8_t *from = power_of_x[n - 1];

		for (size_t i = 0; i < 16; i++)
			power_of_x[n][i] = (uint8_t)(from[i] >> 1 | (i ? from[i - 1] << 7 : 0));
		if (from[15] & 1)
			power_of_x[n][0] ^= 0xe1;
	}
}

/* x^i * x^j, as one block of a message and as what was before it. */
static void check_products(const struct smb3sign_ghash *k, void *table)
{
	static const uint8_t zero[16];
	uint8_t acc[16];

	for (size_t i = 0; i < 128; i++) {
		k->setkey(table, power_of_x[i]);
		for (size_t j = 0; j < 128; j++) {
			memset(acc, 0, 16);
			k->blocks(table, acc, 0, power_of_x[j], 1);
			ck_assert_msg(!memcmp(acc, power_of_x[i + j], 16), "%s: x^%zu * x^%zu", k->name, i, j);
			memcpy(acc, power_of_x[j], 16);
			k->blocks(table, acc, 0, zero, 1);
			ck_assert_msg(!memcmp(acc, power_of_x[i + j], 16), "%s: acc x^%zu * x^%zu", k->name, j, i);
		}
	}
}

/* One bit in all the blocks: in the last it meets the key x^i, in the one before x^2i, and so on. */
static void check_powers(const struct smb3sign_ghash *k, void *table, size_t i)
{
	uint8_t p[16 * BASIS_BLOCKS] = {0}, acc[16];

	k->setkey(table, power_of_x[i]);
	for (size_t bit = 0; bit < 128 * BASIS_BLOCKS; bit++) {
		size_t power = BASIS_BLOCKS - bit / 128, j = bit % 128;

		p[bit / 8] = (uint8_t)(0x80 >> bit % 8);
		memset(acc, 0, 16);
		k->blocks(table, acc, 0, p, BASIS_BLOCKS);
		ck_assert_msg(!memcmp(acc, power_of_x[j + i * power], 16), "%s: x^%zu * (x^%zu)^%zu", k->name, j, i,
			      power);
		p[bit / 8] = 0;
	}
}

START_TEST(test_basis)
{
	make_powers_of_x();
	for (size_t n = 0; n < n_keys; n++) {
		const struct smb3sign_ghash *k = keys[n]->ghash;
		void *table = malloc(k->table_size);

		ck_assert_ptr_nonnull(table);
		check_products(k, table);
		for (size_t i = 1; i < 128; i += 63)
			check_powers(k, table, i);
		free(table);
	}
}
END_TEST

/* ---- Lengths ---- */

/*
 * A first reduction of 65 blocks, two groups of 64 and all that may be left behind them: what a kernel of four blocks a
 * vector and 64 a group makes differences between, and more than the narrower ones do.
 */
enum { ALL_LENGTHS = 16 * (65 + 3 * 64 + 4) };

/* Where a message lies: all of it ends, or starts, at memory that may not be touched. */
struct rooms {
	uint8_t *covered, *hdr, *body, *tag; /* 48 bytes of header, 64, ALL_LENGTHS, 16 */
	int at_end;
};

static uint8_t *body_of(const struct rooms *r, size_t len)
{
	return r->at_end ? r->body + ALL_LENGTHS - len : r->body;
}

/* In one call, as message.c makes it: the kernel may read only what is covered of the header. */
static void check_whole(const smb3sign_key *key, const struct rooms *r, size_t len, const uint8_t want[16])
{
	smb3sign_iov iov = {body_of(r, len), len};
	const char *how = r->at_end ? "guarded behind" : "guarded before";

	if (key->message) {
		struct smb3sign_tag tag = key->message(key, r->covered, 8, iov.iov_base, len);

		expect_tag(key, (const uint8_t *)tag.word, want, how, len);
	}
	expect_result(key, smb3sign_compute(key, r->hdr, &iov, 1, r->tag), SMB3SIGN_OK, how, len);
	expect_tag(key, r->tag, want, how, len);
}

/* As a stream of one piece: GHASH of all whole blocks in one call, behind the header's. */
static void check_stream(const smb3sign_key *key, const struct rooms *r, size_t len, const uint8_t want[16])
{
	smb3sign_ctx ctx;

	expect_result(key, smb3sign_sign_begin(&ctx, key, r->hdr), SMB3SIGN_OK, "stream", len);
	smb3sign_update(&ctx, body_of(r, len), len);
	expect_result(key, smb3sign_sign_end(&ctx, r->tag), SMB3SIGN_OK, "stream", len);
	expect_tag(key, r->tag, want, "stream", len);
	r->hdr[16] = r->covered[16];
}

START_TEST(test_every_length)
{
	uint8_t *(*guard)(size_t) = _i ? guard_end : guard_start;
	struct rooms r = {guard(48), guard(64), guard(ALL_LENGTHS), guard(16), _i};
	uint8_t *msg = malloc(64 + ALL_LENGTHS), want[16];

	ck_assert_ptr_nonnull(msg);
	for (size_t len = 0; len <= ALL_LENGTHS; len++) {
		random_header(r.hdr);
		r.hdr[16] &= (uint8_t)~8u;
		memcpy(r.covered, r.hdr, 48);
		memcpy(msg, r.hdr, 64);
		memcpy(msg + 64, body_of(&r, len), len);
		msg[16] |= 8;
		ref_signature(GMAC, raw_key, msg, 64 + len, want);
		for (size_t i = 0; i < n_keys; i++) {
			check_whole(keys[i], &r, len, want);
			check_stream(keys[i], &r, len, want);
		}
	}
	free(msg);
}
END_TEST

/* ---- Alignments ---- */

/* Header and body at every address modulo 64, in all pairs. */
START_TEST(test_alignments)
{
	enum { MAX = 300 };
	static uint8_t hdr_room[3 * 64], body_room[MAX + 2 * 64];
	uint8_t *hdr0 = hdr_room + (64 - (uintptr_t)hdr_room % 64) % 64;
	uint8_t *body0 = body_room + (64 - (uintptr_t)body_room % 64) % 64;

	for (size_t at = 0; at < 64; at++) {
		size_t len = 64 + rng_below(MAX + 1 - 64);
		uint8_t *msg = new_message(64 + len), want[16], tag[16];

		msg[16] |= 8;
		ref_signature(GMAC, raw_key, msg, 64 + len, want);
		memcpy(hdr0 + at, msg, 64);
		for (size_t body_at = 0; body_at < 64; body_at++) {
			smb3sign_iov iov = {body0 + body_at, len};

			memcpy(iov.iov_base, msg + 64, len);
			for (size_t i = 0; i < n_keys; i++) {
				ck_assert_int_eq(smb3sign_compute(keys[i], hdr0 + at, &iov, 1, tag), SMB3SIGN_OK);
				expect_tag(keys[i], tag, want, "at some alignment", len);
			}
		}
		free(msg);
	}
}
END_TEST

/* The key at every address modulo 64 that malloc may give it. */
START_TEST(test_key_alignments)
{
	enum { BODY = 2500 };
	uint8_t *msg = new_message(64 + BODY), *room = malloc(SMB3SIGN_KEY_SIZE_MAX + 128), want[16], tag[16];
	uint8_t *at = room + (64 - (uintptr_t)room % 64) % 64;

	ck_assert_ptr_nonnull(room);
	for (size_t i = 0; i < n_keys * 4; i++) {
		struct smb3sign_choice choice = {.aes = keys[i / 4]->k.aes, .ghash = keys[i / 4]->ghash};
		smb3sign_iov iov = {msg + 64, BODY - i};
		smb3sign_key *key = NULL;

		put_le32(msg + 20, 0);
		msg[16] |= 8;
		ref_signature(GMAC, raw_key, msg, 64 + iov.iov_len, want);
		ck_assert_int_eq(smb3sign_key_init_with(&key, at + i % 4 * 16, SMB3SIGN_KEY_SIZE_MAX, GMAC, raw_key, 16,
							ANY, &choice),
				 SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_compute(key, msg, &iov, 1, tag), SMB3SIGN_OK);
		expect_tag(key, tag, want, "key at another alignment", iov.iov_len);
		smb3sign_key_wipe(key);
	}
	free(room);
	free(msg);
}
END_TEST

/* ---- Pieces ---- */

/* Cut anywhere: two pieces, as a stream and as segments. */
static void check_cut(const smb3sign_key *key, uint8_t *msg, size_t len, size_t cut, const uint8_t want[16])
{
	smb3sign_iov two[2] = {{msg + 64, cut}, {msg + 64 + cut, len - cut}};
	uint8_t tag[16];
	smb3sign_ctx ctx;

	ck_assert_int_eq(smb3sign_compute(key, msg, two, 2, tag), SMB3SIGN_OK);
	expect_tag(key, tag, want, "in two segments", len);
	ck_assert_int_eq(smb3sign_sign_begin(&ctx, key, msg), SMB3SIGN_OK);
	smb3sign_update(&ctx, two[0].iov_base, two[0].iov_len);
	smb3sign_update(&ctx, two[1].iov_base, two[1].iov_len);
	ck_assert_int_eq(smb3sign_sign_end(&ctx, tag), SMB3SIGN_OK);
	expect_tag(key, tag, want, "as a stream of two pieces", len);
}

START_TEST(test_cuts)
{
	static const size_t lengths[] = {1, 15, 16, 17, 63, 64, 65, 80, 129, 255, 256, 257, 321, 1100, 2111};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t len = lengths[i];
		uint8_t *msg = new_message(64 + len), want[16];

		msg[16] |= 8;
		ref_signature(GMAC, raw_key, msg, 64 + len, want);
		/* Every cut of the short ones; then every remainder modulo 16 and 64 in turn. */
		for (size_t cut = 0; cut <= len; cut += len <= 321 ? 1 : 5)
			for (size_t k = 0; k < n_keys; k++)
				check_cut(keys[k], msg, len, cut, want);
		free(msg);
	}
}
END_TEST

/* ---- At random ---- */

enum { LONGEST = 70000 };

/* Mostly what SMB's short messages are; the neighbourhood of multiples of a block; long ones now and then. */
static size_t random_length(void)
{
	switch (rng_below(32)) {
	case 0:
		return rng_below(LONGEST + 1);
	case 1:
	case 2:
	case 3:
		return rng_below(4097);
	case 4:
	case 5:
	case 6:
	case 7:
		return 16 * (1 + rng_below(260)) - 3 + rng_below(7);
	default:
		return rng_below(601);
	}
}

struct message {
	uint8_t *msg;                    /* SIGNED and Signature as the sender left them, anything */
	size_t len;                      /* of the body */
	uint8_t *room;                   /* 64 + LONGEST bytes, guarded behind */
	uint8_t signed_tag[16], tag[16]; /* with SIGNED set; as it stands */
};

/* The message at the end of the room, or up to 63 bytes before it. */
static uint8_t *put_message(const struct message *m)
{
	size_t before = rng_below(2) ? rng_below(64) : 0, len = 64 + m->len;

	if (before > LONGEST - m->len)
		before = 0;
	return memcpy(m->room + 64 + LONGEST - len - before, m->msg, len);
}

static void random_whole(const smb3sign_key *key, const struct message *m)
{
	uint8_t *msg = put_message(m), hdr[64], tag[16];
	smb3sign_iov iov[16];
	size_t n = random_split(iov, 16, msg + 64, m->len);

	expect_result(key, smb3sign_compute(key, msg, iov, n, tag), SMB3SIGN_OK, "compute", m->len);
	expect_tag(key, tag, m->signed_tag, "compute in pieces", m->len);
	memcpy(hdr, msg, 64);
	expect_result(key, smb3sign_sign(key, hdr, iov, n), SMB3SIGN_OK, "sign", m->len);
	expect_tag(key, hdr + 48, m->signed_tag, "sign in pieces", m->len);
	expect_result(key, smb3sign_verify(key, hdr, iov, n), SMB3SIGN_OK, "verify in pieces", m->len);

	/* Verification takes Flags as they are. */
	memcpy(msg + 48, m->tag, 16);
	expect_result(key, smb3sign_verify_buf(key, msg, 64 + m->len), SMB3SIGN_OK, "verify as it stands", m->len);
	expect_result(key, smb3sign_sign_buf(key, msg, 64 + m->len), SMB3SIGN_OK, "sign", m->len);
	expect_tag(key, msg + 48, m->signed_tag, "sign", m->len);
	ck_assert_int_eq(msg[16] & 8, 8);
	expect_result(key, smb3sign_verify_buf(key, msg, 64 + m->len), SMB3SIGN_OK, "verify", m->len);
}

/* One bit of the signature or of the body is wrong. */
static void random_forged(const smb3sign_key *key, const struct message *m)
{
	uint8_t *msg = put_message(m);
	size_t bit = 8 * 48 + rng_below(8 * (16 + m->len));

	msg[16] |= 8;
	memcpy(msg + 48, m->signed_tag, 16);
	msg[bit / 8] ^= (uint8_t)(1u << bit % 8);
	expect_result(key, smb3sign_verify_buf(key, msg, 64 + m->len), SMB3SIGN_E_SIGNATURE, "one bit wrong", m->len);
}

static void random_stream(const smb3sign_key *key, const struct message *m)
{
	uint8_t *msg = put_message(m), tag[16];
	smb3sign_iov iov[16];
	size_t n = random_split(iov, 16, msg + 64, m->len);
	smb3sign_ctx ctx;

	ck_assert_int_eq(smb3sign_sign_begin(&ctx, key, msg), SMB3SIGN_OK);
	for (size_t i = 0; i < n; i++)
		smb3sign_update(&ctx, iov[i].iov_base, iov[i].iov_len);
	expect_result(key, smb3sign_sign_end(&ctx, tag), SMB3SIGN_OK, "sign a stream", m->len);
	expect_tag(key, tag, m->signed_tag, "sign a stream", m->len);
	memcpy(msg + 48, tag, 16);
	ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, msg), SMB3SIGN_OK);
	for (size_t i = 0; i < n; i++)
		smb3sign_update(&ctx, iov[i].iov_base, iov[i].iov_len);
	expect_result(key, smb3sign_verify_end(&ctx), SMB3SIGN_OK, "verify a stream", m->len);
}

/* One message under all keys at once, each in pieces of its own. */
static void random_batch(const struct message *m)
{
	uint8_t *msg = put_message(m), hdr[MAX_KEYS][64];
	smb3sign_iov iov[MAX_KEYS][8];
	smb3sign_msg batch[MAX_KEYS];

	for (size_t i = 0; i < n_keys; i++) {
		memcpy(hdr[i], msg, 64);
		batch[i] = (smb3sign_msg){.key = keys[i], .hdr = hdr[i], .body = iov[i]};
		batch[i].body_cnt = random_split(iov[i], 8, msg + 64, m->len);
	}
	ck_assert_int_eq(smb3sign_sign_batch(batch, n_keys), SMB3SIGN_OK);
	for (size_t i = 0; i < n_keys; i++)
		expect_tag(keys[i], hdr[i] + 48, m->signed_tag, "batch", m->len);
	ck_assert_int_eq(smb3sign_verify_batch(batch, n_keys), SMB3SIGN_OK);
}

static void random_round(uint8_t *room)
{
	struct message m = {.len = random_length(), .room = room};

	m.msg = new_message(64 + m.len);
	ref_signature(GMAC, raw_key, m.msg, 64 + m.len, m.tag);
	m.msg[16] ^= 8;
	ref_signature(GMAC, raw_key, m.msg, 64 + m.len, m.signed_tag);
	m.msg[16] ^= 8;
	if (m.msg[16] & 8)
		memcpy(m.signed_tag, m.tag, 16);
	for (size_t i = 0; i < n_keys; i++) {
		random_whole(keys[i], &m);
		random_forged(keys[i], &m);
		random_stream(keys[i], &m);
	}
	random_batch(&m);
	free(m.msg);
}

/* What the environment says, or the default. */
static unsigned long number(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

START_TEST(test_random)
{
	unsigned long seconds = number("SMB3SIGN_TEST_SECONDS", 0), round = 0;
	unsigned long rounds = number("SMB3SIGN_TEST_ROUNDS", seconds ? 0 : 5000);
	time_t end = time(NULL) + (time_t)seconds;
	uint8_t *room = guard_end(64 + LONGEST);

	ck_assert_msg(seconds || rounds, "no rounds");
	for (; round < rounds || (seconds && time(NULL) < end); round++) {
		if (round % 16 == 0)
			new_keys();
		random_round(room);
	}
	printf("%lu random messages agree:", round);
	for (size_t i = 0; i < n_keys; i++)
		printf(" %s", keys[i]->ghash->name);
	printf("\n");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gmac");
	TCase *field = add_case(s, "field"), *lengths = add_case(s, "lengths"), *places = add_case(s, "places"),
	      *random = add_case(s, "random");
	TCase *all[] = {field, lengths, places, random};

	for (size_t i = 0; i < 4; i++)
		tcase_add_checked_fixture(all[i], new_keys, free_keys);
	tcase_add_test(field, test_kernels_there);
	tcase_add_test(field, test_basis);
	tcase_add_loop_test(lengths, test_every_length, 0, 2);
	tcase_add_test(places, test_alignments);
	tcase_add_test(places, test_key_alignments);
	tcase_add_test(places, test_cuts);
	tcase_add_test(random, test_random);
	return run_suite(s);
}
