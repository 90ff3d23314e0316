/* SPDX-License-Identifier: MIT */
/* The stopwatch tested on what it should say. */
#ifndef SMB3SIGN_BENCH_CHECK_H
#define SMB3SIGN_BENCH_CHECK_H

/* Time nothing, a peer beside itself and our own call beside itself, and print what comes out. */
void check_stopwatch(double seconds);

#endif
