/* SPDX-License-Identifier: MIT */
/*
 * Ways in which SMB signing has gone wrong in public implementations, a test for each kind: the foreign value is what
 * the library gives, and what the bug gave, computed with OpenSSL, is refused. Numbers in brackets are those of the
 * list of 68 public bugs that the tests follow: [1-12] GMAC's nonce and key, [13-34] derivation and choice of keys,
 * [35-43] what is covered, [44-59] policy, [60-65] negotiation, [66-68] speed.
 */
/*
 * Tested elsewhere, with foreign values:
 *	[11] a nonce on the heap, [68] copies: key:test_allocations, message:test_splits, api:test_stack_bound
 *	[21] a chain of hashes that differs somewhere: preauth:test_exchange
 *	[25] [26] binds between algorithms, ciphers and dialects: bind:test_rows
 *	[43] a hash shared by threads: key:test_threads, stream:test_interleaved
 *	[53] NEGOTIATE signed, session unknown, [56] VALIDATE_NEGOTIATE_INFO: policy:test_known_cases
 *	[58] a session without a key: policy:test_known_cases, message:test_invalid, key:test_init, key:test_zeroed
 *	[59] comparison: message:test_flips
 *	[60] a malformed context: negotiate:test_choose_malformed, negotiate:test_accept_malformed
 *	[66] the key schedule in every call: message:test_readonly_key
 *	[67] slow kernels where there are better: key:test_best_kernels
 * Not this library's:
 *	[12] nonces of encryption; of [28] and [48] the decision what to encrypt
 *	[23] [29] [32] which sessions there are to bind to, whose they are, where they live
 *	[34] NTLM's key exchange
 *	[63] [64] SecurityMode, from which a caller makes SMB3SIGN_REQUIRED; of [46] when a server reads its settings
 */
#include <openssl/evp.h>

#include "support.h"
#include "vectors.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ALGS = 3, ROOM = 1024, BATCH = 17 };
enum { H = SMB3SIGN_HMAC_SHA256, C = SMB3SIGN_AES_CMAC, G = SMB3SIGN_AES_GMAC };
enum { CLIENT = SMB3SIGN_ROLE_CLIENT, SERVER = SMB3SIGN_ROLE_SERVER };
/* Flags, commands (MS-SMB2 2.2.1.2), statuses (MS-ERREF 2.3.1). */
enum { RESPONSE = 1, ASYNC = 2, RELATED = 4, SIGNED = 8 };
enum {
	SESSION_SETUP = 0x01,
	LOGOFF = 0x02,
	TREE_CONNECT = 0x03,
	CREATE = 0x05,
	READ = 0x08,
	CANCEL = 0x0c,
	ECHO = 0x0d,
	CHANGE_NOTIFY = 0x0f,
	OPLOCK_BREAK = 0x12
};
#define SUCCESS              0u
#define PENDING              0x00000103u
#define MORE_PROCESSING      0xc0000016u
#define ACCESS_DENIED        0xc0000022u
#define LOGON_FAILURE        0xc000006du
#define REQUEST_NOT_ACCEPTED 0xc00000d0u
/* States of smb3sign_receive_policy and smb3sign_send_policy. */
enum {
	SET_UP = SMB3SIGN_HAVE_SESSION | SMB3SIGN_HAVE_KEY,
	REQUIRED = SMB3SIGN_REQUIRED,
	GUEST = SMB3SIGN_GUEST,
	SMB311 = SMB3SIGN_SMB311,
	BINDING = SMB3SIGN_BINDING,
	DECRYPTED = SMB3SIGN_DECRYPTED,
	PEER_SIGNED = SMB3SIGN_PEER_SIGNED
};

/* ---- Foreign values: those of vectors.h, and these */

static const struct sign_vector more_messages[] = {
	/* afiffon/smb-rs crates/smb/src/session/signer.rs: a LOGOFF request as it was sent, with a priority in Flags */
	{"smb-rs-logoff", SMB3SIGN_AES_GMAC, "ac36e9543cd888f0a84123e46bb2a0d7",
	 "fe534d4240000100000000000200010018000000000000000900000000000000000000000000000053200c2100000000"
	 "76234b3c812f51ab8a5cf9fa43d4eb2804000000"},
	/* djosh34/s3-smb internal/smb/crypt/crypt_test.go TestGMACVectors: an ECHO, its response, a CANCEL */
	{"s3-smb-request", SMB3SIGN_AES_GMAC, "73fe7a9a77bef0bde49c650d8ccb5f76",
	 "fe534d4240000000000000000d0000000800000000000000080706050403020100000000000000001900000000100000"
	 "2b2561b7023f3c134da38913f13aaff304000000000000000000000000000000"},
	{"s3-smb-response", SMB3SIGN_AES_GMAC, "73fe7a9a77bef0bde49c650d8ccb5f76",
	 "fe534d4240000000000000000d0000000900000000000000080706050403020100000000000000001900000000100000"
	 "09d6ff32075d502dba17c245e691ec7204000000000000000000000000000000"},
	{"s3-smb-cancel", SMB3SIGN_AES_GMAC, "73fe7a9a77bef0bde49c650d8ccb5f76",
	 "fe534d4240000000000000000c0000000800000000000000080706050403020100000000000000001900000000100000"
	 "d4bfb43bab8f8325667bf3235bd885cc04000000000000000000000000000000"},
	/* hierynomus/smbj PacketSignatoryTest.java: a CREATE error response, 9 bytes of body and 7 of padding */
	{"smbj-padded", SMB3SIGN_HMAC_SHA256, "75c5cb91419e3a45ce9ef869dfd3e2a8",
	 "fe534d4240000100030100c0050001000900000000000000ba9e62000000000000000000010000009103001c04140000"
	 "1fede330c927bc01f83c3c0e07dcb0ba09000000000000000000000000000000"},
};

struct message {
	unsigned alg;
	uint8_t raw[16], bytes[ROOM]; /* the right signature in place */
	size_t len;
};

static const struct sign_vector *find_message(const char *name)
{
	for (size_t i = 0; i < COUNT(more_messages); i++)
		if (strcmp(more_messages[i].name, name) == 0)
			return &more_messages[i];
	for (size_t i = 0; i < COUNT(sign_vectors); i++)
		if (strcmp(sign_vectors[i].name, name) == 0)
			return &sign_vectors[i];
	ck_abort_msg("no message %s", name);
}

static struct message foreign(const char *name)
{
	const struct sign_vector *v = find_message(name);
	struct message m = {.alg = v->alg};

	ck_assert_uint_eq(unhex(m.raw, sizeof(m.raw), v->key), 16);
	m.len = unhex(m.bytes, sizeof(m.bytes), v->message);
	return m;
}

static const struct kdf_vector *find_kdf(const char *name)
{
	for (size_t i = 0; i < COUNT(kdf_vectors); i++)
		if (strcmp(kdf_vectors[i].name, name) == 0)
			return &kdf_vectors[i];
	ck_abort_msg("no derivation %s", name);
}

/* The published exchanges: session key, preauthentication hash and SigningKey of session and second channel. */
#define MASTER  find_kdf("ms-blog-311-master-signing")
#define CHANNEL find_kdf("ms-blog-311-channel2-signing")
#define FINAL   foreign("ms-blog-311-c1-final-session-setup-response")
/* Messages of each: NEGOTIATE request and response, SESSION_SETUP request, response, request. */
enum { NEGOTIATES = 2, EXCHANGE = 5 };

static smb3sign_preauth preauth_of(const struct kdf_vector *v)
{
	smb3sign_preauth p;

	ck_assert_uint_eq(unhex(p.hash, sizeof(p.hash), v->context), 64);
	return p;
}

/* ---- OpenSSL: what other rules would have given */

/* GCM's tag over aad and text, for a key of 16 or 32 bytes. */
static void gcm_tag(const void *key, size_t key_len, const uint8_t nonce[12], const uint8_t *aad, size_t aad_len,
		    const uint8_t *text, size_t text_len, uint8_t tag[16])
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	uint8_t out[ROOM];
	int n;

	ck_assert_uint_le(text_len, sizeof(out));
	ck_assert(ctx &&
		  EVP_EncryptInit_ex(ctx, key_len == 32 ? EVP_aes_256_gcm() : EVP_aes_128_gcm(), NULL, key, nonce));
	ck_assert(!aad_len || EVP_EncryptUpdate(ctx, NULL, &n, aad, (int)aad_len));
	ck_assert(!text_len || EVP_EncryptUpdate(ctx, out, &n, text, (int)text_len));
	ck_assert(EVP_EncryptFinal_ex(ctx, out, &n) && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, 16, tag));
	written_by_openssl(tag, 16);
	EVP_CIPHER_CTX_free(ctx);
}

/* The message with the 16 bytes of its signature zero, as all three algorithms see it. */
static struct message zeroed(const struct message *m)
{
	struct message z = *m;

	memset(z.bytes + 48, 0, 16);
	return z;
}

