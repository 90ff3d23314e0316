/* SPDX-License-Identifier: MIT */
/*
 * Keys from files: Wireshark's list of SMB2 session keys, debug logs of Samba, and lists of SESSIONID=HEX. Which of them a
 * file is shows in it.
 */
#ifndef SMB3SIGN_KEYFILE_H
#define SMB3SIGN_KEYFILE_H

#include "keys.h"

/* Adds the keys of the file: 0, or -1 after a complaint that names file and line. */
int keyfile_read(struct given_keys *given, const char *path);

#endif
