#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: test_header.sh SOURCE_DIR COMPILER LANGUAGE STANDARD
# The public header compiles by itself without a warning, and each result that is ignored gets one.
set -u
src=$1 compiler=$2 language=$3 standard=$4
set -- -x "$language" "-std=$standard" -pedantic -Wall -Wextra -I"$src/include" -c -o /dev/null "$src/tests/header.c"

"$compiler" -Werror "$@" || exit 1

calls=$(sed -n '/ignored:/,/that is all/p' "$src/tests/header.c" | grep -c '^[[:space:]]*smb3sign_')
promised=$(tr '\n' ' ' <"$src/include/smb3sign.h" | grep -o 'SMB3SIGN_API SMB3SIGN_MUST_CHECK' | wc -l)
if [ "$calls" -ne "$promised" ]; then
	echo "header.c ignores $calls results, smb3sign.h has $promised to look at"
	exit 1
fi
warnings=$("$compiler" -DIGNORE_RESULTS "$@" 2>&1 | grep -c 'warning:.*unused-result')
if [ "$warnings" -ne "$calls" ]; then
	echo "$calls results are ignored, $compiler sees $warnings"
	exit 1
fi
