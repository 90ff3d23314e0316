# SPDX-License-Identifier: MIT
# bash completion for smb3sign(1). Commands, options and what an option takes come from the command's own --help, so that
# they are those of the version in use; only the words that an option chooses from stand here.

# _smb3sign_option_argument OPTION: reads a --help and prints what stands for the option's argument, as FILE or HEX.
_smb3sign_option_argument()
{
	sed -n "s/^  \(-., \)\{0,1\}$1\(, --[a-z-]*\)\{0,1\}[ =]\([^ ]*[A-Z%]\{2,\}[^ ]*\).*/\3/p" | head -n 1
}

_smb3sign()
{
	local tool=${1/#\~/$HOME} cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} words='' argument

	# "--alg=cm" is three words, "--alg", "=" and "cm".
	if [[ $cur == = ]]; then
		cur=
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		words=$("$tool" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p')
		mapfile -t COMPREPLY < <(compgen -W "$words --help --version" -- "$cur")
		return
	fi
	case $option in
	--alg) words='gmac cmac hmac' ;;
	--dialect) words='2.0.2 2.1 3.0 3.0.2 3.1.1' ;;
	--use) words='signing c2s s2c application' ;;
	--length) words='16 32' ;;
	-*)
		argument=$("$tool" "$command" --help 2>/dev/null | _smb3sign_option_argument "$option")
		if [[ $argument == *FILE* || $argument == *CAPTURE* ]]; then
			compopt -o default
			return
		fi
		[[ -z $argument ]] || return
		;;
	esac
	if [[ -z $words && $cur == -* ]]; then
		words=$("$tool" "$command" --help 2>/dev/null | grep -oE -e '(^|[[:space:],[])--?[a-z][a-z-]*' | grep -oE -e '-.*')
		words+=' --help'
	fi
	if [[ -n $words ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur" | sort -u)
	else
		compopt -o default # a message, a capture
	fi
}

complete -F _smb3sign smb3sign
