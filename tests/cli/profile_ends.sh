# SPDX-License-Identifier: GPL-3.0-or-later
# However a profiled program or its profiler ends, there is no file, or one that says what it lacks.
skip() {
	echo "$1"
	exit 77
}
command -v jq >/dev/null || skip "jq is not installed"
command -v qemu-x86_64 >/dev/null || skip "there is no emulator (qemu-user)"
[ -e "$CORECAST_BUILD/plugin/libcorecast-profile.so" ] || skip "this build has no plugin for the emulator"

profile() {
	local status=0
	"$CORECAST" profile --force -o run.ccp --json "$@" >out 2>stderr || status=$?
	echo "status $status"
	sed -n '/^{/,$p' out >json
}
# fact FILTER: true of the JSON.
fact() {
	jq -e "$1" json >/dev/null || {
		echo "not so: $1"
		jq .quality json
		exit 1
	}
}

echo "-- its own failure"
profile -- sh -c 'echo out; exit 3'
tail -n 1 stderr
head -n 1 out
fact '.quality.is_partial | not'

echo "-- an instruction that the emulator has not"
rm -f run.ccp
profile -- sh -c 'kill -ILL $$'
grep '^corecast' stderr
[ ! -e run.ccp ]

echo "-- killed"
profile -- sh -c 'kill -KILL $$'
tail -n 1 stderr
fact '.quality.is_partial'

echo "-- interrupted"
mkfifo fifo
rm run.ccp
(
	status=0
	"$CORECAST" profile --json -o run.ccp -- cat fifo >out 2>stderr || status=$?
	echo "$status" >status
) &
exec 3>fifo # returns when the program has opened it
kill -INT "$(pgrep -f -x "$CORECAST profile --json -o run.ccp -- cat fifo")"
wait
exec 3>&-
cat status
tail -n 1 stderr
sed -n '/^{/,$p' out >json
fact '.quality.is_partial'

echo "-- interrupted before anything was counted"
mkdir stub
printf '#!/bin/sh\nkill -INT $$\n' >stub/qemu-x86_64
chmod +x stub/qemu-x86_64
PATH=$PWD/stub:$PATH "$CORECAST" profile -o none.ccp -- cat /dev/null 2>stderr || echo "status $?"
tail -n 1 stderr
[ ! -e none.ccp ]

echo "-- the profiler killed"
rm run.ccp
"$CORECAST" profile -o run.ccp -- cat fifo >out 2>stderr &
profiler=$!
exec 3>fifo
kill -KILL "$profiler"
wait "$profiler" || echo "status $?"
# The program has been told to end: it would be emulated for nobody.
while pgrep -f -x "[^ ]*qemu-x86_64 .*/proc/$profiler/fd/.* cat fifo" >/dev/null; do
	sleep 0.1
done
exec 3>&-
[ ! -e run.ccp ]
find "$TMPDIR" -name 'corecast-*'

echo "-- on a terminal"
if command -v script >/dev/null; then
	script -qec "$CORECAST profile --backend qemu -o shown.ccp -- sleep 1.2" typescript >/dev/null
	grep -c 'profiled for 1 s: [0-9.]*[kM]* instructions, 1 thread' typescript >/dev/null
	script -qec "$CORECAST profile --quiet --backend qemu -o quiet.ccp -- sleep 1.2" typescript >/dev/null
	[ "$(grep -c 'instructions' typescript)" -eq 0 ]
fi
profile --quiet -- true
[ ! -s stderr ]

echo "-- a process that it starts"
profile -- sh -c '/bin/true; echo done'
head -n 1 out
fact '.quality.is_partial | not'
grep -c 'only the first is profiled' stderr

echo "-- with handlers of signals"
"$CORECAST_BUILD/tests/programs/handlers" >plain
profile -- "$CORECAST_BUILD/tests/programs/handlers"
cat plain
sed '/^{/,$d' out | cmp plain - >&2
