# SPDX-License-Identifier: GPL-3.0-or-later
# The critical thread of a running program gets more speed, and gets it taken away again whatever happens.
export XDG_RUNTIME_DIR=$PWD/run
mkdir "$XDG_RUNTIME_DIR"

fails() {
	local status=0
	"$CORECAST" boost "$@" >result 2>stderr || status=$?
	echo "$status $(sed -n 1p stderr)"
}
fails
fails -p 1 -- true
fails --policy dice -- true
fails --policy bis -- true
fails --set magic -- true
fails --nice 0 -- true
fails --slice 0 -- true
fails --beta 2 -- true
fails --alternate 0.001 -- true
fails --alternate 0 -- true
fails --alternate 1 -p 1
fails --alternate 1 --dry-run -- true

fails --via magic -- true
fails --via preload -p 1

# The preload library tells who waits, to whoever asks: no privilege.
skewed=$CORECAST_BUILD/examples/bottlenecks/skewed_barrier
"$CORECAST" boost --via preload --dry-run --json -- "$skewed" -t 3 -s 0.3 >result
grep -v '^[cs]' result | jq -c '[.via, .is_dry_run, .changes > 0, .lost_threads]'
grep -v '^[cs]' result | jq -e 'any(.threads[]; .critical_s > 0 and (.name | startswith("worker-")))' >checks
# Thousands of threads a second: memory does not follow them, and none is missed (there is room for 2048 at a time here).
churn() { # MEMORY THREADS OPTIONS...: more KiB than this between the first quarter and the end are too many
	local most=$1 threads=$2
	shift 2
	"$CORECAST" boost "$@" -- "$CORECAST_BUILD/tests/programs/churn" "$threads" 2>stderr |
		awk -v most="$most" 'NR == 1 { early = $1 } NR == 2 && $1 > early + most { print early, $1 }
			END { print NR " readings" }'
	if grep 'were not seen' stderr; then
		return 1
	fi
}
churn 32768 1500 --via preload --dry-run
"$CORECAST" boost --via preload --dry-run -- "$CORECAST_BUILD/tests/programs/crowd" threads 2100 2>stderr >result
grep 'not seen' stderr
fails --via preload --dry-run -- "$CORECAST_BUILD/tests/programs/turns" 2 1 1 | sed "s|$CORECAST_BUILD|BUILD|"

"$CORECAST" boost --dry-run --json -- true >result 2>stderr || true
if [ -s stderr ]; then
	sed 's/^corecast: //' stderr
	exit 77
fi
"$CORECAST" doctor --json >json
if ! grep '"summary": "by nice' json >found; then
	echo 'this user cannot lower a nice value'
	exit 77
fi
fails -- ./none | sed 's/: No such/: no such/'
fails --json -- sh -c 'exit 3'

