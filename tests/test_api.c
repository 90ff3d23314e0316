/* SPDX-License-Identifier: MIT */
/*
 * What smb3sign.h promises of the library as a whole: texts and codes, the processor override (run again by CTest with
 * SMB3SIGN_CPU_DISABLE set), errno, signal handlers, and the bound on stack use.
 */
#define _DEFAULT_SOURCE /* setenv, setitimer */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"
#include "key.h"
#include "support.h"

enum { ALGS = 3 };

static uint8_t raw_key[16];

static void setup(void)
{
	rng_fill(raw_key, sizeof(raw_key));
}

/* ---- Codes and texts ---- */

static const int codes[] = {SMB3SIGN_OK,        SMB3SIGN_E_SIGNATURE, SMB3SIGN_E_UNSIGNED,    SMB3SIGN_E_EXEMPT,
			    SMB3SIGN_E_MESSAGE, SMB3SIGN_E_INVAL,     SMB3SIGN_E_UNSUPPORTED, SMB3SIGN_E_NOMEM,
			    SMB3SIGN_E_NONCE};
static const int unknown[] = {1, 2, 100, INT_MAX, -9, -10, -100, -1000, INT_MIN};

START_TEST(test_codes)
{
	/* 0 and -1 to -8: part of the ABI. */
	for (int i = 0; i < 9; i++)
		ck_assert_int_eq(codes[i], -i);
	ck_assert_int_eq(SMB3SIGN_HMAC_SHA256, 0);
	ck_assert_int_eq(SMB3SIGN_AES_CMAC, 1);
	ck_assert_int_eq(SMB3SIGN_AES_GMAC, 2);
	ck_assert_uint_eq(sizeof(smb3sign_ctx), 512);
}
END_TEST

static void check_sentence(const char *s)
{
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_gt(strlen(s), 4);
	ck_assert_msg(s[strlen(s) - 1] != '.', "full stop: %s", s);
	ck_assert_msg(!strchr(s, '\n'), "several lines: %s", s);
}

START_TEST(test_strerror)
{
	for (size_t i = 0; i < 9; i++) {
		check_sentence(smb3sign_strerror(codes[i]));
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(smb3sign_strerror(codes[i]), smb3sign_strerror(codes[j]));
		for (size_t j = 0; j < sizeof(unknown) / sizeof(unknown[0]); j++)
			ck_assert_str_ne(smb3sign_strerror(codes[i]), smb3sign_strerror(unknown[j]));
	}
	for (size_t j = 0; j < sizeof(unknown) / sizeof(unknown[0]); j++)
		check_sentence(smb3sign_strerror(unknown[j]));
}
END_TEST

START_TEST(test_ntstatus)
{
	static const uint32_t want[] = {0,          0xC0000022, 0xC0000022, 0xC0000022, 0xC000000D,
					0xC00000E5, 0xC00000BB, 0xC000009A, 0xC00000E5};

	for (size_t i = 0; i < 9; i++)
		ck_assert_uint_eq(smb3sign_ntstatus(codes[i]), want[i]);
	for (size_t j = 0; j < sizeof(unknown) / sizeof(unknown[0]); j++)
		ck_assert_uint_eq(smb3sign_ntstatus(unknown[j]), 0xC00000E5);
}
END_TEST

START_TEST(test_version)
{
	char want[40];

	snprintf(want, sizeof(want), "%d.%d.%d", SMB3SIGN_VERSION_MAJOR, SMB3SIGN_VERSION_MINOR,
		 SMB3SIGN_VERSION_PATCH);
	ck_assert_str_eq(smb3sign_version(), want);
}
END_TEST

/* ---- The processor ---- */

