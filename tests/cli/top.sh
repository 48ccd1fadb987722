# SPDX-License-Identifier: GPL-3.0-or-later
# Live criticality of a statically linked program, of which never more than one thread works.

status=0
"$CORECAST" top 2>stderr || status=$?
grep -q 'the number of a process' stderr
[ "$status" -eq 2 ]

sleep 0 &
gone=$!
wait "$gone"
status=0
"$CORECAST" top -p "$gone" 2>stderr || status=$?
[ "$status" -eq 1 ]
if ! grep -q 'no process' stderr; then
	sed 's/^corecast: //' stderr
	exit 77
fi

"$CORECAST_BUILD/tests/programs/turns" 4000 12 4 >turns &
program=$!
trap 'kill "$program" 2>kill.log || true' EXIT
"$CORECAST" top -p "$program" -n 2 -d 0.3 >text
[ "$(grep -c 'threads active' text)" -eq 2 ]
grep -q ' first$' text
grep -q ' second$' text
awk 'length($0) > 80 { print "wide: " $0; bad = 1 } END { exit bad }' text

"$CORECAST" top -p "$program" -n 3 -d 0.3 --json >json
[ "$(wc -l <json)" -eq 3 ]
if command -v jq >jq.path; then
	# The criticality of all threads is the time in which one of them was active. The two are read one after the other:
	# who loses its core in between has them further apart.
	jq -es 'map(([.threads[].criticality_s] | add) - (.elapsed_s - .idle_s) | fabs) | min < 0.005 and max < 0.3' json >checks
fi

# What the process had started before is watched, too: a server's workers.
bash -c '"$CORECAST_BUILD/tests/programs/turns" 4000 12 4 & echo $! >child; wait' >turns.below &
parent=$!
trap 'kill "$program" "$parent" "$(cat child)" 2>kill.log || true' EXIT
until [ -s child ]; do sleep 0.01; done
"$CORECAST" top -p "$parent" -n 1 -d 0.3 --json >json
grep -q '"second"' json
kill "$(cat child)"

# Threads that are called alike are told apart.
"$CORECAST_BUILD/examples/peaks" 3 5000 >peaks.out &
alike=$!
trap 'kill "$program" "$alike" 2>kill.log || true' EXIT
"$CORECAST" top -p "$alike" -n 2 -d 0.3 >text
grep -Eq "'peaks' \([0-9]+\)" text
kill "$alike"

# It ends with the program, and by a signal.
"$CORECAST" top -p "$program" -d 0.1 >last 2>stderr &
top=$!
for _ in $(seq 200); do # until it watches
	grep -s 'threads active' last >found && break
	sleep 0.1
done
kill "$program"
wait "$top"
grep -q 'has ended' stderr
