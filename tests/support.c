/* SPDX-License-Identifier: MIT */
/*
 * Shared parts of the suites, support.h. OpenSSL is the reference for every tag; the SMB rules around it (Signature as
 * zeros, the GMAC nonce) are written down here a second time, from MS-SMB2 3.1.4.1 and without the library's headers.
 * Everything here is for one thread.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>

#include "cpu.h"
#include "key.h"
#include "support.h"

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t rng_state = 0x736d62337369676e;

void rng_seed(uint64_t seed)
{
	rng_state = seed;
}

uint64_t rng_u64(void)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void rng_fill(void *p, size_t n)
{
	uint8_t *out = p;

	for (; n >= 8; n -= 8, out += 8) {
		uint64_t z = rng_u64();

		memcpy(out, &z, 8);
	}
	for (uint64_t z = n ? rng_u64() : 0; n; n--, z >>= 8)
		*out++ = (uint8_t)z;
}

/* The bias of the remainder is below n / 2^64. */
size_t rng_below(size_t n)
{
	return (size_t)(rng_u64() % n);
}

static void rng_seed_from_environment(void)
{
	const char *text = getenv("SMB3SIGN_TEST_SEED");

	if (!text)
		return;
	rng_seed(strtoull(text, NULL, 0));
	printf("SMB3SIGN_TEST_SEED=%llu\n", (unsigned long long)rng_state);
}

static unsigned hex_digit(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | (c >= 'A' && c <= 'F' ? 0x20 : 0)) : NULL;

	if (!at)
		ck_abort_msg("'%c' is no hex digit", c);
	return (unsigned)(at - digits);
}

size_t unhex(void *out, size_t room, const char *hex)
{
	uint8_t *bytes = out;
	size_t n = strlen(hex) / 2;

	if (strlen(hex) % 2 || n > room)
		ck_abort_msg("%zu hex digits do not fit into %zu bytes", strlen(hex), room);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
	return n;
}

void assert_hex(const void *bytes, const char *hex)
{
	size_t n = strlen(hex) / 2;
	uint8_t *want = malloc(n + 1);

	if (!want)
		ck_abort_msg("no memory");
	unhex(want, n, hex);
	ck_assert_mem_eq(bytes, want, n);
	free(want);
}

/* ---- Guarded memory ---- */

static struct guarded {
	uint8_t *map, *data; /* data: the pages between the guards */
	size_t map_len, data_len;
} * guarded;
static size_t guarded_count;

/* Whole pages for n bytes (at least one), an inaccessible one on both sides. */
static struct guarded *guard_map(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct guarded *all = realloc(guarded, (guarded_count + 1) * sizeof(*guarded));
	struct guarded *g;

	if (!all)
		ck_abort_msg("no memory");
	guarded = all;
	g = &guarded[guarded_count];
	g->data_len = n ? (n + page - 1) / page * page : page;
	g->map_len = g->data_len + 2 * page;
	g->map = mmap(NULL, g->map_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g->map == MAP_FAILED)
		ck_abort_msg("mmap: %s", strerror(errno));
	g->data = g->map + page;
	guarded_count++;
	if (mprotect(g->data, g->data_len, PROT_READ | PROT_WRITE))
		ck_abort_msg("mprotect: %s", strerror(errno));
	rng_fill(g->data, g->data_len);
	return g;
}

uint8_t *guard_end(size_t n)
{
	const struct guarded *g = guard_map(n);

	return g->data + g->data_len - n;
}

uint8_t *guard_start(size_t n)
{
	return guard_map(n)->data;
}

void guard_readonly(const void *p)
{
	for (size_t i = 0; i < guarded_count; i++) {
		const struct guarded *g = &guarded[i];

		/* The end counts as inside: it is where guard_end(0) points. */
		if ((uintptr_t)p < (uintptr_t)g->data || (uintptr_t)p > (uintptr_t)(g->data + g->data_len))
			continue;
		if (mprotect(g->data, g->data_len, PROT_READ))
			ck_abort_msg("mprotect: %s", strerror(errno));
		return;
	}
	ck_abort_msg("%p is not guarded memory", p);
}

