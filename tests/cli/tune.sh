# SPDX-License-Identifier: GPL-3.0-or-later
# Finding a thread count while a program runs. The program ends when the log says what is waited for, so
# nothing depends on how fast this machine is.

# A program that is told its count by a command, and says its rate by another: 4 of 8 is the best.
cat >program <<'END'
while ! grep -q "$1" log.csv; do sleep 0.02; done
END
cat >rate <<'END'
n=$(cat count); echo "rate: $((100 - (n - 4) * (n - 4)))"
END
echo 1 >count
"$CORECAST" tune -m 'command:sh ./rate' -s 'command:echo {n} >count' -i 0.02 --max 8 --log log.csv --json \
	-- sh ./program 4,100,holding >found.json 2>messages
jq -c '[.version, .threads, .is_held, .restarts, .steps <= 8, (.measured | map(select(.threads == 4))[0].rate_per_s | round)]' \
	found.json
head -n 1 log.csv
grep -q 'holding 4: ' messages

# The same with the published controllers.
for policy in opresca binsearch; do
	"$CORECAST" tune -m 'command:sh ./rate' -s 'command:echo {n} >count' -i 0.02 --max 8 --log log.csv \
		--policy "$policy" --json -- sh ./program 'holding' 2>messages | jq -c '[.threads]'
done

# The load changes: the best is 7 then.
cat >rate <<'END'
n=$(cat count)
if grep -q '4,100,holding' log.csv; then echo $((300 - 5 * (n - 7) * (n - 7))); else echo $((100 - (n - 4) * (n - 4))); fi
END
"$CORECAST" tune -m 'command:sh ./rate' -s 'command:echo {n} >count' -i 0.02 --max 8 --log log.csv --json \
	-- sh ./program '7,300,holding' 2>messages | jq -c '[.threads, .restarts]'
grep -q 'the workload changed; ' messages

# One that runs already; its cores, and then all of them again.
before=$(taskset -p $$ | sed 's/.*: //')
sh -c 'while [ ! -e stop ]; do sleep 0.02; done' &
program=$!
# Ends it once it holds, however long that takes.
until_held() {
	: >messages
	"$CORECAST" tune -p "$program" -m 'command:sh ./rate' -i 0.02 "$@" 2>messages &
	tuner=$!
	until grep -q holding messages; do sleep 0.02; done
	kill "$tuner"
	wait "$tuner"
}
until_held -s 'command:echo {n} >count' --max 8
grep -q "held $(cat count) threads" messages
grep -q "process $program goes on with $(cat count) threads" messages
# One that leaves the cores idle is tried with more threads than cores, where nobody gave a bound.
sleep 1000 &
idle=$!
: >messages
"$CORECAST" tune -p "$idle" -m 'command:cat count' -s 'command:echo {n} >count' -i 0.02 2>messages &
tuner=$!
until grep -q 'of the cores are idle: up to' messages; do sleep 0.02; done
kill "$tuner"
wait "$tuner"
kill "$idle"
echo 4 >count # of 32 threads there is no rate
until_held -s affinity --min 1 --max 1
grep -q 'held 1 thread after' messages
if grep 'goes on with' messages; then exit 1; fi
after=$(taskset -p "$program" | sed 's/.*: //')
[ "$before" = "$after" ]

# The same for a program with cores of its own, when tuning is killed; then again, by the next, when its watchdog is too.
last=$(taskset -cp $$ | sed 's/.*[ ,-]//')
own=$(taskset -p "$program" | sed 's/.*: //')
export XDG_RUNTIME_DIR=$PWD/run
mkdir "$XDG_RUNTIME_DIR"
first=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
tune_until_set() { # ACTUATOR
	taskset -c "$first" "$CORECAST" tune -p "$program" -m 'command:sh ./rate' -s "$1" --min 1 --max 1 -i 0.02 \
		2>messages &
	tuner=$!
	for _ in $(seq 3000); do
		if [ "$(taskset -cp "$program" | sed 's/.*: //')" = "$first" ]; then
			return 0
		fi
		sleep 0.01
	done
	return 1
}
hows=affinity
: >log.csv
if "$CORECAST" tune -m 'command:sh ./rate' -s cpuset --max 1 -i 0.02 --log log.csv -- sh ./program holding 2>messages; then
	hows='affinity cpuset'
else
	grep -E 'Delegate=cpuset|mounts none' messages # nothing else is in the way