static const struct {
	const char *name;
	uint32_t bit;
} features[] = {{"ssse3", SMB3SIGN_CPU_SSSE3},      {"sse4.1", SMB3SIGN_CPU_SSE41},  {"aes", SMB3SIGN_CPU_AES},
		{"pclmul", SMB3SIGN_CPU_PCLMUL},    {"sha", SMB3SIGN_CPU_SHA},       {"vpclmul", SMB3SIGN_CPU_VPCLMUL},
		{"avx512", SMB3SIGN_CPU_AVX512},    {"zmm", SMB3SIGN_CPU_ZMM},       {"avx2", SMB3SIGN_CPU_AVX2},
		{"bmi2", SMB3SIGN_CPU_BMI2},        {"pmull", SMB3SIGN_CPU_PMULL},   {"sha2", SMB3SIGN_CPU_SHA2},
		{"sha3", SMB3SIGN_CPU_SHA3},        {"sha512", SMB3SIGN_CPU_SHA512}, {"neon", SMB3SIGN_CPU_NEON},
		{"avx512vl", SMB3SIGN_CPU_AVX512VL}};
enum { FEATURES = sizeof(features) / sizeof(features[0]) };

static int in_list(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; *at; at += strspn(at, ",")) {
		size_t len = strcspn(at, ",");

		if (len == n && strncmp(at, name, n) == 0)
			return 1;
		at += len;
	}
	return 0;
}

/* The features that SMB3SIGN_CPU_DISABLE leaves of those detected. */
static uint32_t features_left(void)
{
	const char *list = getenv("SMB3SIGN_CPU_DISABLE");
	uint32_t left = smb3sign_cpu_detect();

	for (size_t i = 0; list && i < FEATURES; i++)
		if (in_list(list, "all") || in_list(list, features[i].name))
			left &= ~features[i].bit;
	return left;
}

START_TEST(test_override)
{
	static const char *const portable[ALGS] = {"sha256=portable", "aes=portable", "aes=portable ghash=portable"};
	const uint32_t left = features_left();
	const int neon = (left & SMB3SIGN_CPU_NEON) != 0 && !strstr(smb3sign_kernels_left_out, "neon");
	const uint32_t ssse3 = strstr(smb3sign_kernels_left_out, "ssse3") ? 0 : SMB3SIGN_CPU_SSSE3;

	ck_assert_uint_eq(smb3sign_cpu_features(), left);
	/* The kernels of a key need no more than that. */
	for (unsigned alg = 0; alg < ALGS; alg++) {
		smb3sign_key *key = new_key(alg, raw_key, SMB3SIGN_ROLE_ANY);
		const char *impl = smb3sign_key_impl(key);

		if (left == 0)
			ck_assert_msg(!strcmp(impl, portable[alg]), "%s", impl);
		if (alg == SMB3SIGN_HMAC_SHA256) {
			ck_assert_msg(left & SMB3SIGN_CPU_SHA || !strstr(impl, "=ni"), "%s", impl);
			ck_assert_msg(left & SMB3SIGN_CPU_SHA2 || !strstr(impl, "=ce"), "%s", impl);
			ck_assert_msg((left & SMB3SIGN_CPU_AVX2 && left & SMB3SIGN_CPU_BMI2) || !strstr(impl, "avx2"),
				      "%s", impl);
			ck_assert_msg(left & SMB3SIGN_CPU_AVX512VL || !strstr(impl, "avx512"), "%s", impl);
			ck_assert_msg(left & SMB3SIGN_CPU_SSSE3 || !strstr(impl, "ssse3"), "%s", impl);
		}
		if (alg == SMB3SIGN_AES_CMAC && !(left & SMB3SIGN_CPU_AES))
			ck_assert_str_eq(impl, left & ssse3 ? "aes=ssse3" : "aes=portable");
		if (alg == SMB3SIGN_AES_GMAC && !(left & (SMB3SIGN_CPU_PCLMUL | SMB3SIGN_CPU_PMULL)))
			ck_assert_ptr_nonnull(strstr(impl, neon           ? "ghash=neon"
							   : left & ssse3 ? "ghash=ssse3"
									  : "ghash=portable"));
		smb3sign_key_free(key);
	}
	/* It is read once: another value changes nothing. */
	setenv("SMB3SIGN_CPU_DISABLE", left ? "all" : "", 1);
	ck_assert_uint_eq(smb3sign_cpu_features(), left);
	unsetenv("SMB3SIGN_CPU_DISABLE");
	ck_assert_uint_eq(smb3sign_cpu_features(), left);
}
END_TEST

