#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A program that needs a symbol of a later release is told so by dapple run before the loader ends it: from its own
# dynamic section, from a library that it links, and from a plug-in.
. "$(dirname "$0")/tool_lib.sh"
export PATH="$work:$PATH"

# build OUTPUT SOURCE ARGUMENT...
build() {
	out=$1 src=$2
	shift 2
	echo "$src" >"$work/x.c"
	cc -o "$work/$out" "$work/x.c" "$@" || { echo "no compiler"; exit 77; }
}

mkdir "$work/later"
printf 'IBVERBS_1.1 { global: ibv_fork_init; };\nIBVERBS_1.99 { global: ibv_later; } IBVERBS_1.1;\n' >"$work/map"
build later/libibverbs.so.1 'int ibv_later(void); int ibv_later(void) { return 0; }
int ibv_fork_init(void); int ibv_fork_init(void) { return 0; }' \
	-shared -fPIC -Wl,-soname,libibverbs.so.1 -Wl,--version-script="$work/map"

build program 'int ibv_later(void); int main(void) { return ibv_later(); }' "$work/later/libibverbs.so.1"
"$DAPPLE" run -- "$work/program" >"$work/out" 2>&1 && fault "a program without its symbol ran"
has "dapple: $work/program: it needs ibv_later@IBVERBS_1.99 of libibverbs.so.1"
has "install a newer Dapple"
"$DAPPLE" run -- program >"$work/out" 2>&1
has "program: it needs ibv_later@IBVERBS_1.99"

build libmiddle.so 'int ibv_later(void); int middle(void); int middle(void) { return ibv_later(); }' \
	-shared -fPIC -Wl,-soname,libmiddle.so "$work/later/libibverbs.so.1"
build behind 'int middle(void); int main(void) { return middle(); }' -Wl,-rpath,'$ORIGIN' "$work/libmiddle.so" \
	-Wl,--allow-shlib-undefined
"$DAPPLE" run -- "$work/behind" >"$work/out" 2>&1 && fault "a library without its symbol loaded"
has "libmiddle.so: it needs ibv_later@IBVERBS_1.99 of libibverbs.so.1"

# A plug-in, and a library behind it, of a library that the program links: here UCX's.
build libucs.so.0 'int ucs(void); int ucs(void) { return 0; }' -shared -fPIC -Wl,-soname,libucs.so.0
build loads 'int ucs(void); int main(void) { return ucs(); }' -Wl,-rpath,'$ORIGIN' "$work/libucs.so.0"
mkdir "$work/ucx"
build ucx/libuct_later.so.0 'int middle(void); int uct(void); int uct(void) { return middle(); }' -shared -fPIC \
	-Wl,-rpath,'$ORIGIN/..' "$work/libmiddle.so" -Wl,--allow-shlib-undefined
ln -s libuct_later.so.0 "$work/ucx/libuct_later.so"
expect 0 "$DAPPLE" run -- "$work/loads"
has "libmiddle.so: it needs ibv_later@IBVERBS_1.99 of libibverbs.so.1"; has "go without it"; lines 1
mkdir "$work/empty"
UCX_MODULE_DIR=$work/empty expect 0 "$DAPPLE" run -- "$work/loads"; hasnt "it needs"
build ucx/libuct_self.so.0 'int ibv_later(void); int uct(void); int uct(void) { return ibv_later(); }' -shared -fPIC \
	"$work/later/libibverbs.so.1"
expect 0 "$DAPPLE" run -- "$work/loads"; has "libuct_self.so.0: it needs"; lines 2

# Silence for a program that has all it needs, and for files that are no program of this machine.
build fine 'int ibv_fork_init(void); int main(void) { return 0 && ibv_fork_init(); }' "$work/later/libibverbs.so.1"
expect 0 "$DAPPLE" run -- "$work/fine"; hasnt "it needs"
head -c 3000 "$work/program" >"$work/torn"; chmod +x "$work/torn"
"$DAPPLE" run -- "$work/torn" >"$work/out" 2>&1; hasnt "it needs"
printf '#!/bin/sh\nexit 3\n' >"$work/script"; chmod +x "$work/script"
expect 3 "$DAPPLE" run -- "$work/script"; hasnt "it needs"
finish
