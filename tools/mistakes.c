/* SPDX-License-Identifier: MIT */
/*
 * The mistakes that explain.c tries, and the signature that a choice of them leads to. They are those of MS-SMB2's
 * implementations in the wild and their close relatives; "the right way" is the text of MS-SMB2 3.1.4.1 and 3.1.4.2.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "header.h"
#include "mac.h"
#include "mistakes.h"
#include "tool.h"

enum { FLAG_ASYNC = 0x2, DIALECT_300 = 0x0300, DIALECT_311 = 0x0311, SIGNATURE_AT = 48 };

static void add(struct mistakes *m, enum dimension d, struct option o)
{
	if (m->count[d] < OPTIONS_MAX)
		m->options[d][m->count[d]++] = o;
}

static void add_all(struct mistakes *m, enum dimension d, const struct option *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(m, d, list[i]);
}

#define ADD_ALL(m, d, list) add_all(m, d, list, sizeof(list) / sizeof((list)[0]))

static const uint8_t *message_of(const struct suspect *s)
{
	return s->frame + s->off;
}

/* ---- Algorithm */

static void collect_algorithms(struct mistakes *m)
{
	static const char fix[] = "sign with $, which this connection has negotiated or its dialect prescribes";
	static const struct option others[] = {
		{MAC_HMAC_SHA256, 0, "algorithm-hmac", "it is signed with HMAC-SHA256", fix, NULL},
		{MAC_AES_CMAC, 0, "algorithm-cmac", "it is signed with AES-CMAC", fix, NULL},
		{MAC_AES_GMAC, 0, "algorithm-gmac", "it is signed with AES-GMAC", fix, NULL},
	};
	static const struct option of_hmac[] = {
		{MAC_HMAC_LOW, 0, "hmac-last-half", "the last 16 bytes of HMAC-SHA256 are taken",
		 "take the first 16 bytes", NULL},
	};
	static const struct option of_cmac[] = {
		{MAC_CBC_MAC, 0, "cmac-without-subkeys", "the last block is not combined with CMAC's subkey",
		 "AES-CMAC as in RFC 4493, with K1 or K2 on the last block", NULL},
	};
	static const struct option of_gmac[] = {
		{MAC_GCM_PLAINTEXT, 0, "gmac-as-plaintext", "the message is AES-GCM's plaintext",
		 "pass the message as additional authenticated data and an empty plaintext", NULL},
	};
	static const struct option hashes[] = {
		{MAC_HMAC_SHA512, 0, "algorithm-hmac-sha512", "it is signed with HMAC-SHA512", fix, NULL},
		{MAC_HMAC_MD5, 0, "algorithm-hmac-md5", "it is signed with HMAC-MD5", fix, NULL},
		{MAC_SHA256_PREFIX, 0, "algorithm-sha256", "it is the SHA-256 of key and message", fix, NULL},
	};
	unsigned alg = m->suspect->alg;

	add(m, IN_ALGORITHM, (struct option){.what = (int)alg});
	for (unsigned a = 0; a < 3; a++)
		if (a != alg)
			add(m, IN_ALGORITHM, others[a]);
	if (alg == SMB3SIGN_HMAC_SHA256)
		ADD_ALL(m, IN_ALGORITHM, of_hmac);
	else if (alg == SMB3SIGN_AES_CMAC)
		ADD_ALL(m, IN_ALGORITHM, of_cmac);
	else
		ADD_ALL(m, IN_ALGORITHM, of_gmac);
	ADD_ALL(m, IN_ALGORITHM, hashes);
}

/* ---- Whose key */