static void gmac_with_nonce(const struct message *m, const char *nonce_hex, uint8_t tag[16])
{
	struct message z = zeroed(m);
	uint8_t nonce[12];

	ck_assert_uint_eq(unhex(nonce, sizeof(nonce), nonce_hex), 12);
	ref_gmac(m->raw, nonce, z.bytes, z.len, tag);
}

/* One HMAC-SHA256 over pieces of hex, under a key in hex: what key derivation comes down to. */
static void prf(const char *key_hex, const char *const pieces[5], uint8_t out[32])
{
	uint8_t key[64], input[256];
	size_t key_len = unhex(key, sizeof(key), key_hex), len = 0;

	for (size_t i = 0; i < 5; i++)
		len += unhex(input + len, sizeof(input) - len, pieces[i]);
	ref_hmac_sha256(key, key_len, input, len, out);
}

static void sha512_chain(uint8_t hash[64], const void *msg, size_t len)
{
	uint8_t both[64 + ROOM];

	ck_assert_uint_le(len, ROOM);
	memcpy(both, hash, 64);
	memcpy(both + 64, msg, len);
	ck_assert(EVP_Digest(both, 64 + len, hash, NULL, EVP_sha512(), NULL));
	written_by_openssl(hash, 64);
}

/* ---- The library's answer */

static unsigned sender_role(const struct message *m)
{
	return m->bytes[16] & RESPONSE ? SERVER : CLIENT;
}

/* All the library's ways of signing and verifying one message: bugs like to sit in the second of two. */
enum { BY_BUFFER, BY_SEGMENTS, BY_STEPS, BY_BATCH, BY_FRAME, WAYS };

/* An element of a compound is no frame without the others. */
static unsigned ways(const struct message *m)
{
	return get_le32(m->bytes + 20) ? BY_FRAME : WAYS;
}

static void halve(smb3sign_iov body[2], const struct message *m)
{
	uint8_t *p = (uint8_t *)(uintptr_t)m->bytes + 64;
	size_t len = m->len - 64;

	body[0] = (smb3sign_iov){p, len / 2};
	body[1] = (smb3sign_iov){p + len / 2, len - len / 2};
}

static void update_steps(smb3sign_ctx *ctx, const smb3sign_iov body[2])
{
	smb3sign_update(ctx, body[0].iov_base, body[0].iov_len);
	smb3sign_update(ctx, body[1].iov_base, body[1].iov_len);
}

/* Many at once, so that it is worth while to take them side by side: the result and the message of any. */
static int run_batch(int (*run)(smb3sign_msg *msgs, size_t n), const smb3sign_key *key, struct message *m)
{
	struct message copy[BATCH];
	smb3sign_iov body[BATCH];
	smb3sign_msg msgs[BATCH];
	int err;

	for (size_t i = 0; i < BATCH; i++) {
		copy[i] = *m;
		body[i] = (smb3sign_iov){copy[i].bytes + 64, m->len - 64};
		msgs[i] = (smb3sign_msg){.key = key, .hdr = copy[i].bytes, .body = &body[i], .body_cnt = 1};
	}
	err = run(msgs, BATCH);
	for (size_t i = 0; i < BATCH; i++) {
		ck_assert_int_eq(msgs[i].result, err);
		ck_assert_mem_eq(copy[i].bytes, copy[0].bytes, m->len);
	}
	*m = copy[0];
	return err;
}

static int sign_by(unsigned way, const smb3sign_key *key, struct message *m)
{
	smb3sign_iov body[2];
	smb3sign_ctx ctx;
	int begun, ended;

	halve(body, m);
	switch (way) {
	case BY_SEGMENTS:
		return smb3sign_sign(key, m->bytes, body, 2);
	case BY_STEPS:
		begun = smb3sign_sign_begin(&ctx, key, m->bytes);
		update_steps(&ctx, body);
		ended = smb3sign_sign_end(&ctx, m->bytes + 48);
		ck_assert(begun == SMB3SIGN_OK || begun == ended);
		return ended;
	case BY_BATCH:
		return run_batch(smb3sign_sign_batch, key, m);
	case BY_FRAME:
		return smb3sign_sign_frame(key, m->bytes, m->len);
	default:
		return smb3sign_sign_buf(key, m->bytes, m->len);
	}
}

static int verify_by(unsigned way, const smb3sign_key *key, const struct message *m)
{
	struct message copy = *m;
	smb3sign_iov body[2];
	smb3sign_ctx ctx;
	int begun, ended;

	halve(body, &copy);
	switch (way) {
	case BY_SEGMENTS:
		return smb3sign_verify(key, copy.bytes, body, 2);
	case BY_STEPS:
		begun = smb3sign_verify_begin(&ctx, key, copy.bytes);
		update_steps(&ctx, body);
		ended = smb3sign_verify_end(&ctx);
		ck_assert(begun == SMB3SIGN_OK || begun == ended);
		return ended;
	case BY_BATCH:
		return run_batch(smb3sign_verify_batch, key, &copy);
	case BY_FRAME:
		return smb3sign_verify_frame(key, copy.bytes, copy.len, NULL);
	default:
		return smb3sign_verify_buf(key, copy.bytes, copy.len);
	}
}

/* What its receiver says, with this key; all ways say the same. */
static int verify_as(unsigned alg, const uint8_t raw[16], const struct message *m)
{
	smb3sign_key *key = new_key(alg, raw, sender_role(m) == SERVER ? CLIENT : SERVER);
	int err = verify_by(BY_BUFFER, key, m);

	for (unsigned way = 0; way < ways(m); way++)
		ck_assert_int_eq(verify_by(way, key, m), err);
	smb3sign_key_free(key);
	return err;
}

/* Its sender signs it so, whatever stood in Signature, and its receiver takes it. */
static void assert_right(const struct message *m)
{
	smb3sign_key *key = new_key(m->alg, m->raw, sender_role(m));

	for (unsigned way = 0; way < ways(m); way++) {
		struct message copy = *m;

		copy.bytes[16] &= (uint8_t)~SIGNED;
		rng_fill(copy.bytes + 48, 16);
		ck_assert_int_eq(sign_by(way, key, &copy), SMB3SIGN_OK);
		ck_assert_mem_eq(copy.bytes, m->bytes, m->len);
	}
	ck_assert_int_eq(verify_as(m->alg, m->raw, m), SMB3SIGN_OK);
	smb3sign_key_free(key);
}

/* Its sender does not sign it, and leaves it as it is. */
static void assert_unsignable(const struct message *m)
{
	smb3sign_key *key = new_key(m->alg, m->raw, sender_role(m));

	for (unsigned way = 0; way < ways(m); way++) {
		struct message copy = *m;

		ck_assert_int_eq(sign_by(way, key, &copy), SMB3SIGN_E_EXEMPT);
		ck_assert_mem_eq(copy.bytes, m->bytes, m->len);
	}
	smb3sign_key_free(key);
}

/* Its sender does not sign it with this tag, and its receiver refuses it. */
static void assert_wrong(const struct message *m, const uint8_t tag[16])
{
	smb3sign_key *key = new_key(m->alg, m->raw, sender_role(m));
	smb3sign_iov body = {(uint8_t *)(uintptr_t)m->bytes + 64, m->len - 64};
	struct message copy = *m;
	uint8_t got[16];

	ck_assert_int_eq(smb3sign_compute(key, m->bytes, &body, 1, got), SMB3SIGN_OK);
	ck_assert_mem_ne(got, tag, 16);
	memcpy(copy.bytes + 48, tag, 16);
	ck_assert_int_eq(verify_as(m->alg, m->raw, &copy), SMB3SIGN_E_SIGNATURE);
	smb3sign_key_free(key);
}

/* A message of our own, signed by OpenSSL. */
static struct message made(unsigned alg, unsigned command, uint32_t flags, uint64_t message_id, uint32_t status)
{
	struct message m = {.alg = alg, .len = 64 + 24};

	rng_fill(m.raw, sizeof(m.raw));
	make_header(m.bytes, command, flags | SIGNED, message_id, 0x99);
	put_le32(m.bytes + 8, status);
	rng_fill(m.bytes + 64, m.len - 64);
	ref_signature(alg, m.raw, m.bytes, m.len, m.bytes + 48);
	return m;
}

/* What is left of it when SIGNED is cleared and the signature zeroed on the way. */
static struct message stripped(const struct message *m)
{
	struct message s = zeroed(m);

	s.bytes[16] &= (uint8_t)~SIGNED;
	return s;
}

static int receive(unsigned role, const struct message *m, unsigned state)
{
	uint32_t status;

	return smb3sign_receive_policy(role, m->bytes, state, &status);
}

static int send(unsigned role, unsigned command, uint32_t flags, uint32_t status, unsigned state)
{
	uint8_t hdr[64];

	make_header(hdr, command, flags, 5, 0x99);
	put_le32(hdr + 8, status);
	return smb3sign_send_policy(role, hdr, state);
}

/* ---- GMAC: nonce and key [1-11] */

