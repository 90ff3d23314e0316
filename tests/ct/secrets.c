/* SPDX-License-Identifier: MIT */
/*
 * Constant time, followed bit by bit: keys, bodies and expected signatures are secret (taint.h) in every call of the public
 * API, with every kernel that this process may use; the tool that runs the program reports each branch and each address
 * that depends on them. Results and right tags show that what runs is the real thing, and that tags, derived keys and
 * hashes come out secret shows that the tool follows secrets all the way: it cannot be silent because it lost them.
 *
 * usage: secrets [PART...]    runs those of the parts listed at the end, or all
 *        secrets leak-KIND    a leak on purpose, which the tool has to report
 * SMB3SIGN_CPU_DISABLE selects kernels for what takes the best there is (derivation, preauthentication hash).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "key.h"
#include "smb3sign.h"
#include "taint.h"

static const char *kernels = "-";
static unsigned long checks;

#define EXPECT(what)                                                                            \
	do {                                                                                    \
		checks++;                                                                       \
		if (!(what)) {                                                                  \
			printf("%s:%d: [%s] not so: %s\n", __FILE__, __LINE__, kernels, #what); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

enum { HDR = SMB3SIGN_HEADER_LEN, SIG = SMB3SIGN_SIG_LEN, AT_SIG = 48, AT_NEXT = 20, LONGEST = 9000, MOST = 20 };

/* Bytes of no pattern; which ones does not matter. */
static void fill(uint8_t *p, size_t n)
{
	static uint32_t x = 1;

	for (; n--; p++) {
		x = x * 1664525 + 1013904223;
		*p = (uint8_t)(x >> 24);
	}
}

