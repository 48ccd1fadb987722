# SPDX-License-Identifier: GPL-3.0-or-later
# Profiles of programs with known threads and locks: every stretch of the timeline was counted, and counts add up.
skip() {
	echo "$1"
	exit 77
}
command -v jq >/dev/null || skip "jq is not installed"
command -v qemu-x86_64 >/dev/null || skip "there is no emulator (qemu-user)"
[ -e "$CORECAST_BUILD/plugin/libcorecast-profile.so" ] || skip "this build has no plugin for the emulator"
programs=$CORECAST_BUILD/examples/bottlenecks

profile() {
	"$CORECAST" profile --force -o run.ccp --json -- "$@" 2>stderr | sed -n '/^{/,$p' >json
}

# threads NAME ARGS...: nothing lost, nothing unmatched, sums are sums.
whole() {
	profile "$@"
	jq -e '.quality.unmatched == 0 and .quality.lost == 0 and (.quality.is_partial | not) and .quality.has_timeline
		and .instructions == ([.threads[].instructions] | add)
		and .instructions == ([.classes[].instructions] | add)
		and .instructions == ([.mix[]] | add)' json >/dev/null || {
		echo "$1:"
		jq .quality json
		cat stderr
		exit 1
	}
}

whole "$programs/hot_lock" -t 2 -s 0.1
jq -e '(.threads | length) == 3 and ([.threads[].name] | sort) == ["hot_lock", "worker-0", "worker-1"]
	and (.command | endswith("hot_lock -t 2 -s 0.1"))' json >/dev/null
# Both workers do the same, four fifths of it under the lock.
jq -e '[.threads[] | select(.name != "hot_lock") | .instructions] | (max - min) / max < 0.01' json >/dev/null
jq -e '([.classes[] | select(.kind == "pass" and .what == "mutex") | .instructions] | add) / .instructions
	| . > 0.7 and . < 0.9' json >/dev/null

# The file can be asked, too.
if command -v sqlite3 >/dev/null; then
	[ "$(sqlite3 run.ccp 'SELECT count(*) FROM threads')" -eq 3 ]
	[ "$(sqlite3 run.ccp 'SELECT count(*) FROM classes c WHERE instructions !=
		(SELECT sum(instructions) FROM mix WHERE class = c.id)')" -eq 0 ]
	# As docs/formats/profile.md asks; names need libdw.
	sqlite3 run.ccp "$(sed -n '/sqlite3 app.ccp "SELECT object.name/,/"$/p' "$CORECAST_SOURCE/docs/formats/profile.md" |
		sed 's/.*app.ccp "//; s/"$//')" >locks
	[ "$(cut -d'|' -f5 locks)" = "$(jq '[.classes[] | select(.kind == "pass" and .what == "mutex") | .stretches] | add' json)" ]
	if ldd "$CORECAST" | grep libdw >/dev/null; then
		grep -E '^table_lock\|work\|.*/hot_lock.c\|21\|' locks >/dev/null
	fi
fi

# Its timeline is one like others; one of the things in it is that both workers locked as often.
"$CORECAST" export run.ccp --to csv >run.csv 2>stderr
grep -c 'CPU time is an instruction' stderr >/dev/null
[ "$(grep -c ',pass,mutex,' run.csv)" -eq "$(jq '[.classes[] | select(.kind == "pass" and .what == "mutex") | .stretches] | add' json)" ]
"$CORECAST" export run.ccp --to perfetto 2>/dev/null | jq -e '.traceEvents | length > 10' >/dev/null

# Again, and nearly the same.
sums() {
	jq -c '[.classes | group_by([.kind, .what])[] | {key: "\(.[0].kind) \(.[0].what)", value: (map(.instructions) | add)}]
		| from_entries' json
}
before=$(sums)
whole "$programs/hot_lock" -t 2 -s 0.1
jq -e --argjson before "$before" --argjson after "$(sums)" -n '($before | keys) == ($after | keys)
	and all($before | to_entries[]; $after[.key] as $again | .value < 100000 or (.value - $again | fabs) / $again < 0.02)' >/dev/null || {
	echo "two profiles differ: $before, $(sums)"
	exit 1
}