/* The foreign tag is the one under this nonce; those under the others are refused. */
static void assert_nonce(const char *name, const char *right, const char *const *wrong, size_t n)
{
	struct message m = foreign(name);
	uint8_t tag[16];

	gmac_with_nonce(&m, right, tag);
	ck_assert_mem_eq(tag, m.bytes + 48, 16);
	assert_right(&m);
	for (size_t i = 0; i < n; i++) {
		gmac_with_nonce(&m, wrong[i], tag);
		assert_wrong(&m, tag);
	}
}

/*
 * [1] byte 11 (Microsoft's protocol test suites), [2] words in bytes 10 and 11 (Manticore), here in either order,
 * [6] no bit (a fork of ksmbd); and the server's bit in a request.
 */
START_TEST(nonce_role_is_bit_0_of_byte_8)
{
	static const char *const in_response[] = {"080706050403020100000001", "080706050403020100000002",
						  "080706050403020100000200", "080706050403020100000000"};
	static const char *const in_request[] = {"080706050403020100000001", "080706050403020100000100",
						 "080706050403020101000000"};

	assert_nonce("s3-smb-response", "080706050403020101000000", in_response, COUNT(in_response));
	assert_nonce("s3-smb-request", "080706050403020100000000", in_request, COUNT(in_request));
	assert_nonce("self-gmac-final-session-setup-response", "030000000000000001000000",
		     (const char *const[]){"030000000000000000000000"}, 1);
}
END_TEST

/* [1] byte 10; and no bit at all, the server's, the one behind. */
START_TEST(nonce_cancel_is_bit_1_of_byte_8)
{
	static const char *const wrong[] = {"080706050403020100000100", "080706050403020100000000",
					    "080706050403020101000000", "080706050403020104000000"};

	assert_nonce("s3-smb-cancel", "080706050403020102000000", wrong, COUNT(wrong));
}
END_TEST

/* The flag ASYNC has the value of CANCEL's bit, but is none of the nonce's. */
START_TEST(nonce_has_no_async_flag)
{
	struct message m = made(G, CHANGE_NOTIFY, RESPONSE | ASYNC, 0x0102030405060708, SUCCESS);
	uint8_t tag[16];

	assert_right(&m);
	gmac_with_nonce(&m, "080706050403020103000000", tag);
	assert_wrong(&m, tag);
}
END_TEST

/* [4] the low half of SessionId as the last four bytes (a fork of go-smb2) */
START_TEST(nonce_has_no_session_id)
{
	assert_nonce("smb-rs-logoff", "090000000000000000000000", (const char *const[]){"090000000000000053200c21"}, 1);
	assert_nonce("s3-smb-request", "080706050403020100000000", (const char *const[]){"080706050403020119000000"},
		     1);
}
END_TEST

/* [5] offset 28 (dittofs); and the eight bytes the other way round */
START_TEST(message_id_is_at_offset_24)
{
	static const char *const wrong[] = {"040302010000000000000000", "010203040506070800000000"};

	assert_nonce("s3-smb-request", "080706050403020100000000", wrong, COUNT(wrong));
	assert_nonce("smb-rs-logoff", "090000000000000000000000", (const char *const[]){"000000000000000000000000"}, 1);
}
END_TEST

/* [3] [13] L = 256 (Manticore, ksmbd), and AES-256-GCM with what comes of it */
START_TEST(key_is_16_bytes_whatever_the_cipher)
{
	const struct kdf_vector *v = MASTER;
	const smb3sign_preauth p = preauth_of(v);
	struct message m = foreign("self-gmac-final-session-setup-response"), z = zeroed(&m);
	uint8_t session_key[16], got[32], wrong[32], nonce[12], tag[16];
	smb3sign_key *key = NULL;

	unhex(session_key, 16, v->session_key);
	ck_assert_int_eq(smb3sign_derive(0x0311, SMB3SIGN_USE_SIGNING, session_key, 16, &p, got, 16), SMB3SIGN_OK);
	assert_hex(got, v->key);
	prf(v->session_key, (const char *const[]){"00000001", v->label, "00", v->context, "00000100"}, wrong);
	ck_assert_mem_ne(got, wrong, 16);
	ck_assert_int_eq(smb3sign_derive(0x0311, SMB3SIGN_USE_SIGNING, session_key, 16, &p, got, 32), SMB3SIGN_E_INVAL);
	for (unsigned alg = 0; alg < ALGS; alg++)
		ck_assert_int_eq(smb3sign_key_new(&key, alg, wrong, 32, CLIENT), SMB3SIGN_E_INVAL);

	ck_assert_int_eq(smb3sign_key_derive(&key, G, 0x0311, session_key, 16, &p, CLIENT), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_buf(key, m.bytes, m.len), SMB3SIGN_OK);
	smb3sign_key_free(key);
	unhex(nonce, 12, "030000000000000001000000");
	gcm_tag(wrong, 32, nonce, z.bytes, z.len, NULL, 0, tag);
	assert_wrong(&m, tag);
	gcm_tag(wrong, 16, nonce, z.bytes, z.len, NULL, 0, tag);
	assert_wrong(&m, tag);
}
END_TEST

/*
 * [7] The final response has the same MessageId and direction: it alone is signed, and its nonce is still free. In a
 * request the bytes of STATUS_PENDING are a ChannelSequence.
 */
START_TEST(interim_response_is_never_signed)
{
	const unsigned alg = (unsigned)_i, state = SET_UP | REQUIRED | PEER_SIGNED;
	struct message interim = made(alg, CHANGE_NOTIFY, RESPONSE | ASYNC, 7, PENDING), plain = stripped(&interim);
	struct message final = made(alg, CHANGE_NOTIFY, RESPONSE | ASYNC, 7, SUCCESS);
	struct message request = made(alg, CHANGE_NOTIFY, 0, 7, PENDING);
	smb3sign_guard *guard = NULL;

	ck_assert_int_eq(smb3sign_guard_new(&guard, 64), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_send_policy(SERVER, plain.bytes, state), 0);
	assert_unsignable(&plain);
	ck_assert_int_eq(smb3sign_guard_hold(guard, plain.bytes), SMB3SIGN_OK);
	/* Signed by somebody else it does not verify either. */
	ck_assert_int_eq(verify_as(alg, interim.raw, &interim), SMB3SIGN_E_EXEMPT);

	ck_assert_int_eq(smb3sign_send_policy(SERVER, final.bytes, state), 1);
	ck_assert_int_eq(smb3sign_guard_claim(guard, final.bytes), SMB3SIGN_OK);
	assert_right(&final);
	assert_right(&request);
	smb3sign_guard_free(guard);
}
END_TEST

/* [8] A CANCEL that fails gets no answer, and an answer could not be signed. */
START_TEST(cancel_is_never_answered)
{
	struct message cancel = made((unsigned)_i, CANCEL, 0, 7, 0);
	struct message answer = made((unsigned)_i, CANCEL, RESPONSE, 7, ACCESS_DENIED);
	uint32_t status = 4711;

	cancel.bytes[63] ^= 1;
	ck_assert_int_eq(receive(SERVER, &cancel, SET_UP), SMB3SIGN_ACT_VERIFY);
	ck_assert_int_eq(verify_as(cancel.alg, cancel.raw, &cancel), SMB3SIGN_E_SIGNATURE);
	ck_assert_int_eq(smb3sign_receive_policy(SERVER, cancel.bytes, 0, &status), SMB3SIGN_ACT_DISCARD);
	ck_assert_uint_eq(status, 0);

	answer = stripped(&answer);
	ck_assert_int_eq(smb3sign_send_policy(SERVER, answer.bytes, SET_UP | REQUIRED | PEER_SIGNED), 0);
	assert_unsignable(&answer);
}
END_TEST

/* [9] One key, one guard: what was just signed verifies, as often as it comes. */
START_TEST(guard_never_hinders_verification)
{
	struct message m = foreign("smb-rs-logoff");
	smb3sign_key *key = new_key(G, m.raw, SMB3SIGN_ROLE_ANY);
	smb3sign_guard *guard = NULL;

	ck_assert_int_eq(smb3sign_guard_new(&guard, 64), SMB3SIGN_OK);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(smb3sign_verify_buf(key, m.bytes, m.len), SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_guard_claim(guard, m.bytes), i ? SMB3SIGN_E_NONCE : SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_sign_buf(key, m.bytes, m.len), SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_verify_buf(key, m.bytes, m.len), SMB3SIGN_OK);
	}
	smb3sign_guard_free(guard);
	smb3sign_key_free(key);
}
END_TEST