START_TEST(test_cpu_text)
{
	const char *text = smb3sign_cpu(), *list = getenv("SMB3SIGN_CPU_DISABLE");
	size_t lines = 0;

	ck_assert_ptr_nonnull(text);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	ck_assert_uint_ge(lines, 2);
	for (size_t i = 0; i < FEATURES; i++)
		if (smb3sign_cpu_features() & features[i].bit)
			ck_assert_msg(strstr(text, features[i].name) != NULL, "no %s in:\n%s", features[i].name, text);
	for (size_t i = 0; smb3sign_aes_kernels[i]; i++)
		ck_assert_ptr_nonnull(strstr(text, smb3sign_aes_kernels[i]->name));
	for (size_t i = 0; smb3sign_ghash_kernels[i]; i++)
		ck_assert_ptr_nonnull(strstr(text, smb3sign_ghash_kernels[i]->name));
	for (size_t i = 0; smb3sign_sha256_kernels[i]; i++)
		ck_assert_ptr_nonnull(strstr(text, smb3sign_sha256_kernels[i]->name));
	for (size_t i = 0; smb3sign_sha512_kernels[i]; i++)
		ck_assert_ptr_nonnull(strstr(text, smb3sign_sha512_kernels[i]->name));
	if (list && smb3sign_cpu_features() != smb3sign_cpu_detect())
		ck_assert_ptr_nonnull(strstr(text, "SMB3SIGN_CPU_DISABLE"));
	ck_assert_str_eq(smb3sign_cpu(), text);
}
END_TEST

START_TEST(test_selftest)
{
	ck_assert_int_eq(smb3sign_selftest(), SMB3SIGN_OK);
}
END_TEST

/* ---- errno, signals ---- */