static int same_secret(const struct key_material *a, const struct key_material *b)
{
	return a->is_signing_key == b->is_signing_key && a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

/* With the due key's own secret, only the hash can differ: that is a matter of the context. */
static int has_due_secret(const struct suspect *s, const struct key_material *k)
{
	for (size_t i = 0; i < s->n_keys; i++)
		if (s->keys[i].relation == KEY_DUE && same_secret(&s->keys[i], k))
			return 1;
	return 0;
}

static void collect_keys(struct mistakes *m)
{
	static const struct option texts[] = {
		/* by key_relation */
		{0, 0, NULL, NULL, NULL, NULL},
		{0, 0, "key-session-for-channel", "the key is the session's, where that of the bound channel is due",
		 "from the final response of a bind on sign with Channel.SigningKey, made of the bind's own session "
		 "key and hash",
		 NULL},
		{0, 0, "key-channel-for-session", "the key is the bound channel's, where that of the session is due",
		 "sign what precedes the final response of a bind with Session.SigningKey", NULL},
		{0, 0, "key-other-channel", "the key is that of another channel of the session, or an older one",
		 "use the key of this connection's channel", NULL},
		{0, 0, "key-other-session", "the key is that of session @",
		 "look the key up by the SessionId of the message, or of its compound's first element", NULL},
	};
	const struct suspect *s = m->suspect;

	for (size_t i = 0; i < s->n_keys; i++) {
		struct option o = texts[s->keys[i].relation];

		if (o.id && has_due_secret(s, &s->keys[i]))
			continue;
		snprintf(m->sessions[i], sizeof m->sessions[i], "0x%016" PRIx64, s->keys[i].session);
		o.what = (int)i;
		o.name = m->sessions[i];
		add(m, IN_KEY, o);
	}
}

/* ---- What of the session key is used (MS-SMB2 3.3.1.8: its first 16 bytes, padded on the right with zeros) */

enum secret { SECRET_RIGHT, SECRET_WHOLE, SECRET_LAST, SECRET_SHORT, SECRET_LEFT, SECRET_TWICE, SECRET_ZERO };

static void collect_secrets(struct mistakes *m)
{
	static const char first16[] = "use the first 16 bytes of the session key";
	static const char right[] = "put zeros behind a short session key, to make it 16 bytes";
	static const struct option all[] = {
		{SECRET_WHOLE, 0, "session-key-whole", "the session key is not truncated to 16 bytes", first16, NULL},
		{SECRET_LAST, 0, "session-key-last-16", "the last 16 bytes of the session key are used", first16, NULL},
		{SECRET_SHORT, 0, "session-key-8-bytes", "only the first 8 bytes of the session key are used", first16,
		 NULL},
		{SECRET_LEFT, 0, "session-key-padded-left", "the short session key has its zeros in front", right,
		 NULL},
		{SECRET_TWICE, 0, "session-key-repeated", "the short session key is repeated", right, NULL},
		{SECRET_ZERO, 0, "session-key-zero", "the session key is 16 zero bytes",
		 "wait for the authentication's session key; only an anonymous session's is zero", NULL},
	};

	add(m, IN_SECRET, (struct option){.what = SECRET_RIGHT});
	ADD_ALL(m, IN_SECRET, all);
}

/* Up to 64 bytes at out; 0: this key cannot be used so. */
static size_t make_secret(const struct key_material *k, enum secret what, uint8_t out[64])
{
	size_t head = k->len < 16 ? k->len : 16;

	memset(out, 0, 64);
	switch (what) {
	case SECRET_WHOLE:
		if (k->len <= 16)
			return 0;
		memcpy(out, k->bytes, k->len);
		return k->len;
	case SECRET_LAST:
		if (k->len <= 16)
			return 0;
		memcpy(out, k->bytes + k->len - 16, 16);
		return 16;
	case SECRET_SHORT:
		if (k->len <= 8)
			return 0;
		memcpy(out, k->bytes, 8);
		return 16;
	case SECRET_LEFT:
	case SECRET_TWICE:
		if (!k->len || k->len >= 16)
			return 0;
		memcpy(out + 16 - k->len, k->bytes, k->len);
		if (what == SECRET_TWICE)
			memcpy(out, k->bytes, k->len);
		return 16;
	case SECRET_ZERO:
		return 16;
	default:
		memcpy(out, k->bytes, head);
		return 16;
	}
}

/* ---- Which preauthentication hash: a variant of the key's own chain, or, above those, the chain of another key */

static void collect_contexts(struct mistakes *m)
{
	static const char start[] = "start each exchange from the hash of its own connection's two NEGOTIATE messages";
	static const char whole[] =
		"hash each message as it was sent, from the SMB2 header to its last byte, without transport prefix";
	static const char every[] = "hash both NEGOTIATE messages, each SESSION_SETUP request, and each response with "
				    "MORE_PROCESSING_REQUIRED";
	static const char running[] = "H = SHA-512(H || message), from 64 zero bytes on";
	static const char salt[] = "the context is the running hash, not the salt";
	static const struct option variants[] = {
		{CHAIN_FINAL_RESPONSE, 0, "preauth-final-response",
		 "the final SESSION_SETUP response is in the preauth hash",
		 "derive the key before the final response, which it signs; the hash ends with the last request", NULL},
		{CHAIN_CONTINUED, 0, "preauth-continued",
		 "the preauth hash goes on from an earlier exchange of the connection", start, NULL},
		{CHAIN_CONTINUED_FINALS, 0, "preauth-continued-final",
		 "the preauth hash goes on from an earlier exchange, its final response included", start, NULL},
		{CHAIN_OTHER_CONNECTION, 0, "preauth-other-connection",
		 "the preauth hash starts from another connection's", start, NULL},
		{CHAIN_PADDED, 0, "preauth-padded", "responses are hashed with padding that was not sent", whole, NULL},
		{CHAIN_UNPADDED, 0, "preauth-unpadded", "responses are hashed without the padding that was sent", whole,
		 NULL},
		{CHAIN_PREFIXED, 0, "preauth-prefix", "messages are hashed with their transport prefix", whole, NULL},
		{CHAIN_SIGNATURES_ZERO, 0, "preauth-signatures-zero", "signatures are zeroed in the preauth hash",
		 whole, NULL},
		{CHAIN_NO_SETUP, 0, "preauth-negotiate-only", "the preauth hash has the NEGOTIATE messages only", every,
		 NULL},
		{CHAIN_LAST_REQUEST, 0, "preauth-no-last-request",
		 "the last SESSION_SETUP request is not in the preauth hash", every, NULL},
		{CHAIN_REQUESTS, 0, "preauth-no-responses", "SESSION_SETUP responses are not in the preauth hash",
		 every, NULL},
		{CHAIN_SETUP_ALONE, 0, "preauth-no-negotiate", "the NEGOTIATE messages are not in the preauth hash",
		 start, NULL},
		{CHAIN_NEGOTIATE_REQUEST, 0, "preauth-no-negotiate-request",
		 "the NEGOTIATE request is not in the preauth hash", every, NULL},
		{CHAIN_NEGOTIATE_RESPONSE, 0, "preauth-no-negotiate-response",
		 "the NEGOTIATE response is not in the preauth hash", every, NULL},
		{CHAIN_NO_START, 0, "preauth-no-zero-start", "the preauth hash does not start from 64 zero bytes",
		 running, NULL},
		{CHAIN_ONE_HASH, 0, "preauth-not-chained", "the preauth hash is one SHA-512 of all messages", running,
		 NULL},
		{CHAIN_ZERO, 0, "preauth-zero", "the preauth hash is 64 zero bytes still", every, NULL},
		{CHAIN_SALT_CLIENT, 0, "preauth-client-salt", "the context is the client's salt", salt, NULL},
		{CHAIN_SALT_SERVER, 0, "preauth-server-salt", "the context is the server's salt", salt, NULL},
	};
	static const struct option texts[] = {
		{0, 0, "preauth-session-exchange", "the preauth hash is another channel's of the session",
		 "a bind has a hash of its own, which starts from its connection's", NULL},
		{0, 0, "preauth-other-exchange", "the preauth hash is that of session @",
		 "keep a hash for each SESSION_SETUP exchange", NULL},
	};
	const struct suspect *s = m->suspect;

	add(m, IN_CONTEXT, (struct option){.what = CHAIN_RIGHT});
	ADD_ALL(m, IN_CONTEXT, variants);
	for (size_t i = 0; i < s->n_keys; i++) {
		struct option o = texts[s->keys[i].relation == KEY_OTHER_SESSION];

		if (!s->keys[i].chain || (i && s->keys[i].relation == KEY_DUE))
			continue;
		o.what = CHAIN_VARIANTS + (int)i;
		o.name = m->sessions[i];
		snprintf(m->sessions[i], sizeof m->sessions[i], "0x%016" PRIx64, s->keys[i].session);
		add(m, IN_CONTEXT, o);
	}
}

/* 0 bytes: unknown. */
static size_t find_context(const struct suspect *s, const struct key_material *k, int what, const uint8_t **context)
{
	const struct chain *c = k->chain;
	int v = what;

	if (what >= CHAIN_VARIANTS) {
		c = s->keys[what - CHAIN_VARIANTS].chain;
		v = CHAIN_RIGHT;
		if (c == k->chain)
			return 0;
	}
	if (!c)
		return 0;
	*context = c->value[v];
	return c->len[v];
}

/* ---- How the key derivation function is called (MS-SMB2 3.1.4.2, SP 800-108 5.1) */

enum form {
	FORM_RIGHT,
	FORM_NONE,
	FORM_L256,
	FORM_L256_WHOLE,
	FORM_L_BYTES,
	FORM_L_BYTES_32,
	FORM_LITTLE,
	FORM_LITTLE_BYTES,
	FORM_COUNTER_LITTLE,
	FORM_L_LITTLE,
	FORM_COUNTER_0,
	FORM_COUNTER_BYTE,
	FORM_NO_COUNTER,
	FORM_NO_L,
	FORM_ONE_ZERO,
	FORM_CONTEXT_NO_NUL,
	FORM_NO_NULS,
	FORM_AS_300,
	FORM_LABEL_300,
	FORM_LABEL_311,
	FORM_CONTEXT_300,
	FORM_C2S,
	FORM_S2C,
	FORM_APPLICATION
};

static void collect_forms(struct mistakes *m)
{
	static const char l128[] = "L is 128 bits for signing keys, whatever the cipher: 00 00 00 80";
	static const char big[] = "counter and L are 32-bit and big-endian: 00 00 00 01 and 00 00 00 80";
	static const char zeros[] = "strings count with their NUL, and one more zero byte parts label and context";
	static const struct option always[] = {
		{FORM_NONE, 0, "key-not-derived", "the session key itself signs",
		 "derive the signing key (MS-SMB2 3.1.4.2)", NULL},
		{FORM_L256, 0, "kdf-l-256", "the key is derived with L = 256 and truncated to 16 bytes", l128, NULL},
		{FORM_L256_WHOLE, 0, "kdf-l-256-whole", "the key is derived with L = 256 and used whole, 32 bytes",
		 l128, NULL},
		{FORM_L_BYTES, 0, "kdf-l-in-bytes", "the KDF's L is 16, in bytes", l128, NULL},
		{FORM_L_BYTES_32, 0, "kdf-l-32-bytes", "the KDF's L is 32, in bytes", l128, NULL},
		{FORM_LITTLE, 0, "kdf-little-endian", "the KDF's counter and L are little-endian", big, NULL},
		{FORM_LITTLE_BYTES, 0, "kdf-little-endian-bytes",
		 "the KDF's counter and L are little-endian and L is in bytes", big, NULL},
		{FORM_COUNTER_LITTLE, 0, "kdf-counter-little-endian", "the KDF's counter is little-endian", big, NULL},
		{FORM_L_LITTLE, 0, "kdf-l-little-endian", "the KDF's L is little-endian", big, NULL},
		{FORM_COUNTER_0, 0, "kdf-counter-zero", "the KDF's counter begins with 0", big, NULL},
		{FORM_COUNTER_BYTE, 0, "kdf-counter-byte", "the KDF's counter is a single byte", big, NULL},
		{FORM_NO_COUNTER, 0, "kdf-no-counter", "the KDF's counter is left out", big, NULL},
		{FORM_NO_L, 0, "kdf-no-l", "the KDF's L is left out", big, NULL},
		{FORM_ONE_ZERO, 0, "kdf-one-zero", "only one zero byte is between label and context", zeros, NULL},
		{FORM_C2S, 0, "kdf-cipher-c2s", "it is the client's encryption key", "use the signing key's label",
		 NULL},
		{FORM_S2C, 0, "kdf-cipher-s2c", "it is the server's encryption key", "use the signing key's label",
		 NULL},
		{FORM_APPLICATION, 0, "kdf-application", "it is the application key", "use the signing key's label",
		 NULL},
	};
	static const struct option of_300[] = {
		{FORM_CONTEXT_NO_NUL, 0, "kdf-context-no-nul", "the context \"SmbSign\" lacks its NUL", zeros, NULL},
		{FORM_NO_NULS, 0, "kdf-no-nuls", "label and context lack their NULs", zeros, NULL},
		{FORM_LABEL_311, 0, "kdf-label-311", "the label is that of SMB 3.1.1",
		 "SMB 3.0 and 3.0.2 have \"SMB2AESCMAC\" and \"SmbSign\"", NULL},
	};
	static const char label[] = "SMB 3.1.1 has \"SMBSigningKey\" and the preauth hash";
	static const struct option of_311[] = {
		{FORM_AS_300, 0, "kdf-as-300", "label and context are those of SMB 3.0", label, NULL},
		{FORM_LABEL_300, 0, "kdf-label-300", "the label is that of SMB 3.0", label, NULL},
		{FORM_CONTEXT_300, 0, "kdf-context-300", "the context is that of SMB 3.0", label, NULL},
	};
	static const struct option of_2xx[] = {
		{FORM_AS_300, 0, "kdf-as-300", "a key is derived as in SMB 3.0",
		 "SMB 2.0.2 and 2.1 sign with the session key itself", NULL},
	};
	unsigned dialect = m->suspect->n_keys ? m->suspect->keys[0].dialect : 0;

	add(m, IN_FORM, (struct option){.what = FORM_RIGHT});
	if (dialect < DIALECT_300) {
		ADD_ALL(m, IN_FORM, of_2xx);
		return;
	}
	ADD_ALL(m, IN_FORM, always);
	if (dialect < DIALECT_311)
		ADD_ALL(m, IN_FORM, of_300);
	else
		ADD_ALL(m, IN_FORM, of_311);
}

/* The KDF's input but for a context that is a hash. String constants count with their NUL. */
struct kdf {
	const char *label, *context; /* context NULL: the hash */
	size_t label_len, context_len;
	uint8_t counter[4], l[4];
	size_t counter_len, l_len, zeros, out_len;
};

static void set_label(struct kdf *k, const char *label)
{
	k->label = label;
	k->label_len = strlen(label) + 1;
}

static void set_context(struct kdf *k, const char *context)
{
	k->context = context;
	k->context_len = strlen(context) + 1;
}

static void use_300(struct kdf *k)
{
	set_label(k, "SMB2AESCMAC");
	set_context(k, "SmbSign");
}

static void put_le(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)value;
	p[1] = (uint8_t)(value >> 8);
	p[2] = p[3] = 0;
}

