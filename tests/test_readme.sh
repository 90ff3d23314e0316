#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: test_readme.sh SOURCE_DIR C_COMPILER LIBRARY
# The README's example, as it stands there: it compiles without a warning, runs, and is as short as it claims to be.
set -eu
src=$1 cc=$2 library=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n '/^```c$/,/^```$/p' "$src/README.md" | sed '1d;$d' >"$work/example.c"
grep -q 'int main' "$work/example.c" || { echo "no example in README.md"; exit 1; }
"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$src/include" -o "$work/example" "$work/example.c" "$library"
LD_LIBRARY_PATH=$(dirname "$library") "$work/example" >"$work/out" || { cat "$work/out"; exit 1; }
grep -q ': success$' "$work/out" || { cat "$work/out"; exit 1; }
echo "the README's example: $(cat "$work/out")"
