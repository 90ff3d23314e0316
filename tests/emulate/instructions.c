/* SPDX-License-Identifier: MIT */
/*
 * A plugin of QEMU's (TCG, arm64 programs) that looks at every instruction executed. Options:
 *     forbid=CLASS   the program ends with status 99 at the first of that class
 *     count=SYMBOL   counts by class what runs inside that function, or inside all with count=all; printed at the end
 * Both may be given several times. Classes by their encodings in the Arm ARM, C4.1.
 *
 * Debian has QEMU without its header, so the little of the interface that is used (version 1) is declared here.
 */
#define _POSIX_C_SOURCE 200809L /* strdup, _exit */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t qemu_plugin_id_t;
typedef void translated_fn(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void executed_fn(unsigned vcpu, void *userdata);
typedef void exit_fn(qemu_plugin_id_t id, void *userdata);
enum { QEMU_PLUGIN_CB_NO_REGS = 0, QEMU_PLUGIN_INLINE_ADD_U64 = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translated_fn *fn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, executed_fn *fn, int flags, void *userdata);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op, void *p, uint64_t n);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_fn *fn, void *userdata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

/* The first that fits; the last fits all. */
static const struct class
{
	const char *name;
	uint32_t mask, bits;
} classes[] = {
	{"aes", 0xff3e0c00, 0x4e280800},
	{"pmull", 0xbfe0fc00, 0x0ee0e000},  /* of 64-bit lanes; that of bytes is in every processor */
	{"sha2", 0xff208c00, 0x5e000000},   /* three registers, SHA-1 too */
	{"sha2", 0xff3e0c00, 0x5e280800},   /* two */
	{"sha512", 0xffe0f800, 0xce608000}, /* SHA512H, SHA512H2 */
	{"sha512", 0xffe0fc00, 0xce608800}, /* SHA512SU1 */
	{"sha512", 0xfffffc00, 0xcec08000}, /* SHA512SU0 */
	{"sha3", 0xff000000, 0xce000000},   /* EOR3, BCAX, RAX1, XAR; SM3 and SM4 too */
	{"ldst", 0x0a000000, 0x08000000},
	{"branch", 0x1c000000, 0x14000000},
	{"simd", 0x0e000000, 0x0e000000},
	{"other", 0, 0},
};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]), SYMBOLS_MAX = 16 };

static uint64_t count[CLASSES];
static int forbidden[CLASSES];
static const char *symbols[SYMBOLS_MAX];
static size_t n_symbols;

static size_t class_of(uint32_t word)
{
	size_t i = 0;

	while ((word & classes[i].mask) != classes[i].bits)
		i++;
	return i;
}

static void on_forbidden(unsigned vcpu, void *name)
{
	(void)vcpu;
	fprintf(stderr, "an instruction of class %s was executed\n", (const char *)name);
	_exit(99);
}

static int is_counted(const struct qemu_plugin_insn *insn)
{
	const char *symbol = qemu_plugin_insn_symbol(insn);

	for (size_t i = 0; i < n_symbols; i++)
		if (!strcmp(symbols[i], "all") || (symbol && !strcmp(symbols[i], symbol)))
			return 1;
	return 0;
}

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t word;
		size_t c;

		memcpy(&word, qemu_plugin_insn_data(insn), 4);
		c = class_of(word);
		if (forbidden[c])
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_forbidden, QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)classes[c].name);
		if (is_counted(insn))
			qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &count[c], 1);
	}
}

static void print_counts(qemu_plugin_id_t id, void *unused)
{
	uint64_t total = 0;

	(void)id;
	(void)unused;
	for (size_t i = 0; i < CLASSES; i++)
		total += count[i];
	fprintf(stderr, "instructions: %llu", (unsigned long long)total);
	for (size_t i = 0; i < CLASSES; i++) {
		/* Entries of one name stand next to each other. */
		if (i + 1 < CLASSES && !strcmp(classes[i].name, classes[i + 1].name))
			count[i + 1] += count[i];
		else
			fprintf(stderr, " %s=%llu", classes[i].name, (unsigned long long)count[i]);
	}
	fputc('\n', stderr);
}

static int forbid(const char *name)
{
	int found = 0;

	for (size_t i = 0; i < CLASSES; i++)
		if (!strcmp(classes[i].name, name))
			found = forbidden[i] = 1;
	return found;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "count=", 6) && n_symbols < SYMBOLS_MAX) {
			symbols[n_symbols++] = strdup(argv[i] + 6);
		} else if (strncmp(argv[i], "forbid=", 7) || !forbid(argv[i] + 7)) {
			fprintf(stderr, "unknown option: %s\n", argv[i]);
			return -1;
		}
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
	if (n_symbols)
		qemu_plugin_register_atexit_cb(id, print_counts, NULL);
	return 0;
}
