#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The static probes of libdapple.so.0: each is there, and gdb stops at them and reads their arguments.
. "$(dirname "$0")/tool_lib.sh"

lib=$(eval "$("$DAPPLE" env)"; echo "${LD_LIBRARY_PATH%%:*}")/libdapple.so.0
readelf -n "$lib" >"$work/out"
grep -q stapsdt "$work/out" || { echo "built without <sys/sdt.h> (package systemtap-sdt-dev): there are no probes"; exit 77; }
for probe in post_send post_recv transmit receive complete qp_state verdict; do
	grep -A1 'Provider: dapple$' "$work/out" | grep -q "Name: $probe\$" || fault "no probe $probe"
done
command -v gdb >/dev/null || { echo "gdb is not installed: no probe is entered"; exit 77; }

# Each end of rping comes to RTS (3) once and posts requests; the numbers of queue pairs have 24 bits.
cat >"$work/gdb" <<'END'
set pagination off
set confirm off
set debuginfod enabled off
set breakpoint pending on
catch load libdapple
run
delete
break -probe-stap dapple:qp_state
commands
silent
printf "qp_state %u from %d to %d\n", $_probe_arg0, $_probe_arg1, $_probe_arg2
continue
end
break -probe-stap dapple:complete
commands
silent
printf "complete %u status %d\n", $_probe_arg0, $_probe_arg2
continue
end
continue
END
mkdir "$work/bin"
printf '#!/bin/sh\nexec gdb -nx -q -batch -x "%s" --args "%s" "$@"\n' "$work/gdb" "$(command -v rping)" >"$work/bin/rping"
chmod +x "$work/bin/rping"
for adapter in roce iwarp; do
	PATH="$work/bin:$PATH" timeout 300 "$DAPPLE" pair --adapter $adapter --wait 100 --grace 60 -- rping -V -C 3 >"$work/out" 2>&1
	if grep -q 'ptrace: Operation not permitted\|Cannot PTRACE' "$work/out"; then
		echo "this machine forbids ptrace: no probe is entered"
		exit 77
	fi
	cat "$work/out"
	[ "$(grep -Ec 'qp_state [0-9]+ from [0-9] to 3$' "$work/out")" = 2 ] || fault "$adapter: not both queue pairs come to RTS"
	[ "$(grep -Ec 'complete [0-9]+ status 0$' "$work/out")" -ge 12 ] || fault "$adapter: too few completions"
done
finish
