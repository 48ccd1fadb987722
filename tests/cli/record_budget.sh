# SPDX-License-Identifier: GPL-3.0-or-later
# Free locks are recorded in bursts when they must be: those left out are counted, and whatever somebody waits for,
# or waits with, is there all the same. N/M does not depend on how fast anything runs.
program=$CORECAST_BUILD/tests/programs/free_locks
record() {
	"$CORECAST" record --force --via preload --samples 0 -o "$1" --budget "$2" -- "$program" "${@:3}" 2>stderr
	"$CORECAST" export "$1" --to csv 2>>stderr >"$1.csv"
	"$CORECAST" export "$1" --to json 2>>stderr >"$1.json"
}

# 20000 of one lock, and two more.
record all.cct none 20000
jq -e '.free_locks == 20002 and .left_out == 0' all.cct.json >/dev/null
record few.cct 16/1024 20000
jq -e '.free_locks + .left_out == 20002 and .free_locks < 600' few.cct.json >/dev/null
grep -q 'of the free locks are in it' stderr

# The same steps in the same order, free ones of the first lock apart: the lock that is waited for is held from when
# the waiter comes, the one that is slept with from when its holder sleeps, or from before.
steps() {
	awk -F, -v often="$(awk -F, '$4 == "pass" { print $6; exit }' "$1")" '
		BEGIN { names["often"] }
		$4 == "wait" || $4 == "pass" || $4 == "release" {
			if ($5 == "join" || $5 == "spin" || $6 == often) next # main yields until the waiter is there
			if (!($3 in threads)) threads[$3] = ++count
			print threads[$3], $4, $5, ($11 ? $11 : "free")
		}' "$1" | sort
}
diff <(steps all.cct.csv) <(steps few.cct.csv)
awk -F, '
	$4 == "wait" && $5 == "mutex" { waiter = $3; lock = $6; came = $1 }
	$4 == "pass" && $3 != waiter { taken[$6] = $1 }
	$4 == "release" && $3 != waiter && $6 == lock && !left { left = $1 }
	END { exit !(taken[lock] <= came && came <= left) }' <(sort -t, -k1,1n -k3,3nr few.cct.csv | cat)

# Estimates, and that they are some.
"$CORECAST" criticality --json few.cct >few.json
jq -e '[.locks[].acquisitions] | max | . > 18000 and . < 22000' few.json >/dev/null
jq -e '.free_share < 0.03 and ([.threads[].criticality_s] | add - '"$(jq .total_s few.json)"' | fabs < 1e-9)' few.json >/dev/null
"$CORECAST" criticality few.cct | grep 'free locks and unlocks are recorded, in bursts' >/dev/null

# As text and back.
"$CORECAST" export few.cct.csv --to cct -o again.cct 2>/dev/null
"$CORECAST" export again.cct --to csv 2>/dev/null | cmp - few.cct.csv

# By the clock: little work, so nearly everything is left out; all of it is counted, whatever the machine does.
record budget.cct 1% 400000
jq -e '.free_locks + .left_out == 400002 and .free_locks < 200000' budget.cct.json >/dev/null

# Who mostly waits is recorded whole, though that is much of the little that it does.
record idle.cct 5% 4000 16
jq -e '.free_locks == 4002 and .left_out == 0' idle.cct.json >/dev/null

# Requests, and what is handed over, are told of calls, too, whose wait is left out, where that is little of what is done.
program=$CORECAST_BUILD/tests/programs/unblocked
record unblocked.cct 5% 3000
jq -e '.events | map(select(.what == "queue" and .event == "release")) | length == 3000' unblocked.cct.json >/dev/null
jq -e '.events | map(select(.event == "request_begin" and .flags == ["implicit"])) | length == 3000' unblocked.cct.json >/dev/null
jq -e '.events | map(select(.event == "request_end")) | length == 3000' unblocked.cct.json >/dev/null

# 3 of each 12 are recorded, each for three more.
cat >weights.csv <<'END'
time_ns,tid,event,what,object,site,value
0,1,start
100,1,left_out,mutex,2,,6
200,1,pass,mutex,9
300,1,release,mutex,9
400,1,pass,mutex,9
600,1,release,mutex,9
700,1,pass,mutex,9
800,1,release,mutex,9
900,1,exit
END
"$CORECAST" criticality --json weights.csv |
	jq -e '.locks[0] | .acquisitions == 9 and .recorded_acquisitions == 3 and (.held_s * 1e9 | round) == 1300' >/dev/null

status=0
"$CORECAST" record --budget 5 -o never.cct -- true 2>stderr || status=$?
[ $status -eq 2 ] && grep -q "'5' is neither a percentage" stderr

# A replay and a model say what that means for them.
"$CORECAST" whatif --force few.cct --cores 2 2>/dev/null | tr -s '\n ' ' ' | grep 'free locks were left out' >/dev/null
