# SPDX-License-Identifier: GPL-3.0-or-later
# The library and the kernel record one run together: one timeline, in which no wait is told twice.
program=$CORECAST_BUILD/examples/bottlenecks/skewed_barrier
if ! "$CORECAST" record --via both -o run.cct -- "$program" -t 4 >stdout 2>stderr; then
	sed 's/^corecast: //' stderr
	exit 77
fi
grep -q ', 0 lost$' stderr
"$CORECAST" export run.cct --to csv >run.csv

# Each thread ends once (its routine may be news after its start); no wait begins inside another; the scheduler's part is there.
awk -F, '
	$4 == "start" { starts[$3]++ } $4 == "exit" { exits[$3]++ }
	$4 == "wait" { if (waits[$3]) { print "a wait in a wait:", $0; bad = 1 } waits[$3] = 1 }
	$4 == "woken" || $4 == "pass" { waits[$3] = 0 }
	$4 == "run" || $4 == "preempt" { cores++ }
	$4 == "wait" && $5 == "barrier" { barriers++ }
	END {
		for (t in starts) if (starts[t] > 2 || exits[t] != 1) { print "thread", t, starts[t], exits[t]; bad = 1 }
		exit bad || cores == 0 || barriers == 0
	}' run.csv

# The library names the object, the kernel adds who had a core. Seven times as much work as the others makes worker-1
# the most critical thread on any machine, by both recorders and by the kernel's alone.
"$CORECAST" criticality run.cct --json >run.json
jq -e '.threads[0].name == "worker-1"' run.json >jq.out
jq -e '[.locks[] | select(.kind == "barrier") | .waits] | add > 0' run.json >jq.out
"$CORECAST" criticality run.cct >text
! grep 'Who had a core was not recorded' text
"$CORECAST" criticality run.cct --active on-cpu --json >jq.out
"$CORECAST" record --via bpf -o kernel.cct -- "$program" -t 4 >stdout 2>stderr
"$CORECAST" criticality kernel.cct --json | jq -e '.threads[0].name == "worker-1"' >jq.out

# What a thread runs is told by the library, which stands around it where the kernel looks.
if ! "$CORECAST" doctor | grep -E 'no (libdw|libiberty)' >doctor.out; then
	"$CORECAST" record --via both --samples 0 --force -o run.cct -- "$CORECAST_BUILD/tests/programs/queue_user" >stdout 2>stderr
	"$CORECAST" criticality run.cct --json | jq -e '[.threads[] | select(.routine == "take_items") | .name | test("^take_items ")] == [true]' >jq.out
fi
