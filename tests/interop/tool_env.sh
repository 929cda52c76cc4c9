#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What dapple env prints survives eval whatever the values hold, and is what
# dapple run sets.
. "$(dirname "$0")/tool_lib.sh"

odd="it's \$HOME \`x\` \"q\" \\ *"
export DAPPLE_RUNTIME_DIR="$work/run $odd"
(eval "$("$DAPPLE" env)" && printf '%s\n' "$DAPPLE_TREE") >"$work/out" || fault "env"
case $(cat "$work/out") in
"$DAPPLE_RUNTIME_DIR"/net-*) ;;
*) fault "quoting: $(cat "$work/out")" ;;
esac
export DAPPLE_RUNTIME_DIR="$work/run"

(eval "$("$DAPPLE" env)" && env | grep -E '^(LD_|DAPPLE_|OMPI_|ASAN)' | sort) >"$work/a"
"$DAPPLE" run -- env | grep -E '^(LD_|DAPPLE_|OMPI_|ASAN)' | sort >"$work/b"
cmp "$work/a" "$work/b" || fault "env and run differ"
grep -q '^LD_PRELOAD=.*/libdapple-preload.so$' "$work/a" || fault "no preload"

# What the user set stays; lists grow once, however deep.
export OMPI_MCA_opal_common_ucx_tls=mine DAPPLE_ADAPTER=roce LD_LIBRARY_PATH=/nowhere
expect 0 "$DAPPLE" run -- env; has "OMPI_MCA_opal_common_ucx_tls=mine"
"$DAPPLE" run -- env | grep ^LD_ | sort >"$work/a"
"$DAPPLE" run -- "$DAPPLE" run -- env | grep ^LD_ | sort >"$work/b"
cmp "$work/a" "$work/b" || fault "lists grow when nested"
grep -q ':/nowhere$' "$work/a" || fault "the user's library path is lost"
expect 0 "$DAPPLE" env --no-preload; hasnt LD_PRELOAD
hasnt DAPPLE_SHARE
expect 0 "$DAPPLE" env --share; has DAPPLE_SHARE=
finish
