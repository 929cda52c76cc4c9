# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Completion of dapple(1) for bash. Commands and options are those that `dapple --help` prints.

# _dapple_commands DAPPLE, _dapple_options DAPPLE COMMAND: one a line.
_dapple_commands() { "$1" --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p'; }
_dapple_options() { "$1" "$2" --help 2>/dev/null | grep -oE -- '(^|[ [])--?[a-z0-9][a-z-]*' | grep -oE -- '-.*' | sort -u; }

_dapple() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]-} i
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$(_dapple_commands "$1") --help --version" -- "$cur")
		return
	fi
	# The program of run and pair, and its arguments: from the first word that is neither option nor value.
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) ((i++)); break ;;
		--adapter | --mtu | --wait | --grace | --timeout | --record) ((i++)) ;;
		-*) ;;
		*) break ;;
		esac
	done
	case $command in
	run | pair)
		if ((i < COMP_CWORD)) || [[ ${COMP_WORDS[COMP_CWORD-1]} == -- ]]; then
			if declare -F _comp_command_offset >/dev/null; then
				_comp_command_offset "$i"
			elif declare -F _command_offset >/dev/null; then
				_command_offset "$i"
			elif ((i == COMP_CWORD)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			fi
			return
		fi ;;
	esac
	if [[ $command == fabric && $COMP_CWORD == 2 && $cur != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "up down list show link node edit sm run agent" -- "$cur")
	elif [[ $command == srp && $COMP_CWORD == 2 && $cur != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "id discover login luns inquiry capacity read write verify unmap nbd serve" -- "$cur")
	elif [[ $command == show && $COMP_CWORD == 2 && $cur != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "qp cq mr cm_id link" -- "$cur")
	elif [[ $command == fault && $COMP_CWORD == 2 && $cur != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "try $("$1" fault --list 2>/dev/null | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p')" -- "$cur")
	elif [[ $command == explain && $cur != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$1" explain --list 2>/dev/null | sed 's/ .*//')" -- "$cur")
	elif [[ $prev == --adapter ]]; then
		mapfile -t COMPREPLY < <(compgen -W "roce iwarp" -- "$cur")
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_dapple_options "$1" "$command") --help" -- "$cur")
	elif [[ $command == run || $command == pair ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	fi
}
complete -F _dapple dapple
