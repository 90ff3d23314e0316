/* SPDX-License-Identifier: MIT */
/*
 * Every kernel this process may use, function by function: against published values, against OpenSSL (AES, SHA-2) or
 * the definition carried out bit by bit (GHASH), and against what kernels.h promises of alignment, bounds and splits.
 * Whole messages in one call (cmac, gmac, hmac) are test_message.c's matter; several short ones side by side are here.
 */
#include <openssl/evp.h>

#include "arch/x86/aes_ssse3.h"
#include "kernels.h"
#include "key.h"
#include "smb2.h"
#include "support.h"
#include "util.h"

/* ---- Chains of 16-byte blocks under a key: CBC-MAC and GHASH ---- */

struct chain {
	const char *what, *kernel;
	size_t key_size;
	void (*set_key)(void *key, const uint8_t raw[16]);
	/* One of them. */
	const struct smb3sign_aes *aes;
	const struct smb3sign_ghash *ghash;
	/* The reference, one block. */
	void (*step)(const uint8_t raw[16], uint8_t acc[16], const uint8_t block[16]);
};

static void cbcmac_step(const uint8_t raw[16], uint8_t acc[16], const uint8_t block[16])
{
	for (size_t i = 0; i < 16; i++)
		acc[i] ^= block[i];
	ref_aes128(raw, acc, acc);
}

/* acc = (acc ^ block) * h: SP 800-38D 6.3, algorithm 1, as it stands there. Bit 0 is the first byte's top bit. */
static void ghash_step(const uint8_t h[16], uint8_t acc[16], const uint8_t block[16])
{
	uint8_t v[16], z[16] = {0};

	memcpy(v, h, 16);
	for (size_t i = 0; i < 128; i++) {
		int lsb = v[15] & 1;

		if ((acc[i / 8] ^ block[i / 8]) >> (7 - i % 8) & 1)
			for (size_t j = 0; j < 16; j++)
				z[j] ^= v[j];
		for (size_t j = 15; j > 0; j--)
			v[j] = (uint8_t)(v[j] >> 1 | v[j - 1] << 7);
		v[0] >>= 1;
		if (lsb)
			v[0] ^= 0xe1;
	}
	memcpy(acc, z, 16);
}

static struct chain cbcmac_of(const struct smb3sign_aes *k)
{
	return (struct chain){"CBC-MAC", k->name, k->rk_size, k->expand, k, NULL, cbcmac_step};
}

static struct chain ghash_of(const struct smb3sign_ghash *k)
{
	return (struct chain){"GHASH", k->name, k->table_size, k->setkey, NULL, k, ghash_step};
}

static void each_aes(void (*fn)(const struct smb3sign_aes *k))
{
	size_t run = 0;

	for (size_t i = 0; smb3sign_aes_kernels[i]; i++) {
		if (!smb3sign_kernel_usable(smb3sign_aes_kernels[i]->needs))
			continue;
		fn(smb3sign_aes_kernels[i]);
		run++;
	}
	ck_assert_msg(run, "no AES kernel was tested");
}

static void each_ghash(void (*fn)(const struct smb3sign_ghash *k))
{
	size_t run = 0;

	for (size_t i = 0; smb3sign_ghash_kernels[i]; i++) {
		if (!smb3sign_kernel_usable(smb3sign_ghash_kernels[i]->needs))
			continue;
		fn(smb3sign_ghash_kernels[i]);
		run++;
	}
	ck_assert_msg(run, "no GHASH kernel was tested");
}

/* The chain function that each_chain has in hand: Check's tests and the walkers' callbacks have no argument for it. */
static void (*chain_fn)(const struct chain *c);

static void visit_cbcmac(const struct smb3sign_aes *k)
{
	struct chain c = cbcmac_of(k);

	chain_fn(&c);
}

static void visit_ghash(const struct smb3sign_ghash *k)
{
	struct chain c = ghash_of(k);

	chain_fn(&c);
}

static void each_chain(void (*fn)(const struct chain *c))
{
	chain_fn = fn;
	each_aes(visit_cbcmac);
	each_ghash(visit_ghash);
}

static void expect(const struct chain *c, const uint8_t got[16], const uint8_t want[16], const char *how, size_t n)
{
	if (memcmp(got, want, 16))
		ck_abort_msg("%s %s: wrong %s %zu", c->what, c->kernel, how, n);
}

/* A published value; assert_hex would not say whose. */
static void expect_hex(const char *kernel, const void *got, const char *hex)
{
	uint8_t want[64];

	if (memcmp(got, want, unhex(want, sizeof(want), hex)))
		ck_abort_msg("%s: not the published %s", kernel, hex);
}

/* n >= 1 blocks. GHASH also takes the first of them in acc, and is held to the same result. */
static void run(const struct chain *c, const void *key, uint8_t acc[16], const uint8_t *p, size_t n)
{
	uint8_t whole[16];

	if (c->aes) {
		c->aes->cbcmac(key, acc, p, n);
		return;
	}
	for (size_t i = 0; i < 16; i++)
		whole[i] = acc[i] ^ p[i];
	c->ghash->blocks(key, acc, 0, p, n);
	c->ghash->blocks(key, whole, 1, p + 16, n - 1);
	expect(c, whole, acc, "with the first block in the accumulator, blocks:", n);
}

/* A key on the heap, aligned as malloc aligns. */
static void *make_key(const struct chain *c, const uint8_t raw[16])
{
	void *key = malloc(c->key_size);

	ck_assert_ptr_nonnull(key);
	c->set_key(key, raw);
	return key;
}

/* What acc is after 0, 1, ... n blocks, by the reference: n + 1 times 16 bytes, on the heap. */
static uint8_t *reference(const struct chain *c, const uint8_t raw[16], const uint8_t start[16], const uint8_t *p,
			  size_t n)
{
	uint8_t *acc = malloc(16 * (n + 1));

	ck_assert_ptr_nonnull(acc);
	memcpy(acc, start, 16);
	for (size_t i = 0; i < n; i++) {
		memcpy(acc + 16 * (i + 1), acc + 16 * i, 16);
		c->step(raw, acc + 16 * (i + 1), p + 16 * i);
	}
	return acc;
}

#define LONGEST 4099

static void check_lengths(const struct chain *c)
{
	static const size_t lengths[] = {96, 127, 128, 129, 255, 256, 257, 511, 1000, 4096, LONGEST};
	static uint8_t p[16 * LONGEST];
	uint8_t raw[16], start[16], acc[16], *want;
	void *key;

	rng_fill(raw, 16);
	rng_fill(start, 16);
	rng_fill(p, sizeof(p));
	key = make_key(c, raw);
	want = reference(c, raw, start, p, LONGEST);
	for (size_t i = 1; i <= 70 + sizeof(lengths) / sizeof(*lengths); i++) {
		size_t n = i <= 70 ? i : lengths[i - 71];

		memcpy(acc, start, 16);
		run(c, key, acc, p, n);
		expect(c, acc, want + 16 * n, "after blocks:", n);
		/* In two parts. */
		for (size_t j = 0; j < 4 && n > 1; j++) {
			size_t first = 1 + rng_below(n - 1);

			memcpy(acc, start, 16);
			run(c, key, acc, p, first);
			expect(c, acc, want + 16 * first, "after blocks:", first);
			run(c, key, acc, p + 16 * first, n - first);
			expect(c, acc, want + 16 * n, "in two parts, blocks:", n);
		}
	}
	free(want);
	free(key);
}

