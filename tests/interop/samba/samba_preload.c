/* SPDX-License-Identifier: MIT */
/*
 * Signs and verifies inside unmodified Samba programs with libsmb3sign, for tests: preloaded, it takes the place of
 * smb2_signing_sign_pdu and smb2_signing_check_pdu, through which smbd, smbclient, smbtorture and libsmbclient make and check
 * every signature of SMB2 and SMB3. The answers are Samba's own (libcli/smb/smb2_signing.c, 4.15 to 4.22).
 *
 *     SMB3SIGN_SAMBA_COUNTERS   a file that is mapped and counted in by the process and all that it forks
 *     SMB3SIGN_SAMBA_FLIP       1 to 128: this bit of every signature is turned over after signing and before verifying. Both
 *                               sides with the same number understand each other if and only if no signature is made or
 *                               checked elsewhere; one side with it understands nobody.
 *
 * Samba keeps no place for a prepared key that it would not free with GnuTLS, so keys are kept here, by their bytes.
 */
#define _DEFAULT_SOURCE
#include "smb3sign.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint32_t NTSTATUS;

#define NT_STATUS_OK                0u
#define NT_STATUS_INVALID_PARAMETER 0xc000000du
#define NT_STATUS_ACCESS_DENIED     0xc0000022u
#define NT_STATUS_INTERNAL_ERROR    0xc00000e5u

/* Samba's key, on 64-bit machines. The handles are GnuTLS's and not touched. */
struct smb2_signing_key {
	const uint8_t *data;
	size_t length;
	uint16_t sign_algo_id; /* as on the wire */
	void *hmac_hnd;
	uint16_t cipher_algo_id;
	void *cipher_hnd;
};

_Static_assert(offsetof(struct smb2_signing_key, sign_algo_id) == 16 && sizeof(struct smb2_signing_key) == 48,
	       "Samba's layout on 64-bit machines");

NTSTATUS smb2_signing_sign_pdu(struct smb2_signing_key *key, struct iovec *vector, int count);
NTSTATUS smb2_signing_check_pdu(struct smb2_signing_key *key, const struct iovec *vector, int count);

/* ---- Counters: the file is these words, in the machine's order of bytes ---- */

static struct counters {
	atomic_ullong made[3];  /* signatures, by algorithm id */
	atomic_ullong right[3]; /* signatures that verified, by algorithm id */
	atomic_ullong wrong;    /* and that did not */
	atomic_ullong refused;  /* messages that the library does not sign or verify, and keys that are none */
	atomic_ullong session0; /* messages with SessionId 0, left alone */
	atomic_ullong keyless;  /* messages without a key: not signed, passed as right */
	atomic_ullong prepared; /* keys */
	atomic_ullong signed_bytes;
	atomic_ullong checked_bytes;
} here, *counters = &here;

static unsigned flip;

_Noreturn static void stop(const char *what)
{
	fprintf(stderr, "samba_preload: %s\n", what);
	_exit(125);
}

/* Before main: what this process forks counts in the same memory, whoever it becomes and however it exits. */
__attribute__((constructor)) static void read_environment(void)
{
	const char *path = getenv("SMB3SIGN_SAMBA_COUNTERS"), *bit = getenv("SMB3SIGN_SAMBA_FLIP");

	if (bit) {
		flip = (unsigned)atoi(bit);
		if (flip < 1 || flip > 128)
			stop("SMB3SIGN_SAMBA_FLIP is not in 1 to 128");
	}
	if (path) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		void *mem;

		if (fd < 0 || ftruncate(fd, sizeof(*counters)))
			stop("no file of counters");
		mem = mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (mem == MAP_FAILED)
			stop("counters cannot be mapped");
		close(fd);
		counters = mem;
	}
}