/* [10] RFC 4543 authenticates its eight bytes of IV behind the message, and puts four bytes of salt before them. */
START_TEST(gmac_is_raw_gcm)
{
	static const char *const names[] = {"smb-rs-logoff", "s3-smb-response"};

	for (size_t i = 0; i < COUNT(names); i++) {
		struct message m = foreign(names[i]), z = zeroed(&m);
		uint8_t nonce[12] = {0}, salted[12] = {0}, tag[16];

		assert_right(&m);
		memcpy(nonce, z.bytes + 24, 8);
		nonce[8] = z.bytes[16] & RESPONSE;
		memcpy(salted + 4, z.bytes + 24, 8);
		gcm_tag(m.raw, 16, salted, z.bytes, z.len, NULL, 0, tag);
		assert_wrong(&m, tag);
		/* The message as the plaintext. */
		gcm_tag(m.raw, 16, nonce, NULL, 0, z.bytes, z.len, tag);
		assert_wrong(&m, tag);
		memcpy(z.bytes + z.len, nonce + 4, 8);
		gcm_tag(m.raw, 16, nonce, z.bytes, z.len + 8, NULL, 0, tag);
		assert_wrong(&m, tag);
		memcpy(z.bytes + z.len, salted + 4, 8);
		gcm_tag(m.raw, 16, salted, z.bytes, z.len + 8, NULL, 0, tag);
		assert_wrong(&m, tag);
	}
}
END_TEST

/* ---- Keys: derivation and choice [13-33] */

static int update(smb3sign_preauth *p, const void *msg, size_t len)
{
	return smb3sign_preauth_update(p, &(smb3sign_iov){(void *)(uintptr_t)msg, len}, 1);
}

/* The published messages from..to-1, counted over both exchanges. */
static void update_published(smb3sign_preauth *p, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		uint8_t msg[ROOM];
		size_t len = unhex(msg, sizeof(msg), preauth_vectors[i].message);

		ck_assert_int_eq(update(p, msg, len), SMB3SIGN_OK);
	}
}

/* [14] [15] the whole ticket key (dittofs, impacket); the right value is "computed for this project", see vectors.h */
START_TEST(kerberos_key_is_cut_to_16_bytes_for_signing)
{
	const struct kdf_vector *v = find_kdf("self-session-key-length-32");
	const smb3sign_preauth p = preauth_of(v);
	uint8_t ticket[32], got[16], wrong[32];

	ck_assert_uint_eq(unhex(ticket, sizeof(ticket), v->session_key), 32);
	ck_assert_int_eq(smb3sign_derive(0x0311, SMB3SIGN_USE_SIGNING, ticket, 32, &p, got, 16), SMB3SIGN_OK);
	assert_hex(got, v->key);
	prf(v->session_key, (const char *const[]){"00000001", v->label, "00", v->context, "00000080"}, wrong);
	ck_assert_mem_ne(got, wrong, 16);
	/* Below 3.0 the key is the cut ticket key itself. */
	ck_assert_int_eq(smb3sign_derive(0x0210, SMB3SIGN_USE_SIGNING, ticket, 32, NULL, got, 16), SMB3SIGN_OK);
	ck_assert_mem_eq(got, ticket, 16);
}
END_TEST

/*
 * [16] the first 16 bytes for these too (chimera, Linux, Metasploit). Values for a key of 16 bytes: djosh34/s3-smb
 * internal/smb/crypt/vectors_test.go; for one of 32: HMAC with all of it.
 */
START_TEST(aes_256_cipher_keys_take_the_whole_key)
{
	static const char ticket_hex[] = "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20";
	static const struct {
		unsigned use;
		const char *label, *of_16_bytes;
	} rows[] = {{SMB3SIGN_USE_CLIENT_TO_SERVER, "534d424332534369706865724b657900",
		     "049c27fd8a340262e32c643dea2ba507af7a4c085fd2505aeffcbdeae6d6d8ab"},
		    {SMB3SIGN_USE_SERVER_TO_CLIENT, "534d425332434369706865724b657900",
		     "35952fed051bf2471af5f7acc63674b887a54b47af46959f7caff1ce537d7419"}};
	const struct kdf_vector *v = MASTER;
	const smb3sign_preauth p = preauth_of(v);

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *const pieces[] = {"00000001", rows[i].label, "00", v->context, "00000100"};
		uint8_t ticket[32], session_key[16], got[32], want[32], cut[32];

		unhex(session_key, 16, v->session_key);
		ck_assert_int_eq(smb3sign_derive(0x0311, rows[i].use, session_key, 16, &p, got, 32), SMB3SIGN_OK);
		assert_hex(got, rows[i].of_16_bytes);

		unhex(ticket, 32, ticket_hex);
		ck_assert_int_eq(smb3sign_derive(0x0311, rows[i].use, ticket, 32, &p, got, 32), SMB3SIGN_OK);
		prf(ticket_hex, pieces, want);
		ck_assert_mem_eq(got, want, 32);
		prf("0102030405060708090a0b0c0d0e0f10", pieces, cut);
		ck_assert_mem_ne(got, cut, 32);
	}
}
END_TEST

/* [17] Two exchanges at once on a connection give the hash of one; a third that begins where one ended does not. */
START_TEST(every_exchange_starts_from_the_connections_hash)
{
	smb3sign_preauth connection, first, second, third;

	smb3sign_preauth_init(&connection);
	update_published(&connection, 0, NEGOTIATES);
	first = second = connection;
	for (size_t i = NEGOTIATES; i < EXCHANGE; i++) {
		update_published(&first, i, i + 1);
		update_published(&second, i, i + 1);
	}
	assert_hex(connection.hash, preauth_vectors[NEGOTIATES - 1].after);
	assert_hex(first.hash, MASTER->context);
	assert_hex(second.hash, MASTER->context);
	third = first;
	update_published(&third, NEGOTIATES, EXCHANGE);
	ck_assert_mem_ne(third.hash, first.hash, 64);
}
END_TEST

/* [18] The key that the final response is signed with does not depend on it. */
START_TEST(final_response_is_not_hashed)
{
	const struct kdf_vector *v = MASTER;
	struct message m = FINAL;
	smb3sign_preauth p = preauth_of(v), before = p, wrong = p;
	uint8_t session_key[16], key_of_wrong[16], tag[16];
	smb3sign_key *key = NULL;

	unhex(session_key, 16, v->session_key);
	ck_assert_int_eq(update(&p, m.bytes, m.len), SMB3SIGN_E_EXEMPT);
	ck_assert_mem_eq(p.hash, before.hash, 64);
	ck_assert_int_eq(smb3sign_key_derive(&key, C, 0x0311, session_key, 16, &p, CLIENT), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_buf(key, m.bytes, m.len), SMB3SIGN_OK);
	smb3sign_key_free(key);

	sha512_chain(wrong.hash, m.bytes, m.len);
	ck_assert_int_eq(smb3sign_derive(0x0311, SMB3SIGN_USE_SIGNING, session_key, 16, &wrong, key_of_wrong, 16),
			 SMB3SIGN_OK);
	ref_signature(C, key_of_wrong, m.bytes, m.len, tag);
	assert_wrong(&m, tag);
}
END_TEST

/* [19] The salt is that of the published NEGOTIATE response, its last context but one. */
START_TEST(kdf_context_is_the_hash_not_the_salt)
{
	static const char salt[] = "60a3c3b95c3c7ccd51ec536648d9b3ac74c483ca5b65385a251117beb30712e5";
	const struct kdf_vector *v = MASTER;
	const smb3sign_preauth p = preauth_of(v);
	uint8_t session_key[16], got[16], wrong[32];

	ck_assert_ptr_nonnull(strstr(preauth_vectors[1].message, salt));
	unhex(session_key, 16, v->session_key);
	ck_assert_int_eq(smb3sign_derive(0x0311, SMB3SIGN_USE_SIGNING, session_key, 16, &p, got, 16), SMB3SIGN_OK);
	assert_hex(got, v->key);
	prf(v->session_key, (const char *const[]){"00000001", v->label, "00", salt, "00000080"}, wrong);
	ck_assert_mem_ne(got, wrong, 16);
}
END_TEST

/* [20] A NEGOTIATE response is padded before, not behind its last context; the hash covers what was sent. */
START_TEST(hash_covers_what_was_sent)
{
	static const uint16_t gmac[] = {SMB3SIGN_AES_GMAC};
	uint8_t msg[160] = {0}, want[64];
	size_t len = 64 + 64 + 3;

	rng_fill(msg + 128, 32);
	make_header(msg, 0x00, RESPONSE, 1, 0);
	put_le16(msg + 64, 65);
	put_le16(msg + 68, 0x0311);
	put_le16(msg + 64 + 56, 128); /* three bytes of security buffer behind the fixed part */
	put_le16(msg + 64 + 58, 3);
	ck_assert_int_eq(smb3sign_caps_append(msg, &len, sizeof(msg), gmac, 1), SMB3SIGN_OK);
	ck_assert_uint_eq(len, 136 + 12);
	assert_hex(msg + 131, "0000000000080004000000000001000200");
	for (size_t sent = len; sent <= 152; sent++) {
		smb3sign_preauth p;
		uint8_t shorter[64] = {0};

		smb3sign_preauth_init(&p);
		memset(want, 0, 64);
		sha512_chain(want, msg, sent);
		sha512_chain(shorter, msg, sent - 1);
		ck_assert_int_eq(update(&p, msg, sent), SMB3SIGN_OK);
		ck_assert_mem_eq(p.hash, want, 64);
		ck_assert_mem_ne(p.hash, shorter, 64);
	}
}
END_TEST