START_TEST(test_chain_lengths)
{
	each_chain(check_lengths);
}
END_TEST

static void check_keys(const struct chain *c)
{
	for (size_t i = 0; i < 300; i++) {
		size_t n = 1 + rng_below(20);
		uint8_t raw[16], start[16], acc[16], p[20 * 16], *want;
		void *key;

		rng_fill(raw, 16);
		rng_fill(start, 16);
		rng_fill(p, sizeof(p));
		key = make_key(c, raw);
		want = reference(c, raw, start, p, n);
		memcpy(acc, start, 16);
		run(c, key, acc, p, n);
		expect(c, acc, want + 16 * n, "under key number", i);
		free(want);
		free(key);
	}
}

START_TEST(test_chain_keys)
{
	each_chain(check_keys);
}
END_TEST

/* Accumulator and message at every address mod 64, not in step with each other; the key at every KEY_ALIGN of them. */
static void check_alignment(const struct chain *c)
{
	enum { N = 19 };
	uint8_t raw[16], start[16], *key = malloc(c->key_size + 128), p[16 * N + 64], acc[16 + 64], *want;

	ck_assert_ptr_nonnull(key);
	for (size_t i = 0; i < 64; i++) {
		uint8_t *k = key + (64 - (uintptr_t)key % 64) % 64 + i / KEY_ALIGN * KEY_ALIGN, *a = acc + i * 5 % 64,
			*m = p + i * 11 % 64;

		rng_fill(raw, 16);
		rng_fill(start, 16);
		rng_fill(p, sizeof(p));
		want = reference(c, raw, start, m, N);
		c->set_key(k, raw);
		for (size_t n = 1; n <= N; n++) {
			memcpy(a, start, 16);
			run(c, k, a, m, n);
			expect(c, a, want + 16 * n, "with key at offset", i);
		}
		free(want);
	}
	free(key);
}

START_TEST(test_chain_alignment)
{
	each_chain(check_alignment);
}
END_TEST

/* Everything directly before or directly behind memory that cannot be touched; what is only read cannot be written. */
static void check_bounds(const struct chain *c)
{
	for (size_t i = 0; i < 2; i++) {
		uint8_t *(*guard)(size_t n) = i ? guard_start : guard_end;
		uint8_t *raw = guard(16), *key = guard(c->key_size), *acc = guard(16), start[16];

		guard_readonly(raw);
		c->set_key(key, raw);
		guard_readonly(key);
		for (size_t n = 1; n <= 40; n++) {
			uint8_t *p = guard(16 * n), *want;

			guard_readonly(p);
			memcpy(start, acc, 16);
			want = reference(c, raw, start, p, n);
			run(c, key, acc, p, n);
			expect(c, acc, want + 16 * n, "in guarded memory, blocks:", n);
			free(want);
		}
	}
	guard_free_all();
}

START_TEST(test_chain_bounds)
{
	each_chain(check_bounds);
}
END_TEST

/* ---- AES ---- */

static void expect_block(const struct smb3sign_aes *k, const uint8_t raw[16], const uint8_t in[16],
			 const uint8_t want[16])
{
	_Alignas(KEY_ALIGN) uint8_t rk[SMB3SIGN_RK_SIZE_MAX];
	uint8_t out[16];

	k->expand(rk, raw);
	k->encrypt(rk, in, out);
	if (memcmp(out, want, 16))
		ck_abort_msg("AES %s: wrong block", k->name);
	memcpy(out, in, 16);
	k->encrypt(rk, out, out);
	if (memcmp(out, want, 16))
		ck_abort_msg("AES %s: wrong block in place", k->name);
}

static void check_aes_published(const struct smb3sign_aes *k)
{
	static const struct {
		const char *key, *in, *out;
	} vectors[] = {
		/* FIPS 197 appendix B */
		{"2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734",
		 "3925841d02dc09fbdc118597196a0b32"},
		/* FIPS 197 appendix C.1 */
		{"000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff",
		 "69c4e0d86a7b0430d8cdb78070b4c55a"},
		/* SP 800-38A F.1.1 */
		{"2b7e151628aed2a6abf7158809cf4f3c", "6bc1bee22e409f96e93d7e117393172a",
		 "3ad77bb40d7a3660a89ecaf32466ef97"},
		{"2b7e151628aed2a6abf7158809cf4f3c", "ae2d8a571e03ac9c9eb76fac45af8e51",
		 "f5d3d58503b9699de785895a96fdbaaf"},
		{"2b7e151628aed2a6abf7158809cf4f3c", "30c81c46a35ce411e5fbc1191a0a52ef",
		 "43b1cd7f598ece23881b00e3ed030688"},
		{"2b7e151628aed2a6abf7158809cf4f3c", "f69f2445df4f9b17ad2b417be66c3710",
		 "7b0c785e27e8ad3f8223207104725dd4"},
	};

	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		uint8_t raw[16], in[16], out[16];

		unhex(raw, 16, vectors[i].key);
		unhex(in, 16, vectors[i].in);
		unhex(out, 16, vectors[i].out);
		expect_block(k, raw, in, out);
	}
}

/* SP 800-38A F.2.1: a CBC ciphertext block is the CBC-MAC of the plaintext so far, from the IV. */
static void check_cbc_published(const struct smb3sign_aes *k)
{
	static const char *const ciphertext[4] = {
		"7649abac8119b246cee98e9b12e9197d",
		"5086cb9b507219ee95db113a917678b2",
		"73bed6b8e3c1743b7116e69e22229516",
		"3ff1caa1681fac09120eca307586e1a7",
	};
	_Alignas(KEY_ALIGN) uint8_t rk[SMB3SIGN_RK_SIZE_MAX];
	uint8_t raw[16], p[64], h[16];

	unhex(raw, 16, "2b7e151628aed2a6abf7158809cf4f3c");
	unhex(p, 64,
	      "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
	      "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710");
	k->expand(rk, raw);
	for (size_t n = 1; n <= 4; n++) {
		unhex(h, 16, "000102030405060708090a0b0c0d0e0f");
		k->cbcmac(rk, h, p, n);
		expect_hex(k->name, h, ciphertext[n - 1]);
	}
}

START_TEST(test_aes_published)
{
	each_aes(check_aes_published);
	each_aes(check_cbc_published);
}
END_TEST

/* One bit of the key or of the block alone, every byte value in every place, random ones. */
static void check_aes_openssl(const struct smb3sign_aes *k)
{
	for (size_t i = 0; i < 256 + 256 + 500; i++) {
		uint8_t raw[16] = {0}, in[16] = {0}, want[16], bit = (uint8_t)(1 << i % 8);

		if (i < 128) {
			raw[i / 8] = bit;
		} else if (i < 256) {
			in[i / 8 - 16] = bit;
		} else {
			rng_fill(raw, 16);
			rng_fill(in, 16);
		}
		if (i >= 256 && i < 512)
			for (size_t j = 0; j < 16; j++)
				in[j] = (uint8_t)(raw[j] ^ (i + j));
		ref_aes128(raw, in, want);
		expect_block(k, raw, in, want);
	}
}