static void put_be(uint8_t *p, unsigned value)
{
	p[0] = p[1] = 0;
	p[2] = (uint8_t)(value >> 8);
	p[3] = (uint8_t)value;
}

static void use_labels(struct kdf *k, enum form form, int is_311)
{
	switch (form) {
	case FORM_AS_300:
		use_300(k);
		break;
	case FORM_LABEL_300:
		set_label(k, "SMB2AESCMAC");
		break;
	case FORM_LABEL_311:
		set_label(k, "SMBSigningKey");
		break;
	case FORM_CONTEXT_300:
		set_context(k, "SmbSign");
		break;
	case FORM_CONTEXT_NO_NUL:
		k->context_len--;
		break;
	case FORM_NO_NULS:
		k->context_len--;
		k->label_len--;
		break;
	case FORM_C2S:
	case FORM_S2C:
		set_label(k, !is_311 ? "SMB2AESCCM" : form == FORM_C2S ? "SMBC2SCipherKey" : "SMBS2CCipherKey");
		if (!is_311)
			set_context(k, form == FORM_C2S ? "ServerIn " : "ServerOut");
		break;
	case FORM_APPLICATION:
		set_label(k, is_311 ? "SMBAppKey" : "SMB2APP");
		if (!is_311)
			set_context(k, "SmbRpc");
		break;
	default:
		break;
	}
}

