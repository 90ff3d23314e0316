/* SPDX-License-Identifier: MIT */
/* What the tool does only where a person looks at a terminal: colours, and a line that tells how far it is. */
#ifndef SMB3SIGN_TERMINAL_H
#define SMB3SIGN_TERMINAL_H

#include <stdint.h>
#include <stdio.h>

enum colour { COLOUR_PLAIN, COLOUR_GOOD, COLOUR_BAD, COLOUR_DOUBTFUL, COLOUR_DIM };

/*
 * The escape sequences around a coloured word on standard output: empty strings unless that is a terminal and NO_COLOR is
 * unset or empty.
 */
const char *colour_begin(enum colour colour);
const char *colour_end(enum colour colour);

/* Progress of reading `file` on standard error, once it has taken a while; nothing unless that is a terminal. */
void progress_start(FILE *file);
/* Cheap: to be called for every packet. */
void progress_step(void);
/* Before anything else is written to standard error, and at the end. */
void progress_clear(void);

#endif