void guard_free_all(void)
{
	for (size_t i = 0; i < guarded_count; i++)
		munmap(guarded[i].map, guarded[i].map_len);
	free(guarded);
	guarded = NULL;
	guarded_count = 0;
}

/* ---- Messages (MS-SMB2 2.2.1) ---- */

void put_le16(void *p, unsigned v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)v;
	b[1] = (uint8_t)(v >> 8);
}

void put_le32(void *p, uint32_t v)
{
	put_le16(p, v & 0xffff);
	put_le16((uint8_t *)p + 2, v >> 16);
}

void put_le64(void *p, uint64_t v)
{
	put_le32(p, (uint32_t)v);
	put_le32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

uint32_t get_le32(const void *p)
{
	const uint8_t *b = p;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

enum { STACK = 64 * 1024, PAINT = 0xa5 };

static uint8_t own_stack[STACK] __attribute__((aligned(64)));
static ucontext_t outside, inside;
static void (*inside_call)(void);
static size_t untouched; /* of own_stack, from its start */

static void run_inside(void)
{
	inside_call();
}

size_t on_painted_stack(void (*call)(void))
{
	memset(own_stack, PAINT, sizeof(own_stack));
	inside_call = call;
	ck_assert_int_eq(getcontext(&inside), 0);
	inside.uc_stack.ss_sp = own_stack;
	inside.uc_stack.ss_size = sizeof(own_stack);
	inside.uc_link = &outside;
	makecontext(&inside, run_inside, 0);
	ck_assert_int_eq(swapcontext(&outside, &inside), 0);
	untouched = 0;
	while (untouched < STACK && own_stack[untouched] == PAINT)
		untouched++;
	return STACK - untouched;
}

int stack_holds(const void *bytes, size_t n)
{
	for (size_t i = untouched; i + n <= STACK; i++)
		if (memcmp(own_stack + i, bytes, n) == 0)
			return 1;
	return 0;
}

void make_header(void *hdr, unsigned command, uint32_t flags, uint64_t message_id, uint64_t session_id)
{
	uint8_t *h = hdr;

	memset(h, 0, 48);
	memcpy(h, "\xfeSMB", 4);
	put_le16(h + 4, 64);
	put_le16(h + 6, 1); /* CreditCharge */
	put_le16(h + 12, command);
	put_le16(h + 14, 31); /* CreditRequest */
	put_le32(h + 16, flags);
	put_le64(h + 24, message_id);
	put_le64(h + 40, session_id);
	rng_fill(h + 48, 16);
}

void random_header(void *hdr)
{
	uint8_t *h = hdr;
	uint32_t flags = (uint32_t)rng_u64() & 0x3000007f;
	/* 0x01 .. 0x13; a CANCEL (0x0c) has no response. */
	unsigned command = 1 + (unsigned)rng_below(0x13);
	uint64_t message_id = rng_u64() >> rng_below(60);

	if (rng_below(8) == 0)
		command = 0x0c;
	if (command == 0x0c)
		flags &= ~UINT32_C(1);
	if (message_id == 0 || message_id == UINT64_MAX)
		message_id = UINT64_MAX - 1;
	make_header(h, command, flags, message_id, 1 + (rng_u64() >> 1));
	rng_fill(h + 6, 2);
	rng_fill(h + 8, 4);
	rng_fill(h + 14, 2);
	rng_fill(h + 32, 8);
	/* The one Status that matters: PENDING makes a response unsignable; in a request it is a ChannelSequence. */
	if (flags & 1) {
		if (get_le32(h + 8) == 0x103)
			put_le32(h + 8, 0);
	} else if (rng_below(4) == 0) {
		put_le32(h + 8, 0x103);
	}
}

uint8_t *new_message(size_t len)
{
	uint8_t *msg = malloc(len);

	ck_assert_ptr_nonnull(msg);
	random_header(msg);
	rng_fill(msg + 64, len - 64);
	if (rng_below(4) == 0)
		put_le32(msg + 20, (uint32_t)len);
	return msg;
}

uint8_t *new_signed(unsigned alg, const uint8_t raw[16], size_t len)
{
	uint8_t *msg = new_message(len);

	msg[16] |= 8;
	ref_signature(alg, raw, msg, len, msg + 48);
	return msg;
}

smb3sign_key *new_key(unsigned alg, const uint8_t raw[16], unsigned role)
{
	smb3sign_key *key = NULL;

	ck_assert_int_eq(smb3sign_key_new(&key, alg, raw, 16, role), SMB3SIGN_OK);
	return key;
}

size_t random_split(smb3sign_iov *iov, size_t max, const void *body, size_t len)
{
	size_t n = 1 + rng_below(max), at = 0;
	uint8_t *bytes = (uint8_t *)(uintptr_t)body;

	for (size_t i = 0; i < n; i++) {
		size_t left = len - at;
		/* Of what is left: nothing, a little, anything; the last takes the rest. */
		size_t some[3] = {0, rng_below(40), rng_below(left + 1)};
		size_t take = i + 1 == n ? left : some[rng_below(3)];

		if (take > left)
			take = left;
		iov[i].iov_len = take;
		iov[i].iov_base = take || rng_below(2) ? bytes + at : NULL;
		at += take;
	}
	return n;
}

/* ---- OpenSSL ---- */

static void openssl_failed(const char *what)
{
	ck_abort_msg("OpenSSL: %s failed", what);
}

struct piece {
	const void *p;
	size_t len;
};

/* A context of OpenSSL's, made at first use and used again: for one MAC with one digest or cipher (its param). */
struct ref_mac {
	const char *name, *param, *value;
	EVP_MAC_CTX *ctx;
};

static struct ref_mac ref_hmac_mac = {"HMAC", OSSL_MAC_PARAM_DIGEST, "SHA256", NULL};
static struct ref_mac ref_cmac_mac = {"CMAC", OSSL_MAC_PARAM_CIPHER, "AES-128-CBC", NULL};
static struct ref_mac ref_gmac_mac = {"GMAC", OSSL_MAC_PARAM_CIPHER, "AES-128-GCM", NULL};

static void ref_mac_open(struct ref_mac *m)
{
	EVP_MAC *alg = EVP_MAC_fetch(NULL, m->name, NULL);
	OSSL_PARAM params[] = {OSSL_PARAM_END, OSSL_PARAM_END};
	char value[16];

	snprintf(value, sizeof(value), "%s", m->value);
	params[0] = OSSL_PARAM_construct_utf8_string(m->param, value, 0);
	m->ctx = alg ? EVP_MAC_CTX_new(alg) : NULL;
	if (!m->ctx || !EVP_MAC_CTX_set_params(m->ctx, params))
		openssl_failed(m->name);
	EVP_MAC_free(alg);
}

static void ref_mac(struct ref_mac *m, const OSSL_PARAM *params, const void *key, size_t key_len,
		    const struct piece *pieces, size_t n, uint8_t *mac, size_t mac_len)
{
	size_t got = 0;

	if (!m->ctx)
		ref_mac_open(m);
	if (!EVP_MAC_init(m->ctx, key, key_len, params))
		openssl_failed(m->name);
	for (size_t i = 0; i < n; i++)
		if (pieces[i].len && !EVP_MAC_update(m->ctx, pieces[i].p, pieces[i].len))
			openssl_failed(m->name);
	if (!EVP_MAC_final(m->ctx, mac, &got, mac_len) || got != mac_len)
		openssl_failed(m->name);
	written_by_openssl(mac, mac_len);
}

static void ref_hmac_pieces(const void *key, size_t key_len, const struct piece *pieces, size_t n, uint8_t mac[32])
{
	/* OpenSSL takes a NULL key for "keep the old one". */
	ref_mac(&ref_hmac_mac, NULL, key_len ? key : "", key_len, pieces, n, mac, 32);
}

static void ref_cmac_pieces(const uint8_t key[16], const struct piece *pieces, size_t n, uint8_t mac[16])
{
	ref_mac(&ref_cmac_mac, NULL, key, 16, pieces, n, mac, 16);
}

static void ref_gmac_pieces(const uint8_t key[16], const uint8_t nonce[12], const struct piece *pieces, size_t n,
			    uint8_t mac[16])
{
	uint8_t iv[12];
	OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, iv, sizeof(iv)),
			       OSSL_PARAM_construct_end()};

	memcpy(iv, nonce, sizeof(iv));
	ref_mac(&ref_gmac_mac, params, key, 16, pieces, n, mac, 16);
}