START_TEST(test_aes_openssl)
{
	each_aes(check_aes_openssl);
}
END_TEST

/* encrypt and expand as check_alignment and check_bounds do it for cbcmac. */
static void check_aes_memory(const struct smb3sign_aes *k)
{
	uint8_t *rk = malloc(k->rk_size + 128), raw_at[16 + 64], in_at[16 + 64], out_at[16 + 64], want[16];

	ck_assert_ptr_nonnull(rk);
	for (size_t i = 0; i < 64; i++) {
		uint8_t *key = rk + (64 - (uintptr_t)rk % 64) % 64 + i / KEY_ALIGN * KEY_ALIGN;
		uint8_t *raw = raw_at + i * 3 % 64, *in = in_at + i * 5 % 64, *out = out_at + i * 11 % 64;

		rng_fill(raw, 16);
		rng_fill(in, 16);
		ref_aes128(raw, in, want);
		k->expand(key, raw);
		k->encrypt(key, in, out);
		if (memcmp(out, want, 16))
			ck_abort_msg("AES %s: wrong block with round keys at offset %zu", k->name, i);
	}
	free(rk);

	for (size_t i = 0; i < 2; i++) {
		uint8_t *(*guard)(size_t n) = i ? guard_start : guard_end;
		uint8_t *raw = guard(16), *key = guard(k->rk_size), *in = guard(16), *out = guard(16);

		guard_readonly(raw);
		guard_readonly(in);
		k->expand(key, raw);
		guard_readonly(key);
		k->encrypt(key, in, out);
		ref_aes128(raw, in, want);
		if (memcmp(out, want, 16))
			ck_abort_msg("AES %s: wrong block in guarded memory", k->name);
		k->encrypt(key, out, out);
	}
	guard_free_all();
}

/*
 * Lanes: as many as there may be, of every number of blocks, each with a message of its own length that ends, or
 * starts, at a page that cannot be touched; with keys of their own, with one, and with one but for a single lane.
 */
static void check_lanes(const struct smb3sign_aes *k, size_t n, size_t nblk, size_t odd)
{
	struct chain c = cbcmac_of(k);
	struct smb3sign_lane lanes[SMB3SIGN_LANES_MAX];
	uint8_t raw[SMB3SIGN_LANES_MAX][16], *want[SMB3SIGN_LANES_MAX];
	const uint8_t *p[SMB3SIGN_LANES_MAX];
	void *keys[SMB3SIGN_LANES_MAX];

	for (size_t i = 0; i < n; i++) {
		int own = i == 0 || odd > n || odd == i;
		uint8_t *bytes = (i % 2 ? guard_start : guard_end)(16 * nblk);

		rng_fill(raw[i], 16);
		if (!own)
			memcpy(raw[i], raw[0], 16);
		keys[i] = own ? make_key(&c, raw[i]) : keys[0];
		rng_fill(lanes[i].state, 16);
		guard_readonly(bytes);
		want[i] = reference(&c, raw[i], (const uint8_t *)lanes[i].state, bytes, nblk);
		lanes[i].p = p[i] = bytes;
		lanes[i].rk = keys[i];
	}
	k->cbcmac_lanes(lanes, n, nblk);
	for (size_t i = 0; i < n; i++) {
		expect(&c, (const uint8_t *)lanes[i].state, want[i] + 16 * nblk, "on lanes, blocks:", nblk);
		ck_assert_ptr_eq(lanes[i].p, p[i]);
		ck_assert_ptr_eq(lanes[i].rk, keys[i]);
		if (i == 0 || keys[i] != keys[0])
			free(keys[i]);
		free(want[i]);
	}
	guard_free_all();
}

static void check_aes_lanes(const struct smb3sign_aes *k)
{
	static const size_t blocks[] = {1, 2, 3, 4, 5, 16, 61};

	ck_assert_uint_le(k->width, SMB3SIGN_LANES_MAX);
	ck_assert(!k->cbcmac_lanes == !k->width);
	for (size_t n = 1; n <= k->width; n++)
		for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
			check_lanes(k, n, blocks[i], SIZE_MAX);
			check_lanes(k, n, blocks[i], n);
			check_lanes(k, n, blocks[i], rng_below(n));
		}
}

START_TEST(test_aes_lanes)
{
	each_aes(check_aes_lanes);
}
END_TEST

START_TEST(test_aes_memory)
{
	each_aes(check_aes_memory);
}
END_TEST

/* ---- GHASH ---- */

/*
 * McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B, test cases 2 to 4: the blocks that GHASH
 * is fed (additional data, ciphertext, both padded with zeros, and their lengths) and its X after each.
 */
static void check_ghash_published(const struct smb3sign_ghash *k)
{
	static const struct {
		const char *h, *x[7][2];
	} cases[] = {
		{"66e94bd4ef8a2c3b884cfa59ca342b2e",
		 {{"0388dace60b6a392f328c2b971b2fe78", "5e2ec746917062882c85b0685353deb7"},
		  {"00000000000000000000000000000080", "f38cbb1ad69223dcc3457ae5b6b0f885"}}},
		{"b83b533708bf535d0aa6e52980d53b78",
		 {{"42831ec2217774244b7221b784d0d49c", "59ed3f2bb1a0aaa07c9f56c6a504647b"},
		  {"e3aa212f2c02a4e035c17e2329aca12e", "b714c9048389afd9f9bc5c1d4378e052"},
		  {"21d514b25466931c7d8f6a5aac84aa05", "47400c6577b1ee8d8f40b2721e86ff10"},
		  {"1ba30b396a0aac973d58e091473f5985", "4796cf49464704b5dd91f159bb1b7f95"},
		  {"00000000000000000000000000000200", "7f1b32b81b820d02614f8895ac1d4eac"}}},
		{"b83b533708bf535d0aa6e52980d53b78",
		 {{"feedfacedeadbeeffeedfacedeadbeef", "ed56aaf8a72d67049fdb9228edba1322"},
		  {"abaddad2000000000000000000000000", "cd47221ccef0554ee4bb044c88150352"},
		  {"42831ec2217774244b7221b784d0d49c", "54f5e1b2b5a8f9525c23924751a3ca51"},
		  {"e3aa212f2c02a4e035c17e2329aca12e", "324f585c6ffc1359ab371565d6c45f93"},
		  {"21d514b25466931c7d8f6a5aac84aa05", "ca7dd446af4aa70cc3c0cd5abba6aa1c"},
		  {"1ba30b396a0aac973d58e09100000000", "1590df9b2eb6768289e57d56274c8570"},
		  {"00000000000000a000000000000001e0", "698e57f70e6ecc7fd9463b7260a9ae5f"}}},
	};
	void *table = malloc(k->table_size);

	ck_assert_ptr_nonnull(table);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint8_t h[16], p[7 * 16], acc[16];

		unhex(h, 16, cases[i].h);
		k->setkey(table, h);
		for (size_t n = 1; n <= 7 && cases[i].x[n - 1][0]; n++) {
			unhex(p + 16 * (n - 1), 16, cases[i].x[n - 1][0]);
			memset(acc, 0, 16);
			k->blocks(table, acc, 0, p, n);
			expect_hex(k->name, acc, cases[i].x[n - 1][1]);
		}
	}
	free(table);
}

START_TEST(test_ghash_published)
{
	each_ghash(check_ghash_published);
}
END_TEST