static void put_le32(uint8_t *p, uint32_t v)
{
	for (size_t i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* A WRITE request with a secret body and, as a receiver has it, a secret Signature. */
static void make_message(uint8_t *msg, size_t body_len, uint8_t mid)
{
	memset(msg, 0, HDR);
	memcpy(msg, "\xfeSMB\x40", 5);
	msg[12] = 9;
	msg[24] = mid;
	msg[40] = 0x21;
	fill(msg + AT_SIG, SIG + body_len);
	secret(msg + AT_SIG, SIG + body_len);
}

static uint8_t *allocate(size_t n)
{
	uint8_t *p = malloc(n);

	EXPECT(p != NULL);
	return p;
}

/* ---- Every kernel */

static struct smb3sign_key *make_key(unsigned alg, const struct smb3sign_choice *choice)
{
	size_t size = smb3sign_key_size_with(alg, choice);
	uint8_t raw[16], *mem = allocate(size);
	struct smb3sign_key *key = NULL;

	fill(raw, sizeof(raw));
	secret(raw, sizeof(raw));
	EXPECT(smb3sign_key_init_with(&key, mem, size, alg, raw, sizeof(raw), SMB3SIGN_ROLE_ANY, choice) == 0);
	EXPECT(is_secret(key->secret, 16));
	return key;
}

static void drop_key(struct smb3sign_key *key)
{
	smb3sign_key_wipe(key);
	free(key);
}

static void with_choice(unsigned alg, const struct smb3sign_choice *choice, void (*fn)(const smb3sign_key *key))
{
	struct smb3sign_key *key = make_key(alg, choice);

	kernels = smb3sign_key_impl(key);
	fn(key);
	kernels = "-";
	drop_key(key);
}

static void each_ghash(struct smb3sign_choice choice, void (*fn)(const smb3sign_key *key))
{
	for (const struct smb3sign_ghash *const *g = smb3sign_ghash_kernels; *g; g++) {
		choice.ghash = *g;
		if (smb3sign_kernel_usable((*g)->needs))
			with_choice(SMB3SIGN_AES_GMAC, &choice, fn);
	}
}

static void each_kernel(void (*fn)(const smb3sign_key *key))
{
	for (const struct smb3sign_sha256 *const *s = smb3sign_sha256_kernels; *s; s++)
		if (smb3sign_kernel_usable((*s)->needs))
			with_choice(SMB3SIGN_HMAC_SHA256, &(struct smb3sign_choice){.sha256 = *s}, fn);
	for (const struct smb3sign_aes *const *a = smb3sign_aes_kernels; *a; a++) {
		if (!smb3sign_kernel_usable((*a)->needs))
			continue;
		with_choice(SMB3SIGN_AES_CMAC, &(struct smb3sign_choice){.aes = *a}, fn);
		each_ghash((struct smb3sign_choice){.aes = *a}, fn);
	}
}

/* Every length up to where the last short path ends, then around the strides of the wide loops. */
static size_t next_length(size_t len)
{
	static const size_t further[] = {191,  192,  193,  239,  240,  241,  255,  256,  257,  271,  272,  383,    448,
					 511,  512,  513,  575,  576,  640,  767,  768,  1023, 1024, 1025, 1087,   1500,
					 2047, 2048, 2049, 3000, 4095, 4096, 4097, 4160, 5003, 8191, 8192, LONGEST};

	if (len < 150)
		return len + 1;
	for (size_t i = 0; i < sizeof(further) / sizeof(*further); i++)
		if (further[i] > len)
			return further[i];
	return SIZE_MAX;
}

/* ---- One message */

/* The signature is in place and secret; a wrong one differs in the last byte alone, and in the first. */
static void check_verdicts(const smb3sign_key *key, uint8_t *msg, size_t len)
{
	smb3sign_iov body = {msg + HDR, len - HDR};

	EXPECT(smb3sign_verify(key, msg, &body, 1) == SMB3SIGN_OK);
	EXPECT(smb3sign_verify_buf(key, msg, len) == SMB3SIGN_OK);
	msg[HDR - 1] ^= 1;
	EXPECT(smb3sign_verify_buf(key, msg, len) == SMB3SIGN_E_SIGNATURE);
	msg[AT_SIG] ^= 0x80;
	EXPECT(smb3sign_verify(key, msg, &body, 1) == SMB3SIGN_E_SIGNATURE);
}

static void one_message(const smb3sign_key *key)
{
	uint8_t *msg = allocate(HDR + LONGEST), tag[SIG];

	for (size_t n = 0; n <= LONGEST; n = next_length(n)) {
		smb3sign_iov body = {msg + HDR, n};

		make_message(msg, n, 5);
		EXPECT(smb3sign_compute(key, msg, &body, 1, tag) == SMB3SIGN_OK);
		EXPECT(is_secret(tag, SIG));
		EXPECT(smb3sign_sign(key, msg, &body, 1) == SMB3SIGN_OK);
		EXPECT(is_secret(msg + AT_SIG, SIG));
		check_verdicts(key, msg, HDR + n);
		EXPECT(smb3sign_sign_buf(key, msg, HDR + n) == SMB3SIGN_OK);
		EXPECT(is_secret(msg + AT_SIG, SIG));
	}
	free(msg);
}

/* Only the key is secret, then only the body: each of them alone reaches the tag. */
static void one_secret(const smb3sign_key *key)
{
	static const size_t lengths[] = {16, 40, 64, 300, 1100};
	uint8_t msg[HDR + 1100], *copy = allocate(key->size);
	const smb3sign_key *known = (const smb3sign_key *)(const void *)copy;

	memcpy(copy, key, key->size);
	public(copy, key->size);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t len = HDR + lengths[i];

		make_message(msg, lengths[i], 5);
		public(msg, len);
		EXPECT(smb3sign_sign_buf(key, msg, len) == SMB3SIGN_OK);
		EXPECT(is_secret(msg + AT_SIG, SIG));
		make_message(msg, lengths[i], 5);
		public(msg, HDR);
		EXPECT(smb3sign_sign_buf(known, msg, len) == SMB3SIGN_OK);
		EXPECT(is_secret(msg + AT_SIG, SIG));
	}
	free(copy);
}

/* In segments: small ones that are gathered, and large ones whose ends fall within blocks. */
static void segments(const smb3sign_key *key)
{
	static const size_t sizes[][4] = {{3, 0, 13, 20}, {100, 27, 1, 120}, {1, 1000, 31, 700}, {16, 64, 128, 512}};
	uint8_t msg[HDR + 2048];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		smb3sign_iov body[4];
		size_t len = HDR;

		for (size_t j = 0; j < 4; j++) {
			body[j] = (smb3sign_iov){msg + len, sizes[i][j]};
			len += sizes[i][j];
		}
		make_message(msg, len - HDR, 6);
		EXPECT(smb3sign_sign(key, msg, body, 4) == SMB3SIGN_OK);
		EXPECT(is_secret(msg + AT_SIG, SIG));
		EXPECT(smb3sign_verify(key, msg, body, 4) == SMB3SIGN_OK);
		check_verdicts(key, msg, len);
	}
}