static void add(atomic_ullong *counter, unsigned long long n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* ---- Prepared keys ---- */

#define KEYS 8

struct prepared {
	alignas(max_align_t) unsigned char mem[SMB3SIGN_KEY_SIZE_MAX];
	smb3sign_key *key; /* NULL: the place is free */
	uint8_t raw[SMB3SIGN_KEY_LEN];
	uint64_t used; /* the table's clock */
};

/* One table a thread: no locks. */
static _Thread_local struct {
	struct prepared keys[KEYS];
	uint64_t clock;
} table;

static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget(struct prepared *p)
{
	smb3sign_key_wipe(p->key);
	p->key = NULL;
	explicit_bzero(p->raw, sizeof(p->raw));
	p->used = 0;
}

static void forget_all(void *keys)
{
	for (size_t i = 0; i < KEYS; i++)
		forget((struct prepared *)keys + i);
}

/* A thread's destructors are not run for the one that ends the process. */
__attribute__((destructor)) static void forget_at_exit(void)
{
	forget_all(table.keys);
}

static void make_at_thread_end(void)
{
	if (pthread_key_create(&at_thread_end, forget_all))
		stop("no thread-specific data");
}

static const smb3sign_key *prepare(struct prepared *p, unsigned alg, const uint8_t *raw)
{
	forget(p);
	pthread_once(&once, make_at_thread_end);
	pthread_setspecific(at_thread_end, table.keys);
	/* Samba's key does not tell whose it is; a real caller gives its role and is safe from reflected messages. */
	if (smb3sign_key_init(&p->key, p->mem, sizeof(p->mem), alg, raw, SMB3SIGN_KEY_LEN, SMB3SIGN_ROLE_ANY))
		return NULL;
	memcpy(p->raw, raw, sizeof(p->raw));
	p->used = ++table.clock;
	add(&counters->prepared, 1);
	return p->key;
}

/* In constant time. */
static int same(const uint8_t *a, const uint8_t *b)
{
	unsigned difference = 0;

	for (size_t i = 0; i < SMB3SIGN_KEY_LEN; i++)
		difference |= a[i] ^ b[i];
	return !difference;
}

/* The key prepared, from the table or in the place of the one not used for longest. NULL: no key of the library's. */
static const smb3sign_key *find(const struct smb2_signing_key *key)
{
	struct prepared *oldest = table.keys;

	if (key->length != SMB3SIGN_KEY_LEN)
		return NULL;
	for (struct prepared *p = table.keys; p < table.keys + KEYS; p++) {
		if (p->key && smb3sign_key_alg(p->key) == key->sign_algo_id && same(p->raw, key->data)) {
			p->used = ++table.clock;
			return p->key;
		}
		if (p->used < oldest->used)
			oldest = p;
	}
	return prepare(oldest, key->sign_algo_id, key->data);
}

/* ---- Samba's functions ---- */

static int has_session(const uint8_t *hdr)
{
	static const uint8_t none[8];

	return memcmp(hdr + 40, none, sizeof(none)) != 0;
}

static int is_valid(const struct smb2_signing_key *key)
{
	return key && key->data && key->length;
}

static int is_message(const struct iovec *vector, int count)
{
	return count >= 2 && vector[0].iov_len == SMB3SIGN_HEADER_LEN;
}

static unsigned long long bytes(const struct iovec *vector, int count)
{
	unsigned long long sum = 0;

	while (count-- > 0)
		sum += vector[count].iov_len;
	return sum;
}

static void turn_over(uint8_t *hdr)
{
	if (flip)
		hdr[48 + (flip - 1) / 8] ^= (uint8_t)(1u << (flip - 1) % 8);
}

NTSTATUS smb2_signing_sign_pdu(struct smb2_signing_key *key, struct iovec *vector, int count)
{
	const smb3sign_key *prepared;

	if (!is_message(vector, count))
		return NT_STATUS_INVALID_PARAMETER;
	if (!has_session(vector[0].iov_base)) {
		add(&counters->session0, 1);
		return NT_STATUS_OK;
	}
	if (!is_valid(key)) {
		add(&counters->keyless, 1);
		return NT_STATUS_ACCESS_DENIED;
	}
	prepared = find(key);
	if (!prepared || smb3sign_sign(prepared, vector[0].iov_base, vector + 1, (size_t)count - 1)) {
		add(&counters->refused, 1);
		return NT_STATUS_INTERNAL_ERROR;
	}
	turn_over(vector[0].iov_base);
	add(&counters->made[key->sign_algo_id], 1);
	add(&counters->signed_bytes, bytes(vector, count));
	return NT_STATUS_OK;
}

static int verify(const smb3sign_key *key, const struct iovec *vector, int count)
{
	uint8_t hdr[SMB3SIGN_HEADER_LEN];

	if (!flip)
		return smb3sign_verify(key, vector[0].iov_base, vector + 1, (size_t)count - 1);
	memcpy(hdr, vector[0].iov_base, sizeof(hdr));
	turn_over(hdr);
	return smb3sign_verify(key, hdr, vector + 1, (size_t)count - 1);
}

NTSTATUS smb2_signing_check_pdu(struct smb2_signing_key *key, const struct iovec *vector, int count)
{
	const smb3sign_key *prepared;
	int err;

	if (!is_message(vector, count))
		return NT_STATUS_INVALID_PARAMETER;
	if (!has_session(vector[0].iov_base)) {
		add(&counters->session0, 1);
		return NT_STATUS_OK;
	}
	if (!is_valid(key)) {
		add(&counters->keyless, 1);
		return NT_STATUS_OK;
	}
	prepared = find(key);
	err = prepared ? verify(prepared, vector, count) : SMB3SIGN_E_INVAL;
	if (err == SMB3SIGN_OK) {
		add(&counters->right[key->sign_algo_id], 1);
		add(&counters->checked_bytes, bytes(vector, count));
		return NT_STATUS_OK;
	}
	if (err == SMB3SIGN_E_SIGNATURE || err == SMB3SIGN_E_UNSIGNED)
		add(&counters->wrong, 1);
	else
		add(&counters->refused, 1);
	return NT_STATUS_ACCESS_DENIED;
}