static void use_numbers(struct kdf *k, enum form form)
{
	switch (form) {
	case FORM_L256_WHOLE:
		k->out_len = 32;
		put_be(k->l, 256);
		break;
	case FORM_L256:
		put_be(k->l, 256);
		break;
	case FORM_L_BYTES:
		put_be(k->l, 16);
		break;
	case FORM_L_BYTES_32:
		put_be(k->l, 32);
		break;
	case FORM_LITTLE:
	case FORM_LITTLE_BYTES:
		put_le(k->counter, 1);
		put_le(k->l, form == FORM_LITTLE ? 128 : 16);
		break;
	case FORM_COUNTER_LITTLE:
		put_le(k->counter, 1);
		break;
	case FORM_L_LITTLE:
		put_le(k->l, 128);
		break;
	case FORM_COUNTER_0:
		put_be(k->counter, 0);
		break;
	case FORM_COUNTER_BYTE:
		k->counter[0] = 1;
		k->counter_len = 1;
		break;
	case FORM_NO_COUNTER:
		k->counter_len = 0;
		break;
	case FORM_NO_L:
		k->l_len = 0;
		break;
	case FORM_ONE_ZERO:
		k->zeros = 0;
		break;
	default:
		break;
	}
}

static size_t append(uint8_t *to, size_t at, const void *bytes, size_t n)
{
	if (n)
		memcpy(to + at, bytes, n);
	return at + n;
}

/* The signing key of a session key. */
static int derive(const struct suspect *s, const struct key_material *k, enum form form, int context, const uint8_t *ki,
		  size_t ki_len, struct mac_key *key)
{
	struct kdf kdf = {
		.counter = {0, 0, 0, 1}, .l = {0, 0, 0, 128}, .counter_len = 4, .l_len = 4, .zeros = 1, .out_len = 16};
	const uint8_t *hash = NULL;
	uint8_t input[128];
	size_t n;

	if (k->dialect < DIALECT_311)
		use_300(&kdf);
	else
		set_label(&kdf, "SMBSigningKey");
	use_labels(&kdf, form, k->dialect == DIALECT_311);
	use_numbers(&kdf, form);
	if (kdf.context) {
		if (context != CHAIN_RIGHT)
			return -1;
		hash = (const uint8_t *)kdf.context;
	} else {
		kdf.context_len = find_context(s, k, context, &hash);
		if (!kdf.context_len)
			return -1;
	}
	n = append(input, 0, kdf.counter, kdf.counter_len);
	n = append(input, n, kdf.label, kdf.label_len);
	n = append(input, n, "", kdf.zeros);
	n = append(input, n, hash, kdf.context_len);
	n = append(input, n, kdf.l, kdf.l_len);
	key->len = kdf.out_len;
	mac_kdf(ki, ki_len, input, n, key->bytes, key->len);
	return 0;
}

/* The key that the choices lead to. */
static int make_key(const struct suspect *s, const struct option *const chosen[DIMENSIONS], struct mac_key *key)
{
	const struct key_material *k = &s->keys[chosen[IN_KEY]->what];
	enum form form = (enum form)chosen[IN_FORM]->what;
	enum secret secret = (enum secret)chosen[IN_SECRET]->what;
	int context = chosen[IN_CONTEXT]->what, err = 0;
	uint8_t ki[64];
	size_t len;

	*key = (struct mac_key){.len = 16};
	if (k->is_signing_key) {
		memcpy(key->bytes, k->bytes, 16);
		return form != FORM_RIGHT || secret != SECRET_RIGHT || context != CHAIN_RIGHT ? -1 : 0;
	}
	len = make_secret(k, secret, ki);
	if (!len) {
		err = -1;
	} else if (form == FORM_NONE || (form == FORM_RIGHT && k->dialect < DIALECT_300)) {
		memcpy(key->bytes, ki, len);
		key->len = len;
		err = context != CHAIN_RIGHT ? -1 : 0;
	} else {
		err = derive(s, k, form, context, ki, len, key);
	}
	wipe(ki, sizeof ki);
	return err;
}

/* ---- Which bytes are covered (MS-SMB2 3.1.4.1: the element, up to NextCommand or to the end of the frame) */

enum range {
	RANGE_RIGHT,
	RANGE_LESS,
	RANGE_MORE,
	RANGE_PREFIX,
	RANGE_PREFIX_OWN,
	RANGE_PREFIX_ZERO,
	RANGE_TO_FRAME_END,
	RANGE_TO_FRAME_END_ZERO,
	RANGE_FRAME,
	RANGE_FRAME_ZERO,
	RANGE_BODY,
	RANGE_NO_SIGNATURE
};

static int ends_in_zeros(const uint8_t *msg, size_t len, size_t n)
{
	for (size_t i = 1; i <= n; i++)
		if (msg[len - i])
			return 0;
	return 1;
}

/* Alignment is at most 7 bytes, and behind the last element's body it can only be told from content by being zero. */
static void add_shorter(struct mistakes *m, struct option o, size_t n)
{
	o.n = n;
	add(m, IN_RANGE, o);
}