/* [22] [24] [27] Requests and MORE_PROCESSING_REQUIRED: the session's key; SUCCESS: the channel's. */
START_TEST(each_message_of_a_bind_has_its_key)
{
	static const struct {
		const char *name;
		int channels;
	} rows[] = {{"ms-blog-311-c2-bind-request-1", 0},
		    {"ms-blog-311-c2-bind-response-1", 0},
		    {"ms-blog-311-c2-bind-request-2", 0},
		    {"ms-blog-311-c2-bind-final-response", 1}};
	uint8_t session[16], channel[16], gss[16];

	unhex(session, 16, MASTER->key);
	unhex(channel, 16, CHANNEL->key);
	unhex(gss, 16, CHANNEL->session_key);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message m = foreign(rows[i].name);
		const int by_channel = rows[i].channels ? SMB3SIGN_OK : SMB3SIGN_E_SIGNATURE;
		const int by_session = rows[i].channels ? SMB3SIGN_E_SIGNATURE : SMB3SIGN_OK;

		ck_assert_int_eq(verify_as(C, channel, &m), by_channel);
		ck_assert_int_eq(verify_as(C, session, &m), by_session);
		ck_assert_int_eq(verify_as(C, gss, &m), SMB3SIGN_E_SIGNATURE);
	}
}
END_TEST

/* [22] The bind's own session key and hash, the dialect's label: none of them the session's or 3.0's. */
START_TEST(channel_key_comes_from_the_binds_exchange)
{
	const struct kdf_vector *v = CHANNEL, *s = MASTER, *smb30 = find_kdf("ms-blog-30-channel2-signing");
	struct message m = foreign("ms-blog-311-c2-bind-final-response");
	const struct {
		const char *session_key, *label, *context;
	} wrong[] = {{s->session_key, v->label, v->context},
		     {v->session_key, v->label, s->context},
		     {v->session_key, smb30->label, smb30->context},
		     {v->session_key, smb30->label, v->context}};
	smb3sign_preauth p;
	uint8_t gss[16], other[32], tag[16];
	smb3sign_key *key = NULL;

	smb3sign_preauth_init(&p);
	update_published(&p, EXCHANGE, 2 * EXCHANGE);
	assert_hex(p.hash, v->context);
	unhex(gss, 16, v->session_key);
	ck_assert_int_eq(smb3sign_key_derive(&key, C, 0x0311, gss, 16, &p, CLIENT), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_buf(key, m.bytes, m.len), SMB3SIGN_OK);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		prf(wrong[i].session_key,
		    (const char *const[]){"00000001", wrong[i].label, "00", wrong[i].context, "00000080"}, other);
		ref_signature(C, other, m.bytes, m.len, tag);
		memcpy(m.bytes + 48, tag, 16);
		ck_assert_int_eq(smb3sign_verify_buf(key, m.bytes, m.len), SMB3SIGN_E_SIGNATURE);
	}
	smb3sign_key_free(key);
}
END_TEST

/* [24] HMAC and CMAC may be bound to one another: the new connection's algorithm does not sign the request. */
START_TEST(bind_request_takes_the_sessions_algorithm)
{
	static const unsigned pairs[][2] = {{H, C}, {C, H}};

	for (size_t i = 0; i < COUNT(pairs); i++) {
		const unsigned sessions = pairs[i][0], connections = pairs[i][1];
		const smb3sign_binding session = {0x0311, sessions, 2, {0, 0, 0}};
		const smb3sign_binding connection = {0x0311, connections, 2, {0, 0, 0}};
		struct message m = foreign("ms-blog-311-c2-bind-request-1");
		uint8_t tag[16];

		ck_assert_uint_eq(smb3sign_bind_status(&session, &connection), 0);
		ck_assert_int_eq(smb3sign_send_policy(CLIENT, m.bytes, SET_UP | BINDING), 1);
		m.alg = sessions;
		if (sessions != C) /* the published one is CMAC's */
			ref_signature(sessions, m.raw, m.bytes, m.len, m.bytes + 48);
		assert_right(&m);
		ref_signature(connections, m.raw, m.bytes, m.len, tag);
		assert_wrong(&m, tag);
	}
}
END_TEST

/* [27] the interim ones and the errors too, whether or not anybody requires signatures; [28] in the clear */
START_TEST(every_response_of_a_bind_is_signed)
{
	static const uint32_t statuses[] = {MORE_PROCESSING, SUCCESS, LOGON_FAILURE, REQUEST_NOT_ACCEPTED};

	for (size_t i = 0; i < COUNT(statuses); i++) {
		ck_assert_int_eq(send(SERVER, SESSION_SETUP, RESPONSE, statuses[i], SET_UP | BINDING), 1);
		ck_assert_int_eq(
			send(SERVER, SESSION_SETUP, RESPONSE, statuses[i], SET_UP | BINDING | REQUIRED | SMB311), 1);
	}
	/* Without the flag the first leg has no key to be signed with. */
	ck_assert_int_eq(send(SERVER, SESSION_SETUP, RESPONSE, MORE_PROCESSING, SMB3SIGN_HAVE_SESSION), 0);
}
END_TEST

/* [30] [45] What the server answers to a request that lost its signature on the way. */
static void assert_denied(const struct message *m, unsigned state)
{
	int err;

	ck_assert_int_eq(receive(SERVER, m, state), SMB3SIGN_ACT_VERIFY);
	err = verify_as(m->alg, m->raw, m);
	ck_assert_int_eq(err, SMB3SIGN_E_UNSIGNED);
	ck_assert_uint_eq(smb3sign_ntstatus(err), ACCESS_DENIED);
}

/* [30] SIGNED clear, on a bound channel: smb3sign.h has the server set REQUIRED. */
START_TEST(reauthentication_on_a_bound_channel_is_verified)
{
	struct message m = made((unsigned)_i, SESSION_SETUP, 0, 9, 0), s = stripped(&m);

	ck_assert_int_eq(receive(SERVER, &m, SET_UP | REQUIRED), SMB3SIGN_ACT_VERIFY);
	ck_assert_int_eq(verify_as(m.alg, m.raw, &m), SMB3SIGN_OK);
	assert_denied(&s, SET_UP | REQUIRED);
}
END_TEST

/* [31] of a re-authentication too, at any dialect, with signing optional and the request unsigned */
START_TEST(final_session_setup_response_is_signed)
{
	static const unsigned more[] = {0, SMB311, REQUIRED, PEER_SIGNED, SMB311 | REQUIRED | PEER_SIGNED};

	for (size_t i = 0; i < COUNT(more); i++)
		ck_assert_int_eq(send(SERVER, SESSION_SETUP, RESPONSE, SUCCESS, SET_UP | more[i]), 1);
}
END_TEST

/* [33] A key that was never queried is NULL: it must not become the public key of 16 zeros, a82d42... at this hash. */
START_TEST(missing_session_key_is_not_the_zero_key)
{
	const struct kdf_vector *v = find_kdf("self-session-key-length-0");
	const smb3sign_preauth p = preauth_of(v);
	uint8_t got[16] = {0}, before[16] = {0};
	smb3sign_key *key = NULL;

	for (size_t len = 0; len <= 16; len += 16) {
		ck_assert_int_eq(smb3sign_derive(0x0311, SMB3SIGN_USE_SIGNING, NULL, len, &p, got, 16),
				 SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_derive(&key, G, 0x0311, NULL, len, &p, CLIENT), SMB3SIGN_E_INVAL);
	}
	ck_assert_mem_eq(got, before, 16);
	ck_assert_ptr_null(key);
	/* An anonymous session's is asked for in so many words. */
	ck_assert_int_eq(smb3sign_derive(0x0311, SMB3SIGN_USE_SIGNING, "", 0, &p, got, 16), SMB3SIGN_OK);
	assert_hex(got, v->key);
}
END_TEST

/* ---- Coverage [35-43] */

/* The two elements as one frame; returns its length. */
static size_t compound(uint8_t frame[ROOM], size_t *second)
{
	struct message one = foreign("self-cmac-compound-element-1"), two = foreign("self-cmac-compound-element-2");

	memcpy(frame, one.bytes, one.len);
	memcpy(frame + one.len, two.bytes, two.len);
	*second = one.len;
	return one.len + two.len;
}