# Nice values of all threads of the program, each once.
values() {
	cat "/proc/$program/task"/*/stat | awk '!seen[$19]++ { printf "%s ", $19 }' # names without spaces
}
until_normal() {
	for _ in $(seq 3000); do
		if [ "$(values)" = "$normal" ]; then
			return 0
		fi
		sleep 0.02
	done
	echo "still: $(values)"
	return 1
}
# In the background; returns when a thread is faster.
begin() {
	"$CORECAST" boost -p "$program" --verbose "$@" >result 2>stderr &
	booster=$!
	for _ in $(seq 3000); do
		if grep 'faster: ' stderr >found && [ "$(values)" != "$normal" ]; then
			return 0
		fi
		sleep 0.01
	done
	cat stderr
	return 1
}

# Of two threads that take turns, one has three times the work.
"$CORECAST_BUILD/tests/programs/turns" 40000 12 4 >turns &
program=$!
trap 'kill -9 "$program" 2>kill.log || true' EXIT
normal=$(values)

end() { # once the first thread was the faster one
	until grep 'first ([0-9]*) is faster: ' stderr >found; do
		sleep 0.01
	done
	kill "$booster"
	wait "$booster"
	until_normal
}
begin --json
end
jq -c '[.version, .policy, .set, .is_dry_run, .lost_threads, (.threads | any(.name == "first"))]' result
jq -e '.slices > 0 and .changes > 0 and .fast_s <= .seconds and .threads[0].critical_s > 0' result >checks

# As published.
begin --policy dynamic --json
end
jq -c '[.policy, .changes > 0]' result
"$CORECAST" boost -p "$program" -d 0.05 2>stderr
grep -q ' slices, ' stderr

# Nothing is done in a dry run.
"$CORECAST" boost -p "$program" --dry-run --verbose >result 2>stderr &
booster=$!
for _ in $(seq 3000); do
	if grep 'first .* would be faster: ' stderr >found; then
		break
	fi
	sleep 0.01
done
grep -q 'first ([0-9]*) would be faster: ' stderr
[ "$(values)" = "$normal" ]
[ ! -e "$XDG_RUNTIME_DIR/corecast" ] || [ -z "$(ls "$XDG_RUNTIME_DIR/corecast")" ]
kill "$booster"
wait "$booster"
grep -q '(none made)' stderr

# Ended by a signal: it says what it did, in lines that fit. Another one is refused meanwhile.
for signal in TERM INT; do
	begin
	fails -p "$program" -d 0.1 | sed 's/[0-9][0-9]*/N/g'
	kill -"$signal" "$booster"
	wait "$booster"
	until_normal
	grep -q ' changes; a thread was faster for ' stderr || grep -q 'another corecast' stderr
done

# Killed: the watchdog does it.
begin
kill -9 "$booster"
wait "$booster" || true
until_normal

# Killed with its watchdog: whoever comes next does it, whatever they come for.
begin
children=$(cat "/proc/$booster/task/$booster/children" || true)
if [ -n "$children" ]; then
	kill -9 "$booster" $children
	wait "$booster" || true
	for child in $children; do
		while grep 'State:.*[^Z] (' "/proc/$child/status" >state 2>&1; do sleep 0.01; done
	done
	sleep 30 &
	other=$!
	"$CORECAST" boost -p "$other" -d 0.05 2>other.stderr
	kill "$other"
	until_normal
else
	kill "$booster"
	wait "$booster"
fi
[ -z "$(ls "$XDG_RUNTIME_DIR/corecast")" ]

# A stopped program has no critical thread.
begin
kill -STOP "$program"
for _ in $(seq 3000); do
	if tail -n 1 stderr | grep 'nobody is faster' >found; then
		break
	fi
	sleep 0.01
done
kill "$booster"
wait "$booster"
until_normal
kill -CONT "$program"

# It ends within a slice: no failure.
begin --slice 300
kill -9 "$program"
wait "$booster"
[ -z "$(ls "$XDG_RUNTIME_DIR/corecast")" ]
awk 'length($0) > 80 { print "wide: " $0; bad = 1 } END { exit bad }' stderr

# With and without it in turn, by a number that the program prints; a guard begins in the same way.
cat >program <<'END'
for i in $(seq 60); do echo "rate 100"; sleep 0.01; done
END
"$CORECAST" boost --alternate 0.04 -m 'print:rate ([0-9]+)' --json -- sh ./program 2>stderr | grep -v '^rate' |
	jq -c '[.trial.metric, .trial.rate.pairs > 1, .trial.rate.gain, .trial.with_per_s, .trial.verdict]'
"$CORECAST" boost --guard --alternate 0.04 -m 'print:rate ([0-9]+)' -- sh ./program 2>stderr >result
grep -E 'gain of boosting: [+]0.0%|too short a run' stderr >found
grep '^corecast: boosting was ' stderr
awk 'length($0) > 80 { print "wide: " $0; bad = 1 } END { exit bad }' stderr

# What makes a program slower says so: this one tells half the rate while it is the faster one. On a busy machine
# it takes longer to be sure.
cat >program <<'END'
sleep 60 &
until [ -e stop ]; do
	read -r stat <"/proc/$$/stat"
	set -- $stat
	if [ "${19}" -lt 0 ]; then echo "rate 50"; else echo "rate 100"; fi
done
kill $!
END
for seconds in 1.2 2.4 4.8 9.6; do
	rm -f stop
	(sleep "$seconds" && touch stop) &
	"$CORECAST" boost --alternate 0.1 -m 'print:rate ([0-9]+)' -- sh ./program >result 2>stderr
	wait $!
	if grep '^corecast: boosting made it slower: do without' stderr >found; then
		break
	fi
done
cut -d: -f2 found

# Threads that come and go, by the kernel (16384 at a time); and with those made faster that have ended meanwhile.
churn 1024 15000 --dry-run
churn 1024 500

# Without the privilege.
if command -v setpriv >found; then
	fails='setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice'
	status=0
	$fails "$CORECAST" boost -- true 2>stderr || status=$?
	echo "$status $(cat stderr)"
else
	echo '1 corecast: cannot make a thread faster by nice: for root only (or CAP_SYS_NICE, or RLIMIT_NICE of 40: ulimit -e 40) (--dry-run shows what it would do)'
fi
