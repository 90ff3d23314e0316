/* SPDX-License-Identifier: MIT */
/*
 * Figures of an operating system's kernel before and after its authors gave it library calls instead of a cipher
 * framework, on their machines (Apple M4, AMD EPYC Milan, an Intel Xeon, AMD Ryzen 9 9950X), and the same work here.
 * Other machines' times cannot be compared with this one's; the shape can: what a message costs beside its bytes, and
 * what keeping the key is worth.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "harness.h"
#include "kernels.h"
#include "message.h"
#include "origins.h"
#include "ours.h"

/* ---- Messages by size, from the main tables */

struct published {
	size_t size;
	const char *work;
	const char *keying;
	const char *theirs[N_ALGS]; /* "before / after" */
};

static void print_times(const struct options *o)
{
	static const struct published rows[] = {
		{64, "new-key", "per message", {"125 / 122", "120 / 126", "192 / 234"}},
		{64, "sign", "kept", {"89 / 78", "32 / 33", "108 / 57"}},
		{256, "new-key", "per message", {"190 / 188", "184 / 190", "495 / 240"}},
		{256, "sign", "kept", {"155 / 140", "87 / 99", "395 / 68"}},
		{4096, "new-key", "per message", {"1842 / 1838", "2083 / 2091", "5756 / 643"}},
		{4096, "sign", "kept", {"1799 / 1786", "1981 / 1983", "5608 / 435"}},
		{1048576, "new-key", "per message", {"-", "-", "-"}},
		{1048576, "sign", "kept", {"-", "-", "-"}},
	};

	printf("ns a message: in a kernel on Apple M4 before / after, and here\n  %8s %-12s", "bytes", "key");
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		printf(" %14s %10s", o->algs[alg] ? alg_names[alg] : "", o->algs[alg] ? "here" : "");
	putchar('\n');
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		printf("  %8zu %-12s", rows[i].size, rows[i].keying);
		for (unsigned alg = 0; alg < N_ALGS; alg++)
			if (o->algs[alg])
				printf(" %14s %10.1f", rows[i].theirs[alg],
				       figures_find(alg_names[alg], ours_best(alg), rows[i].work, rows[i].size)->ns);
		putchar('\n');
	}
	putchar('\n');
}

static void print_rates(const struct options *o)
{
	static const char *const m4[N_ALGS] = {"3159 / 3149", "2753 / 2739", "993 / 12227"};
	static const char *const milan[N_ALGS] = {"1494 / 1670", "207 / 757", "1174 / 2475"};

	printf("MB/s, 1 MiB, key kept: in a kernel before / after, and here\n  %-12s %14s %14s %10s\n", "", "Apple M4",
	       "EPYC Milan", "here");
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		if (o->algs[alg])
			printf("  %-12s %14s %14s %10.0f\n", alg_names[alg], m4[alg], milan[alg],
			       1048576e3 / figures_find(alg_names[alg], ours_best(alg), "sign", 1048576)->ns);
	putchar('\n');
}

/* ---- GHASH alone */

struct ghash_task {
	const struct smb3sign_ghash *kernel;
	void *table;
	const struct ring *ring;
	uint8_t acc[16];
};

static void run_ghash(void *arg, uint64_t calls)
{
	struct ghash_task *t = arg;

	for (uint64_t i = 0; i < calls; i++)
		t->kernel->blocks(t->table, t->acc, 0, ring_message(t->ring, i), t->ring->len / 16);
}

static const struct {
	size_t size;
	const char *theirs;
} ghash_rows[] = {{64, "1664 / 3519"}, {4096, "1772 / 6674"}, {1048576, "1700 / 6472"}};
enum { N_GHASH_ROWS = sizeof(ghash_rows) / sizeof(ghash_rows[0]) };

static void measure_ghash(double seconds)
{
	struct ghash_task t = {.kernel = smb3sign_best_ghash()};

	t.table = new_lines(t.kernel->table_size);
	t.kernel->setkey(t.table, bench_key);
	for (size_t i = 0; i < N_GHASH_ROWS; i++) {
		struct ring ring;
		struct job job = {.run = run_ghash, .arg = &t};
		double clock;

		ring_make(&ring, ghash_rows[i].size, ring_count(ghash_rows[i].size));
		t.ring = &ring;
		clock = harness_run(&job, 1, seconds);
		figures_add("GHASH", t.kernel->name, "blocks", ghash_rows[i].size, job.ns, job.ns * clock);
		ring_free(&ring);
	}
	free(t.table);
}