static void update_by(smb3sign_ctx *ctx, const uint8_t *p, size_t len, size_t piece)
{
	for (size_t n; len; p += n, len -= n) {
		n = len < piece ? len : piece;
		smb3sign_update(ctx, p, n);
	}
}

static void streams(const smb3sign_key *key)
{
	static const size_t pieces[] = {1, 15, 16, 17, 64, 100, 129, 1030};
	uint8_t msg[HDR + 1100];
	smb3sign_ctx ctx;

	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		size_t n = pieces[i] < 64 ? 200 + i : 1100 - i;

		make_message(msg, n, 7);
		EXPECT(smb3sign_sign_begin(&ctx, key, msg) == SMB3SIGN_OK);
		update_by(&ctx, msg + HDR, n, pieces[i]);
		EXPECT(smb3sign_sign_end(&ctx, msg + AT_SIG) == SMB3SIGN_OK);
		EXPECT(is_secret(msg + AT_SIG, SIG));
		for (int wrong = 0; wrong <= 1; wrong++) {
			EXPECT(smb3sign_verify_begin(&ctx, key, msg) == SMB3SIGN_OK);
			update_by(&ctx, msg + HDR, n, pieces[i]);
			EXPECT(smb3sign_verify_end(&ctx) == (wrong ? SMB3SIGN_E_SIGNATURE : SMB3SIGN_OK));
			msg[HDR - 1] ^= 1;
		}
		EXPECT(smb3sign_sign_begin(&ctx, key, msg) == SMB3SIGN_OK);
		update_by(&ctx, msg + HDR, n, pieces[i]);
		smb3sign_abort(&ctx);
	}
}

/* ---- Several at once */

struct mixture {
	const char *what;
	size_t n, base, step, pieces; /* message i has base + i * step bytes of body, in that many segments */
	int keys;                     /* a key for each */
};

static void check_batch(const smb3sign_key *key, const struct mixture *mix)
{
	uint8_t *memory[MOST];
	smb3sign_iov body[MOST][3];
	smb3sign_msg msgs[MOST];
	struct smb3sign_key *own[MOST];

	for (size_t i = 0; i < mix->n; i++) {
		size_t len = mix->base + i * mix->step, part = len / mix->pieces;

		memory[i] = allocate(HDR + len);
		make_message(memory[i], len, (uint8_t)(10 + i));
		for (size_t j = 0; j < mix->pieces; j++)
			body[i][j] = (smb3sign_iov){memory[i] + HDR + j * part, part};
		body[i][mix->pieces - 1].iov_len = len - (mix->pieces - 1) * part;
		own[i] = NULL;
		if (mix->keys)
			own[i] = make_key(key->alg, &(struct smb3sign_choice){key->alg ? key->k.aes : NULL, key->ghash,
									      key->alg ? NULL : key->k.sha256});
		msgs[i] = (smb3sign_msg){own[i] ? own[i] : key, memory[i], body[i], mix->pieces, 99, 0};
	}
	EXPECT(smb3sign_sign_batch(msgs, mix->n) == SMB3SIGN_OK);
	for (size_t i = 0; i < mix->n; i++)
		EXPECT(is_secret(memory[i] + AT_SIG, SIG));
	EXPECT(smb3sign_verify_batch(msgs, mix->n) == SMB3SIGN_OK);
	memory[mix->n / 2][HDR - 1] ^= 1;
	memory[mix->n - 1][AT_SIG] ^= 1;
	EXPECT(smb3sign_verify_batch(msgs, mix->n) == SMB3SIGN_E_SIGNATURE);
	for (size_t i = 0; i < mix->n; i++)
		EXPECT(msgs[i].result == (i == mix->n / 2 || i == mix->n - 1 ? SMB3SIGN_E_SIGNATURE : SMB3SIGN_OK));
	for (size_t i = 0; i < mix->n; i++) {
		free(memory[i]);
		if (own[i])
			drop_key(own[i]);
	}
}