/* [35] NextCommand and padding, then the signature; [37] nothing after it. */
START_TEST(compound_is_signed_when_it_is_complete)
{
	struct message m = foreign("self-cmac-compound-element-1"), wrong = m;
	smb3sign_key *key = new_key(C, m.raw, CLIENT);
	uint8_t frame[ROOM], want[ROOM], tag[16];
	size_t second, len = compound(want, &second);

	memcpy(frame, want, len);
	for (size_t at = 0; at < len; at += second) {
		frame[at + 16] &= (uint8_t)~SIGNED;
		rng_fill(frame + at + 48, 16);
	}
	ck_assert_int_eq(smb3sign_sign_frame(key, frame, len), SMB3SIGN_OK);
	ck_assert_mem_eq(frame, want, len);

	/* Without the four bytes of padding; signed as a message by itself; both. */
	ref_signature(C, m.raw, m.bytes, m.len - 4, tag);
	assert_wrong(&m, tag);
	put_le32(wrong.bytes + 20, 0);
	ref_signature(C, m.raw, wrong.bytes, m.len, tag);
	assert_wrong(&m, tag);
	ref_signature(C, m.raw, wrong.bytes, m.len - 4, tag);
	assert_wrong(&m, tag);
	/* One signature over both. */
	ref_signature(C, m.raw, want, len, tag);
	assert_wrong(&m, tag);
	/* The length without the padding is not what NextCommand says. */
	ck_assert_int_eq(smb3sign_sign_buf(key, frame, m.len - 4), SMB3SIGN_E_MESSAGE);
	/* The last element is as long as the frame. */
	for (size_t cut = 1; cut < 8; cut++) {
		ck_assert_int_eq(smb3sign_sign_frame(key, frame, len - cut), SMB3SIGN_OK);
		ref_signature(C, m.raw, frame + second, len - cut - second, tag);
		ck_assert_mem_eq(frame + second + 48, tag, 16);
	}
	/* Credits granted afterwards. */
	wrong = m;
	wrong.bytes[14]++;
	ck_assert_int_eq(verify_as(C, m.raw, &wrong), SMB3SIGN_E_SIGNATURE);
	smb3sign_key_free(key);
}
END_TEST

/* [36] The first header does not speak for the others. */
START_TEST(every_element_is_verified)
{
	uint8_t frame[ROOM], raw[16];
	size_t second, len = compound(frame, &second), bad = 4711;
	smb3sign_key *key;

	unhex(raw, 16, MASTER->key);
	key = new_key(C, raw, SERVER);
	ck_assert_int_eq(smb3sign_verify_frame(key, frame, len, &bad), SMB3SIGN_OK);
	frame[len - 1] ^= 1;
	ck_assert_int_eq(smb3sign_verify_frame(key, frame, len, &bad), SMB3SIGN_E_SIGNATURE);
	ck_assert_uint_eq(bad, second);
	frame[len - 1] ^= 1;
	frame[64] ^= 1;
	ck_assert_int_eq(smb3sign_verify_frame(key, frame, len, &bad), SMB3SIGN_E_SIGNATURE);
	ck_assert_uint_eq(bad, 0);
	frame[64] ^= 1;
	frame[second + 16] &= (uint8_t)~SIGNED;
	memset(frame + second + 48, 0, 16);
	ck_assert_int_eq(smb3sign_verify_frame(key, frame, len, &bad), SMB3SIGN_E_UNSIGNED);
	ck_assert_uint_eq(bad, second);
	smb3sign_key_free(key);
}
END_TEST

/* [38] The range is the frame's, whatever a body of this sort needs: 9 bytes here, 7 of padding behind them. */
START_TEST(padding_is_covered)
{
	enum { PADDING = 7 };
	struct message m = foreign("smbj-padded"), cut = m;
	uint8_t tag[16];

	assert_right(&m);
	cut.len -= PADDING;
	ck_assert_int_eq(verify_as(m.alg, m.raw, &cut), SMB3SIGN_E_SIGNATURE);
	for (unsigned alg = 0; alg < ALGS; alg++) {
		m.alg = alg;
		rng_fill(m.bytes + m.len - PADDING, PADDING); /* nobody says that it is zero */
		ref_signature(alg, m.raw, m.bytes, m.len, m.bytes + 48);
		assert_right(&m);
		ref_signature(alg, m.raw, m.bytes, m.len - PADDING, tag);
		assert_wrong(&m, tag);
	}
}
END_TEST

/* [39] The four bytes of the transport's length are neither signed nor hashed. */
START_TEST(transport_prefix_is_not)
{
	struct message m = FINAL, z = zeroed(&m);
	smb3sign_key *key = new_key(m.alg, m.raw, CLIENT);
	smb3sign_preauth p;
	uint8_t sent[4 + ROOM] = {0, 0, 0, (uint8_t)m.len}, tag[16];

	assert_right(&m);
	memcpy(sent + 4, z.bytes, z.len);
	ref_cmac(m.raw, sent, 4 + z.len, tag);
	assert_wrong(&m, tag);
	memcpy(sent + 4, m.bytes, m.len);
	ck_assert_int_eq(smb3sign_verify_buf(key, sent, 4 + m.len), SMB3SIGN_E_MESSAGE);
	ck_assert_int_eq(smb3sign_verify_frame(key, sent, 4 + m.len, NULL), SMB3SIGN_E_MESSAGE);
	smb3sign_preauth_init(&p);
	ck_assert_int_eq(update(&p, sent, 4 + m.len), SMB3SIGN_E_MESSAGE);
	smb3sign_key_free(key);
}
END_TEST

/* [40] A READ response: the fixed part in one segment, the payload in another; MACed complete and in their order. */
START_TEST(payload_in_a_segment_of_its_own_is_covered)
{
	const struct generated_vector *v = &generated_vectors[_i];
	uint8_t hdr[64], fixed[16], *payload = malloc(65536), raw[16], tag[16];
	smb3sign_iov body[3] = {{fixed, 16}, {NULL, 0}, {payload, 65536}}, swapped[2] = {{payload, 65536}, {fixed, 16}};
	uint8_t short_message[64 + 16];
	smb3sign_key *key;

	ck_assert_ptr_nonnull(payload);
	unhex(hdr, 64, v->header);
	unhex(hdr + 48, 16, v->signature);
	ck_assert_uint_eq(unhex(fixed, 16, v->body_prefix), 16);
	for (size_t i = 0; i < 65536; i++)
		payload[i] = (uint8_t)(7 * i + 3);
	unhex(raw, 16, v->key);
	key = new_key(v->alg, raw, SMB3SIGN_ROLE_ANY);

	ck_assert_int_eq(smb3sign_compute(key, hdr, body, 3, tag), SMB3SIGN_OK);
	assert_hex(tag, v->signature);
	ck_assert_int_eq(smb3sign_verify(key, hdr, body, 3), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify(key, hdr, swapped, 2), SMB3SIGN_E_SIGNATURE);
	ck_assert_int_eq(smb3sign_verify(key, hdr, body, 1), SMB3SIGN_E_SIGNATURE);
	/* The tag that leaves the payload out. */
	memcpy(short_message, hdr, 64);
	memcpy(short_message + 64, fixed, 16);
	ref_signature(v->alg, raw, short_message, sizeof(short_message), hdr + 48);
	ck_assert_int_eq(smb3sign_verify(key, hdr, body, 3), SMB3SIGN_E_SIGNATURE);
	smb3sign_key_free(key);
	free(payload);
}
END_TEST

/* [41] All elements of a decrypted frame have zero signatures, under SIGNED as Windows leaves it. */
START_TEST(decrypted_elements_are_not_verified)
{
	for (uint32_t related = 0; related <= RELATED; related += RELATED) {
		struct message request = made(C, CREATE, related, 20, 0),
			       response = made(C, CREATE, RESPONSE | related, 20, 0);
		const unsigned state = SET_UP | REQUIRED | SMB311;

		request = zeroed(&request);
		response = zeroed(&response);
		ck_assert_int_eq(receive(SERVER, &request, state | DECRYPTED), SMB3SIGN_ACT_PASS);
		ck_assert_int_eq(receive(CLIENT, &response, state | DECRYPTED), SMB3SIGN_ACT_PASS);
		ck_assert_int_eq(send(CLIENT, CREATE, related, 0, state | DECRYPTED), 0);
		ck_assert_int_eq(send(SERVER, CREATE, RESPONSE | related, 0, state | DECRYPTED), 0);
		/* In the clear they are forgeries. */
		ck_assert_int_eq(receive(SERVER, &request, state), SMB3SIGN_ACT_VERIFY);
		ck_assert_int_eq(verify_as(C, request.raw, &request), SMB3SIGN_E_SIGNATURE);
		ck_assert_int_eq(receive(CLIENT, &response, state), SMB3SIGN_ACT_VERIFY);
		ck_assert_int_eq(verify_as(C, response.raw, &response), SMB3SIGN_E_SIGNATURE);
	}
}
END_TEST