static void collect_shorter(struct mistakes *m, const uint8_t *msg, size_t len)
{
	static const char end[] =
		"sign up to NextCommand, or to the end of the frame: padding that is sent is covered too";
	enum { PADDING, TAIL, PAYLOAD, BODY, LAST_64 };
	static const struct option texts[] = {
		{RANGE_LESS, 0, "padding-left-out", "the last # bytes, padding, are left out", end, NULL},
		{RANGE_LESS, 0, "tail-left-out", "the last # bytes are left out", end, NULL},
		{RANGE_LESS, 0, "payload-left-out", "only the header and the fixed part of the body are covered",
		 "sign all buffers of the message, in the order in which they are sent", NULL},
		{RANGE_LESS, 0, "body-left-out", "only the header is covered", "sign the body too", NULL},
		{RANGE_LESS, 0, "length-without-header",
		 "the length does not count the header, so that the last 64 bytes are left out",
		 "the length is that of header and body", NULL},
	};
	size_t body = len - SMB3SIGN_HEADER_LEN;
	size_t fixed = body < 2 ? body : get_le16(msg + SMB3SIGN_HEADER_LEN) & ~(size_t)1;
	size_t payload = fixed && fixed < body ? body - fixed : 0;

	for (size_t n = 1; n < 8 && n < body; n++) {
		int aligned = len % 8 == 0 && (get_le32(msg + 20) || ends_in_zeros(msg, len, n));

		if (aligned || n != payload)
			add_shorter(m, texts[aligned ? PADDING : TAIL], n);
		else
			add_shorter(m, texts[PAYLOAD], n);
	}
	if (payload >= 8)
		add_shorter(m, texts[PAYLOAD], payload);
	if (body)
		add_shorter(m, texts[BODY], body);
	if (body > 64 && payload != 64)
		add_shorter(m, texts[LAST_64], 64);
}

static void collect_ranges(struct mistakes *m)
{
	static const struct option more[] = {
		{RANGE_MORE, 0, "padding-not-sent", "# zero bytes that were not sent are covered too",
		 "sign what is sent, no more", NULL},
	};
	static const char prefix[] = "begin with the SMB2 header, FE 53 4D 42";
	static const char element[] = "sign each element of a compound alone, up to its NextCommand";
	static const struct option prefixes[] = {
		{RANGE_PREFIX, 0, "transport-prefix", "the 4 bytes of the transport prefix are covered too", prefix,
		 NULL},
		{RANGE_PREFIX_OWN, 0, "transport-prefix-element",
		 "4 bytes of transport prefix with the element's own length are covered too", prefix, NULL},
		{RANGE_PREFIX_ZERO, 0, "transport-prefix-zero", "4 zero bytes before the header are covered too",
		 prefix, NULL},
	};
	static const struct option to_end[] = {
		{RANGE_TO_FRAME_END, 0, "element-to-frame-end",
		 "the element is signed to the end of the whole compound", element, NULL},
		{RANGE_TO_FRAME_END_ZERO, 0, "element-to-frame-end-zero",
		 "the element is signed to the end of the whole compound, the other signatures being zero", element,
		 NULL},
	};
	static const struct option compounds[] = {
		{RANGE_FRAME, 0, "compound-as-one", "the whole compound is signed", element, NULL},
		{RANGE_FRAME_ZERO, 0, "compound-as-one-zero",
		 "the whole compound is signed, the other signatures being zero", element, NULL},
	};
	static const struct option parts[] = {
		{RANGE_BODY, 0, "header-left-out", "only the body is covered", "sign header and body", NULL},
		{RANGE_NO_SIGNATURE, 0, "signature-field-left-out", "the Signature field is left out",
		 "the field counts as 16 zero bytes", NULL},
	};
	const struct suspect *s = m->suspect;

	add(m, IN_RANGE, (struct option){.what = RANGE_RIGHT});
	collect_shorter(m, message_of(s), s->len);
	for (size_t unit = 4, last = 0; unit <= 16; unit *= 2) {
		struct option o = more[0];

		o.n = -s->len & (unit - 1);
		if (o.n > last)
			add(m, IN_RANGE, o);
		last = o.n;
	}
	for (size_t i = 0; i < 3; i++)
		if (prefixes[i].what != RANGE_PREFIX_OWN || s->len != s->frame_len)
			add(m, IN_RANGE, prefixes[i]);
	if (s->off + s->len != s->frame_len)
		ADD_ALL(m, IN_RANGE, to_end);
	if (s->off)
		ADD_ALL(m, IN_RANGE, compounds);
	ADD_ALL(m, IN_RANGE, parts);
}

/* ---- What the header held when the signature was made */

enum header_state {
	HEADER_RIGHT,
	HEADER_REQUEST_SIGNATURE,
	HEADER_SIGNATURE_BEFORE,
	HEADER_TWICE,
	HEADER_FLAG_SET,
	HEADER_FIELD
};

/* Fields that may be filled in too late; nonce: the variant in which the nonce has the field as it was then. */
static const struct late_field {
	uint8_t at, size;
	uint8_t mask; /* of the byte at `at`, if size is 1 */
	uint8_t nonce;
	const char *name, *id;
} late_fields[] = {
	{16, 1, FLAG_SIGNED, 0, "SMB2_FLAGS_SIGNED", "signed-flag-after-mac"},
	{16, 1, FLAG_RESPONSE, 0, "SMB2_FLAGS_SERVER_TO_REDIR", "response-flag-after-mac"},
	{16, 1, FLAG_RESPONSE, 1, "SMB2_FLAGS_SERVER_TO_REDIR", "response-flag-after-mac"},
	{16, 4, 0, 0, "Flags", "flags-after-mac"},
	{16, 4, 0, 1, "Flags", "flags-after-mac"},
	{16, 1, FLAG_ASYNC, 0, "SMB2_FLAGS_ASYNC_COMMAND", "async-flag-after-mac"},
	{16, 1, FLAG_RELATED, 0, "SMB2_FLAGS_RELATED_OPERATIONS", "related-flag-after-mac"},
	{16, 1, 0x70, 0, "the priority in Flags", "priority-after-mac"},
	{20, 4, 0, 0, "NextCommand", "next-command-after-mac"},
	{6, 2, 0, 0, "CreditCharge", "credit-charge-after-mac"},
	{14, 2, 0, 0, "CreditRequest or CreditResponse", "credits-after-mac"},
	{8, 4, 0, 0, "Status or ChannelSequence", "status-after-mac"},
	{24, 8, 0, 0, "MessageId", "message-id-after-mac"},
	{24, 8, 0, 1, "MessageId", "message-id-after-mac"},
	{32, 8, 0, 0, "TreeId or AsyncId", "tree-id-after-mac"},
	{36, 4, 0, 0, "TreeId", "tree-id-after-mac"},
	{32, 4, 0, 0, "the Reserved field before TreeId", "reserved-after-mac"},
	{40, 8, 0, 0, "SessionId", "session-id-after-mac"},
};