fi
if [ "$first" = "$last" ]; then
	hows=
fi
until_ended() { # PID...
	local pid
	for pid; do
		while grep 'State:.*[^Z] (' "/proc/$pid/status" >state 2>&1; do sleep 0.01; done
	done
}
for how in $hows; do
	tune_until_set "$how"
	groups=$(cat "/proc/$program/cgroup")
	"$CORECAST" tune -p "$program" -m 'command:sh ./rate' -s affinity --max 1 2>stderr && exit 1
	grep -q 'under the control of another corecast' stderr
	kill -9 "$tuner"
	wait "$tuner" || true
	for _ in $(seq 3000); do
		if [ -z "$(ls "$XDG_RUNTIME_DIR/corecast")" ]; then
			break
		fi
		sleep 0.01
	done
	[ "$(taskset -p "$program" | sed 's/.*: //')" = "$own" ]
	tune_until_set "$how"
	children=$(cat "/proc/$tuner/task/$tuner/children" || true)
	# shellcheck disable=SC2086 # several numbers
	kill -9 "$tuner" $children || true # a child may be the metric's command
	wait "$tuner" || true
	# shellcheck disable=SC2086 # the same
	until_ended $children
	: >log.csv
	"$CORECAST" tune -m 'command:sh ./rate' -s affinity --max 1 -i 0.02 --log log.csv -- sh ./program holding 2>messages
	[ "$(taskset -p "$program" | sed 's/.*: //')" = "$own" ]
	# It is in the group again in which it was, and so is what it starts.
	diff "/proc/$program/cgroup" "/proc/$$/cgroup"
	[ "$how" != cpuset ] || [[ "$groups" = */corecast-"$program"* ]]
done
# A quota bounds the search, whichever way the program is kept.
cpu=$(awk '$(NF - 2) == "cgroup" && $NF ~ /(^|,)cpu(,|$)/ { print $5; exit }' /proc/self/mountinfo)
if [ -n "$cpu" ] && mkdir "$cpu/corecast-test-$$" 2>mkdir.stderr; then
	trap 'rmdir "$cpu/corecast-test-$$" 2>rmdir.stderr || true' EXIT
	echo 100000 >"$cpu/corecast-test-$$/cpu.cfs_quota_us"
	for how in $hows; do
		: >log.csv
		"$BASH" -c 'echo $$ >"$1/tasks" && shift && exec "$@"' - "$cpu/corecast-test-$$" \
			"$CORECAST" tune -m 'command:sh ./rate' -s "$how" -i 0.02 --log log.csv --json -- \
			sh ./program holding 2>messages |
			jq -e '.measured | map(.threads) == [1]' >bounded
	done
	rmdir "$cpu/corecast-test-$$"
fi
# Its own cores bound the search.
taskset -cp "$last" "$program" >own
until_held -s affinity --json >found.json
jq -c '[.measured[].threads]' found.json
"$CORECAST" tune -p "$program" -m 'command:sh ./rate' -i 0.02 -d 0.1 2>messages || grep 'no interval of 0.02 s' messages >found
"$CORECAST" tune -p "$program" -m 'command:sh ./rate' -s affinity --max 9999 2>stderr && exit 1
grep -q 'this program may use 1 cores' stderr
touch stop
wait "$program"

# A build without elfutils finds no functions, and says so.
"$CORECAST" tune -m "uprobe:$CORECAST:no_such_function" -- true 2>stderr && exit 1
has_names=
if grep -q 'has no function' stderr; then
	has_names=1
else
	grep -q 'it has no elfutils' stderr
fi

# OpenMP regions, without the program's doing; those that rely on their number of threads keep it (the program looks).
for regions in "$CORECAST_BUILD/tests/programs/regions" "$CORECAST_BUILD/tests/programs/regions_llvm"; do
	if [ ! -x "$regions" ]; then
		continue
	fi
	: >log.csv
	"$CORECAST" tune -s openmp -i 0.06 --max 5 --log log.csv -- "$regions" log.csv holding >counts 2>messages
	[ "$(wc -l <counts)" -ge 2 ]
	[ "$(sort -n counts | tail -n 1)" -eq 5 ]
	# Where all of them do, it is given cores instead.
	: >messages
	"$CORECAST" tune -i 0.06 --max 2 --json -- "$regions" messages 'from here on it is given' kept 2>messages |
		jq -e '.set == "affinity"' >positive
	: >log.csv
	"$CORECAST" tune -s openmp -i 0.06 --max 2 --log log.csv -- "$regions" log.csv ,searching kept 2>messages && exit 1
	grep -q 'no parallel region of OpenMP ran twice that leaves its number' messages
	if [ -n "$has_names" ] && [ "$(id -u)" -eq 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ]; then
		: >log.csv
		"$CORECAST" tune -m "uprobe:$regions:work" -s openmp -i 0.02 --max 5 --log log.csv --json \
			-- "$regions" log.csv holding 2>messages | grep -v '^[0-9]' |
			jq -e '.measured | any(.rate_per_s > 0)' >positive
	fi