/* [42] CANCEL, acknowledgements of breaks and elements of compounds have no algorithm of their own. */
START_TEST(every_command_takes_the_keys_algorithm)
{
	static const struct {
		unsigned command;
		uint32_t flags;
		int next;
	} rows[] = {{CANCEL, 0, 0}, {CANCEL, ASYNC, 0},  {OPLOCK_BREAK, 0, 0},  {OPLOCK_BREAK, RESPONSE, 0},
		    {CREATE, 0, 1}, {READ, RELATED, 1},  {READ, RELATED, 0},    {CREATE, RESPONSE, 1},
		    {LOGOFF, 0, 0}, {ECHO, RESPONSE, 0}, {SESSION_SETUP, 0, 0}, {TREE_CONNECT, 0, 0}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message m = made((unsigned)_i, rows[i].command, rows[i].flags, 33, 0);

		if (rows[i].next)
			put_le32(m.bytes + 20, (uint32_t)m.len);
		ref_signature(m.alg, m.raw, m.bytes, m.len, m.bytes + 48);
		assert_right(&m);
		for (unsigned other = 0; other < ALGS; other++) {
			uint8_t tag[16];

			ref_signature(other, m.raw, m.bytes, m.len, tag);
			if (other != m.alg)
				assert_wrong(&m, tag);
		}
	}
}
END_TEST

/* ---- Policy: what is signed, what is verified [44-57] */

/* [44] responses, [45] [46] requests: where signing is required, a message without SIGNED is verified all the same. */
START_TEST(stripped_flag_is_not_trusted)
{
	for (unsigned command = LOGOFF; command <= OPLOCK_BREAK; command++) {
		struct message request = made((unsigned)_i, command, 0, 40, 0), response;

		request = stripped(&request);
		assert_denied(&request, SET_UP | REQUIRED);
		assert_denied(&request, SET_UP | REQUIRED | SMB311);
		if (command == CANCEL)
			continue; /* has no response */
		response = made((unsigned)_i, command, RESPONSE, 40, 0);
		response = stripped(&response);
		ck_assert_int_eq(receive(CLIENT, &response, SET_UP | REQUIRED), SMB3SIGN_ACT_VERIFY);
		ck_assert_int_eq(verify_as(response.alg, response.raw, &response), SMB3SIGN_E_UNSIGNED);
	}
}
END_TEST

/* [47] interim responses, [55] notifications of breaks: nothing else is excused. */
START_TEST(interim_response_and_break_are_not_verified)
{
	static const struct {
		unsigned command;
		uint32_t flags;
		uint64_t message_id;
		uint32_t status;
		int act;
	} rows[] = {
		{CREATE, RESPONSE | ASYNC, 5, PENDING, SMB3SIGN_ACT_PASS},
		{CREATE, RESPONSE | ASYNC, 5, SUCCESS, SMB3SIGN_ACT_VERIFY},
		{CREATE, RESPONSE, 5, SUCCESS, SMB3SIGN_ACT_VERIFY},
		{OPLOCK_BREAK, RESPONSE, UINT64_MAX, SUCCESS, SMB3SIGN_ACT_PASS},
		{OPLOCK_BREAK, RESPONSE, 5, SUCCESS, SMB3SIGN_ACT_VERIFY},
		{READ, RESPONSE, UINT64_MAX, SUCCESS, SMB3SIGN_ACT_VERIFY},
		{ECHO, RESPONSE, 5, SUCCESS, SMB3SIGN_ACT_VERIFY},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message m = made(C, rows[i].command, rows[i].flags, rows[i].message_id, rows[i].status);

		m = stripped(&m);
		ck_assert_msg(receive(CLIENT, &m, SET_UP | REQUIRED) == rows[i].act, "row %zu", i);
		if (rows[i].act == SMB3SIGN_ACT_VERIFY)
			ck_assert_int_ne(verify_as(C, m.raw, &m), SMB3SIGN_OK);
		else
			ck_assert_int_eq(smb3sign_send_policy(SERVER, m.bytes, SET_UP | REQUIRED | PEER_SIGNED), 0);
		/* A break comes without a session too. */
		put_le64(m.bytes + 40, 0);
		if (rows[i].command == OPLOCK_BREAK && rows[i].message_id == UINT64_MAX)
			ck_assert_int_eq(receive(CLIENT, &m, 0), SMB3SIGN_ACT_PASS);
	}
}
END_TEST

/* [49] the final response, [50] TREE_CONNECT at 3.1.1, and all else of a guest's or an anonymous session */
START_TEST(guest_is_not_signed)
{
	static const unsigned more[] = {0, SMB311, REQUIRED, SMB311 | REQUIRED | PEER_SIGNED,
					SMB3SIGN_HAVE_KEY | SMB311};

	for (size_t i = 0; i < COUNT(more); i++) {
		const unsigned state = SMB3SIGN_HAVE_SESSION | more[i];
		struct message m = made(C, SESSION_SETUP, RESPONSE, 5, SUCCESS), tree = made(C, TREE_CONNECT, 0, 5, 0);

		m = stripped(&m);
		tree = stripped(&tree);
		ck_assert_int_eq(send(SERVER, SESSION_SETUP, RESPONSE, SUCCESS, state | GUEST), 0);
		ck_assert_int_eq(send(CLIENT, TREE_CONNECT, 0, 0, state | GUEST), 0);
		ck_assert_int_eq(send(CLIENT, READ, 0, 0, state | GUEST), 0);
		if (!(state & REQUIRED)) {
			ck_assert_int_eq(receive(CLIENT, &m, state | GUEST), SMB3SIGN_ACT_PASS);
			ck_assert_int_eq(receive(SERVER, &tree, state | GUEST), SMB3SIGN_ACT_PASS);
		}
		/* What would happen to another's. */
		ck_assert_int_eq(send(SERVER, SESSION_SETUP, RESPONSE, SUCCESS, state | SET_UP), 1);
	}
}
END_TEST

/* [51] some servers leave it so: an error at 3.1.1 and where signing is required, else not */
START_TEST(unsigned_final_session_setup_response)
{
	static const struct {
		unsigned state;
		int act;
	} rows[] = {{SMB311, SMB3SIGN_ACT_VERIFY},
		    {REQUIRED, SMB3SIGN_ACT_VERIFY},
		    {SMB311 | REQUIRED, SMB3SIGN_ACT_VERIFY},
		    {0, SMB3SIGN_ACT_PASS}};
	struct message m = FINAL, s = stripped(&m);

	for (size_t i = 0; i < COUNT(rows); i++) {
		ck_assert_int_eq(receive(CLIENT, &s, SET_UP | rows[i].state), rows[i].act);
		/* A signature that is there is looked at, also where it need not be. */
		ck_assert_int_eq(receive(CLIENT, &m, SET_UP | rows[i].state), SMB3SIGN_ACT_VERIFY);
	}
	ck_assert_int_eq(verify_as(m.alg, m.raw, &s), SMB3SIGN_E_UNSIGNED);
}
END_TEST

/* [52] Flags are covered: the right signature under SIGNED is wrong under a clear flag, and the other way round. */
START_TEST(signed_is_set_before_the_mac)
{
	struct message m = FINAL, clear = m;
	uint8_t tag[16];

	assert_right(&m); /* from a copy with SIGNED clear */
	clear.bytes[16] &= (uint8_t)~SIGNED;
	ck_assert_int_eq(verify_as(m.alg, m.raw, &clear), SMB3SIGN_E_UNSIGNED);
	ref_signature(m.alg, m.raw, clear.bytes, clear.len, tag);
	assert_wrong(&m, tag);
}
END_TEST

/* [54] A client that must sign signs CANCEL; what a server may answer is never believed. */
START_TEST(cancel_is_signed)
{
	const unsigned alg = (unsigned)_i, state = SET_UP | REQUIRED;
	struct message m = made(alg, CANCEL, 0, 5, 0), mid0 = made(alg, CANCEL, ASYNC, 0, 0);
	struct message answer = made(alg, CANCEL, RESPONSE, 5, ACCESS_DENIED);

	ck_assert_int_eq(smb3sign_send_policy(CLIENT, m.bytes, state), 1);
	assert_right(&m);
	/* MessageId 0, as Windows has it beside an AsyncId, would be the same nonce of GMAC's every time. */
	if (alg == G)
		assert_unsignable(&mid0);
	else
		assert_right(&mid0);
	ck_assert_int_eq(verify_as(alg, answer.raw, &answer), SMB3SIGN_E_EXEMPT);
	answer = stripped(&answer);
	ck_assert_int_eq(receive(CLIENT, &answer, state), SMB3SIGN_ACT_VERIFY);
	ck_assert_int_eq(verify_as(alg, answer.raw, &answer), SMB3SIGN_E_EXEMPT);
}
END_TEST

/* [57] by signature or, [48], by encryption, which supersedes it */
START_TEST(tree_connect_at_311_is_protected)
{
	struct message m = made(C, TREE_CONNECT, 0, 5, 0), s = stripped(&m);

	ck_assert_int_eq(send(CLIENT, TREE_CONNECT, 0, 0, SET_UP | SMB311), 1);
	ck_assert_int_eq(send(CLIENT, TREE_CONNECT, 0, 0, SET_UP | SMB311 | DECRYPTED), 0);
	ck_assert_int_eq(send(CLIENT, TREE_CONNECT, 0, 0, SET_UP), 0);
	ck_assert_int_eq(send(CLIENT, READ, 0, 0, SET_UP | SMB311), 0);
	ck_assert_int_eq(receive(SERVER, &s, SET_UP | SMB311), SMB3SIGN_ACT_DISCONNECT);
	ck_assert_int_eq(receive(SERVER, &s, SET_UP | SMB311 | DECRYPTED), SMB3SIGN_ACT_PASS);
	ck_assert_int_eq(receive(SERVER, &m, SET_UP | SMB311), SMB3SIGN_ACT_VERIFY);
	ck_assert_int_eq(receive(SERVER, &s, SET_UP), SMB3SIGN_ACT_PASS);
}
END_TEST

