#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: test_readme.sh SOURCE_DIR C_COMPILER LIBRARY
# The code in the documentation, as it stands there, compiles without a warning and works: the README's example runs;
# the guides' server and client talk to each other (guides.c).
set -eu
src=$1 cc=$2 library=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$(dirname "$library")
export LD_LIBRARY_PATH

# code FILE.md: its C code, put together.
code() {
	sed -n '/^```c$/,/^```$/p' "$src/$1" | sed '/^```/d'
}

# build OUTPUT SOURCE.c
build() {
	"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$src/include" -I"$work" -o "$work/$1" "$2" "$library"
}

# run PROGRAM LINE: it succeeds and prints a line that ends so.
run() {
	"$work/$1" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
	grep -q "$2\$" "$work/out" || { cat "$work/out"; exit 1; }
}

code README.md >"$work/example.c"
grep -q 'int main' "$work/example.c" || { echo "no example in README.md"; exit 1; }
build example "$work/example.c"
run example ': success'
echo "the README's example: $(cat "$work/out")"

for guide in integrate-libsmb2 integrate-server; do
	code "docs/$guide.md" >"$work/$guide.c"
done
build guides "$src/tests/guides.c"
run guides 'understand each other'
cat "$work/out"