static void collect_headers(struct mistakes *m)
{
	static const char zero[] = "put 16 zero bytes into the Signature field before signing";
	enum { FLAG, LATE, REQUEST, BEFORE, TWICE };
	static const struct option texts[] = {
		{HEADER_FLAG_SET, 0, "signed-flag-lost", "SMB2_FLAGS_SIGNED was set then, and is not in what was sent",
		 "send what was signed", NULL},
		{HEADER_FIELD, 0, NULL, "@ was not yet filled in when the signature was made",
		 "sign last: the whole header is covered, @ too", NULL},
		{HEADER_REQUEST_SIGNATURE, 0, "signature-not-zeroed-request",
		 "the Signature field still held the request's signature", zero, NULL},
		{HEADER_SIGNATURE_BEFORE, 0, "signature-not-zeroed-before",
		 "the Signature field still held that of the message sent before", zero, NULL},
		{HEADER_TWICE, 0, "signature-not-zeroed-twice",
		 "it was signed a second time with the first signature in place", zero, NULL},
	};
	const struct suspect *s = m->suspect;
	const uint8_t *h = message_of(s);

	add(m, IN_HEADER, (struct option){.what = HEADER_RIGHT});
	if (!(h[16] & FLAG_SIGNED))
		add(m, IN_HEADER, texts[FLAG]);
	for (size_t i = 0; i < sizeof late_fields / sizeof late_fields[0]; i++) {
		struct option o = texts[LATE];
		int set = 0;

		for (size_t j = 0; j < late_fields[i].size; j++)
			set |= h[late_fields[i].at + j];
		if (late_fields[i].mask)
			set &= late_fields[i].mask;
		/* Flags that hold nothing but SIGNED are the matter of that alone. */
		if (!set || (late_fields[i].size == 4 && late_fields[i].at == 16 && get_le32(h + 16) == FLAG_SIGNED))
			continue;
		o.n = i;
		o.id = late_fields[i].id;
		o.name = late_fields[i].name;
		add(m, IN_HEADER, o);
	}
	if (s->request)
		add(m, IN_HEADER, texts[REQUEST]);
	if (s->before)
		add(m, IN_HEADER, texts[BEFORE]);
	add(m, IN_HEADER, texts[TWICE]);
}

/* The header as it was signed. */
static void make_header(const struct suspect *s, const struct option *o, uint8_t h[SMB3SIGN_HEADER_LEN])
{
	memcpy(h, message_of(s), SMB3SIGN_HEADER_LEN);
	memset(h + SIGNATURE_AT, 0, 16);
	if (o->what == HEADER_REQUEST_SIGNATURE) {
		memcpy(h + SIGNATURE_AT, s->request + SIGNATURE_AT, 16);
	} else if (o->what == HEADER_SIGNATURE_BEFORE) {
		memcpy(h + SIGNATURE_AT, s->before, 16);
	} else if (o->what == HEADER_FLAG_SET) {
		h[16] |= FLAG_SIGNED;
	} else if (o->what == HEADER_FIELD) {
		const struct late_field *f = &late_fields[o->n];

		if (f->mask)
			h[f->at] &= (uint8_t)~f->mask;
		else
			memset(h + f->at, 0, f->size);
	}
}

/* ---- The covered bytes */

static void put_prefix(uint8_t *p, size_t len)
{
	p[0] = 0;
	p[1] = (uint8_t)(len >> 16);
	p[2] = (uint8_t)(len >> 8);
	p[3] = (uint8_t)len;
}

static void zero_signatures(uint8_t *frame, size_t len)
{
	for (size_t at = 0, n = 0; at < len && !smb3sign_frame_next(frame, len, at, &n); at += n)
		memset(frame + at + SIGNATURE_AT, 0, 16);
}

/* Of the frame, or of its end from `from` on, with this element's header. */
static size_t cover_frame(const struct suspect *s, const uint8_t *h, size_t from, int zero, uint8_t *out)
{
	memcpy(out, s->frame + from, s->frame_len - from);
	if (zero)
		zero_signatures(out, s->frame_len - from);
	memcpy(out + s->off - from, h, SMB3SIGN_HEADER_LEN);
	return s->frame_len - from;
}

static size_t cover(const struct suspect *s, const struct option *range, const uint8_t *h, uint8_t *out)
{
	const uint8_t *body = message_of(s) + SMB3SIGN_HEADER_LEN;
	size_t body_len = s->len - SMB3SIGN_HEADER_LEN, n = 0;

	switch (range->what) {
	case RANGE_TO_FRAME_END:
	case RANGE_TO_FRAME_END_ZERO:
		return cover_frame(s, h, s->off, range->what == RANGE_TO_FRAME_END_ZERO, out);
	case RANGE_FRAME:
	case RANGE_FRAME_ZERO:
		return cover_frame(s, h, 0, range->what == RANGE_FRAME_ZERO, out);
	case RANGE_BODY:
		return append(out, 0, body, body_len);
	case RANGE_NO_SIGNATURE:
		return append(out, append(out, 0, h, SIGNATURE_AT), body, body_len);
	case RANGE_PREFIX:
	case RANGE_PREFIX_OWN:
	case RANGE_PREFIX_ZERO:
		put_prefix(out, range->what == RANGE_PREFIX       ? s->frame_len
				: range->what == RANGE_PREFIX_OWN ? s->len
								  : 0);
		n = 4;
		break;
	default:
		break;
	}
	n = append(out, n, h, SMB3SIGN_HEADER_LEN);
	n = append(out, n, body, body_len - (range->what == RANGE_LESS ? range->n : 0));
	if (range->what == RANGE_MORE) {
		memset(out + n, 0, range->n);
		n += range->n;
	}
	return n;
}