static void batches(const smb3sign_key *key)
{
	static const struct mixture mixtures[] = {
		{"short and alike", 9, 40, 0, 1, 0},
		{"empty", 5, 0, 0, 1, 0},
		{"a few", 3, 500, 16, 1, 0},
		{"many, growing", MOST, 200, 97, 1, 0},
		{"pages", 17, 4096, 0, 1, 0},
		{"in segments", 17, 300, 31, 3, 0},
		{"a key for each", MOST, 120, 40, 1, 1},
		{"short, a key for each", 8, 200, 0, 1, 1},
	};

	for (size_t i = 0; i < sizeof(mixtures) / sizeof(*mixtures); i++)
		check_batch(key, &mixtures[i]);
}

static void frames(const smb3sign_key *key)
{
	static const size_t bodies[] = {24, 88, 40, 1064, 8, 200};
	uint8_t frame[6 * HDR + 2000];
	size_t len = 0, bad = 0, last = 0;

	for (size_t i = 0; i < 6; i++) {
		make_message(frame + len, bodies[i], (uint8_t)(40 + i));
		if (i < 5)
			put_le32(frame + len + AT_NEXT, (uint32_t)(HDR + bodies[i]));
		last = len;
		len += HDR + bodies[i];
	}
	EXPECT(smb3sign_sign_frame(key, frame, len) == SMB3SIGN_OK);
	EXPECT(is_secret(frame + AT_SIG, SIG) && is_secret(frame + last + AT_SIG, SIG));
	EXPECT(smb3sign_verify_frame(key, frame, len, &bad) == SMB3SIGN_OK);
	frame[last + HDR] ^= 1;
	EXPECT(smb3sign_verify_frame(key, frame, len, &bad) == SMB3SIGN_E_SIGNATURE && bad == last);
	EXPECT(smb3sign_sign_frame(key, frame + last, len - last) == SMB3SIGN_OK);
	EXPECT(smb3sign_verify_frame(key, frame + last, len - last, &bad) == SMB3SIGN_OK);
}

/* ---- What takes the best kernels there are */

/* Messages of the exchange and their hash go over the wire, so the hash is public before it is a context. */
static void preauth(smb3sign_preauth *hash)
{
	uint8_t msg[HDR + 1000];

	smb3sign_preauth_init(hash);
	for (size_t n = 40; n <= 1000; n += 61) {
		smb3sign_iov pieces[2] = {{msg, HDR + n / 2}, {msg + HDR + n / 2, n - n / 2}};

		make_message(msg, n, 1);
		msg[12] = 1;
		EXPECT(smb3sign_preauth_update(hash, pieces, 2) == SMB3SIGN_OK);
		EXPECT(is_secret(hash->hash, sizeof(hash->hash)));
	}
	public(hash->hash, sizeof(hash->hash));
}

static void best_preauth(void)
{
	smb3sign_preauth hash;

	preauth(&hash);
}

static void best_derive(void)
{
	static const unsigned dialects[] = {0x0202, 0x0210, 0x0300, 0x0302, 0x0311};
	uint8_t session_key[100], out[100];
	smb3sign_preauth hash;

	preauth(&hash);
	fill(session_key, sizeof(session_key));
	secret(session_key, sizeof(session_key));
	for (size_t i = 0; i < 5; i++) {
		for (size_t len = 3; len <= 32; len += 13) {
			EXPECT(smb3sign_derive(dialects[i], SMB3SIGN_USE_SIGNING, session_key, len, &hash, out, 16) ==
			       0);
			EXPECT(is_secret(out, len < 16 && i < 2 ? len : 16));
		}
	}
	EXPECT(smb3sign_derive(0x0311, SMB3SIGN_USE_CLIENT_TO_SERVER, session_key, 32, &hash, out, 32) == 0);
	EXPECT(is_secret(out, 32));
	for (size_t len = 1; len <= 100; len += 33) {
		EXPECT(smb3sign_kdf(session_key, len, "a label", 7, session_key, len, out, len) == 0);
		EXPECT(is_secret(out, len));
	}
}