/* x^i * x^j for all i and j; and what makes the most carries in integer multiplications. */
static void check_ghash_products(const struct smb3sign_ghash *k)
{
	static const uint8_t dense[] = {0x00, 0x11, 0x22, 0x44, 0x88, 0x33, 0x55, 0x77, 0xee, 0xfe, 0x7f, 0xff};
	static const uint8_t zero[16];
	struct chain c = ghash_of(k);
	void *table = malloc(k->table_size);

	ck_assert_ptr_nonnull(table);
	for (size_t i = 0; i < 128 + sizeof(dense); i++) {
		uint8_t h[16] = {0};

		if (i < 128)
			h[i / 8] = (uint8_t)(0x80 >> i % 8);
		else
			memset(h, dense[i - 128], 16);
		k->setkey(table, h);
		for (size_t j = 0; j < 128 + sizeof(dense); j++) {
			uint8_t x[16] = {0}, acc[16] = {0}, want[16];

			if (j < 128)
				x[j / 8] = (uint8_t)(0x80 >> j % 8);
			else
				memset(x, dense[j - 128], 16);
			memcpy(want, x, 16);
			ghash_step(h, want, zero);
			k->blocks(table, acc, 0, x, 1);
			expect(&c, acc, want, "product, i * 1000 + j:", i * 1000 + j);
		}
	}
	free(table);
}

START_TEST(test_ghash_products)
{
	each_ghash(check_ghash_products);
}
END_TEST

/* ---- GMAC of short messages side by side ---- */

enum { WIDEST = 8, SHORT_MAX = 16 * SMB3SIGN_SHORT_BLOCKS, SHORT_PAGE = 4096 };

/* What the messages of a call are made of, place by place: keys, and room between pages that cannot be touched. */
struct side_by_side {
	const struct smb3sign_ghash *k;
	struct smb3sign_short *call; /* the end of such room: what the kernel is given */
	uint8_t raw[WIDEST][16];
	smb3sign_key *key[WIDEST];
	uint8_t *hdr_room[WIDEST], *body_room[WIDEST]; /* SHORT_PAGE bytes each */
};

/* In memory that can only be read, its end at the end but for what alignment costs. */
static smb3sign_key *make_gmac_key(const struct smb3sign_ghash *k, const uint8_t raw[16])
{
	const struct smb3sign_choice choice = {.aes = k->aes, .ghash = k};
	size_t size = smb3sign_key_size_with(SMB3SIGN_AES_GMAC, &choice);
	uint8_t *room = guard_end((size + KEY_ALIGN - 1) / KEY_ALIGN * KEY_ALIGN);
	smb3sign_key *key = NULL;
	int err = smb3sign_key_init_with(&key, room, size, SMB3SIGN_AES_GMAC, raw, 16, SMB3SIGN_ROLE_ANY, &choice);

	ck_assert_int_eq(err, SMB3SIGN_OK);
	guard_readonly(room);
	return key;
}

static void side_by_side_setup(struct side_by_side *s, const struct smb3sign_ghash *k)
{
	ck_assert_uint_le(k->width, WIDEST);
	s->k = k;
	s->call = (struct smb3sign_short *)(void *)guard_end(k->width * sizeof(*s->call));
	for (size_t i = 0; i < k->width; i++) {
		rng_fill(s->raw[i], 16);
		s->key[i] = make_gmac_key(k, s->raw[i]);
		s->hdr_room[i] = guard_end(SHORT_PAGE);
		s->body_room[i] = guard_end(SHORT_PAGE);
	}
}

/*
 * Random bytes, but for what the nonce is made of: requests and responses, CANCEL, and a command with its lower byte.
 */
static void fill_short(uint8_t *hdr, uint8_t *body, size_t len)
{
	static const uint16_t commands[] = {SMB2_CANCEL, 0x0008, 0x0100 | SMB2_CANCEL};

	rng_fill(hdr, SMB3SIGN_HEADER_LEN);
	put_le16(hdr + SMB2_COMMAND, commands[rng_below(3)]);
	rng_fill(body, len);
}

/* One call, with the message in place i at hdr[i], body[i]: what OpenSSL and the kernel for one message say to each. */
static void run_short(const struct side_by_side *s, const size_t *key_of, uint8_t *const *hdr, uint8_t *const *body,
		      const size_t *len)
{
	const uint8_t set_flags = rng_below(2) ? SMB2_FLAGS_SIGNED : 0;

	for (size_t i = 0; i < s->k->width; i++) {
		fill_short(hdr[i], body[i], len[i]);
		s->call[i] = (struct smb3sign_short){
			.key = s->key[key_of[i]], .hdr = hdr[i], .body = body[i], .len = len[i]};
	}
	s->k->gmac_short(s->call, set_flags);
	for (size_t i = 0; i < s->k->width; i++) {
		const struct smb3sign_short *m = &s->call[i];
		struct smb3sign_tag alone = s->k->gmac(s->key[key_of[i]], hdr[i], set_flags, body[i], len[i]);
		uint8_t whole[SMB3SIGN_HEADER_LEN + SHORT_MAX], want[16];

		memcpy(whole, hdr[i], SMB3SIGN_HEADER_LEN);
		whole[SMB2_FLAGS] |= set_flags;
		memcpy(whole + SMB3SIGN_HEADER_LEN, body[i], len[i]);
		ref_signature(SMB3SIGN_AES_GMAC, s->raw[key_of[i]], whole, SMB3SIGN_HEADER_LEN + len[i], want);
		if (memcmp(&m->tag, want, 16) || memcmp(&alone, want, 16))
			ck_abort_msg("GMAC %s: wrong tag of %zu bytes in place %zu", s->k->name, len[i], i);
		ck_assert(m->key == s->key[key_of[i]] && m->hdr == hdr[i] && m->body == body[i] && m->len == len[i]);
	}
}

/* A length of as many blocks as len has. */
static size_t as_many_blocks(size_t len)
{
	return len ? (len + 15) / 16 * 16 - rng_below(16) : 0;
}

/*
 * Every length in every place, beside it any others that are allowed there: each with its own key, and headers and
 * bodies directly before memory that cannot be touched; then one key for all, and directly behind such memory.
 */
static void check_short_lengths(const struct smb3sign_ghash *k)
{
	static const size_t same[WIDEST], different[WIDEST] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct side_by_side s;

	side_by_side_setup(&s, k);
	for (size_t n = 0; n < k->width * (SHORT_MAX + 1) * 2; n++) {
		size_t place = n % k->width, way = n / k->width % 2, len[WIDEST];
		uint8_t *hdr[WIDEST], *body[WIDEST];

		for (size_t i = 0; i < k->width; i++) {
			size_t wanted = n / k->width / 2;

			len[i] = i == place ? wanted : as_many_blocks(wanted);
			hdr[i] = s.hdr_room[i] + (way ? 0 : SHORT_PAGE - SMB3SIGN_HEADER_LEN);
			body[i] = s.body_room[i] + (way ? 0 : SHORT_PAGE - len[i]);
		}
		run_short(&s, way ? same : different, hdr, body, len);
	}
	guard_free_all();
}

