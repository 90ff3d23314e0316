/* SPDX-License-Identifier: MIT */
/*
 * Put before every source of the library (-include) where secrets are followed: the outcome of the comparison of tags is
 * public, since accepting or rejecting a message is a branch. It is made so only when equal_16 has returned: a branch
 * within the comparison is still one on a secret.
 */
#define equal_16 equal_16_of_secrets
#include "util.h"
#undef equal_16
#include "taint.h"

static inline int equal_16(const void *left, const void *right)
{
	int equal = equal_16_of_secrets(left, right);

	public(&equal, sizeof(equal));
	return equal;
}
