/* SPDX-License-Identifier: MIT */
/*
 * Intel's multi-buffer library. GMAC by its direct GCM call without text, the rest by jobs: one job and a flush for one
 * message, as many jobs as there are messages and a flush for many.
 *
 * Without AVX-512, the manager that init_mb_mgr_auto chooses does SHA-256 in the eight lanes of AVX2, of which one
 * message fills one. The SSE manager has SHA-NI, two streams at once; and four lanes of CMAC, which are quicker for up
 * to four messages than more lanes. So each task gets the manager that does it best (on AMD Zen 3: HMAC of one message
 * of 64 bytes 174 ns instead of 1130, of 16 of 4 KiB 1420 instead of 2740; CMAC of 2 of 1 KiB 510 instead of 560).
 */
#include <intel-ipsec-mb.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "peer.h"

struct self {
	_Alignas(64) struct gcm_key_data gcm;
	struct gcm_context_data gcm_ctx;
	_Alignas(16) uint32_t rk[4 * 11];
	_Alignas(16) uint32_t decrypt_rk[4 * 11]; /* unused, but the library writes them */
	_Alignas(16) uint32_t k1[4], k2[4];
	_Alignas(16) uint8_t inner[32], outer[32];
	unsigned alg;
	const uint8_t *nonce;
	IMB_MGR *one, *many; /* for up to `few` messages, and for more; may be the same */
	size_t few;
};

static const char *version(void)
{
	return imb_get_version_str();
}

static IMB_MGR *new_manager(void (*init)(IMB_MGR *))
{
	IMB_MGR *m = alloc_mb_mgr(0);

	if (!m)
		die("intel-ipsec-mb: no memory");
	if (init)
		init(m);
	else
		init_mb_mgr_auto(m, NULL);
	if (imb_get_errno(m))
		die("intel-ipsec-mb: %s", imb_get_strerror(imb_get_errno(m)));
	return m;
}

/* All tasks share the managers: they hold no keys. */
static void choose_managers(struct self *s)
{
	static IMB_MGR *sse, *best;
	int avx512;

	if (!best) {
		sse = new_manager(init_mb_mgr_sse);
		best = new_manager(NULL);
	}
	avx512 = best->used_arch == IMB_ARCH_AVX512;
	s->one = s->alg == SMB3SIGN_AES_GMAC ? best : sse;
	s->many = best;
	s->few = s->alg == SMB3SIGN_AES_CMAC ? 4 : 1;
	if (s->alg == SMB3SIGN_HMAC_SHA256 && !avx512 && (best->features & IMB_FEATURE_SHANI))
		s->many = sse;
}

static void pad_state(const struct self *s, uint8_t state[32], const uint8_t key[16], uint8_t pad)
{
	uint8_t block[64];

	for (size_t i = 0; i < 64; i++)
		block[i] = (uint8_t)((i < 16 ? key[i] : 0) ^ pad);
	IMB_SHA256_ONE_BLOCK(s->one, block, state);
}

static void *open(unsigned alg, const uint8_t key[16], const uint8_t nonce[12])
{
	struct self *s = new_lines(sizeof(*s));

	s->alg = alg;
	s->nonce = nonce;
	choose_managers(s);
	if (alg == SMB3SIGN_AES_GMAC) {
		IMB_AES128_GCM_PRE(s->one, key, &s->gcm);
	} else if (alg == SMB3SIGN_AES_CMAC) {
		IMB_AES_KEYEXP_128(s->one, key, s->rk, s->decrypt_rk);
		IMB_AES_CMAC_SUBKEY_GEN_128(s->one, s->rk, s->k1, s->k2);
	} else {
		pad_state(s, s->inner, key, 0x36);
		pad_state(s, s->outer, key, 0x5c);
	}
	return s;
}

static void fill(const struct self *s, IMB_JOB *j, const uint8_t *msg, size_t len, uint8_t tag[16])
{
	j->cipher_mode = IMB_CIPHER_NULL;
	j->cipher_direction = IMB_DIR_ENCRYPT;
	j->chain_order = IMB_ORDER_HASH_CIPHER;
	j->src = msg;
	j->hash_start_src_offset_in_bytes = 0;
	j->msg_len_to_hash_in_bytes = len;
	j->auth_tag_output = tag;
	j->auth_tag_output_len_in_bytes = 16;
	if (s->alg == SMB3SIGN_AES_CMAC) {
		j->hash_alg = IMB_AUTH_AES_CMAC;
		j->u.CMAC._key_expanded = s->rk;
		j->u.CMAC._skey1 = s->k1;
		j->u.CMAC._skey2 = s->k2;
	} else {
		j->hash_alg = IMB_AUTH_HMAC_SHA_256;
		j->u.HMAC._hashed_auth_key_xor_ipad = s->inner;
		j->u.HMAC._hashed_auth_key_xor_opad = s->outer;
	}
}

static void mac_gmac(struct self *s, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++)
		IMB_AES128_GCM_ENC(s->one, &s->gcm, &s->gcm_ctx, NULL, NULL, 0, s->nonce, ring_message(r, i), r->len,
				   tag, 16);
}

static void mac(void *self, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	struct self *s = self;

	if (s->alg == SMB3SIGN_AES_GMAC) {
		mac_gmac(s, r, tag, calls);
		return;
	}
	for (uint64_t i = 0; i < calls; i++) {
		fill(s, IMB_GET_NEXT_JOB(s->one), ring_message(r, i), r->len, tag);
		if (!IMB_SUBMIT_JOB_NOCHECK(s->one))
			IMB_FLUSH_JOB(s->one);
	}
}

/* Its direct call is quicker than its GMAC jobs. */
static void batch_gmac(struct peer_msg *msgs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct self *s = msgs[i].self;

		IMB_AES128_GCM_ENC(s->many, &s->gcm, &s->gcm_ctx, NULL, NULL, 0, s->nonce, msgs[i].msg, msgs[i].len,
				   msgs[i].tag, 16);
	}
}

static void batch(struct peer_msg *msgs, size_t n)
{
	const struct self *first = msgs[0].self;
	IMB_MGR *m = n > first->few ? first->many : first->one;

	if (first->alg == SMB3SIGN_AES_GMAC) {
		batch_gmac(msgs, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		fill(msgs[i].self, IMB_GET_NEXT_JOB(m), msgs[i].msg, msgs[i].len, msgs[i].tag);
		IMB_SUBMIT_JOB_NOCHECK(m);
	}
	while (IMB_FLUSH_JOB(m))
		;
}

static void close(void *self)
{
	free(self);
}

/* Jobs have lengths of 16 bits (the library's own checks, which the calls above leave out, refuse more). */
const struct peer peer_ipsec_mb = {
	.name = "intel-ipsec-mb",
	.version = version,
	.longest = {[SMB3SIGN_HMAC_SHA256] = 65534, [SMB3SIGN_AES_CMAC] = 65534},
	.open = open,
	.mac = mac,
	.batch = batch,
	.close = close,
};