/* Header and body of each at every address mod 64, not in step with the others'; some keys the same. */
static void check_short_alignment(const struct smb3sign_ghash *k)
{
	struct side_by_side s;

	side_by_side_setup(&s, k);
	for (size_t at = 0; at < 64; at++) {
		for (size_t nblk = 0; nblk <= SMB3SIGN_SHORT_BLOCKS; nblk++) {
			size_t key_of[WIDEST], len[WIDEST];
			uint8_t *hdr[WIDEST], *body[WIDEST];

			for (size_t i = 0; i < k->width; i++) {
				key_of[i] = rng_below(k->width);
				len[i] = as_many_blocks(16 * nblk);
				hdr[i] = s.hdr_room[i] + (at + 7 * i) % 64;
				body[i] = s.body_room[i] + (5 * at + 11 * i + nblk) % 64;
			}
			run_short(&s, key_of, hdr, body, len);
		}
	}
	guard_free_all();
}

static void check_short(const struct smb3sign_ghash *k)
{
	if (!k->gmac_short)
		return;
	check_short_lengths(k);
	check_short_alignment(k);
}

START_TEST(test_gmac_short)
{
	each_ghash(check_short);
}
END_TEST

/* ---- SHA-2 ---- */

/* One of the SHA-256 kernels or of the SHA-512 ones: the other is NULL. */
struct sha {
	const struct smb3sign_sha256 *sha256;
	const struct smb3sign_sha512 *sha512;
	const char *name;
	size_t block, word; /* bytes */
};

static void each_sha(void (*fn)(const struct sha *s))
{
	size_t run = 0;

	for (size_t i = 0; smb3sign_sha256_kernels[i]; i++) {
		const struct smb3sign_sha256 *k = smb3sign_sha256_kernels[i];

		if (!tests_sha256(k))
			continue;
		fn(&(struct sha){k, NULL, k->name, 64, 4});
		run++;
	}
	ck_assert_msg(run, "no SHA-256 kernel was tested");
	run = 0;
	for (size_t i = 0; smb3sign_sha512_kernels[i]; i++) {
		const struct smb3sign_sha512 *k = smb3sign_sha512_kernels[i];

		if (!smb3sign_kernel_usable(k->needs))
			continue;
		fn(&(struct sha){NULL, k, k->name, 128, 8});
		run++;
	}
	ck_assert_msg(run, "no SHA-512 kernel was tested");
}

static void sha_init(const struct sha *s, void *state)
{
	if (s->sha256)
		memcpy(state, smb3sign_sha256_iv, sizeof(smb3sign_sha256_iv));
	else
		memcpy(state, smb3sign_sha512_iv, sizeof(smb3sign_sha512_iv));
}

static void sha_blocks(const struct sha *s, void *state, const uint8_t *p, size_t nblk)
{
	if (s->sha256)
		s->sha256->blocks(state, p, nblk);
	else
		s->sha512->blocks(state, p, nblk);
}

/* The state's words as bytes, most significant first: the digest. */
static void sha_digest(const struct sha *s, const void *state, uint8_t digest[64])
{
	for (size_t i = 0; i < 8; i++) {
		uint64_t word = s->sha256 ? ((const uint32_t *)state)[i] : ((const uint64_t *)state)[i];

		for (size_t j = 0; j < s->word; j++)
			digest[i * s->word + j] = (uint8_t)(word >> 8 * (s->word - 1 - j));
	}
}

/* FIPS 180-4 5.1 into a buffer on the heap; *nblk is the length in blocks. */
static uint8_t *sha_padded(const struct sha *s, const void *msg, size_t len, size_t *nblk)
{
	uint8_t *p;

	*nblk = (len + 1 + 2 * s->word + s->block - 1) / s->block;
	p = calloc(*nblk, s->block);
	ck_assert_ptr_nonnull(p);
	memcpy(p, msg, len);
	p[len] = 0x80;
	for (size_t i = 0; i < 8; i++)
		p[*nblk * s->block - 1 - i] = (uint8_t)((uint64_t)len * 8 >> 8 * i);
	return p;
}

static void sha_message(const struct sha *s, const void *msg, size_t len, uint8_t digest[64])
{
	uint64_t state[8];
	size_t nblk;
	uint8_t *p = sha_padded(s, msg, len, &nblk);

	sha_init(s, state);
	sha_blocks(s, state, p, nblk);
	sha_digest(s, state, digest);
	free(p);
}

/* FIPS 180-4's examples (NIST, "Examples with intermediate values": SHA-256, SHA-512) and NIST CAVS' empty message. */
static void check_sha_published(const struct sha *s)
{
	static const struct {
		const char *msg, *sha256, *sha512;
	} vectors[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		 "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
		 "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		 "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
		 "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
		 "204a8fc6dda82f0a0ced7beb8e08a41657c16ef468b228a8279be331a703c335"
		 "96fd15c13b1b07f9aa1d3bea57789ca031ad85c7a71dd70354ec631238ca3445"},
		{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnop"
		 "qrstnopqrstu",
		 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
		 "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
		 "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909"},
	};
	uint8_t digest[64], *million;

	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		sha_message(s, vectors[i].msg, strlen(vectors[i].msg), digest);
		expect_hex(s->name, digest, s->sha256 ? vectors[i].sha256 : vectors[i].sha512);
	}
	million = malloc(1000000);
	ck_assert_ptr_nonnull(million);
	memset(million, 'a', 1000000);
	sha_message(s, million, 1000000, digest);
	expect_hex(s->name, digest,
		   s->sha256 ? "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
			     : "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
			       "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b");
	free(million);
}

START_TEST(test_sha_published)
{
	each_sha(check_sha_published);
}
END_TEST

static void check_sha_openssl(const struct sha *s)
{
	uint8_t *msg = malloc(1000 * s->block);

	ck_assert_ptr_nonnull(msg);
	for (size_t i = 0; i < 400; i++) {
		/* Every number of blocks from 1 to 70, then longer ones. */
		size_t full = i < 350 ? i % 70 : rng_below(990);
		size_t len = full * s->block + rng_below(s->block - 2 * s->word), split, nblk;
		uint8_t digest[64], want[64], *p;
		unsigned want_len;
		uint64_t state[8];

		rng_fill(msg, len);
		ck_assert_int_eq(EVP_Digest(msg, len, want, &want_len, s->sha256 ? EVP_sha256() : EVP_sha512(), NULL),
				 1);
		written_by_openssl(&want_len, sizeof(want_len));
		ck_assert_uint_eq(want_len, 8 * s->word);
		written_by_openssl(want, want_len);
		sha_message(s, msg, len, digest);
		if (memcmp(digest, want, want_len))
			ck_abort_msg("%s: wrong digest of %zu bytes", s->name, len);
		/* In two parts; one of them may be empty, and is then no call. */
		p = sha_padded(s, msg, len, &nblk);
		split = rng_below(nblk);
		sha_init(s, state);
		if (split)
			sha_blocks(s, state, p, split);
		sha_blocks(s, state, p + split * s->block, nblk - split);
		sha_digest(s, state, digest);
		if (memcmp(digest, want, want_len))
			ck_abort_msg("%s: wrong digest of %zu blocks in two parts", s->name, nblk);
		free(p);
	}
	free(msg);
}

START_TEST(test_sha_openssl)
{
	each_sha(check_sha_openssl);
}
END_TEST