void ref_hmac_sha256(const void *key, size_t key_len, const void *msg, size_t len, uint8_t mac[32])
{
	ref_hmac_pieces(key, key_len, &(struct piece){msg, len}, 1, mac);
}

void ref_cmac(const uint8_t key[16], const void *msg, size_t len, uint8_t mac[16])
{
	ref_cmac_pieces(key, &(struct piece){msg, len}, 1, mac);
}

void ref_gmac(const uint8_t key[16], const uint8_t nonce[12], const void *msg, size_t len, uint8_t mac[16])
{
	ref_gmac_pieces(key, nonce, &(struct piece){msg, len}, 1, mac);
}

void ref_aes128(const uint8_t key[16], const uint8_t in[16], uint8_t out[16])
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int got = 0;

	if (!ctx || !EVP_EncryptInit_ex(ctx, EVP_aes_128_ecb(), NULL, key, NULL) ||
	    !EVP_CIPHER_CTX_set_padding(ctx, 0) || !EVP_EncryptUpdate(ctx, out, &got, in, 16) || got != 16)
		openssl_failed("AES-128");
	written_by_openssl(out, 16);
	EVP_CIPHER_CTX_free(ctx);
}

void ref_signature(unsigned alg, const uint8_t key[16], const void *msg, size_t len, uint8_t tag[16])
{
	static const uint8_t zero[16];
	const uint8_t *m = msg;
	uint8_t mac[32], nonce[12] = {0};
	struct piece pieces[3] = {{m, 48}, {zero, 16}, {m + 64, len - 64}};

	ck_assert_uint_ge(len, 64);
	switch (alg) {
	case 0:
		ref_hmac_pieces(key, 16, pieces, 3, mac);
		break;
	case 1:
		ref_cmac_pieces(key, pieces, 3, mac);
		break;
	case 2:
		/* MessageId as it stands; bit 0: sent by a server; bit 1: a CANCEL request. */
		memcpy(nonce, m + 24, 8);
		nonce[8] = m[16] & 1;
		if (m[12] == 0x0c && m[13] == 0)
			nonce[8] |= 2;
		ref_gmac_pieces(key, nonce, pieces, 3, mac);
		break;
	default:
		ck_abort_msg("no algorithm %u", alg);
	}
	memcpy(tag, mac, 16);
}

