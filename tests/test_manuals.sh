#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: test_manuals.sh mandoc|groff SOURCE_DIR
#        test_manuals.sh man SOURCE_DIR MAN_DIR
#        test_manuals.sh examples SOURCE_DIR C_COMPILER LIBRARY
# The pages of section 1 and 3 without a complaint of the formatters, and `man NAME` with the links of MAN_DIR; their
# examples compile, and the whole program of libsmb3sign(3) runs. What the pages say is test_manuals.py's matter.
set -eu
way=$1 src=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LC_ALL=C.UTF-8
export LC_ALL
status=0

# format COMMAND...: each page goes through without a word.
format() {
	count=0
	for page in "$src"/man/*.[13]; do
		"$@" "$page" >"$work/out" 2>"$work/err" || { cat "$work/err"; status=1; }
		[ -s "$work/out" ] || { echo "$page: nothing comes out"; status=1; }
		[ ! -s "$work/err" ] || { cat "$work/err"; status=1; }
		count=$((count + 1))
	done
	echo "$count pages: $*"
}

# Which pages are there to be referred to depends on the machine; test_manuals.py looks after those.
# shellcheck disable=SC2317 # called by format
lint() {
	mandoc -T lint -W style "$1" 2>&1 | grep -Ev 'STYLE: referenced manual not found|outdated mandoc.db' >&2
	mandoc -T utf8 "$1"
}

case $way in
mandoc) format lint ;;
groff) format groff -mandoc -ww -b -T utf8 ;;
man)
	mkdir "$work/man1"
	cp -R "$3" "$work/man3"
	cp "$src/man/smb3sign.1" "$work/man1"
	MANPATH=$work MANWIDTH=80
	export MANPATH MANWIDTH
	count=0
	for page in "$work"/man[13]/*; do
		name=$(basename "${page%.*}")
		man --warnings "${page##*.}" "$name" >"$work/out" 2>"$work/err" || status=1
		[ ! -s "$work/err" ] || { cat "$work/err"; status=1; }
		grep -qi "$name" "$work/out" || { echo "man ${page##*.} $name does not show it"; status=1; }
		count=$((count + 1))
	done
	echo "$count pages: man"
	;;
examples)
	cc=$3 library=$4
	python3 "$src/tests/test_manuals.py" examples "$src" "$work"
	"$cc" -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror -I"$src/include" -I"$work" -c \
		-o "$work/manuals.o" "$src/tests/manuals.c"
	"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$src/include" -o "$work/program" "$work/libsmb3sign.c" "$library"
	LD_LIBRARY_PATH=$(dirname "$library") "$work/program" | tee "$work/out"
	grep -q ': success$' "$work/out" || status=1
	;;
*)
	echo "no way '$way'" >&2
	status=1
	;;
esac
exit $status
