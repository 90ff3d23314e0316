/* SPDX-License-Identifier: MIT */
/*
 * selftest.c finds a broken kernel. The linker's --wrap gives it this file's lists of kernels, of copies that a test
 * can change: one function of one kernel at a time is wrong by one bit, always or for long messages only.
 */
#include "cpu.h"
#include "kernels.h"
#include "support.h"

enum { KERNELS_MAX = 15 };

extern const struct smb3sign_aes *const __real_smb3sign_aes_kernels[];
extern const struct smb3sign_ghash *const __real_smb3sign_ghash_kernels[];
extern const struct smb3sign_sha256 *const __real_smb3sign_sha256_kernels[];
extern const struct smb3sign_sha512 *const __real_smb3sign_sha512_kernels[];

const struct smb3sign_aes *__wrap_smb3sign_aes_kernels[KERNELS_MAX + 1];
const struct smb3sign_ghash *__wrap_smb3sign_ghash_kernels[KERNELS_MAX + 1];
const struct smb3sign_sha256 *__wrap_smb3sign_sha256_kernels[KERNELS_MAX + 1];
const struct smb3sign_sha512 *__wrap_smb3sign_sha512_kernels[KERNELS_MAX + 1];

static struct smb3sign_aes aes[KERNELS_MAX];
static struct smb3sign_ghash ghash[KERNELS_MAX];
static struct smb3sign_sha256 sha256[KERNELS_MAX];
static struct smb3sign_sha512 sha512[KERNELS_MAX];
static size_t n_aes, n_ghash, n_sha256, n_sha512;

static void copy_kernels(void)
{
	n_aes = n_ghash = n_sha256 = n_sha512 = 0;
	for (; __real_smb3sign_aes_kernels[n_aes]; n_aes++) {
		ck_assert_uint_lt(n_aes, KERNELS_MAX);
		aes[n_aes] = *__real_smb3sign_aes_kernels[n_aes];
		__wrap_smb3sign_aes_kernels[n_aes] = &aes[n_aes];
	}
	for (; __real_smb3sign_ghash_kernels[n_ghash]; n_ghash++) {
		ck_assert_uint_lt(n_ghash, KERNELS_MAX);
		ghash[n_ghash] = *__real_smb3sign_ghash_kernels[n_ghash];
		__wrap_smb3sign_ghash_kernels[n_ghash] = &ghash[n_ghash];
		/* The AES that a GHASH kernel names is found by its address. */
		for (size_t i = 0; i < n_aes; i++)
			if (ghash[n_ghash].aes == __real_smb3sign_aes_kernels[i])
				ghash[n_ghash].aes = &aes[i];
	}
	for (; __real_smb3sign_sha256_kernels[n_sha256]; n_sha256++) {
		ck_assert_uint_lt(n_sha256, KERNELS_MAX);
		sha256[n_sha256] = *__real_smb3sign_sha256_kernels[n_sha256];
		__wrap_smb3sign_sha256_kernels[n_sha256] = &sha256[n_sha256];
	}
	for (; __real_smb3sign_sha512_kernels[n_sha512]; n_sha512++) {
		ck_assert_uint_lt(n_sha512, KERNELS_MAX);
		sha512[n_sha512] = *__real_smb3sign_sha512_kernels[n_sha512];
		__wrap_smb3sign_sha512_kernels[n_sha512] = &sha512[n_sha512];
	}
}

/* ---- Broken functions, each over that of the kernel under test */

static struct {
	const struct smb3sign_aes *aes;
	const struct smb3sign_ghash *ghash;
	const struct smb3sign_sha256 *sha256;
	const struct smb3sign_sha512 *sha512;
	size_t from; /* wrong for so many bytes or more */
	size_t at;   /* so much of a table is right, and the 16 bytes that follow are not */
	int padding; /* nor do they matter */
} real;

static void spoil(void *byte, size_t bytes)
{
	if (bytes >= real.from)
		*(uint8_t *)byte ^= 0x20;
}

/*
 * All of 16 bytes: a bitsliced table holds bits that nothing uses between those that count. 16 zeros are padding; H is
 * not zero, nor any of its powers.
 */