/* A little of everything: good calls and refused ones. Returns a count of wrong results. */
static unsigned use_everything(unsigned alg)
{
	static uint8_t msg[400];
	uint8_t out[32], sig[16], *bytes = msg;
	const void *data;
	smb3sign_key *key = NULL, *copy = NULL;
	smb3sign_iov iov = {bytes + 64, sizeof(msg) - 64};
	smb3sign_msg one;
	smb3sign_ctx ctx;
	smb3sign_preauth p;
	size_t len = 0, bad = 0;
	unsigned chosen, wrong = 0;
	const uint16_t offered[] = {2, 1};

	make_header(msg, 0x05, 0, 99, 7);
	wrong += smb3sign_key_new(&key, alg, raw_key, 16, SMB3SIGN_ROLE_ANY) != SMB3SIGN_OK;
	wrong += smb3sign_key_dup(&copy, key) != SMB3SIGN_OK;
	one = (smb3sign_msg){.key = copy, .hdr = msg, .body = &iov, .body_cnt = 1};
	wrong += smb3sign_sign(key, msg, &iov, 1) != SMB3SIGN_OK;
	wrong += smb3sign_verify(copy, msg, &iov, 1) != SMB3SIGN_OK;
	wrong += smb3sign_verify(copy, msg, &iov, 0) != SMB3SIGN_E_SIGNATURE;
	wrong += smb3sign_compute(key, msg, &iov, 1, sig) != SMB3SIGN_OK;
	wrong += smb3sign_sign_frame(key, msg, sizeof(msg)) != SMB3SIGN_OK;
	wrong += smb3sign_verify_frame(key, msg, sizeof(msg), &bad) != SMB3SIGN_OK;
	wrong += smb3sign_verify_frame(key, msg, 63, &bad) != SMB3SIGN_E_MESSAGE;
	wrong += smb3sign_frame_next(msg, sizeof(msg), 0, &len) != SMB3SIGN_OK;
	wrong += smb3sign_sign_batch(&one, 1) != SMB3SIGN_OK;
	wrong += smb3sign_verify_batch(&one, 1) != SMB3SIGN_OK;
	wrong += smb3sign_verify_begin(&ctx, key, msg) != SMB3SIGN_OK;
	smb3sign_update(&ctx, bytes + 64, sizeof(msg) - 64);
	wrong += smb3sign_verify_end(&ctx) != SMB3SIGN_OK;
	wrong += smb3sign_sign_begin(&ctx, key, msg) != SMB3SIGN_OK;
	smb3sign_abort(&ctx);
	smb3sign_preauth_init(&p);
	wrong += smb3sign_preauth_update(&p, &iov, 1) != SMB3SIGN_E_MESSAGE;
	wrong += smb3sign_kdf(raw_key, 16, "label", 6, "context", 8, out, 32) != SMB3SIGN_OK;
	wrong += smb3sign_derive(0x0300, SMB3SIGN_USE_SIGNING, raw_key, 16, NULL, out, 16) != SMB3SIGN_OK;
	wrong += smb3sign_caps_find(msg, sizeof(msg), &data, &len) != SMB3SIGN_E_MESSAGE;
	wrong += smb3sign_caps_accept(NULL, 0, offered, 2, &chosen) != SMB3SIGN_OK;
	wrong += smb3sign_exempt(alg, msg) != SMB3SIGN_SIGNABLE;
	wrong += smb3sign_is_echo(msg, msg) != 0;
	wrong += smb3sign_selftest() != SMB3SIGN_OK;
	wrong += !smb3sign_cpu() || !smb3sign_strerror(-5) || !smb3sign_version() || !smb3sign_key_impl(key);
	smb3sign_key_free(copy);
	smb3sign_key_free(key);
	return wrong;
}

START_TEST(test_errno)
{
	for (unsigned alg = 0; alg < ALGS; alg++) {
		unsigned wrong;
		int after;

		errno = 4711;
		wrong = use_everything(alg);
		after = errno;
		ck_assert_uint_eq(wrong, 0);
		ck_assert_int_eq(after, 4711);
	}
}
END_TEST

/* Signing in a signal handler that interrupts signing with the same key. */
static const smb3sign_key *handler_key[ALGS];
static uint8_t handler_msg[ALGS][300]; /* signed */
static volatile sig_atomic_t handled, handler_wrong;

static unsigned sign_once(unsigned alg)
{
	uint8_t hdr[64];
	smb3sign_iov iov = {handler_msg[alg] + 64, sizeof(handler_msg[alg]) - 64};
	smb3sign_ctx ctx;
	unsigned wrong;

	memcpy(hdr, handler_msg[alg], 64);
	hdr[48] ^= 1;
	wrong = smb3sign_sign(handler_key[alg], hdr, &iov, 1) != SMB3SIGN_OK;
	wrong += memcmp(hdr, handler_msg[alg], 64) != 0;
	wrong += smb3sign_verify_begin(&ctx, handler_key[alg], hdr) != SMB3SIGN_OK;
	smb3sign_update(&ctx, iov.iov_base, iov.iov_len);
	return wrong + (smb3sign_verify_end(&ctx) != SMB3SIGN_OK);
}

static void on_alarm(int number)
{
	(void)number;
	if (sign_once((unsigned)(handled % ALGS)))
		handler_wrong = 1;
	handled++;
}