static void print_ghash(void)
{
	const char *name = smb3sign_best_ghash()->name;

	printf("MB/s, GHASH alone: in a kernel on a Xeon of 2.1 GHz before / after, and here (%s)\n", name);
	for (size_t i = 0; i < N_GHASH_ROWS; i++)
		printf("  %8zu %14s %10.0f\n", ghash_rows[i].size, ghash_rows[i].theirs,
		       (double)ghash_rows[i].size * 1e3 /
			       figures_find("GHASH", name, "blocks", ghash_rows[i].size)->ns);
	putchar('\n');
}

/* ---- A client's mount and read */

enum { MAX_MESSAGES = 316 };

/* Messages of a session, signed one after the other. */
struct session {
	smb3sign_key *key;
	struct ring messages[MAX_MESSAGES];
	size_t n;
	int failed;
};

static void add_messages(struct session *s, size_t n, size_t len)
{
	for (; n; n--)
		ring_make(&s->messages[s->n++], len, 1);
}

/* 26 messages, 3316 bytes. */
static void make_mount(struct session *s)
{
	add_messages(s, 14, 128);
	add_messages(s, 12, 127);
}

/*
 * 316 messages, 10,031,077 bytes: 153 READ requests of 113 bytes; their responses, 80 bytes and 64 KiB, what is left of
 * 10 MB in the last; ten other messages, 1548 bytes.
 */
static void make_read(struct session *s)
{
	add_messages(s, 153, 113);
	add_messages(s, 152, 80 + 65536);
	add_messages(s, 1, 80 + 10000000 - 152 * 65536);
	add_messages(s, 8, 155);
	add_messages(s, 2, 154);
}

static void run_session(void *arg, uint64_t calls)
{
	struct session *s = arg;

	for (; calls; calls--)
		for (size_t i = 0; i < s->n; i++)
			s->failed |= smb3sign_sign_buf(s->key, s->messages[i].mem, s->messages[i].len);
}

static struct session *new_session(void (*make)(struct session *))
{
	struct session *s = new_lines(sizeof(*s));

	if (smb3sign_key_new(&s->key, SMB3SIGN_HMAC_SHA256, bench_key, 16, SMB3SIGN_ROLE_ANY))
		die("cannot make a key");
	make(s);
	return s;
}

static void free_session(struct session *s)
{
	if (s->failed)
		die("a message could not be signed");
	smb3sign_key_free(s->key);
	for (size_t i = 0; i < s->n; i++)
		ring_free(&s->messages[i]);
	free(s);
}

/* NEGOTIATE request and response, SESSION_SETUP request and response, in the sizes that smbclient and Samba have. */
struct exchange {
	struct ring messages[4];
	int failed;
};

static void make_exchange(struct exchange *e)
{
	static const size_t sizes[4] = {226, 284, 162, 233};

	e->failed = 0;
	for (size_t i = 0; i < 4; i++) {
		uint8_t *m;

		ring_make(&e->messages[i], sizes[i], 1);
		m = e->messages[i].mem;
		m[12] = i < 2 ? 0 : 1;
		m[16] = i % 2;                                            /* a response? */
		memcpy(m + 8, "\x16\x00\x00\xc0", 4);                     /* STATUS_MORE_PROCESSING_REQUIRED */
		memcpy(m + SMB3SIGN_HEADER_LEN, "\x41\0\0\0\x11\x03", 6); /* dialect 3.1.1 */
	}
}

static void run_preauth(void *arg, uint64_t calls)
{
	struct exchange *e = arg;

	for (; calls; calls--) {
		smb3sign_preauth p;

		smb3sign_preauth_init(&p);
		for (size_t i = 0; i < 4; i++) {
			smb3sign_iov iov = {.iov_base = e->messages[i].mem, .iov_len = e->messages[i].len};

			e->failed |= smb3sign_preauth_update(&p, &iov, 1);
		}
	}
}