/* Keys as callers make them: derived, raw, copied; used and freed. */
static void best_keys(void)
{
	uint8_t session_key[16], msg[HDR + 700];
	smb3sign_key *key, *copy;
	smb3sign_preauth hash;

	preauth(&hash);
	fill(session_key, sizeof(session_key));
	secret(session_key, sizeof(session_key));
	for (unsigned alg = SMB3SIGN_HMAC_SHA256; alg <= SMB3SIGN_AES_GMAC; alg++) {
		make_message(msg, 700, 9);
		EXPECT(smb3sign_key_new(&key, alg, session_key, 16, SMB3SIGN_ROLE_CLIENT) == 0);
		EXPECT(smb3sign_sign_buf(key, msg, sizeof(msg)) == 0 && is_secret(msg + AT_SIG, SIG));
		smb3sign_key_free(key);
		EXPECT(smb3sign_key_derive(&key, alg, 0x0311, session_key, 16, &hash, SMB3SIGN_ROLE_CLIENT) == 0);
		EXPECT(smb3sign_key_dup(&copy, key) == 0);
		EXPECT(smb3sign_key_alg(copy) == alg && smb3sign_batch_width(copy) >= 1);
		smb3sign_key_free(key);
		EXPECT(smb3sign_sign_buf(copy, msg, sizeof(msg)) == 0 && is_secret(msg + AT_SIG, SIG));
		smb3sign_key_free(copy);
	}
}

/* ---- Leaks on purpose */

static volatile unsigned sink;
static const uint8_t table[256] = {1};

/* Apart, so that reports name it. */
static __attribute__((noinline)) void planted(const char *kind, const uint8_t *tag, const uint8_t *other)
{
	if (!strcmp(kind, "branch")) {
		if (tag[3] & 1)
			sink++;
	} else if (!strcmp(kind, "lookup")) {
		sink += table[tag[3]];
	} else if (!strcmp(kind, "memcmp")) {
		sink += memcmp(tag, other, SIG) == 0;
	} else if (!strcmp(kind, "division")) {
		sink += 1000u / (tag[3] | 1u);
	}
}

static void leak(const char *kind)
{
	uint8_t msg[HDR + 100], tag[SIG];
	struct smb3sign_key *key =
		make_key(SMB3SIGN_AES_CMAC, &(struct smb3sign_choice){.aes = &smb3sign_aes_portable});

	make_message(msg, 100, 3);
	EXPECT(smb3sign_sign_buf(key, msg, sizeof(msg)) == SMB3SIGN_OK);
	memset(tag, 0, SIG);
	planted(kind, msg + AT_SIG, tag);
	drop_key(key);
}

static const struct {
	const char *name;
	void (*with_key)(const smb3sign_key *key); /* or NULL: */
	void (*with_best)(void);
} parts[] = {
	{"message", one_message, NULL},  {"one-secret", one_secret, NULL}, {"segments", segments, NULL},
	{"streams", streams, NULL},      {"batches", batches, NULL},       {"frames", frames, NULL},
	{"preauth", NULL, best_preauth}, {"derive", NULL, best_derive},    {"keys", NULL, best_keys},
};

static int chosen(const char *name, char **names, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return 1;
	return n == 0;
}

int main(int argc, char **argv)
{
	size_t run = 0;

	if (!taint_works()) {
		fprintf(stderr, "nobody follows secrets here: run it under valgrind\n");
		return 2;
	}
	if (argc == 2 && !strncmp(argv[1], "leak-", 5)) {
		leak(argv[1] + 5);
		return 0;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!chosen(parts[i].name, argv + 1, argc - 1))
			continue;
		if (parts[i].with_key)
			each_kernel(parts[i].with_key);
		else
			parts[i].with_best();
		run++;
	}
	if (run < (argc > 1 ? (size_t)argc - 1 : 1)) {
		fprintf(stderr, "no such part\n");
		return 2;
	}
	printf("%lu checks\n%s", checks, smb3sign_cpu());
	return 0;
}