# However threads happen to be interleaved, predictions from two profiles are within 3% of each other.
predicted_ms() {
	whole "$CORECAST_BUILD/examples/kernels/pathfinder" -n 4 -s 0.1
	"$CORECAST" predict run.ccp --machine base --json | jq '.machines[0].predicted_s * 1e3'
}
first=$(predicted_ms)
second=$(predicted_ms)
jq -n -e --argjson a "$first" --argjson b "$second" '($a - $b | fabs) / $a < 0.03' >/dev/null || {
	echo "predictions from two profiles: $first ms, $second ms"
	exit 1
}

# The recorder and the C library's locks are not counted: what is left of a lock and an unlock is a call (27 instructions without optimisation). (The linker
# works for the first thread that makes it.)
whole "$CORECAST_BUILD/tests/programs/crowd" threads 4
jq -e '[.classes[] | select(.kind == "pass" and .what == "mutex") | .instructions / .stretches] | min < 36' json >/dev/null

# Who wakes others by the program's own futex goes on working, and that counts.
whole "$CORECAST_BUILD/tests/programs/own_futex"
jq -e '[.threads[].instructions | select(. > 1000000)] | length == 4 and (max - min) / max < 0.01 and min > 40 * 400000 * 3' json >/dev/null || {
	echo "threads that wake others by a futex of their own:"
	jq -c '.threads' json
	exit 1
}

# Which way the recorder goes with a mutex makes no difference: of each kind four classes of stretches, equal two by two.
whole "$CORECAST_BUILD/tests/programs/mutex_kinds"
jq -e '[.classes[] | select(.stretches > 10000) | {kind, per: (.instructions / .stretches)}] | length == 4
	and (group_by(.kind) | length == 2 and all(length == 2 and (.[0].per - .[1].per | fabs) < 0.2))' json >/dev/null || {
	echo "mutexes of two kinds:"
	jq -c '.classes[] | select(.stretches > 10000) | [.kind, .instructions, .loads, .stretches]' json
	exit 1
}

# Nor is it lost that a lock was tried only.
"$CORECAST" export run.ccp --to csv 2>/dev/null >run.csv
[ "$(grep -c ',pass,mutex,.*,tried,' run.csv)" -eq 300 ]

for program in balanced convoy slow_stage skewed_barrier starved_reader c11_lock; do
	whole "$programs/$program" -t 2 -s 0.02
done
for program in openmp_loop cpp_producer; do
	if [ -x "$programs/$program" ]; then
		whole "$programs/$program" -t 2 -s 0.02
	fi
done

# A file that asks what the processor can do and executes much is named, here and with predictions.
whole "$CORECAST_BUILD/tests/programs/asking"
jq -e '.quality.asking == "asking" and .quality.asking_share > 0.9' json >/dev/null
"$CORECAST" predict run.ccp --machine base --json | jq -e '.notes | any(contains("of asking, which asks"))' >/dev/null
whole "$programs/hot_lock" -t 2 -s 0.002
jq -e '.quality.asking_share < 0.05' json >/dev/null
"$CORECAST" predict run.ccp --machine base --json | jq -e '.notes | any(contains("CPUID")) | not' >/dev/null

# A call that never slept is no wait, however often others took its core meanwhile.
(
	busy=
	if command -v taskset >/dev/null; then
		core=$(taskset -cp "$BASHPID" | sed 's/.*: //; s/[-,].*//')
		taskset -cp "$core" "$BASHPID" >/dev/null
		while :; do :; done &
		busy=$!
	fi
	profile dd if=/dev/zero of=/dev/null bs=64M count=3
	[ -z "$busy" ] || kill "$busy"
)
"$CORECAST" export run.ccp --to csv >run.csv 2>stderr
[ "$(grep -c ',wait,io,' run.csv)" -eq 0 ]
# What the kernel did in it is told.
if command -v sqlite3 >/dev/null; then
	[ "$(sqlite3 run.ccp 'SELECT sum(count) >= 6 AND sum(ns) > 1000000 FROM system_calls')" -eq 1 ]
fi

