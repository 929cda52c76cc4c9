#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The conformance programs once more on an entry that says nonthreadsafe:
# nonthreadsafe.sh PROVIDER KIND PROGRAM... KIND: roce or iw, named as the built-in entry is.
set -u
conf=$(mktemp) || exit 1
trap 'rm -f "$conf"' EXIT
echo "dapple-$2-lo u2.0 nonthreadsafe default $1 dapple.2.0 \"dpl_$2_lo 1\" \"\"" >"$conf"
DAT_OVERRIDE=$conf DAPPLE_DAT_IA=dapple-$2-lo
export DAT_OVERRIDE DAPPLE_DAT_IA
shift 2
ran=0
for program; do
	timeout 300 "$program" || { echo "$program: exit $?"; exit 1; }
	ran=$((ran + 1))
done
echo "$ran programs"
[ "$ran" -gt 0 ]