START_TEST(test_signals)
{
	struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	smb3sign_key *keys[ALGS];
	unsigned wrong = 0;

	for (unsigned alg = 0; alg < ALGS; alg++) {
		handler_key[alg] = keys[alg] = new_key(alg, raw_key, SMB3SIGN_ROLE_ANY);
		random_header(handler_msg[alg]);
		handler_msg[alg][16] |= 8;
		rng_fill(handler_msg[alg] + 64, sizeof(handler_msg[alg]) - 64);
		ref_signature(alg, raw_key, handler_msg[alg], sizeof(handler_msg[alg]), handler_msg[alg] + 48);
	}
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (unsigned alg = 0; handled < 300; alg = (alg + 1) % ALGS)
		wrong += sign_once(alg);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	signal(SIGALRM, SIG_DFL);
	ck_assert_uint_eq(wrong, 0);
	ck_assert_int_eq(handler_wrong, 0);
	for (unsigned alg = 0; alg < ALGS; alg++)
		smb3sign_key_free(keys[alg]);
}
END_TEST

#ifdef AS_SHIPPED
/* ---- The stack ---- */

static smb3sign_key *stack_placed, *stack_made; /* by the call, and ended outside: that would overwrite its traces */

/* Everything has run once before, so that the dynamic linker's work is not counted. */
static size_t stack_depth(void (*call)(void))
{
	size_t depth = 0;

	for (int round = 0; round < 2; round++) {
		depth = on_painted_stack(call);
		smb3sign_key_wipe(stack_placed);
		stack_placed = NULL;
		smb3sign_key_free(stack_made);
		stack_made = NULL;
	}
	return depth;
}

static unsigned stack_alg;
static smb3sign_key *stack_key;
static uint8_t stack_msg[800], stack_short[64 + 24];
static smb3sign_iov stack_iov[2] = {{stack_msg + 64, 300}, {stack_msg + 364, 436}};
static smb3sign_ctx stack_ctx;
static smb3sign_preauth stack_preauth;
static int stack_result;
static _Alignas(16) uint64_t stack_room[SMB3SIGN_KEY_SIZE_MAX / 8];

static void nothing(void)
{
}

static void call_sign(void)
{
	stack_result = smb3sign_sign(stack_key, stack_msg, stack_iov, 2);
}

static void call_verify_buf(void)
{
	stack_result = smb3sign_verify_buf(stack_key, stack_msg, sizeof(stack_msg));
}

static void call_stream(void)
{
	stack_result = smb3sign_verify_begin(&stack_ctx, stack_key, stack_msg);
	smb3sign_update(&stack_ctx, stack_msg + 64, 301);
	smb3sign_update(&stack_ctx, stack_msg + 365, 435);
	stack_result |= smb3sign_verify_end(&stack_ctx);
}

static void call_batch(void)
{
	static smb3sign_msg m[37];
	static const smb3sign_iov short_body = {stack_short + 64, sizeof(stack_short) - 64};

	for (size_t i = 0; i < 37; i++)
		m[i] = i % 2 ? (smb3sign_msg){.key = stack_key, .hdr = stack_msg, .body = stack_iov, .body_cnt = 2}
			     : (smb3sign_msg){.key = stack_key, .hdr = stack_short, .body = &short_body, .body_cnt = 1};
	stack_result = smb3sign_verify_batch(m, 37);
}

static void call_frame(void)
{
	stack_result = smb3sign_sign_frame(stack_key, stack_msg, sizeof(stack_msg));
	stack_result |= smb3sign_verify_frame(stack_key, stack_msg, sizeof(stack_msg), NULL);
}

static void call_key_init(void)
{
	stack_result = smb3sign_key_init(&stack_placed, stack_room, sizeof(stack_room), stack_alg, raw_key, 16, 0);
}

static void call_key_derive(void)
{
	stack_result = smb3sign_key_derive(&stack_made, stack_alg, 0x0311, raw_key, 16, &stack_preauth, 0);
}

static void call_derive(void)
{
	static uint8_t out[32];

	stack_result = smb3sign_derive(0x0311, SMB3SIGN_USE_CLIENT_TO_SERVER, raw_key, 16, &stack_preauth, out, 32);
}

