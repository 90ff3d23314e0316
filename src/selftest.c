/* SPDX-License-Identifier: MIT */
/*
 * Known answers through every kernel this process may use: a short published message for each algorithm and a longer
 * one that fills the kernels' loops, each in one piece and in three, signed and verified, and refused with one bit
 * changed; and several at once, for the kernels that take them side by side.
 */
#include <stdalign.h>

#include "key.h"
#include "smb2.h"

/*
 * Long enough that a GHASH of any width fills its first reduction, a whole group (64 blocks at most), and a last
 * reduction with all but one vector of a group, odd bytes and the length: every power of H counts.
 */
enum { LONG_BODY = 184 * 16 + 50 };

struct answer {
	uint8_t alg, key[16];
	uint8_t message[104]; /* header and body; Signature holds the answer */
	uint8_t len;
};

/* The final SESSION_SETUP response of Microsoft's "SMB 2 and SMB 3 security in Windows 10: the anatomy of signing and
 * cryptographic keys" (2017), SMB 3.1.1 example; but for Signature. */
#define BLOG_RESPONSE(...)                                                                                            \
	{                                                                                                             \
		0xfe, 'S', 'M', 'B', 0x40, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0x80, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, \
			0, 0, 0, 0xff, 0xfe, 0, 0, 0, 0, 0, 0, 0x19, 0, 0, 0, 0, 0x10, 0, 0, __VA_ARGS__, 9, 0, 0, 0, \
			0x48, 0, 0x1d, 0, 0xa1, 0x1b, 0x30, 0x19, 0xa0, 3, 0x0a, 1, 0, 0xa3, 0x12, 4, 0x10, 1, 0, 0,  \
			0, 0x3b, 0x45, 0x3c, 0xdc, 0x35, 0x24, 0x16, 0x42, 0, 0, 0, 0                                 \
	}
#define BLOG_KEY                                                                                               \
	{                                                                                                      \
		0x73, 0xfe, 0x7a, 0x9a, 0x77, 0xbe, 0xf0, 0xbd, 0xe4, 0x9c, 0x65, 0x0d, 0x8c, 0xcb, 0x5f, 0x76 \
	}

static const struct answer short_answers[] = {
	/* An IOCTL error response, from TalAloni/SMBLibrary's SMB2SigningTests. */
	{SMB3SIGN_HMAC_SHA256,
	 {0xd3, 0x83, 0x54, 0xcc, 0x37, 0x43, 0x39, 0xf0, 0x52, 0x4f, 0x78, 0x91, 0x46, 0x78, 0x99, 0x21},
	 {0xfe, 'S',  'M',  'B',  0x40, 0,    1,    0, 0x28, 1, 0,    0xc0, 0x0b, 0,    7,    0,    9,    0,    0,
	  0,    0,    0,    0,    0,    4,    0,    0, 0,    0, 0,    0,    0,    0xff, 0xfe, 0,    0,    1,    0,
	  0,    0,    1,    0,    0,    0,    0,    4, 0,    0, 0xfb, 0xd2, 0x84, 0x34, 3,    0x24, 0xc6, 0x2f, 0xbe,
	  0xbb, 0x65, 0xdd, 0x10, 0x51, 0xf3, 0xae, 9, 0,    0, 0,    0,    0,    0,    0,    0xff},
	 73},
	/* Microsoft's own signature. */
	{SMB3SIGN_AES_CMAC, BLOG_KEY,
	 BLOG_RESPONSE(0xeb, 0xe1, 0x46, 0xda, 0x12, 0x0b, 0xa2, 0x5f, 0xc3, 0x37, 0x6a, 0x49, 0xdf, 0xe3, 0x1b, 0xc1),
	 101},
	/* The same message; the tag is OpenSSL's, with nonce 03000000 00000000 01000000. */
	{SMB3SIGN_AES_GMAC, BLOG_KEY,
	 BLOG_RESPONSE(0x75, 0xd0, 0x5b, 0xac, 0x99, 0xff, 0x7f, 0xcc, 0x52, 0xa4, 0x4c, 0x35, 0x43, 0x81, 0xd5, 0x59),
	 101},
};

/*
 * A READ response with MessageId 0xFFFFFFFFFFFFFFFE and a body of bytes (7 i + 3) mod 256; key as above, tags by
 * OpenSSL.
 */
