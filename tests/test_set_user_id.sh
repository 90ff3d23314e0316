#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: test_set_user_id.sh PRINT_FEATURES
# SMB3SIGN_CPU_DISABLE counts in an ordinary program and not in a set-user-ID one. Exits with 77 where that cannot be tried:
# without root, on a file system without set-user-ID, on a processor without features to take away.
set -u
program=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset SMB3SIGN_CPU_DISABLE

[ "$(id -u)" -eq 0 ] || { echo "not root"; exit 77; }
all=$("$program") || exit 1
[ "$all" != 0 ] || { echo "no features"; exit 77; }
none=$(SMB3SIGN_CPU_DISABLE=all "$program") || exit 1
[ "$none" = 0 ] || { echo "SMB3SIGN_CPU_DISABLE=all leaves $none"; exit 1; }

chmod 755 "$work"
cp "$program" "$work/program" && chown nobody "$work/program" && chmod 4755 "$work/program" || exit 1
cp "$(command -v id)" "$work/id" && chown nobody "$work/id" && chmod 4755 "$work/id" || exit 1
[ "$("$work/id" -u)" != 0 ] || { echo "set-user-ID has no effect in $work"; exit 77; }
deaf=$(SMB3SIGN_CPU_DISABLE=all "$work/program") || exit 1
[ "$deaf" = "$all" ] || { echo "set-user-ID: SMB3SIGN_CPU_DISABLE=all leaves $deaf of $all"; exit 1; }