/*
 * Message at every address, state at every one that its type allows, memory that cannot be touched around both. Against
 * a call with everything on the stack and the portable kernel, from states that are no hash of anything.
 */
static void check_sha_memory(const struct sha *s)
{
	const struct sha portable = {s->sha256 ? &smb3sign_sha256_portable : NULL,
				     s->sha512 ? &smb3sign_sha512_portable : NULL, "portable", s->block, s->word};
	const size_t size = 8 * s->word;

	for (size_t i = 0; i < 64 + 80; i++) {
		size_t n = 1 + (i < 64 ? rng_below(9) : (i - 64) / 2);
		uint8_t *(*guard)(size_t n) = i % 2 ? guard_start : guard_end;
		uint8_t *state, *p;
		uint64_t want[8], again[8];

		if (i < 64) {
			state = guard_start(size + 64) + i * s->word % 64;
			p = guard_start(n * s->block + 64) + i;
		} else {
			state = guard(size);
			p = guard(n * s->block);
		}
		guard_readonly(p);
		memcpy(want, state, size);
		memcpy(again, state, size);
		sha_blocks(&portable, want, p, n);
		sha_blocks(s, again, p, n);
		sha_blocks(s, state, p, n);
		if (memcmp(state, want, size) || memcmp(again, want, size))
			ck_abort_msg("%s: wrong state after %zu blocks, case %zu", s->name, n, i);
		guard_free_all();
	}
}

START_TEST(test_sha_memory)
{
	each_sha(check_sha_memory);
}
END_TEST

#ifdef SMB3SIGN_X86_SSSE3
/* ---- The constants of aes_ssse3.c, from the definitions at its head and those of FIPS 197 ---- */

/* FIPS 197 4.2. */
static uint8_t gf_mul(uint8_t a, uint8_t b)
{
	unsigned product = 0;

	for (unsigned i = 0; i < 8; i++)
		product ^= (b >> i & 1) * ((unsigned)a << i);
	for (unsigned i = 15; i >= 8; i--)
		product ^= (product >> i & 1) * (0x11bu << (i - 8));
	return (uint8_t)product;
}

static uint8_t gf_pow(uint8_t a, unsigned n)
{
	uint8_t power = 1;

	while (n--)
		power = gf_mul(power, a);
	return power;
}

/* 1/a; of 0, 0. */
static uint8_t gf_inv(uint8_t a)
{
	return gf_pow(a, 254);
}

/* FIPS 197 5.1.1, the matrix alone. */
static uint8_t affine(uint8_t b)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < 5; i++)
		sum ^= (unsigned)b << i | (unsigned)b >> (8 - i);
	return (uint8_t)sum;
}

static const uint8_t tower_s = 0x5c, tower_u = 0x12;

/* The nibble n as a byte; it has 16 values, which the tables' indices and entries stand for. */
static uint8_t in_subfield(unsigned n)
{
	uint8_t sum = 0;

	for (unsigned i = 0; i < 4; i++)
		if (n >> i & 1)
			sum ^= gf_pow(tower_s, i);
	return sum;
}

/* The byte that 16 i + k encodes. */
static uint8_t decoded(unsigned code)
{
	uint8_t i = in_subfield(code >> 4), j = i ^ in_subfield(code & 15);

	return gf_mul(i, tower_u) ^ gf_mul(j, gf_pow(tower_u, 16));
}

static void expect_entry(const char *table, unsigned i, unsigned got, unsigned want)
{
	if (got != want)
		ck_abort_msg("%s[%u] is %02x, not %02x", table, i, got, want);
}

START_TEST(test_ssse3_tower)
{
	const struct smb3sign_aes_ssse3_tables *t = &smb3sign_aes_ssse3_tables;
	const uint8_t norm = gf_pow(tower_u, 17);

	ck_assert_uint_eq(gf_pow(tower_s, 4) ^ tower_s ^ 1, 0);
	ck_assert_uint_eq(tower_u ^ gf_pow(tower_u, 16), 1);
	for (unsigned n = 0; n < 16; n++) {
		uint8_t inverse = gf_inv(in_subfield(n));
		uint8_t sub_p = affine(gf_mul(norm ^ gf_pow(tower_u, 16), inverse));
		uint8_t sub_q = affine(gf_mul(norm ^ tower_u, inverse));

		if (n) {
			ck_assert_uint_lt(t->inv[n] | t->a_inv[n], 16);
			expect_entry("inv", n, in_subfield(t->inv[n]), inverse);
			expect_entry("a_inv", n, in_subfield(t->a_inv[n]), gf_mul(gf_inv(norm), inverse));
		} else {
			expect_entry("inv", n, t->inv[n], 0x80);
			expect_entry("a_inv", n, t->a_inv[n], 0x80);
		}
		expect_entry("sub_p", n, decoded(t->sub_p[n]), sub_p);
		expect_entry("sub_q", n, decoded(t->sub_q[n]), sub_q);
		expect_entry("double_p", n, decoded(t->double_p[n]), gf_mul(2, sub_p));
		expect_entry("double_q", n, decoded(t->double_q[n]), gf_mul(2, sub_q));
		expect_entry("encode_low", n, decoded(t->encode_low[n]), n);
		expect_entry("encode_high", n, decoded(t->encode_high[n]), 16 * n);
		expect_entry("decode_low", n, t->decode_low[n], decoded(n));
		expect_entry("decode_high", n, t->decode_high[n], decoded(16 * n));
	}
	for (unsigned n = 0; n < 10; n++)
		expect_entry("rcon", n, decoded(t->rcon[n]), gf_pow(2, n));
	expect_entry("c63", 0, decoded(t->c63), 0x63);
}
END_TEST

/*
 * What ShiftRows (FIPS 197 5.1.2) would still have to move: n of them owed, row r, column c stands at column c + n r.
 */
START_TEST(test_ssse3_places)
{
	const struct smb3sign_aes_ssse3_tables *t = &smb3sign_aes_ssse3_tables;

	for (unsigned n = 0; n < 4; n++) {
		for (unsigned i = 0; i < 16; i++) {
			unsigned r = i % 4, c = i / 4, next = (r + 1) % 4, previous = (r + 3) % 4;
			unsigned here = 4 * ((c + n * r) % 4) + r;

			expect_entry("owe", here, t->owe[n][here], i);
			expect_entry("next", here, t->row[n].next[here], 4 * ((c + n * next) % 4) + next);
			expect_entry("previous", here, t->row[n].previous[here],
				     4 * ((c + n * previous) % 4) + previous);
		}
	}
}
END_TEST
#endif

/* ---- SHA-256 of several messages side by side ---- */

enum { LANES_MAX = 16, LANES_BLOCKS_MAX = 300 };

static void each_sha256_lanes(void (*fn)(const struct smb3sign_sha256 *k))
{
	size_t run = 0;

	for (size_t i = 0; smb3sign_sha256_kernels[i]; i++) {
		const struct smb3sign_sha256 *k = smb3sign_sha256_kernels[i];

		if (!tests_sha256(k) || !k->blocks_lanes)
			continue;
		ck_assert_uint_ge(k->width, 2);
		ck_assert_uint_le(k->width, LANES_MAX);
		fn(k);
		run++;
	}
	ck_assert_msg(run || !getenv("SMB3SIGN_TEST_SHA256"), "no SHA-256 kernel was tested");
}