/* ---- Kernels ---- */

static const char *current_kernels;

/*
 * Every failing assertion of Check ends here, by the linker's --wrap. While for_each_kernel runs, the message says
 * which kernels failed.
 */
void __real__ck_assert_failed(const char *file, int line, const char *expr, const char *msg, ...)
	__attribute__((noreturn, format(printf, 4, 5)));
void __wrap__ck_assert_failed(const char *file, int line, const char *expr, const char *msg, ...)
	__attribute__((noreturn, format(printf, 4, 5)));

void __wrap__ck_assert_failed(const char *file, int line, const char *expr, const char *msg, ...)
{
	char text[2048] = "", names[128] = "";
	const char *kernels = current_kernels;

	if (msg) {
		va_list args;

		va_start(args, msg);
		vsnprintf(text, sizeof(text), msg, args);
		va_end(args);
	}
	current_kernels = NULL;
	if (kernels)
		snprintf(names, sizeof(names), "[%s] ", kernels);
	if (msg || kernels)
		__real__ck_assert_failed(file, line, expr, "%s%s", names, msg ? text : expr);
	__real__ck_assert_failed(file, line, expr, NULL);
}

struct visit {
	unsigned alg, role;
	const uint8_t *raw;
	void (*fn)(const smb3sign_key *key, const uint8_t raw[16], void *arg);
	void *arg;
};