/* ---- Negotiation [61-65] */

/* [61] Chosen if nothing else is offered; then HMAC is meant, and the derived key, not 2.1's. */
START_TEST(hmac_at_311_is_hmac_with_the_derived_key)
{
	static const uint16_t mine[] = {SMB3SIGN_AES_GMAC, SMB3SIGN_AES_CMAC, SMB3SIGN_HMAC_SHA256};
	const struct kdf_vector *v = MASTER;
	const smb3sign_preauth p = preauth_of(v);
	struct message m = FINAL;
	uint8_t session_key[16], tag[16];
	unsigned alg = 4711;
	int matched = 4711;
	smb3sign_key *key = NULL;

	ck_assert_int_eq(smb3sign_caps_choose("\1\0\0\0", 4, mine, 3, &alg, &matched), SMB3SIGN_OK);
	ck_assert_uint_eq(alg, H);
	ck_assert_int_eq(matched, 1);
	unhex(session_key, 16, v->session_key);
	ck_assert_int_eq(smb3sign_key_derive(&key, alg, 0x0311, session_key, 16, &p, CLIENT), SMB3SIGN_OK);
	/* As published it is CMAC's. */
	ck_assert_int_eq(smb3sign_verify_buf(key, m.bytes, m.len), SMB3SIGN_E_SIGNATURE);
	ref_signature(H, session_key, m.bytes, m.len, m.bytes + 48);
	ck_assert_int_eq(smb3sign_verify_buf(key, m.bytes, m.len), SMB3SIGN_E_SIGNATURE);
	ref_signature(H, m.raw, m.bytes, m.len, m.bytes + 48);
	ck_assert_int_eq(smb3sign_verify_buf(key, m.bytes, m.len), SMB3SIGN_OK);
	smb3sign_key_free(key);
	m.alg = H;
	assert_right(&m);
	ref_signature(C, m.raw, m.bytes, m.len, tag);
	assert_wrong(&m, tag);
}
END_TEST

/* [62] Lists longer than there are algorithms, ours and theirs, each up to inaccessible memory. */
START_TEST(algorithm_lists_have_no_slots)
{
	enum { MINE = 300, THEIRS = 20000 };
	uint16_t *mine = (uint16_t *)(void *)guard_end(MINE * sizeof(*mine));
	uint8_t *theirs = guard_end(2 + 2 * THEIRS), out[4];
	size_t out_len = sizeof(out);
	unsigned alg = 4711;
	int matched;

	for (size_t i = 0; i < MINE; i++)
		mine[i] = i + 1 < MINE ? SMB3SIGN_AES_CMAC : SMB3SIGN_HMAC_SHA256;
	put_le16(theirs, THEIRS);
	for (size_t i = 0; i < THEIRS; i++)
		put_le16(theirs + 2 + 2 * i, i + 1 < THEIRS ? (unsigned)(3 + i % 5) : H);
	ck_assert_int_eq(smb3sign_caps_choose(theirs, 2 + 2 * THEIRS, mine, MINE, &alg, &matched), SMB3SIGN_OK);
	ck_assert_uint_eq(alg, H);
	ck_assert_int_eq(matched, 1);
	/* What is sent has no id twice, and ends where there is no more room. */
	ck_assert_int_eq(smb3sign_caps_encode(mine, MINE, theirs, &out_len), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_caps_encode(mine + MINE - 2, 2, out, &out_len), SMB3SIGN_E_INVAL);
}
END_TEST

/* [65] Counter and L: 32 bits, big-endian, L in bits. */
START_TEST(kdf_numbers_are_big_endian_and_l_is_in_bits)
{
	static const char *const names[] = {"ms-blog-30-master-signing", "ms-blog-311-master-signing",
					    "ruby-smb-kdf-128"};
	static const char *const wrong[][2] = {
		{"01000000", "00000080"}, {"00000001", "80000000"}, {"01000000", "80000000"},
		{"00000001", "00000010"}, {"01000000", "10000000"}, {"00000000", "00000080"},
	};

	for (size_t i = 0; i < COUNT(names); i++) {
		const struct kdf_vector *v = find_kdf(names[i]);
		uint8_t ki[16], label[16], context[64], got[16], other[32];
		size_t ki_len = unhex(ki, sizeof(ki), v->session_key),
		       label_len = unhex(label, sizeof(label), v->label);
		size_t context_len = unhex(context, sizeof(context), v->context);

		ck_assert_int_eq(smb3sign_kdf(ki, ki_len, label, label_len, context, context_len, got, 16),
				 SMB3SIGN_OK);
		assert_hex(got, v->key);
		for (size_t w = 0; w < COUNT(wrong); w++) {
			prf(v->session_key, (const char *const[]){wrong[w][0], v->label, "00", v->context, wrong[w][1]},
			    other);
			ck_assert_mem_ne(got, other, 16);
		}
	}
}
END_TEST

static void add_per_alg(TCase *tc, const TTest *test)
{
	tcase_add_loop_test(tc, test, 0, ALGS);
}

static void add_gmac(Suite *s)
{
	TCase *tc = add_case(s, "gmac");

	tcase_add_test(tc, nonce_role_is_bit_0_of_byte_8);
	tcase_add_test(tc, nonce_cancel_is_bit_1_of_byte_8);
	tcase_add_test(tc, nonce_has_no_async_flag);
	tcase_add_test(tc, nonce_has_no_session_id);
	tcase_add_test(tc, message_id_is_at_offset_24);
	tcase_add_test(tc, key_is_16_bytes_whatever_the_cipher);
	add_per_alg(tc, interim_response_is_never_signed);
	add_per_alg(tc, cancel_is_never_answered);
	tcase_add_test(tc, guard_never_hinders_verification);
	tcase_add_test(tc, gmac_is_raw_gcm);
}

static void add_keys(Suite *s)
{
	TCase *tc = add_case(s, "keys");

	tcase_add_test(tc, kerberos_key_is_cut_to_16_bytes_for_signing);
	tcase_add_test(tc, aes_256_cipher_keys_take_the_whole_key);
	tcase_add_test(tc, every_exchange_starts_from_the_connections_hash);
	tcase_add_test(tc, final_response_is_not_hashed);
	tcase_add_test(tc, kdf_context_is_the_hash_not_the_salt);
	tcase_add_test(tc, hash_covers_what_was_sent);
	tcase_add_test(tc, each_message_of_a_bind_has_its_key);
	tcase_add_test(tc, channel_key_comes_from_the_binds_exchange);
	tcase_add_test(tc, bind_request_takes_the_sessions_algorithm);
	tcase_add_test(tc, every_response_of_a_bind_is_signed);
	add_per_alg(tc, reauthentication_on_a_bound_channel_is_verified);
	tcase_add_test(tc, final_session_setup_response_is_signed);
	tcase_add_test(tc, missing_session_key_is_not_the_zero_key);
}

static void add_coverage(Suite *s)
{
	TCase *tc = add_case(s, "coverage");

	tcase_add_test(tc, compound_is_signed_when_it_is_complete);
	tcase_add_test(tc, every_element_is_verified);
	tcase_add_test(tc, padding_is_covered);
	tcase_add_test(tc, transport_prefix_is_not);
	tcase_add_loop_test(tc, payload_in_a_segment_of_its_own_is_covered, 0, (int)COUNT(generated_vectors));
	tcase_add_test(tc, decrypted_elements_are_not_verified);
	add_per_alg(tc, every_command_takes_the_keys_algorithm);
}

static void add_policy(Suite *s)
{
	TCase *tc = add_case(s, "policy");

	add_per_alg(tc, stripped_flag_is_not_trusted);
	tcase_add_test(tc, interim_response_and_break_are_not_verified);
	tcase_add_test(tc, guest_is_not_signed);
	tcase_add_test(tc, unsigned_final_session_setup_response);
	tcase_add_test(tc, signed_is_set_before_the_mac);
	add_per_alg(tc, cancel_is_signed);
	tcase_add_test(tc, tree_connect_at_311_is_protected);
}

static void add_negotiation(Suite *s)
{
	TCase *tc = add_case(s, "negotiation");

	tcase_add_test(tc, hmac_at_311_is_hmac_with_the_derived_key);
	tcase_add_test(tc, algorithm_lists_have_no_slots);
	tcase_add_test(tc, kdf_numbers_are_big_endian_and_l_is_in_bits);
}

int main(void)
{
	Suite *s = suite_create("pitfalls");

	add_gmac(s);
	add_keys(s);
	add_coverage(s);
	add_policy(s);
	add_negotiation(s);
	return run_suite(s);
}