/*
 * Calls the kernel for n lanes whose states and blocks are set, and holds each to what the kernel itself and the
 * portable one make of it alone. The lanes are a copy directly before or directly behind memory that cannot be touched.
 */
static void run_lanes(const struct smb3sign_sha256 *k, struct smb3sign_lane *lanes, size_t n, size_t nblk)
{
	const size_t size = n * sizeof(*lanes);
	void *guarded = (n + nblk) % 2 ? guard_start(size) : guard_end(size);
	struct smb3sign_lane *copy = guarded;

	memcpy(copy, lanes, size);
	k->blocks_lanes(copy, n, nblk);
	for (size_t i = 0; i < n; i++) {
		uint32_t alone[8], portable[8];

		memcpy(alone, lanes[i].state, sizeof(alone));
		memcpy(portable, lanes[i].state, sizeof(portable));
		k->blocks(alone, lanes[i].p, nblk);
		smb3sign_sha256_portable.blocks(portable, lanes[i].p, nblk);
		if (memcmp(copy[i].state, alone, sizeof(alone)) || memcmp(alone, portable, sizeof(alone)))
			ck_abort_msg("SHA-256 %s: lane %zu of %zu is wrong after %zu blocks", k->name, i, n, nblk);
		ck_assert_ptr_eq(copy[i].p, lanes[i].p);
		ck_assert_ptr_eq(copy[i].rk, lanes[i].rk);
	}
	memcpy(lanes, copy, size);
}

/*
 * Blocks at all addresses, each lane's between two pages that cannot be touched, or one of the two directly beside it.
 */
static void check_lanes_memory(const struct smb3sign_sha256 *k)
{
	static const size_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 64, 255};

	for (size_t n = 1; n <= k->width; n++) {
		for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
			for (size_t at = 0; at < 64 + 2; at++) {
				struct smb3sign_lane lanes[LANES_MAX];
				size_t size = 64 * counts[c];

				if (counts[c] > 9 && at % 11)
					continue;
				rng_fill(lanes, sizeof(lanes));
				for (size_t i = 0; i < n; i++) {
					if (at < 64)
						lanes[i].p = guard_start(size + 64) + (at + 5 * i) % 64;
					else
						lanes[i].p = (at + i) % 2 ? guard_start(size) : guard_end(size);
					guard_readonly(lanes[i].p);
				}
				run_lanes(k, lanes, n, counts[c]);
				guard_free_all();
			}
		}
	}
}

START_TEST(test_lanes_memory)
{
	each_sha256_lanes(check_lanes_memory);
}
END_TEST

/* Lanes that read the same blocks from different states, and overlapping ones; twice, for the states go on. */
static void check_lanes_shared(const struct smb3sign_sha256 *k)
{
	static uint8_t p[64 * 9 + LANES_MAX];

	for (size_t n = 2; n <= k->width; n++) {
		for (size_t i = 0; i < 100; i++) {
			struct smb3sign_lane lanes[LANES_MAX];
			size_t nblk = 1 + i % 9;

			rng_fill(p, sizeof(p));
			rng_fill(lanes, sizeof(lanes));
			for (size_t j = 0; j < n; j++)
				lanes[j].p = p + (i % 2 ? rng_below(LANES_MAX) : 0);
			run_lanes(k, lanes, n, nblk);
			run_lanes(k, lanes, n, nblk);
		}
		guard_free_all();
	}
}

START_TEST(test_lanes_shared)
{
	each_sha256_lanes(check_lanes_shared);
}
END_TEST

/* Whole messages against OpenSSL, of as many blocks in all lanes, in one call or in two. */
static void check_lanes_openssl(const struct smb3sign_sha256 *k)
{
	const struct sha s = {k, NULL, k->name, 64, 4};
	static uint8_t msg[64 * LANES_BLOCKS_MAX];

	for (size_t i = 0; i < 300; i++) {
		size_t n = 1 + i % k->width, full = i < 250 ? i / k->width : rng_below(LANES_BLOCKS_MAX);
		size_t nblk = 0, first;
		struct smb3sign_lane lanes[LANES_MAX];
		uint8_t want[LANES_MAX][32], digest[64], *padded[LANES_MAX];

		for (size_t j = 0; j < n; j++) {
			size_t len = 64 * full + rng_below(64 - 8);

			rng_fill(msg, len);
			ck_assert_int_eq(EVP_Digest(msg, len, want[j], NULL, EVP_sha256(), NULL), 1);
			written_by_openssl(want[j], sizeof(want[j]));
			lanes[j].p = padded[j] = sha_padded(&s, msg, len, &nblk);
			ck_assert_uint_eq(nblk, full + 1);
			sha_init(&s, lanes[j].state);
		}
		first = i % 2 ? rng_below(nblk) : 0;
		if (first)
			k->blocks_lanes(lanes, n, first);
		for (size_t j = 0; j < n; j++)
			lanes[j].p += 64 * first;
		k->blocks_lanes(lanes, n, nblk - first);
		for (size_t j = 0; j < n; j++) {
			sha_digest(&s, lanes[j].state, digest);
			if (memcmp(digest, want[j], 32))
				ck_abort_msg("SHA-256 %s: wrong digest in lane %zu of %zu, %zu blocks", k->name, j, n,
					     nblk);
			free(padded[j]);
		}
	}
}

START_TEST(test_lanes_openssl)
{
	each_sha256_lanes(check_lanes_openssl);
}
END_TEST

#ifdef AS_SHIPPED
/* The call that runs on the painted stack. */
static const struct smb3sign_sha256 *stack_kernel;
static struct smb3sign_lane stack_lanes[LANES_MAX];
static size_t stack_n, stack_nblk;

static void call_blocks_lanes(void)
{
	stack_kernel->blocks_lanes(stack_lanes, stack_n, stack_nblk);
}

/*
 * Two neighbours of 32-bit words in either order, as they stand in any arrangement of a state or a block in registers.
 */
static int stack_holds_words(const uint32_t *words, size_t count)
{
	for (size_t i = 0; i + 1 < count; i += 2) {
		const uint32_t swapped[2] = {words[i + 1], words[i]};

		if (stack_holds(words + i, 8) || stack_holds(swapped, 8))
			return 1;
	}
	return 0;
}

/* The same words of two lanes beside each other, as vectors of one word of all lanes have them. */
static int stack_holds_across(const uint32_t *left, const uint32_t *right, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint32_t pair[2] = {left[i], right[i]};

		if (stack_holds_words(pair, 2))
			return 1;
	}
	return 0;
}

/* FIPS 180-4 6.2.2 step 1: the message schedule, of which any sixteen words give the block. */
static void schedule_of(uint32_t w[64], const uint8_t *block)
{
	for (size_t t = 0; t < 16; t++)
		w[t] = load_be32(block + 4 * t);
	for (size_t t = 16; t < 64; t++) {
		uint32_t s0 = ror32(w[t - 15], 7) ^ ror32(w[t - 15], 18) ^ w[t - 15] >> 3;
		uint32_t s1 = ror32(w[t - 2], 17) ^ ror32(w[t - 2], 19) ^ w[t - 2] >> 10;

		w[t] = w[t - 16] + s0 + w[t - 7] + s1;
	}
}

/*
 * Nothing of the lanes stays on the stack: no state before, between or after the blocks, nothing of the last block,
 * which in HMAC's outer hash is the inner one.
 */
