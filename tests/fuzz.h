/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz targets share: reading decisions from the fuzzer's bytes, memory of exact size for AddressSanitizer to
 * watch, and a key for every algorithm, role and choice of kernels. Everything is for one thread.
 */
#ifndef SMB3SIGN_TEST_FUZZ_H
#define SMB3SIGN_TEST_FUZZ_H

#include "oracle.h"
#include "support.h"

/* libFuzzer's two calls. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold; the fuzzer keeps the input of an abort. */
#define require(condition)                                           \
	do {                                                         \
		if (!(condition))                                    \
			fuzz_failed(__FILE__, __LINE__, #condition); \
	} while (0)
_Noreturn void fuzz_failed(const char *file, int line, const char *condition);

/* The input is read from its start; behind its end there are zeros. */
struct input {
	const uint8_t *p;
	size_t left;
};

unsigned take8(struct input *in);
unsigned take16(struct input *in);
/* The rest of the choices that an input leaves open come from support.h's generator, seeded by all of its bytes. */
void seed_from_input(const uint8_t *data, size_t size);

/*
 * A copy of src[n] that ends where its heap block ends and starts `shift` (0..15) bytes behind an aligned address; for
 * exact_free.
 */
uint8_t *exact_copy(const void *src, size_t n, size_t shift);
void exact_free(uint8_t *p);

struct fuzz_key {
	unsigned alg, role;
	uint8_t raw[16];
	smb3sign_key *key;
};

void make_fuzz_keys(void);
/* Two bytes of input choose it. */
const struct fuzz_key *take_key(struct input *in);

/* The policies' answers about a header of 64 bytes. */
void require_policies(const uint8_t *hdr, unsigned state);

#endif
