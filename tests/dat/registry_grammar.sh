#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Odd lines of dat.conf as the distribution's registry and Dapple's read them:
# registry_grammar.sh OURS. LIST is the program that lists.
#
# Ours refuses two kinds that the distribution's takes: no name, and no library (to load the empty
# name would load the program itself). A third one, u2 without a minor version, the distribution's takes or refuses by
# the memory behind that word, which it reads; ours refuses it.
set -u
DAT_OVERRIDE=$(dirname "$0")/registry_odd.conf
export DAT_OVERRIDE
theirs=$("$LIST" system) || { status=$?; printf '%s\n' "$theirs"; exit $status; }
theirs=$(printf '%s\n' "$theirs" | grep -v -e 'ERR: corrupt' -e '^ 2.0' -e '^b6 ' -e '^a6 ')
ours=$("$LIST" "$1") || exit 1
[ "$(printf '%s\n' "$ours" | wc -l)" -ge 9 ] || { echo "too few lines: $ours"; exit 1; }
[ "$ours" = "$theirs" ] || { printf 'ours:\n%s\ntheirs:\n%s\n' "$ours" "$theirs"; exit 1; }