static void check_lanes_stack(const struct smb3sign_sha256 *k)
{
	static uint8_t p[LANES_MAX][64 * 4];
	uint32_t states[LANES_MAX][4 + 1][8], w[LANES_MAX][64];

	stack_kernel = k;
	for (stack_n = 1; stack_n <= k->width; stack_n++) {
		for (stack_nblk = 1; stack_nblk <= 4; stack_nblk++) {
			rng_fill(p, sizeof(p));
			for (size_t i = 0; i < stack_n; i++) {
				rng_fill(states[i][0], sizeof(states[i][0]));
				memcpy(stack_lanes[i].state, states[i][0], sizeof(states[i][0]));
				stack_lanes[i].p = p[i];
			}
			on_painted_stack(call_blocks_lanes);
			for (size_t i = 0; i < stack_n; i++) {
				const uint8_t *last = p[i] + 64 * (stack_nblk - 1);

				for (size_t b = 0; b <= stack_nblk; b++) {
					uint32_t *state = states[i][b];

					if (b) {
						memcpy(state, states[i][b - 1], sizeof(states[i][b]));
						smb3sign_sha256_portable.blocks(state, p[i] + 64 * (b - 1), 1);
					}
					ck_assert_msg(!stack_holds_words(state, 8) &&
							      !(i && stack_holds_across(states[i - 1][b], state, 8)),
						      "%s left lane %zu of %zu's state after %zu of %zu blocks",
						      k->name, i, stack_n, b, stack_nblk);
				}
				ck_assert_int_eq(memcmp(states[i][stack_nblk], stack_lanes[i].state, 32), 0);
				schedule_of(w[i], last);
				ck_assert_msg(!stack_holds_words(w[i], 64) && !stack_holds(last, 8) &&
						      !(i && stack_holds_across(w[i - 1], w[i], 64)),
					      "%s left the last block in lane %zu of %zu", k->name, i, stack_n);
			}
		}
	}
}

START_TEST(test_lanes_stack)
{
	each_sha256_lanes(check_lanes_stack);
}
END_TEST
#endif

/* ---- The lists ---- */

/*
 * Each list ends with the portable kernel, which alone needs nothing; the best is the first usable; sizes are
 * as promised.
 */
START_TEST(test_lists)
{
	const struct smb3sign_aes *aes = NULL, *best_aes = NULL;
	const struct smb3sign_ghash *ghash = NULL, *best_ghash = NULL;
	const struct smb3sign_sha256 *sha256 = NULL, *best_sha256 = NULL;
	const struct smb3sign_sha512 *sha512 = NULL, *best_sha512 = NULL;

	for (size_t i = 0; smb3sign_aes_kernels[i]; i++) {
		aes = smb3sign_aes_kernels[i];
		ck_assert_int_eq(aes->needs == 0, !smb3sign_aes_kernels[i + 1]);
		ck_assert_uint_eq(aes->rk_size % 16, 0);
		ck_assert_uint_ge(aes->rk_size, 176);
		ck_assert_uint_le(aes->rk_size, SMB3SIGN_RK_SIZE_MAX);
		if (!best_aes && smb3sign_kernel_usable(aes->needs))
			best_aes = aes;
	}
	for (size_t i = 0; smb3sign_ghash_kernels[i]; i++) {
		ghash = smb3sign_ghash_kernels[i];
		ck_assert_int_eq(ghash->needs == 0, !smb3sign_ghash_kernels[i + 1]);
		ck_assert_uint_eq(ghash->table_size % 16, 0);
		ck_assert_uint_ge(ghash->table_size, 16);
		ck_assert_msg(!ghash->gmac || ghash->aes, "%s: gmac without its AES", ghash->name);
		ck_assert_msg(!ghash->gmac_short || ghash->gmac, "%s: gmac_short without gmac", ghash->name);
		ck_assert_int_eq(ghash->gmac_short != NULL, ghash->width > 1);
		ck_assert_int_eq(ghash->gmac_short == NULL, ghash->width == 0);
		if (!best_ghash && smb3sign_kernel_usable(ghash->needs | ghash->wants))
			best_ghash = ghash;
	}
	for (size_t i = 0; smb3sign_sha256_kernels[i]; i++) {
		sha256 = smb3sign_sha256_kernels[i];
		ck_assert_int_eq(sha256->needs == 0, !smb3sign_sha256_kernels[i + 1]);
		ck_assert_int_eq(sha256->blocks_lanes != NULL, sha256->width > 1);
		if (!best_sha256 && smb3sign_kernel_usable(sha256->needs))
			best_sha256 = sha256;
	}
	for (size_t i = 0; smb3sign_sha512_kernels[i]; i++) {
		sha512 = smb3sign_sha512_kernels[i];
		ck_assert_int_eq(sha512->needs == 0, !smb3sign_sha512_kernels[i + 1]);
		if (!best_sha512 && smb3sign_kernel_usable(sha512->needs))
			best_sha512 = sha512;
	}
	ck_assert_ptr_eq(aes, &smb3sign_aes_portable);
	ck_assert_ptr_eq(ghash, &smb3sign_ghash_portable);
	ck_assert_ptr_eq(sha256, &smb3sign_sha256_portable);
	ck_assert_ptr_eq(best_aes, smb3sign_best_aes());
	ck_assert_ptr_eq(best_ghash, smb3sign_best_ghash());
	ck_assert_ptr_eq(best_sha256, smb3sign_best_sha256());
	ck_assert_ptr_eq(sha512, &smb3sign_sha512_portable);
	ck_assert_ptr_eq(best_sha512, smb3sign_best_sha512());
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kernels");
	TCase *tc = add_case(s, "chains");

	tcase_add_test(tc, test_chain_lengths);
	tcase_add_test(tc, test_chain_keys);
	tcase_add_test(tc, test_chain_alignment);
	tcase_add_test(tc, test_chain_bounds);
	tc = add_case(s, "aes");
	tcase_add_test(tc, test_aes_published);
	tcase_add_test(tc, test_aes_openssl);
	tcase_add_test(tc, test_aes_memory);
	tcase_add_test(tc, test_aes_lanes);
	tc = add_case(s, "ghash");
	tcase_add_test(tc, test_ghash_published);
	tcase_add_test(tc, test_ghash_products);
	tcase_add_test(tc, test_gmac_short);
	tc = add_case(s, "sha");
	tcase_add_test(tc, test_sha_published);
	tcase_add_test(tc, test_sha_openssl);
	tcase_add_test(tc, test_sha_memory);
#ifdef SMB3SIGN_X86_SSSE3
	tc = add_case(s, "ssse3");
	tcase_add_test(tc, test_ssse3_tower);
	tcase_add_test(tc, test_ssse3_places);
#endif
	tc = add_case(s, "sha256_memory");
	tcase_add_test(tc, test_lanes_memory);
	tc = add_case(s, "sha256_lanes");
	tcase_add_test(tc, test_lanes_shared);
	tcase_add_test(tc, test_lanes_openssl);
#ifdef AS_SHIPPED
	tc = add_case(s, "sha256_stack");
	tcase_add_test(tc, test_lanes_stack);
#endif
	tc = add_case(s, "lists");
	tcase_add_test(tc, test_lists);
	return run_suite(s);
}