static void call_preauth(void)
{
	static uint8_t msg[200];
	smb3sign_iov iov = {msg, sizeof(msg)};

	memcpy(msg, stack_msg, 64);
	msg[12] = 1;
	stack_result = smb3sign_preauth_update(&stack_preauth, &iov, 1);
}

static void call_selftest(void)
{
	stack_result = smb3sign_selftest();
}

static void call_cpu(void)
{
	stack_result = smb3sign_cpu() ? SMB3SIGN_OK : -1;
}

static const struct {
	const char *name;
	void (*call)(void);
} stack_calls[] = {{"sign", call_sign},
		   {"verify_buf", call_verify_buf},
		   {"stream", call_stream},
		   {"batch", call_batch},
		   {"frame", call_frame},
		   {"key_init", call_key_init},
		   {"key_derive", call_key_derive},
		   {"derive", call_derive},
		   {"preauth_update", call_preauth},
		   {"selftest", call_selftest},
		   {"cpu", call_cpu}};
enum { STACK_CALLS = sizeof(stack_calls) / sizeof(stack_calls[0]) };

static void prepare_stack_calls(unsigned alg)
{
	stack_alg = alg;
	stack_key = new_key(alg, raw_key, SMB3SIGN_ROLE_ANY);
	make_header(stack_msg, 0x05, 8, 99, 7);
	ref_signature(alg, raw_key, stack_msg, sizeof(stack_msg), stack_msg + 48);
	make_header(stack_short, 0x05, 8, 99, 7);
	ref_signature(alg, raw_key, stack_short, sizeof(stack_short), stack_short + 48);
	rng_fill(&stack_preauth, sizeof(stack_preauth));
}

START_TEST(test_stack_bound)
{
	for (unsigned alg = 0; alg < ALGS; alg++) {
		size_t base = stack_depth(nothing);

		prepare_stack_calls(alg);
		for (size_t i = 0; i < STACK_CALLS; i++) {
			size_t depth = stack_depth(stack_calls[i].call) - base;

			ck_assert_msg(stack_result == SMB3SIGN_OK, "%s: %d", stack_calls[i].name, stack_result);
			ck_assert_msg(depth < 8192, "algorithm %u, %s: %zu bytes of stack", alg, stack_calls[i].name,
				      depth);
		}
		smb3sign_key_free(stack_key);
	}
}
END_TEST

/* As it is, or in a pad block of HMAC (FIPS 198-1: key ^ ipad, key ^ opad). */
static int stack_holds_key(const uint8_t key[16])
{
	static const uint8_t pads[] = {0, 0x36, 0x5c};

	for (size_t i = 0; i < sizeof(pads); i++) {
		uint8_t padded[16];

		for (size_t j = 0; j < 16; j++)
			padded[j] = key[j] ^ pads[i];
		if (stack_holds(padded, 16))
			return 1;
	}
	return 0;
}

/* No call leaves the raw key or the derived one on the stack; an AES key is its own first round key. */
START_TEST(test_stack_keys)
{
	for (unsigned alg = 0; alg < ALGS; alg++) {
		uint8_t derived[16];

		prepare_stack_calls(alg);
		for (size_t i = 0; i < STACK_CALLS; i++) {
			ck_assert_int_eq(
				smb3sign_derive(0x0311, SMB3SIGN_USE_SIGNING, raw_key, 16, &stack_preauth, derived, 16),
				SMB3SIGN_OK);
			stack_depth(stack_calls[i].call);
			ck_assert_msg(!stack_holds_key(raw_key), "algorithm %u, %s left the key", alg,
				      stack_calls[i].name);
			ck_assert_msg(!stack_holds_key(derived), "algorithm %u, %s left the derived key", alg,
				      stack_calls[i].name);
		}
		smb3sign_key_free(stack_key);
	}
}
END_TEST