done

# Iterations of OpenMP's loops: the program looks whether all were told.
for loops in "$CORECAST_BUILD/tests/programs/loops" "$CORECAST_BUILD/tests/programs/loops_llvm"; do
	if [ -x "$loops" ]; then
		: >log.csv
		"$CORECAST" tune -m iterations -i 0.06 --max 3 --log log.csv --json -- "$loops" log.csv holding 2>messages |
			jq -e '.measured | any(.rate_per_s > 0)' >positive
	fi
done

# What a program that is only tuned has of ours: no lock, for one. Who is recorded as well has all of it, and is not counted twice.
tuned=$CORECAST_BUILD/preload/libcorecast-tune.so
if nm -D --defined-only "$tuned" | grep -vE ' (GOMP_(parallel|loop)|omp_[gs]et_|ompt_start_tool|corecast_)'; then
	exit 1
fi
loops=$CORECAST_BUILD/tests/programs/loops
if [ -x "$loops" ]; then
	: >log.csv
	LD_PRELOAD=${tuned%-tune.so}-sync.so ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 \
		"$CORECAST" tune -m iterations -i 0.06 --max 2 --log log.csv -- "$loops" log.csv holding 2>messages
fi

# Static probes; the second one is passed only while somebody listens, and then twice.
usdt=$CORECAST_BUILD/tests/programs/usdt
if [ -n "$has_names" ] && [ "$(id -u)" -eq 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ]; then
	for probe in always listened; do
		: >log.csv
		"$CORECAST" tune -m "usdt:$usdt:corecast_test:$probe" --max 1 -i 0.02 --log log.csv --json \
			-- "$usdt" log.csv holding 2>messages >out
		grep -vx listened out | jq -e '.measured[0].rate_per_s > 0' >positive
		[ "$probe" = always ] || grep -qx listened out
	done
	# C++ as people write it, where this build can read its names (another test may run the program meanwhile).
	names=$CORECAST_BUILD/tests/programs/lock_names_cpp
	if [ -x "$names" ] && ! "$CORECAST" doctor | grep 'no libiberty' >found; then
		"$CORECAST" tune -m "uprobe:$names:pool::worker::run" -- true 2>stderr && exit 1
		grep -qE 'the function was never called|no interval of 1 s' stderr
	fi
	"$CORECAST" tune -m "uprobe:$names:pool::worker::" -- true 2>stderr && exit 1
	grep -q 'has no function' stderr
	"$CORECAST" tune -m "uprobe:$CORECAST_BUILD/tests/programs/pool:pthread_create" -- true 2>stderr && exit 1
	grep -q 'in a library that this uses: name that file' stderr
	"$CORECAST" tune -m "usdt:$usdt:corecast_test:none" -- true 2>stderr && exit 1
	grep -q "has no probe 'corecast_test:none' (readelf -n" stderr
fi

# The last resorts: what it asks of the kernel.
echo 'while ! grep -q holding log.csv; do cat log.csv >copy; sleep 0.001; done' >program
for metric in switches syscalls; do
	: >log.csv
	if ! "$CORECAST" tune -m "$metric" --max 1 -i 0.05 --log log.csv --json -- sh ./program 2>stderr >found; then
		grep -E 'as root|tracefs|Permission denied|Operation not permitted' stderr >why
		continue
	fi
	jq -e '.measured[0].rate_per_s > 0' found >positive
done

# A pool whose workers ask: those that are too many wait, from the begin on, and go on when tuning is killed.
: >log.csv
"$CORECAST" tune -m ticks -s pool --min 3 --max 3 -i 0.05 --log log.csv -- \
	"$CORECAST_BUILD/tests/programs/pool" log.csv holding 2>messages
