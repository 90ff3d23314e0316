/* SPDX-License-Identifier: MIT */
/*
 * POSIX tsearch() with its error and its casts in one place. The C libraries keep these trees balanced, so that no
 * capture, whatever ids it chooses, makes a search long. Entries begin with the key that the order compares; the
 * all-zero tree is empty.
 */
#ifndef SMB3SIGN_TREE_H
#define SMB3SIGN_TREE_H

#include <search.h>
#include <stdint.h>
#include <stdlib.h>

#include "tool.h"

struct tree {
	void *root;
};

typedef int tree_order(const void *, const void *);

/* The order of entries that begin with a uint64_t. */
static inline int tree_by_id(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static inline void *tree_find(const struct tree *t, const void *key, tree_order *order)
{
	void *found = tfind(key, &t->root, order);

	return found ? *(void **)found : NULL;
}

/* There must be no entry with this key. */
static inline void tree_add(struct tree *t, void *entry, tree_order *order)
{
	if (!tsearch(entry, &t->root, order)) {
		complain("out of memory");
		exit(STATUS_TROUBLE);
	}
}

static inline void tree_remove(struct tree *t, const void *key, tree_order *order)
{
	tdelete(key, &t->root, order);
}

/* Some entry, NULL if the tree is empty: to take it apart. */
static inline void *tree_any(const struct tree *t)
{
	return t->root ? *(void **)t->root : NULL;
}

#endif
