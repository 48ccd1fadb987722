# SPDX-License-Identifier: GPL-3.0-or-later
# Recording from the kernel: a statically linked program, from its start and while it runs.

sleep 0 &
gone=$!
wait "$gone"
status=0
"$CORECAST" record --via bpf -o none.cct -p "$gone" 2>stderr || status=$?
[ "$status" -eq 1 ]
test ! -e none.cct
if ! grep -q 'no process' stderr; then
	sed 's/^corecast: //' stderr
	exit 77
fi

turns=$CORECAST_BUILD/tests/programs/turns
"$CORECAST" record -o run.cct -- "$turns" 20 12 4 >turns 2>stderr
grep -q 'recording via bpf, because .*statically linked' stderr
grep -q ', 0 lost$' stderr
"$CORECAST" export run.cct --to csv >run.csv
for name in first second; do
	tid=$(awk -v name="$name" '$1 == name { print $2 }' turns)
	grep -q "^[0-9]*,[0-9]*,$tid,name,thread,.*\"$name\"" run.csv
	[ "$(grep -c "^[0-9]*,[0-9]*,$tid,exit," run.csv)" -eq 1 ]
	# It waited for its turns in a futex, and the other, or the main thread, woke it: of 20 turns, a busy
	# machine lets most begin before the thread has gone to wait.
	[ "$(grep -c "^[0-9]*,[0-9]*,$tid,pass,futex," run.csv)" -ge 1 ]
	[ "$(grep -c "^[0-9]*,[0-9]*,$tid,woken,futex,[0-9a-fx]*,,[1-9]" run.csv)" -ge 1 ]
done

# The main thread joined both: each wait names the thread that it is for.
awk '{ print $2 }' turns | while read -r tid; do
	grep -c "^[0-9]*,[0-9]*,[0-9]*,wait,join,[^,]*,[^,]*,$tid," run.csv || true
done >joins
grep -q -v '^0$' joins
# Whose end it was has let the main thread go.
awk -F, '$4 == "wait" { joined[$3] = $5 == "join" ? $8 : 0 }
	$4 == "woken" && joined[$3] && $8 != joined[$3] { exit 1 }' run.csv

# The program's own failure, and a program that cannot be started.
status=0
"$CORECAST" record --via bpf --force -o run.cct -- sh -c 'exit 3' 2>stderr || status=$?
[ "$status" -eq 1 ]
grep -q 'exited with status 3' stderr
"$CORECAST" export run.cct --to csv >run.csv
if "$CORECAST" record --via bpf -o none.cct -- ./none 2>stderr; then
	exit 1
fi
test ! -e none.cct

# More threads than the kernel has numbers: each is seen, and nobody else's.
"$CORECAST" record --via bpf --force -o run.cct -- "$CORECAST_BUILD/tests/programs/short" 40000 2>stderr
grep -q ' of 1 process,.* 0 lost$' stderr
"$CORECAST" export run.cct --to csv | awk -F, '$4 == "exit" { n++ } END { exit n != 40001 }'

# Processor time goes on until a thread's end: since it got its core for the last time, as long as that.
"$CORECAST" record --via bpf --samples 0 --force -o run.cct -- sh -c '(exit 0); (exit 0); (exit 0)' 2>stderr
"$CORECAST" export run.cct --to csv | awk -F, '
	$4 == "run" || $4 == "pass" { ran[$3] = $1; cpu[$3] = $10 }
	$4 == "exit" && ran[$3] { n++; if ($10 - cpu[$3] != $1 - ran[$3]) exit 1 }
	END { exit n < 3 }'

# A wait within the C library is blamed on the program's own call.
"$CORECAST" record --via bpf --samples 0 --force -o run.cct -- "$CORECAST_BUILD/examples/bottlenecks/hot_lock" -t 3 -s 0.1 \
	>stdout 2>stderr
"$CORECAST" criticality run.cct >text
if "$CORECAST" doctor | grep ' build .*, libdw' >found; then
	grep '^ .*work (hot_lock.c:[0-9]*)$' text >found
fi

# Until the file has something of the program.
await_events() {
	for _ in $(seq 100); do
		"$CORECAST" export "$1" --to csv 2>log | grep ',pass,futex,' >found && return
		sleep 0.1
	done
	return 1
}

# One that runs already, for a while; then until a signal; it is not disturbed.
"$turns" 4000 12 4 >turns &
program=$!
trap 'kill "$program" 2>kill.log || true' EXIT
"$CORECAST" record -o attached.cct -p "$program" -d 0.4 2>stderr
"$CORECAST" export attached.cct --to csv >attached.csv
grep -q ',name,thread,.*"first"' attached.csv
"$CORECAST" record -o stopped.cct -p "$program" 2>stderr &
recorder=$!
await_events stopped.cct
kill "$recorder"
wait "$recorder"
"$CORECAST" export stopped.cct --to csv >stopped.csv
kill -0 "$program"

# With what it had started before: a shell's child, which alone works.
bash -c '"$CORECAST_BUILD/tests/programs/turns" 4000 12 4 & echo $! >child; wait' >turns.below &
parent=$!
trap 'kill "$program" "$parent" "$(cat child)" 2>kill.log || true' EXIT
until [ -s child ]; do sleep 0.01; done
for _ in $(seq 50); do # on a busy machine it may have no core for a while
	"$CORECAST" record --force -o below.cct -p "$parent" -d 0.4 2>stderr
	"$CORECAST" export below.cct --to csv >below.csv
	grep -q 'samples of what ran' stderr || break
	! grep -q ',sample,' below.csv || break
done
grep -q ',name,thread,.*"first"' below.csv
if grep -q 'samples of what ran' stderr; then
	grep -q ',sample,' below.csv
fi
kill "$(cat child)"

# Killed: what was recorded is there.
"$CORECAST" record --force -o killed.cct -p "$program" 2>stderr &
recorder=$!
await_events killed.cct
kill -9 "$recorder"
wait "$recorder" 2>stderr || true
"$CORECAST" export killed.cct --to csv >killed.csv 2>stderr
grep -q ',pass,futex,' killed.csv
kill -0 "$program"