static const uint8_t long_header[SMB3SIGN_HEADER_LEN] = {
	0xfe, 'S',  'M',  'B',  0x40, 0,    1,    0,    0,    0,    0,    0, 8, 0, 1, 0, 9, 0,    0, 0, 0, 0, 0,
	0,    0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0, 0, 1, 0, 0, 0, 0x19, 0, 0, 0, 0, 0x10,
};
static const uint8_t long_key[16] = BLOG_KEY;
static const uint8_t long_tags[3][16] = {
	[SMB3SIGN_HMAC_SHA256] = {0x99, 0x37, 0xd0, 0x98, 0x2e, 0x78, 0x4f, 0x65, 0x16, 0x95, 0x39, 0x84, 0x03, 0x68,
				  0x94, 0x4f},
	[SMB3SIGN_AES_CMAC] = {0x18, 0x4a, 0x69, 0x04, 0xa2, 0xb3, 0xd1, 0xce, 0x27, 0x6e, 0x67, 0x82, 0xed, 0x88, 0x8e,
			       0x9a},
	[SMB3SIGN_AES_GMAC] = {0xbb, 0x82, 0x83, 0x96, 0x40, 0x99, 0xe9, 0x91, 0x5b, 0x21, 0x4f, 0xfc, 0xcf, 0x49, 0x1e,
			       0x1d},
};

/* One message: body as len bytes in one piece and in three. hdr's Signature is the known answer. */
static int try_message(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t *body, size_t len)
{
	smb3sign_iov whole = {body, len};
	smb3sign_iov pieces[3] = {{body, 1}, {body + 1, len - 8}, {body + len - 7, 7}};
	uint8_t tag[16], forged[SMB3SIGN_HEADER_LEN];

	if (smb3sign_compute(key, hdr, &whole, 1, tag) || !equal_16(tag, hdr + SMB2_SIGNATURE))
		return SMB3SIGN_E_SIGNATURE;
	if (smb3sign_verify(key, hdr, pieces, 3))
		return SMB3SIGN_E_SIGNATURE;
	memcpy(forged, hdr, sizeof(forged));
	forged[SMB2_SIGNATURE + 15] ^= 0x80;
	if (smb3sign_verify(key, forged, &whole, 1) != SMB3SIGN_E_SIGNATURE)
		return SMB3SIGN_E_SIGNATURE;
	return SMB3SIGN_OK;
}

/*
 * More messages at once than go side by side, the last of them forged, against what one of them gives by itself. Their
 * body is of any bytes, short enough for GMAC's rows and long enough for lanes.
 */
NOINLINE int try_batch(const struct smb3sign_key *key)
{
	smb3sign_iov body = {(void *)(uintptr_t)short_answers, 200}; /* it is only read */
	smb3sign_msg msgs[SMB3SIGN_LANES_MAX + 1];
	uint8_t hdr[SMB3SIGN_HEADER_LEN], forged[SMB3SIGN_HEADER_LEN];
	size_t n = smb3sign_batch_width(key) + 1;

	n = n < 2 * SMB3SIGN_SHORT_WIDTH ? 2 * SMB3SIGN_SHORT_WIDTH + 1 : n;
	memcpy(hdr, long_header, sizeof(hdr));
	if (smb3sign_compute(key, hdr, &body, 1, hdr + SMB2_SIGNATURE))
		return SMB3SIGN_E_SIGNATURE;
	memcpy(forged, hdr, sizeof(forged));
	forged[SMB2_SIGNATURE] ^= 1;
	for (size_t i = 0; i < n; i++)
		msgs[i] = (smb3sign_msg){.key = key, .hdr = i + 1 < n ? hdr : forged, .body = &body, .body_cnt = 1};
	if (smb3sign_verify_batch(msgs, n) != SMB3SIGN_E_SIGNATURE)
		return SMB3SIGN_E_SIGNATURE;
	for (size_t i = 0; i + 1 < n; i++)
		if (msgs[i].result)
			return SMB3SIGN_E_SIGNATURE;
	return SMB3SIGN_OK;
}