/* ---- Nonce of AES-GMAC (MS-SMB2 3.1.4.1: MessageId, then 32 bits: the role, CANCEL, zeros) */

enum nonce_kind {
	NONCE_RIGHT,
	NONCE_NO_ROLE,
	NONCE_ROLE_OF_REQUEST,
	NONCE_NO_CANCEL,
	NONCE_ASYNC,
	NONCE_BITS_AT,
	NONCE_CANCEL_AT_10,
	NONCE_SWAPPED,
	NONCE_HIGH_BITS,
	NONCE_FLAGS,
	NONCE_LAST_FROM,
	NONCE_ID_AT,
	NONCE_ID_AT_NO_BITS,
	NONCE_ID_BIG,
	NONCE_ID_BIG_NO_BITS,
	NONCE_ID_OF_FIRST,
	NONCE_ID_LAST_CREDIT,
	NONCE_BITS_FIRST,
	NONCE_ZEROS_FIRST,
	NONCE_DIRECTION_WORDS,
	NONCE_ZERO,
	NONCE_LENGTH
};

static void collect_nonces(struct mistakes *m)
{
	static const char role[] = "bit 0 of nonce byte 8 is set in what a server sends, clear in what a client sends";
	static const char cancel[] = "bit 1 of nonce byte 8 is set in CANCEL requests and in nothing else";
	static const char bits[] = "the role is bit 0 and CANCEL bit 1 of nonce byte 8; bytes 9 to 11 are zero";
	static const char id[] = "the nonce begins with MessageId, the 8 bytes at header offset 24 as they stand";
	static const struct option of_responses[] = {
		{NONCE_NO_ROLE, 0, "nonce-no-role-bit", "the nonce lacks the role bit of a response", role, NULL},
	};
	static const struct option of_requests[] = {
		{NONCE_ROLE_OF_REQUEST, 0, "nonce-role-bit-in-request", "the nonce of a request has the role bit", role,
		 NULL},
	};
	static const struct option of_cancels[] = {
		{NONCE_NO_CANCEL, 0, "nonce-no-cancel-bit", "the nonce lacks the bit of a CANCEL", cancel, NULL},
		{NONCE_CANCEL_AT_10, 0, "nonce-cancel-byte-10", "the bit of a CANCEL is bit 0 of nonce byte 10", bits,
		 NULL},
	};
	static const struct option of_async[] = {
		{NONCE_ASYNC, 0, "nonce-async-for-cancel",
		 "the nonce's bit for CANCEL requests is set from SMB2_FLAGS_ASYNC_COMMAND", cancel, NULL},
	};
	static const struct option of_others[] = {
		{NONCE_DIRECTION_WORDS, 0, "nonce-direction-byte-10",
		 "nonce byte 10 is 1 for a request and 2 for a response, without role bit", bits, NULL},
	};
	static const struct option of_bits[] = {
		{NONCE_BITS_AT, 9, "nonce-bits-byte-9", "role and CANCEL bits are in nonce byte 9", bits, NULL},
		{NONCE_BITS_AT, 10, "nonce-bits-byte-10", "role and CANCEL bits are in nonce byte 10", bits, NULL},
		{NONCE_BITS_AT, 11, "nonce-bits-byte-11", "role and CANCEL bits are in nonce byte 11", bits, NULL},
		{NONCE_SWAPPED, 0, "nonce-bits-swapped", "role and CANCEL bits are swapped", bits, NULL},
		{NONCE_HIGH_BITS, 8, "nonce-bits-from-top", "role and CANCEL are bits 7 and 6 of nonce byte 8", bits,
		 NULL},
		{NONCE_HIGH_BITS, 11, "nonce-bits-from-top-11", "role and CANCEL are bits 7 and 6 of nonce byte 11",
		 bits, NULL},
		{NONCE_ID_AT_NO_BITS, 28, "nonce-message-id-offset-28-no-bits",
		 "MessageId is read at header offset 28 for the nonce, and role and CANCEL bits are missing", id, NULL},
		{NONCE_ID_BIG_NO_BITS, 0, "nonce-message-id-big-endian-no-bits",
		 "MessageId is big-endian in the nonce, and role and CANCEL bits are missing", id, NULL},
		{NONCE_BITS_FIRST, 0, "nonce-bits-first", "role and CANCEL bits are before MessageId in the nonce", id,
		 NULL},
	};
	static const struct option always[] = {
		{NONCE_FLAGS, 0, "nonce-flags", "the last 4 bytes of the nonce are the header's Flags", bits, NULL},
		{NONCE_LAST_FROM, 40, "nonce-session-id", "the last 4 bytes of the nonce are SessionId's first four",
		 bits, NULL},
		{NONCE_LAST_FROM, 44, "nonce-session-id-high",
		 "the last 4 bytes of the nonce are SessionId's last four", bits, NULL},
		{NONCE_LAST_FROM, 36, "nonce-tree-id", "the last 4 bytes of the nonce are TreeId", bits, NULL},
		{NONCE_ID_AT, 28, "nonce-message-id-offset-28", "MessageId is read at header offset 28 for the nonce",
		 id, NULL},
		{NONCE_ID_AT, 20, "nonce-message-id-offset-20", "MessageId is read at header offset 20 for the nonce",
		 id, NULL},
		{NONCE_ID_AT, 16, "nonce-message-id-offset-16", "MessageId is read at header offset 16 for the nonce",
		 id, NULL},
		{NONCE_ID_AT, 32, "nonce-async-id", "the nonce begins with AsyncId (offset 32) instead of MessageId",
		 id, NULL},
		{NONCE_ID_AT, 40, "nonce-begins-with-session-id",
		 "the nonce begins with SessionId instead of MessageId", id, NULL},
		{NONCE_ID_BIG, 0, "nonce-message-id-big-endian", "MessageId is big-endian in the nonce", id, NULL},
		{NONCE_ID_OF_FIRST, 0, "nonce-first-message-id",
		 "the nonce has the MessageId of the compound's first element",
		 "each element has its own MessageId in its nonce", NULL},
		{NONCE_ID_LAST_CREDIT, 0, "nonce-last-message-id",
		 "the nonce has the last MessageId that the request's CreditCharge takes", id, NULL},
		{NONCE_ZEROS_FIRST, 0, "nonce-zeros-first", "4 zero bytes (a salt) are before MessageId in the nonce",
		 id, NULL},
		{NONCE_ZERO, 0, "nonce-zero", "the nonce is zero", id, NULL},
		{NONCE_LENGTH, 8, "nonce-length-8", "the nonce has 8 bytes", "the nonce has 12 bytes", NULL},
		{NONCE_LENGTH, 11, "nonce-length-11", "the nonce has 11 bytes", "the nonce has 12 bytes", NULL},
		{NONCE_LENGTH, 16, "nonce-length-16", "the nonce has 16 bytes, the last four zero",
		 "the nonce has 12 bytes", NULL},
	};

	struct header h = read_header(message_of(m->suspect));

	add(m, IN_NONCE, (struct option){.what = NONCE_RIGHT});
	if (h.flags & FLAG_RESPONSE)
		ADD_ALL(m, IN_NONCE, of_responses);
	else
		ADD_ALL(m, IN_NONCE, of_requests);
	if (h.command == COMMAND_CANCEL)
		ADD_ALL(m, IN_NONCE, of_cancels);
	else
		ADD_ALL(m, IN_NONCE, of_others);
	if (h.flags & FLAG_ASYNC)
		ADD_ALL(m, IN_NONCE, of_async);
	if (h.flags & FLAG_RESPONSE || h.command == COMMAND_CANCEL)
		ADD_ALL(m, IN_NONCE, of_bits);
	ADD_ALL(m, IN_NONCE, always);
}

