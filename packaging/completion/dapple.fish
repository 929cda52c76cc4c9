# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Completion of dapple(1) for fish. Commands and options are those that `dapple --help` prints.

function __dapple_commands
	command dapple --help 2>/dev/null | sed -n 's/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end

function __dapple_options
	set -l words (commandline -opc)
	command dapple $words[2] --help 2>/dev/null | grep -oE -- '(^|[ [])--?[a-z0-9][a-z-]*' | grep -oE -- '-.*' | sort -u
end

function __dapple_first
	test (count (commandline -opc)) -eq 1
end

complete -c dapple -n __dapple_first -f -a '(__dapple_commands)'
complete -c dapple -n 'not __dapple_first; and string match -q -- "-*" (commandline -ct)' -f -a '(__dapple_options)'
complete -c dapple -n 'string match -q -- --adapter (commandline -opc)[-1]' -f -a 'roce iwarp'
complete -c dapple -n '__fish_seen_subcommand_from show' -f -a 'qp cq mr cm_id link'
complete -c dapple -n '__fish_seen_subcommand_from fault' -f -a "try (command dapple fault --list 2>/dev/null | sed -n 's/^\\([a-z][a-z-]*\\) .*/\\1/p')"
complete -c dapple -n '__fish_seen_subcommand_from explain' -f -a "(command dapple explain --list 2>/dev/null | sed 's/ .*//')"
complete -c dapple -n '__fish_seen_subcommand_from run pair' -a '(__fish_complete_subcommand --fcs-skip=2)'