static void visit_choice(const struct visit *v, const struct smb3sign_choice *choice)
{
	size_t size = smb3sign_key_size_with(v->alg, choice);
	void *mem = malloc(size ? size : 1);
	smb3sign_key *key = NULL;
	int err;

	ck_assert_ptr_nonnull(mem);
	err = smb3sign_key_init_with(&key, mem, size, v->alg, v->raw, 16, v->role, choice);
	if (err)
		ck_abort_msg("kernels %s %s %s make no key: %d", choice->aes ? choice->aes->name : "-",
			     choice->ghash ? choice->ghash->name : "-", choice->sha256 ? choice->sha256->name : "-",
			     err);
	current_kernels = smb3sign_key_impl(key);
	v->fn(key, v->raw, v->arg);
	current_kernels = NULL;
	smb3sign_key_wipe(key);
	free(mem);
}

static int usable(uint32_t needs)
{
	return (needs & ~smb3sign_cpu_features()) == 0;
}

static void visit_ghash(const struct visit *v, struct smb3sign_choice choice)
{
	for (const struct smb3sign_ghash *const *g = smb3sign_ghash_kernels; *g; g++) {
		choice.ghash = *g;
		if (usable((*g)->needs))
			visit_choice(v, &choice);
	}
}

static void visit_aes(const struct visit *v)
{
	for (const struct smb3sign_aes *const *a = smb3sign_aes_kernels; *a; a++) {
		struct smb3sign_choice choice = {.aes = *a};

		if (!usable((*a)->needs))
			continue;
		if (v->alg == SMB3SIGN_AES_GMAC)
			visit_ghash(v, choice);
		else
			visit_choice(v, &choice);
	}
}

int tests_sha256(const struct smb3sign_sha256 *kernel)
{
	const char *only = getenv("SMB3SIGN_TEST_SHA256");

	return usable(kernel->needs) && (!only || !strcmp(only, kernel->name));
}

static void visit_sha256(const struct visit *v)
{
	size_t run = 0;

	for (const struct smb3sign_sha256 *const *s = smb3sign_sha256_kernels; *s; s++) {
		struct smb3sign_choice choice = {.sha256 = *s};

		if (!tests_sha256(*s))
			continue;
		visit_choice(v, &choice);
		run++;
	}
	ck_assert_msg(run, "no SHA-256 kernel was tested");
}

void for_each_kernel(unsigned alg, const uint8_t raw[16], unsigned role,
		     void (*fn)(const smb3sign_key *key, const uint8_t raw[16], void *arg), void *arg)
{
	struct visit v = {.alg = alg, .role = role, .raw = raw, .fn = fn, .arg = arg};

	if (alg == SMB3SIGN_HMAC_SHA256)
		visit_sha256(&v);
	else
		visit_aes(&v);
}

/* ---- Suites ---- */

TCase *add_case(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, NULL, guard_free_all);
	suite_add_tcase(s, tc);
	return tc;
}

int run_suite(Suite *s)
{
	SRunner *runner = srunner_create(s);
	int run, failed;

	rng_seed_from_environment();
	srunner_run_all(runner, CK_NORMAL);
	run = srunner_ntests_run(runner);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	/* CK_RUN_CASE with a case that does not exist must not look like success. */
	if (run == 0)
		fprintf(stderr, "no test was run\n");
	return failed || run == 0;
}