/* The known answers. */
NOINLINE int try_answers(smb3sign_key **key, void *mem, size_t mem_len, unsigned alg,
			 const struct smb3sign_choice *choice)
{
	uint8_t hdr[SMB3SIGN_HEADER_LEN], body[LONG_BODY];
	const struct answer *a = &short_answers[alg];
	int err = smb3sign_key_init_with(key, mem, mem_len, alg, a->key, 16, SMB3SIGN_ROLE_ANY, choice);

	if (err)
		return err;
	memcpy(hdr, a->message, sizeof(hdr));
	memcpy(body, a->message + sizeof(hdr), a->len - sizeof(hdr));
	err = try_message(*key, hdr, body, a->len - sizeof(hdr));

	memcpy(hdr, long_header, sizeof(hdr));
	memcpy(hdr + SMB2_SIGNATURE, long_tags[alg], 16);
	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(7 * i + 3);
	if (!err)
		err = smb3sign_key_init_with(key, mem, mem_len, alg, long_key, 16, SMB3SIGN_ROLE_ANY, choice);
	return err ? err : try_message(*key, hdr, body, sizeof(body));
}

/* The largest key: 1544 bytes, GHASH of 512 bits and the portable AES. Where there are portable kernels alone, 544. */
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
enum { KEY_ROOM = 1600 };
#else
enum { KEY_ROOM = 640 };
#endif

/* Both need a stack of their own size, one after the other: 8 KiB are promised. */
static int try_kernels(unsigned alg, const struct smb3sign_choice *choice)
{
	alignas(max_align_t) uint8_t mem[KEY_ROOM];
	smb3sign_key *key = NULL;
	int err = try_answers(&key, mem, sizeof(mem), alg, choice);

	if (!err)
		err = try_batch(key);
	smb3sign_key_wipe(key); /* public as it is: a search of the stack for another key finds nothing like it */
	return err;
}

static int try_hmac(void)
{
	for (size_t i = 0; smb3sign_sha256_kernels[i]; i++) {
		struct smb3sign_choice choice = {.sha256 = smb3sign_sha256_kernels[i]};

		if (smb3sign_kernel_usable(choice.sha256->needs) && try_kernels(SMB3SIGN_HMAC_SHA256, &choice))
			return SMB3SIGN_E_SIGNATURE;
	}
	return SMB3SIGN_OK;
}

/* CMAC with one AES, GMAC with it and each GHASH. */
static int try_aes(const struct smb3sign_aes *aes)
{
	struct smb3sign_choice choice = {.aes = aes};

	if (try_kernels(SMB3SIGN_AES_CMAC, &choice))
		return SMB3SIGN_E_SIGNATURE;
	for (size_t i = 0; smb3sign_ghash_kernels[i]; i++) {
		choice.ghash = smb3sign_ghash_kernels[i];
		if (smb3sign_kernel_usable(choice.ghash->needs) && try_kernels(SMB3SIGN_AES_GMAC, &choice))
			return SMB3SIGN_E_SIGNATURE;
	}
	return SMB3SIGN_OK;
}

/*
 * FIPS 180-4's example "abc": 6162 6380..., length 24 bits; first word of the digest ddaf35a193617aba. With a stack of its
 * own too.
 */
NOINLINE int try_sha512(const struct smb3sign_sha512 *sha512)
{
	uint8_t block[128] = {'a', 'b', 'c', 0x80, [127] = 24};
	uint64_t h[8];

	memcpy(h, smb3sign_sha512_iv, sizeof(h));
	sha512->blocks(h, block, 1);
	return h[0] == 0xddaf35a193617aba && h[7] == 0x2a9ac94fa54ca49f ? SMB3SIGN_OK : SMB3SIGN_E_SIGNATURE;
}

int smb3sign_selftest(void)
{
	for (size_t i = 0; smb3sign_aes_kernels[i]; i++)
		if (smb3sign_kernel_usable(smb3sign_aes_kernels[i]->needs) && try_aes(smb3sign_aes_kernels[i]))
			return SMB3SIGN_E_SIGNATURE;
	for (size_t i = 0; smb3sign_sha512_kernels[i]; i++)
		if (smb3sign_kernel_usable(smb3sign_sha512_kernels[i]->needs) && try_sha512(smb3sign_sha512_kernels[i]))
			return SMB3SIGN_E_SIGNATURE;
	return try_hmac();
}