export TMPDIR=$PWD/tmp
mkdir "$TMPDIR"
: >stop
"$CORECAST" tune -m ticks -s pool --min 2 --max 2 -i 0.05 -- "$CORECAST_BUILD/tests/programs/pool" stop now \
	>pool.out 2>messages &
tuner=$!
until grep -q 'holding 2' messages; do sleep 0.02; done
[ -n "$(ls "$TMPDIR")" ]
[ ! -e stop.all ]
kill -9 "$tuner"
wait "$tuner" || true
until [ -e stop.all ]; do sleep 0.02; done
until [ -z "$(ls "$TMPDIR")" ]; do sleep 0.02; done
echo now >stop
fails_pool=0
"$CORECAST" tune -m ticks -s pool -- true 2>stderr || fails_pool=$?
echo "$fails_pool $(cat stderr)"

# A number that the program prints, among others; what it prints arrives unchanged.
cat >program <<'END'
echo 'begin 7'
until grep -q '4,100,holding' log.csv; do
	echo "state: n=4, 100 per second"
	sleep 0.005
done
printf 'no newline'
END
: >log.csv
"$CORECAST" tune -m 'print:, (-?[0-9]+) per' -s 'command:echo {n} >count' -i 0.02 --min 4 --max 4 --log log.csv \
	-- sh ./program 2>messages >out
[ "$(cat count)" -eq 4 ]
grep -q 'holding 4: ' messages
sed -n '1p; $p' out
printf '\n'
[ "$(grep -c 'n=4, 100 per second$' out)" -ge 3 ]

# Lines that match are counted, whatever else is printed; the program prints them faster with the second count.
cat >program <<'END'
until grep -q '2,.*holding' log.csv; do
	for _ in $(seq $(($(cat count) == 2 ? 20 : 5))); do echo 'done: item'; done
	echo 'undone'
	sleep 0.01
done
END
: >log.csv
"$CORECAST" tune -m 'count:^done' -s 'command:echo {n} >count' -i 0.1 --max 2 --log log.csv --json -- sh ./program \
	2>messages | grep -v "done" >found.json
jq -e '.threads == 2' found.json >positive

# Lines that are overwritten, and numbers as people read them; what was never there is told while the program runs, too.
cat >program <<'END'
until grep -q "$1" "$2"; do printf 'at 12,345.5k/s\r'; sleep 0.005; done
END
: >log.csv
"$CORECAST" tune -m 'print:at ([0-9,.]+k)' -s 'command:true {n}' -i 0.02 --max 1 --log log.csv -- sh ./program 1.23455e log.csv \
	2>messages >out
grep -q '1 thread: 1.23455e+07/s' messages
: >messages
"$CORECAST" tune -m 'print:(nothing)' -s 'command:true {n}' -i 0.02 -- sh ./program 'nothing is tuned so far' messages \
	2>messages >out || sed -n '$p' messages

# What it prints there is no number: said at once, and the program goes on, which here waits for that.
: >messages
"$CORECAST" tune -m 'print:rate (.*)' -s 'command:true {n}' -i 0.02 -- sh -c 'echo "rate fast"
	for i in $(seq 3000); do if grep captured messages >found; then echo "goes on"; break; fi; sleep 0.02; done' \
	2>messages >out || echo "status $?"
cat out
sed -n '$p' messages

# What cannot work says why, and leaves nothing.
fails() {
	local status=0
	"$CORECAST" tune "$@" 2>stderr || status=$?
	printf '%d %s\n' "$status" "$(sed -n 1p stderr | sed "s|$CORECAST_BUILD|BUILD|g")"
}
fails
fails -m nope -- true
fails -m usdt:/bin/sh:nope -- true
fails -m print:nothing -- true
fails -m 'count:(' -- true
fails -m count:nothing -- echo none
fails -m regions -p 1
fails -m 'print:([0-9])' -p 1
fails -m switches -p 4194304
fails -s 'command:echo' -- true
fails --policy dice -- true
fails --min 3 --max 2 -- true
fails -- ./none
fails -- true
fails --min 65535 -- true | sed 's/[0-9]* cores/N cores/'
fails -m 'print:([0-9]+)' -- echo none
fails -m 'print:([0-9]+)' -- echo 0
fails -m 'print:([0-9]+)' -i 3600 -- echo 5
fails -m 'command:touch asked; echo 0' -i 0.5 -- sh -c 'until [ -e asked ]; do sleep 0.02; done'
fails -m 'print:([0-9]+)' -- false
sed -n 2p stderr