static void put_le64(uint8_t *p, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

static void reverse8(uint8_t *p)
{
	for (int i = 0; i < 4; i++) {
		uint8_t x = p[i];

		p[i] = p[7 - i];
		p[7 - i] = x;
	}
}

/* What stands in its first 8 bytes. */
static void make_nonce_id(const struct suspect *s, const struct option *o, const uint8_t *h, uint8_t *id)
{
	memcpy(id, h + 24, 8);
	switch (o->what) {
	case NONCE_ID_AT:
	case NONCE_ID_AT_NO_BITS:
		memcpy(id, h + o->n, 8);
		break;
	case NONCE_ID_BIG:
	case NONCE_ID_BIG_NO_BITS:
		reverse8(id);
		break;
	case NONCE_ID_OF_FIRST:
		memcpy(id, s->frame + 24, 8);
		break;
	case NONCE_ID_LAST_CREDIT:
		if (get_le16(h + 6))
			put_le64(id, get_le64(h + 24) + get_le16(h + 6) - 1);
		break;
	default:
		break;
	}
}

static void make_nonce(const struct suspect *s, const struct option *o, const uint8_t *h, struct nonce *nonce)
{
	uint8_t role = h[16] & FLAG_RESPONSE, cancel = get_le16(h + 12) == COMMAND_CANCEL, *n = nonce->bytes;
	uint8_t right = (uint8_t)(role | cancel << 1);

	*nonce = (struct nonce){.len = 12};
	make_nonce_id(s, o, h, n);
	switch (o->what) {
	case NONCE_NO_ROLE:
		n[8] = (uint8_t)(cancel << 1);
		break;
	case NONCE_ROLE_OF_REQUEST:
		n[8] = right | 1;
		break;
	case NONCE_NO_CANCEL:
		n[8] = role;
		break;
	case NONCE_ASYNC:
		n[8] = (uint8_t)(role | (h[16] & FLAG_ASYNC));
		break;
	case NONCE_BITS_AT:
		n[o->n] = right;
		break;
	case NONCE_CANCEL_AT_10:
		n[10] = cancel;
		n[11] = role;
		break;
	case NONCE_SWAPPED:
		n[8] = (uint8_t)(role << 1 | cancel);
		break;
	case NONCE_HIGH_BITS:
		n[o->n] = (uint8_t)(role << 7 | cancel << 6);
		break;
	case NONCE_FLAGS:
		memcpy(n + 8, h + 16, 4);
		break;
	case NONCE_LAST_FROM:
		memcpy(n + 8, h + o->n, 4);
		break;
	case NONCE_BITS_FIRST:
	case NONCE_ZEROS_FIRST:
		memmove(n + 4, n, 8);
		memset(n, 0, 4);
		n[0] = o->what == NONCE_BITS_FIRST ? right : 0;
		break;
	case NONCE_DIRECTION_WORDS:
		n[10] = (uint8_t)(1 + role);
		break;
	case NONCE_ZERO:
		memset(n, 0, 12);
		break;
	case NONCE_ID_AT_NO_BITS:
	case NONCE_ID_BIG_NO_BITS:
		break;
	default:
		n[8] = right;
		nonce->len = o->what == NONCE_LENGTH ? o->n : 12;
		break;
	}
}

/* ---- All together */

void mistakes_collect(struct mistakes *m, const struct suspect *s)
{
	memset(m, 0, sizeof *m);
	m->suspect = s;
	m->room = allocate(s->frame_len + 32);
	collect_algorithms(m);
	collect_keys(m);
	collect_secrets(m);
	collect_contexts(m);
	collect_forms(m);
	collect_ranges(m);
	collect_headers(m);
	collect_nonces(m);
}

void mistakes_free(struct mistakes *m)
{
	free(m->room);
}

int mistakes_sign(const struct mistakes *m, const struct option *const chosen[DIMENSIONS], uint8_t tag[16])
{
	const struct suspect *s = m->suspect;
	const struct option *state = chosen[IN_HEADER];
	enum mac mac = (enum mac)chosen[IN_ALGORITHM]->what;
	uint8_t header[SMB3SIGN_HEADER_LEN];
	const uint8_t *at_nonce = message_of(s);
	struct mac_key key;
	struct nonce nonce;
	int err;

	if (chosen[IN_NONCE]->id && !mac_has_nonce(mac))
		return -1;
	if (make_key(s, chosen, &key))
		return -1;
	make_header(s, state, header);
	if (state->what == HEADER_FIELD && late_fields[state->n].nonce)
		at_nonce = header;
	make_nonce(s, chosen[IN_NONCE], at_nonce, &nonce);
	err = mac_compute(mac, &key, &nonce, m->room, cover(s, chosen[IN_RANGE], header, m->room), tag);
	if (!err && state->what == HEADER_TWICE) {
		memcpy(header + SIGNATURE_AT, tag, 16);
		err = mac_compute(mac, &key, &nonce, m->room, cover(s, chosen[IN_RANGE], header, m->room), tag);
	}
	wipe(&key, sizeof key);
	return err;
}