static size_t secret_size(const smb3sign_key *key)
{
	switch (smb3sign_key_alg(key)) {
	case SMB3SIGN_HMAC_SHA256:
		return sizeof(struct hmac_secret);
	case SMB3SIGN_AES_CMAC:
		return 32 + key->k.aes->rk_size;
	default:
		return key->k.aes->rk_size + key->ghash->table_size;
	}
}

/* Either way round: kernels keep blocks reversed. */
static int stack_holds_block(const uint8_t block[16])
{
	uint8_t reversed[16];

	for (size_t i = 0; i < 16; i++)
		reversed[i] = block[15 - i];
	return stack_holds(block, 16) || stack_holds(reversed, 16);
}

/*
 * Nor E(0), which is GMAC's H and makes CMAC's subkeys, nor E(J0) or GHASH, of which the signature gives the other
 * away: GHASH of a known message is an equation for H.
 */
START_TEST(test_stack_blocks)
{
	uint8_t block[16] = {0}, e0[16], ej0[16], ghash[16];

	ref_aes128(raw_key, block, e0);
	for (unsigned alg = SMB3SIGN_AES_CMAC; alg < ALGS; alg++) {
		prepare_stack_calls(alg);
		memcpy(block, stack_msg + 24, 8);
		block[15] = 1;
		ref_aes128(raw_key, block, ej0);
		for (size_t i = 0; i < 16; i++)
			ghash[i] = stack_msg[48 + i] ^ ej0[i];
		for (size_t i = 0; i < STACK_CALLS; i++) {
			stack_depth(stack_calls[i].call);
			ck_assert_msg(!stack_holds_block(e0), "algorithm %u, %s left E(0)", alg, stack_calls[i].name);
			ck_assert_msg(!stack_holds_block(ej0), "algorithm %u, %s left E(J0)", alg, stack_calls[i].name);
			ck_assert_msg(!stack_holds_block(ghash), "algorithm %u, %s left GHASH", alg,
				      stack_calls[i].name);
		}
		smb3sign_key_free(stack_key);
	}
}
END_TEST

/* Nor, where two registers return it, the right signature of a forged message. */
#if defined(__x86_64__) || defined(__aarch64__)
START_TEST(test_stack_tag)
{
	for (unsigned alg = 0; alg < ALGS; alg++) {
		uint8_t right[16];

		prepare_stack_calls(alg);
		memcpy(right, stack_msg + 48, 16);
		stack_msg[48] ^= 1;
		stack_short[48] ^= 1;
		stack_depth(call_verify_buf);
		ck_assert_int_eq(stack_result, SMB3SIGN_E_SIGNATURE);
		ck_assert_msg(!stack_holds(right, 16), "algorithm %u: verify left the right signature", alg);
		stack_depth(call_batch);
		ck_assert_int_eq(stack_result, SMB3SIGN_E_SIGNATURE);
		ck_assert_msg(!stack_holds(right, 16), "algorithm %u: a batch left the right signature", alg);
		stack_depth(call_stream);
		ck_assert_int_eq(stack_result, SMB3SIGN_E_SIGNATURE);
		ck_assert_msg(!stack_holds(right, 16), "algorithm %u: a stream left the right signature", alg);
		smb3sign_key_free(stack_key);
	}
}
END_TEST
#endif

/* Nor any 16 bytes of the prepared key: HMAC states, subkeys, round keys, powers of H. */
START_TEST(test_stack_prepared)
{
	static const uint8_t zero[16];

	for (unsigned alg = 0; alg < ALGS; alg++) {
		prepare_stack_calls(alg);
		for (size_t i = 0; i < STACK_CALLS; i++) {
			const uint8_t *secret = (const uint8_t *)stack_key->secret;

			stack_depth(stack_calls[i].call);
			for (size_t at = 0; at + 16 <= secret_size(stack_key); at += 16)
				ck_assert_msg(!memcmp(secret + at, zero, 16) || !stack_holds(secret + at, 16),
					      "algorithm %u, %s left bytes %zu of the key's secret part", alg,
					      stack_calls[i].name, at);
		}
		smb3sign_key_free(stack_key);
	}
}
END_TEST