static void spoil_table(void *table)
{
	static const uint8_t zero[16];

	real.padding = memcmp((uint8_t *)table + real.at, zero, 16) == 0;
	for (size_t i = 0; i < 16; i++)
		((uint8_t *)table)[real.at + i] ^= 0xff;
}

static void broken_expand(void *rk, const uint8_t key[16])
{
	real.aes->expand(rk, key);
	spoil_table(rk);
}

static void broken_encrypt(const void *rk, const uint8_t in[16], uint8_t out[16])
{
	real.aes->encrypt(rk, in, out);
	spoil(out + 15, SIZE_MAX);
}

static void broken_cbcmac(const void *rk, uint8_t h[16], const uint8_t *p, size_t nblk)
{
	real.aes->cbcmac(rk, h, p, nblk);
	spoil(h + 15, 16 * nblk);
}

static struct smb3sign_tag broken_cmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				       const uint8_t *body, size_t len)
{
	struct smb3sign_tag tag = real.aes->cmac(key, hdr, set_flags, body, len);

	spoil((uint8_t *)tag.word + 15, len);
	return tag;
}

static void broken_cbcmac_lanes(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	real.aes->cbcmac_lanes(lanes, n, nblk);
	spoil((uint8_t *)lanes[n - 1].state + 15, SIZE_MAX);
}

static void broken_blocks_lanes(struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	real.sha256->blocks_lanes(lanes, n, nblk);
	spoil(lanes[n - 1].state, SIZE_MAX);
}

static void broken_gmac_short(struct smb3sign_short *msgs, uint8_t set_flags)
{
	real.ghash->gmac_short(msgs, set_flags);
	spoil(msgs[real.ghash->width - 1].tag.word, SIZE_MAX);
}

static void broken_setkey(void *table, const uint8_t h[16])
{
	real.ghash->setkey(table, h);
	spoil_table(table);
}

static void broken_blocks(const void *table, uint8_t acc[16], unsigned whole, const uint8_t *p, size_t nblk)
{
	real.ghash->blocks(table, acc, whole, p, nblk);
	spoil(acc + 15, 16 * nblk);
}

static struct smb3sign_tag broken_gmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				       const uint8_t *body, size_t len)
{
	struct smb3sign_tag tag = real.ghash->gmac(key, hdr, set_flags, body, len);

	spoil((uint8_t *)tag.word + 15, len);
	return tag;
}

static void broken_sha256(uint32_t state[8], const uint8_t *p, size_t nblk)
{
	real.sha256->blocks(state, p, nblk);
	spoil(state + 7, 64 * nblk);
}

static void broken_sha512(uint64_t state[8], const uint8_t *p, size_t nblk)
{
	real.sha512->blocks(state, p, nblk);
	spoil(state + 7, 128 * nblk);
}

static struct smb3sign_tag broken_hmac(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
				       const uint8_t *body, size_t len)
{
	struct smb3sign_tag tag = real.sha256->hmac(key, hdr, set_flags, body, len);

	spoil((uint8_t *)tag.word + 15, len);
	return tag;
}

static int usable(uint32_t needs)
{
	return (needs & ~smb3sign_cpu_features()) == 0;
}

static void assert_found(const char *kernel, const char *function)
{
	const int result = smb3sign_selftest();

	ck_assert_msg(result == (real.padding ? SMB3SIGN_OK : SMB3SIGN_E_SIGNATURE),
		      "%s of %s is broken from %zu bytes on, at byte %zu: %d", function, kernel, real.from, real.at,
		      result);
}

/* ---- */

START_TEST(test_good)
{
	ck_assert_int_eq(smb3sign_selftest(), SMB3SIGN_OK);
}
END_TEST