# Also of a thread whose calls all take long.
if command -v sqlite3 >/dev/null; then
	profile "$CORECAST_BUILD/tests/programs/long_calls"
	[ "$(sqlite3 run.ccp 'WITH per AS (SELECT sum(ns) AS ns, sum(count) AS count FROM system_calls s JOIN classes c ON c.id = s.class WHERE c.thread > 0 GROUP BY c.thread)
		SELECT count(*), min(count) BETWEEN 20 AND 25, min(ns) > 0.5 * max(ns) FROM per')" = "2|1|1" ] || {
		sqlite3 run.ccp 'SELECT c.thread, sum(s.count), sum(ns) FROM system_calls s JOIN classes c ON c.id = s.class GROUP BY c.thread'
		exit 1
	}
fi

# What is no call's number is not counted: 1,000 of getppid() and as many of a number that no call has yet.
if command -v sqlite3 >/dev/null; then
	profile "$CORECAST_BUILD/tests/programs/odd_calls"
	[ "$(sqlite3 run.ccp 'SELECT sum(count) BETWEEN 2000 AND 2050 FROM system_calls')" -eq 1 ]
fi

# With every instruction, a profile is as without: it has the samples that predictions are made of.
"$CORECAST" profile --force --instructions trace -o run.ccp --json -- "$programs/hot_lock" -t 2 -s 0.002 2>stderr | sed -n '/^{/,$p' >json
jq -e '.quality.micro_traces > 3 and .quality.unmatched == 0 and .quality.lost == 0' json >/dev/null
[ "$(stat -c %s trace)" -gt "$(($(jq .instructions json) / 5))" ] # a word for each block

# The recorder's own calls, as its file grows and for the time where the counter does not tell it, are not the program's.
whole "$CORECAST_BUILD/examples/kernels/fluid" -n 1 -s 0.1
if command -v sqlite3 >/dev/null; then
	[ "$(sqlite3 run.ccp "WITH locks AS (SELECT id, stretches FROM classes WHERE kind = 'pass' AND what = 'mutex')
		SELECT (SELECT sum(stretches) FROM locks) > 5000
			AND (SELECT coalesce(sum(count), 0) FROM system_calls WHERE class IN (SELECT id FROM locks)) < 5
			AND (SELECT sum(instructions) FROM mix WHERE code_class = 'system') < 500")" -eq 1 ]
fi

# A program that becomes another one: that is profiled, also if it begins with another environment.
whole sh -c "exec env -i TMPDIR=. '$programs/hot_lock' -t 2 -s 0.02"
jq -e '(.threads | length) == 3 and ([.threads[].name] | sort) == ["hot_lock", "worker-0", "worker-1"]
	and (.command | endswith("hot_lock -t 2 -s 0.02"))' json >/dev/null
# Not if other processes have written to the timeline.
profile sh -c "true & wait; /bin/true; exec '$programs/hot_lock' -t 2 -s 0.002"
grep -q 'started other processes' stderr
jq -e '(.command | startswith("sh -c")) and (.threads | length) == 1' json >/dev/null

# However few cores there are: threads go at one pace, so that they take the same shares of the jobs that a counter deals out.
# A thread that others keep from its core for long is not waited for: a run beside which others took more than a tenth of a
# core says nothing, unless it was even.
is_even() {
	profile "$CORECAST_BUILD/examples/kernels/interpreter" -n 8 -s 0.6
	jq -e '[.threads[] | select(.name != "interpreter") | .instructions] | length == 8 and max / (add / length) < 1.3' json >/dev/null
}
# Seconds of all cores that were busy, or taken by other virtual machines.
busy_s() {
	awk -v ticks="$(getconf CLK_TCK)" '$1 == "cpu" { print ($2 + $3 + $4 + $7 + $8 + $9) / ticks }' /proc/stat
}
if [ -x "$CORECAST_BUILD/examples/kernels/interpreter" ]; then
	TIMEFORMAT='%R %U %S'
	for _ in 1 2 3; do
		before=$(busy_s)
		{ time { is_even && touch even; }; } 2>took || true
		[ ! -e even ] || break
		echo "$before $(busy_s) $(cat took)" | awk '{ exit !($2 - $1 - $4 - $5 > 0.1 * $3) }' || {
			echo "threads have uneven shares, and had the cores to themselves:"
			jq -c '[.threads[] | {name, instructions}]' json
			exit 1
		}
	done
fi