/* Signing key and both cipher keys. */
static void run_derive(void *arg, uint64_t calls)
{
	static const unsigned uses[3] = {SMB3SIGN_USE_SIGNING, SMB3SIGN_USE_CLIENT_TO_SERVER,
					 SMB3SIGN_USE_SERVER_TO_CLIENT};
	static const smb3sign_preauth hash = {{1}};
	int *failed = arg;
	uint8_t out[16];

	for (; calls; calls--)
		for (size_t i = 0; i < 3; i++)
			*failed |= smb3sign_derive(0x0311, uses[i], bench_key, 16, &hash, out, sizeof(out));
}

static const struct {
	const char *what, *theirs;
} mount_rows[] = {
	{"preauthentication hash of a 3.1.1 mount; 4 messages", "44548 / 20081"},
	{"key derivation; 3 keys", "17802 / 22876"},
	{"HMAC of a 2.0.2 mount; 26 messages of 3316 bytes", "205110 / 87204"},
	{"HMAC of a 10 MB read; 316 messages of 10031077 bytes", "22689767 / 21043125"},
};
enum { N_MOUNT_ROWS = sizeof(mount_rows) / sizeof(mount_rows[0]) };

static void measure_mount(double seconds)
{
	struct session *mount = new_session(make_mount), *read = new_session(make_read);
	struct exchange exchange;
	int failed = 0;
	struct job jobs[N_MOUNT_ROWS] = {
		{.run = run_preauth, .arg = &exchange},
		{.run = run_derive, .arg = &failed},
		{.run = run_session, .arg = mount},
		{.run = run_session, .arg = read},
	};
	double clock;

	make_exchange(&exchange);
	clock = harness_run(jobs, N_MOUNT_ROWS, seconds);
	if (failed || exchange.failed)
		die("preauthentication hash or key derivation failed");
	for (size_t i = 0; i < N_MOUNT_ROWS; i++)
		figures_add("mount", mount_rows[i].what, "all", 0, jobs[i].ns, jobs[i].ns * clock);
	for (size_t i = 0; i < 4; i++)
		ring_free(&exchange.messages[i]);
	free_session(mount);
	free_session(read);
}

static void print_cycles(const char *what, const char *theirs, const struct figure *f)
{
	if (f->cycles > 0)
		printf("  %-56s %21s %12.0f\n", what, theirs, f->cycles);
	else
		printf("  %-56s %21s %9.0f ns\n", what, theirs, f->ns);
}

static void print_segment(unsigned alg, const char *theirs)
{
	char what[64];

	snprintf(what, sizeof(what), "%s of 128 bytes; key kept", alg_names[alg]);
	print_cycles(what, theirs, figures_find(alg_names[alg], ours_best(alg), "sign", 128));
	snprintf(what, sizeof(what), "%s of 128 bytes; key per message", alg_names[alg]);
	print_cycles(what, "", figures_find(alg_names[alg], ours_best(alg), "new-key", 128));
}

static void print_mount(const struct options *o)
{
	printf("Core cycles: in a kernel (Ryzen 9 9950X) before / after, and here\n");
	for (size_t i = 0; i < N_MOUNT_ROWS; i++)
		print_cycles(mount_rows[i].what, mount_rows[i].theirs,
			     figures_find("mount", mount_rows[i].what, "all", 0));
	if (o->algs[SMB3SIGN_HMAC_SHA256])
		print_segment(SMB3SIGN_HMAC_SHA256, "3311 / 1344");
	if (o->algs[SMB3SIGN_AES_CMAC])
		print_segment(SMB3SIGN_AES_CMAC, "2720 / 1107");
	putchar('\n');
}

void origins_measure(const struct options *o)
{
	progress("the figures that started the project");
	if (o->algs[SMB3SIGN_AES_GMAC])
		measure_ghash(o->seconds);
	measure_mount(o->seconds);
}

void origins_print(const struct options *o)
{
	puts("The figures that started the project\n");
	print_times(o);
	print_rates(o);
	if (o->algs[SMB3SIGN_AES_GMAC])
		print_ghash();
	print_mount(o);
}
