#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# usage: test_completion.sh COMPLETION_FILE COMMAND
# Sources the bash completion as a shell does and completes: every command and option that --help has, values (which the
# command must take), file names where files are due and nowhere else.
set -u
completion=$1 tool=$2
failures=0 checks=0
files=

# What readline would be told; outside of a completion the builtin refuses.
compopt() {
	files=$*
}

# complete_line WORD...: the words after the command's name, the last one being completed, into COMPREPLY and $files.
complete_line() {
	COMP_WORDS=("$tool" "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	files=
	_smb3sign "$tool" "${*: -1}" "${COMP_WORDS[$# - 1]}"
}

# gives "WANTED..." WORD...: the completions are these, sorted.
gives() {
	local wanted=$1 got
	shift
	complete_line "$@"
	got=$(printf '%s\n' "${COMPREPLY[@]+"${COMPREPLY[@]}"}" | sort | paste -sd' ')
	checks=$((checks + 1))
	[[ $got == "$wanted" && -z $files ]] && return
	echo "FAILED: smb3sign $*: '$got' $files, expected '$wanted'"
	failures=$((failures + 1))
}

gives_files() {
	complete_line "$@"
	checks=$((checks + 1))
	[[ $files == '-o default' && ${#COMPREPLY[@]} -eq 0 ]] && return
	echo "FAILED: smb3sign $*: no files, but '${COMPREPLY[*]-}'"
	failures=$((failures + 1))
}

# refuses OPTION VALUE ARGUMENT...: smb3sign complains about the option's value.
refuses() {
	local option=$1 value=$2
	shift 2
	"$tool" "$@" "$option" "$value" 2>&1 | grep -q -e "^smb3sign: $option: "
}

# shellcheck disable=SC1090
source "$completion" || exit 1
complete -p smb3sign | grep -q -e '-F _smb3sign smb3sign' || { echo "FAILED: nothing registered"; exit 1; }

commands=$("$tool" --help | awk '/^  [a-z]/ { print $1 }' | sort | paste -sd' ')
gives "--help --version $commands" ''
gives "--help --version" --
gives "cpu" cp
gives "verify verify-pcap" verify
gives "" nonsense
for command in $commands; do
	if "$tool" "$command" --help 2>&1 >/dev/null | grep 'built without'; then
		continue # says what it needs, and has no options in this build
	fi
	options=$({ echo --help && "$tool" "$command" --help | tr -c 'a-z-' '\n' | grep -E '^--[a-z]'; } | sort -u)
	gives "$(paste -sd' ' <<<"$options")" "$command" --
	for option in $options; do
		gives "$(grep "^$option" <<<"$options" | paste -sd' ')" "$command" "$option"
	done
	[[ $command == @(cpu|selftest|derive) ]] || gives_files "$command" ''
done

gives "cmac gmac hmac" sign --alg ''
gives "cmac" sign --alg = c
gives "cmac gmac hmac" sign --alg =
gives "" sign --key ''
gives_files sign --output x
gives_files derive --message ''
gives_files verify-pcap --quiet x
gives "" verify-pcap --session-key ''
gives "-q" verify-pcap -q
# "-f, --filter EXPRESSION": a word of the user's own behind either.
for option in $("$tool" verify-pcap --help | sed -n 's/^  \(-.\), --[a-z-]* [A-Z][A-Z]* .*/\1/p'); do
	gives "" verify-pcap "$option" ''
done

zero=00000000000000000000000000000000
for option in alg dialect use length; do
	others=(derive --session-key "$zero")
	[[ $option != alg ]] || others=(verify --key "$zero" missing)
	complete_line "${others[0]}" "--$option" ''
	values=("${COMPREPLY[@]}")
	checks=$((checks + 1))
	if [[ ${#values[@]} -lt 2 ]] || ! refuses "--$option" nonsense "${others[@]}"; then
		echo "FAILED: --$option: the values are '${values[*]-}', and nonsense is another"
		failures=$((failures + 1))
	fi
	for value in "${values[@]}"; do
		checks=$((checks + 1))
		if refuses "--$option" "$value" "${others[@]}"; then
			echo "FAILED: smb3sign refuses --$option $value"
			failures=$((failures + 1))
		fi
	done
done

echo "$checks checks, $failures failed"
[[ $failures -eq 0 ]]
