/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the preauthentication hash of any message in any segmentation is that of one segment and OpenSSL's
 * SHA-512 of hash and message; what is not hashed leaves the hash as it was (MS-SMB2 3.1.4.4.1, 3.2.5.2, 3.3.5.4).
 */
#include <openssl/evp.h>

#include "fuzz.h"

enum { MAX_PIECES = 12 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* Is the message one of those that go into the hash? */
static int rule(const uint8_t *m, size_t len)
{
	unsigned command;
	int response;

	if (len < 64 || memcmp(m, "\xfeSMB\x40\0", 6) != 0)
		return SMB3SIGN_E_MESSAGE;
	command = m[12] | (unsigned)m[13] << 8;
	response = m[16] & 1;
	if (command > 1)
		return SMB3SIGN_E_EXEMPT;
	if (!response)
		return SMB3SIGN_OK;
	if (command == 1)
		return get_le32(m + 8) == 0xc0000016 ? SMB3SIGN_OK : SMB3SIGN_E_EXEMPT;
	/* DialectRevision, if the message goes on as far. */
	return len >= 70 && m[68] == 0xff && m[69] == 0x02 ? SMB3SIGN_E_EXEMPT : SMB3SIGN_OK;
}

static void want_hash(uint8_t hash[64], const uint8_t *m, size_t len)
{
	uint8_t *both = malloc(64 + len);

	require(both);
	memcpy(both, hash, 64);
	memcpy(both + 64, m, len);
	require(EVP_Digest(both, 64 + len, hash, NULL, EVP_sha512(), NULL));
	free(both);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	smb3sign_preauth start, one, several;
	smb3sign_iov iov[MAX_PIECES];
	uint8_t *memory[MAX_PIECES], hash[64];
	size_t n = 1 + take8(&in) % MAX_PIECES, cut[MAX_PIECES], at = 0;
	smb3sign_iov whole;
	int want, missing = -1;

	seed_from_input(data, size);
	for (size_t i = 0; i < n; i++)
		cut[i] = take8(&in);
	rng_fill(&start, sizeof(start));
	whole = (smb3sign_iov){exact_copy(in.p, in.left, 0), in.left};
	for (size_t i = 0; i < n; i++) {
		size_t len = i + 1 == n || cut[i] > in.left - at ? in.left - at : cut[i];

		memory[i] = exact_copy(in.p + at, len, rng_below(16));
		iov[i] = (smb3sign_iov){len || rng_below(2) ? memory[i] : NULL, len};
		if (len && rng_below(64) == 0)
			missing = (int)i;
		at += len;
	}
	want = rule(in.p, in.left);
	memcpy(hash, start.hash, 64);
	if (!want)
		want_hash(hash, in.p, in.left);
	one = several = start;
	require(smb3sign_preauth_update(&one, &whole, 1) == want);
	require(smb3sign_preauth_update(&several, iov, n) == want);
	require(memcmp(one.hash, hash, 64) == 0 && memcmp(several.hash, hash, 64) == 0);
	if (missing >= 0) {
		iov[missing].iov_base = NULL;
		require(smb3sign_preauth_update(&several, iov, n) == SMB3SIGN_E_INVAL);
		require(memcmp(several.hash, hash, 64) == 0);
	}
	for (size_t i = 0; i < n; i++)
		exact_free(memory[i]);
	exact_free(whole.iov_base);
	return 0;
}