START_TEST(test_broken_aes)
{
	for (size_t i = 0; i < n_aes; i++) {
		struct smb3sign_aes *k = &aes[i];
		const struct smb3sign_aes good = *k;

		if (!usable(k->needs))
			continue;
		real.aes = &good;
		real.from = 0;
		k->encrypt = broken_encrypt;
		assert_found(k->name, "encrypt");
		*k = good;
		k->expand = broken_expand;
		for (real.at = 0; real.at < k->rk_size; real.at += 16)
			assert_found(k->name, "expand");
		real.at = 0;
		real.padding = 0;
		*k = good;
		for (real.from = 0; real.from <= 64; real.from += 16) {
			k->cbcmac = broken_cbcmac;
			assert_found(k->name, "cbcmac");
			*k = good;
		}
		for (real.from = 0; k->cmac && real.from <= 400; real.from += 200) {
			k->cmac = broken_cmac;
			assert_found(k->name, "cmac");
			*k = good;
		}
		if (k->cbcmac_lanes) {
			k->cbcmac_lanes = broken_cbcmac_lanes;
			assert_found(k->name, "cbcmac_lanes");
			*k = good;
		}
		ck_assert_int_eq(smb3sign_selftest(), SMB3SIGN_OK);
	}
}
END_TEST

START_TEST(test_broken_ghash)
{
	for (size_t i = 0; i < n_ghash; i++) {
		struct smb3sign_ghash *k = &ghash[i];
		const struct smb3sign_ghash good = *k;

		if (!usable(k->needs))
			continue;
		real.ghash = &good;
		real.from = 0;
		/* The highest powers serve whole messages only, which need the kernel's own AES. */
		k->setkey = broken_setkey;
		for (real.at = 0; real.at < k->table_size; real.at += 16)
			if (!k->gmac || usable(k->aes->needs))
				assert_found(k->name, "setkey");
		real.at = 0;
		real.padding = 0;
		*k = good;
		/* The widest loops take 32 blocks at a time. */
		for (real.from = 0; real.from <= 512; real.from += 64) {
			k->blocks = broken_blocks;
			assert_found(k->name, "blocks");
			*k = good;
		}
		for (real.from = 0; k->gmac && usable(k->aes->needs) && real.from <= 400; real.from += 200) {
			k->gmac = broken_gmac;
			assert_found(k->name, "gmac");
			*k = good;
		}
		if (k->gmac_short && usable(k->aes->needs)) {
			k->gmac_short = broken_gmac_short;
			assert_found(k->name, "gmac_short");
			*k = good;
		}
		ck_assert_int_eq(smb3sign_selftest(), SMB3SIGN_OK);
	}
}
END_TEST

START_TEST(test_broken_sha256)
{
	for (size_t i = 0; i < n_sha256; i++) {
		struct smb3sign_sha256 *k = &sha256[i];
		const struct smb3sign_sha256 good = *k;

		if (!usable(k->needs))
			continue;
		real.sha256 = &good;
		for (real.from = 0; real.from <= 128; real.from += 64) {
			k->blocks = broken_sha256;
			assert_found(k->name, "blocks");
			*k = good;
		}
		for (real.from = 0; k->hmac && real.from <= 400; real.from += 200) {
			k->hmac = broken_hmac;
			assert_found(k->name, "hmac");
			*k = good;
		}
		if (k->blocks_lanes) {
			k->blocks_lanes = broken_blocks_lanes;
			assert_found(k->name, "blocks_lanes");
			*k = good;
		}
		ck_assert_int_eq(smb3sign_selftest(), SMB3SIGN_OK);
	}
}
END_TEST

START_TEST(test_broken_sha512)
{
	for (size_t i = 0; i < n_sha512; i++) {
		struct smb3sign_sha512 *k = &sha512[i];
		const struct smb3sign_sha512 good = *k;

		if (!usable(k->needs))
			continue;
		real.sha512 = &good;
		real.from = 0;
		k->blocks = broken_sha512;
		assert_found(k->name, "blocks");
		*k = good;
		ck_assert_int_eq(smb3sign_selftest(), SMB3SIGN_OK);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("selftest");
	TCase *tc = add_case(s, "selftest");

	tcase_add_checked_fixture(tc, copy_kernels, NULL);
	tcase_add_test(tc, test_good);
	tcase_add_test(tc, test_broken_aes);
	tcase_add_test(tc, test_broken_ghash);
	tcase_add_test(tc, test_broken_sha256);
	tcase_add_test(tc, test_broken_sha512);
	return run_suite(s);
}
