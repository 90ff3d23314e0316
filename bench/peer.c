/* SPDX-License-Identifier: MIT */
/* The list of peers, and the proof that they compute the same. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "peer.h"

const struct peer *const peers[] = {
	&peer_openssl,
#ifdef WITH_NETTLE
	&peer_nettle,
#endif
#ifdef WITH_GCRYPT
	&peer_gcrypt,
#endif
#ifdef WITH_GNUTLS
	&peer_gnutls,
#endif
#ifdef WITH_IPSEC_MB
	&peer_ipsec_mb,
#endif
	NULL,
};

static void compute(unsigned alg, const uint8_t *msg, size_t len, uint8_t tag[16])
{
	smb3sign_iov body = {.iov_base = (uint8_t *)(uintptr_t)msg + SMB3SIGN_HEADER_LEN,
			     .iov_len = len - SMB3SIGN_HEADER_LEN};
	smb3sign_key *key;

	if (smb3sign_key_new(&key, alg, bench_key, 16, SMB3SIGN_ROLE_ANY) || smb3sign_compute(key, msg, &body, 1, tag))
		die("cannot sign with %s", alg_names[alg]);
	smb3sign_key_free(key);
}

void peer_check(const struct peer *p, void *self, unsigned alg, const struct ring *r)
{
	uint8_t ours[16], theirs[16] = {0};

	compute(alg, ring_message(r, 0), r->len, ours);
	p->mac(self, r, theirs, 1);
	if (memcmp(ours, theirs, 16))
		die("%s computes another %s of %zu bytes", p->name, alg_names[alg], r->len);
}

void peer_check_batch(const struct peer *p, unsigned alg, struct peer_msg *msgs, size_t n)
{
	uint8_t ours[16];

	p->batch(msgs, n);
	for (size_t i = 0; i < n; i++) {
		compute(alg, msgs[i].msg, msgs[i].len, ours);
		if (memcmp(ours, msgs[i].tag, 16))
			die("%s computes another %s of %zu bytes in a batch", p->name, alg_names[alg], msgs[i].len);
	}
}
