/* SPDX-License-Identifier: MIT */
/*
 * TCP connections from captured segments: each direction in order and without repetition, however the capture has it. A
 * segment is passed on after everything that its sender had acknowledged, so that requests come before their responses
 * even if the capture mixed up the two directions.
 */
#ifndef SMB3SIGN_TCP_H
#define SMB3SIGN_TCP_H

#include "packet.h"
#include "report.h"
#include "smb.h"

struct tcp;

struct tcp *tcp_new(struct verifier *v);
void tcp_segment(struct tcp *t, const struct segment *s, const struct place *at);
/* The capture is at its end: passes on what is still held, then frees. */
void tcp_finish(struct tcp *t, const struct place *at);

#endif