/* FIPS 197 A.1 and its last round key, from which the key follows. */
static const uint8_t fips_key[16] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
				     0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
static const uint8_t fips_last[16] = {0xd0, 0x14, 0xf9, 0xa8, 0xc9, 0xee, 0x25, 0x89,
				      0xe1, 0x3f, 0x0c, 0xc8, 0xb6, 0x63, 0x0c, 0xa6};

static void call_fips_key(void)
{
	stack_result = smb3sign_key_init(&stack_placed, stack_room, sizeof(stack_room), stack_alg, fips_key, 16, 0);
}

/* Nor the last round key as the portable key schedule has it: bit i of row r, column c at bit 8r + c of word i. */
START_TEST(test_stack_planes)
{
	uint32_t plane[8] = {0};

	for (unsigned at = 0; at < 16; at++)
		for (unsigned i = 0; i < 8; i++)
			plane[i] |= (uint32_t)(fips_last[at] >> i & 1) << (8 * (at % 4) + at / 4);
	for (stack_alg = SMB3SIGN_AES_CMAC; stack_alg < ALGS; stack_alg++) {
		stack_depth(call_fips_key);
		ck_assert_int_eq(stack_result, SMB3SIGN_OK);
		ck_assert_msg(!stack_holds(fips_last, 16), "algorithm %u: the last round key", stack_alg);
		for (size_t i = 0; i < 8; i += 2)
			ck_assert_msg(!stack_holds((const uint8_t *)&plane[i], 8), "algorithm %u: planes %zu and %zu",
				      stack_alg, i, i + 1);
	}
}
END_TEST

#ifndef SMB3SIGN_EMULATED
/* "In well under a millisecond": the best of many runs, so that other work on the machine does not count. */
START_TEST(test_selftest_time)
{
	double best = 1;

	for (int i = 0; i < 300; i++) {
		struct timespec a, b;
		double seconds;

		clock_gettime(CLOCK_MONOTONIC, &a);
		ck_assert_int_eq(smb3sign_selftest(), SMB3SIGN_OK);
		clock_gettime(CLOCK_MONOTONIC, &b);
		seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
		if (seconds < best)
			best = seconds;
	}
	ck_assert_msg(best < 1e-3, "%.3f ms", best * 1e3);
}
END_TEST
#endif
#endif

int main(void)
{
	Suite *s = suite_create("api");
	TCase *texts = add_case(s, "texts"), *cpu = add_case(s, "cpu"), *process = add_case(s, "process");

	tcase_add_test(texts, test_codes);
	tcase_add_test(texts, test_strerror);
	tcase_add_test(texts, test_ntstatus);
	tcase_add_test(texts, test_version);
	tcase_add_checked_fixture(cpu, setup, NULL);
	tcase_add_test(cpu, test_override);
	tcase_add_test(cpu, test_cpu_text);
	tcase_add_test(cpu, test_selftest);
	tcase_add_checked_fixture(process, setup, NULL);
	tcase_add_test(process, test_errno);
	tcase_add_test(process, test_signals);
#ifdef AS_SHIPPED
	TCase *shipped = add_case(s, "as shipped");

	tcase_add_checked_fixture(shipped, setup, NULL);
	tcase_add_test(shipped, test_stack_bound);
	tcase_add_test(shipped, test_stack_keys);
	tcase_add_test(shipped, test_stack_prepared);
	tcase_add_test(shipped, test_stack_blocks);
	tcase_add_test(shipped, test_stack_planes);
#if defined(__x86_64__) || defined(__aarch64__)
	tcase_add_test(shipped, test_stack_tag);
#endif
#ifndef SMB3SIGN_EMULATED
	tcase_add_test(shipped, test_selftest_time);
#endif
#endif
	return run_suite(s);
}
