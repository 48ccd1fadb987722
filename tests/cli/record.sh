# SPDX-License-Identifier: GPL-3.0-or-later
# What corecast record does with the program's input, output, status and file.

program=$CORECAST_BUILD/tests/programs/events
record() {
	local status=0
	"$CORECAST" record --via preload "$@" 2>stderr || status=$?
	echo "status $status: $(head -n 1 stderr | sed -E 's/[0-9.]+ s, .*lost$/.../; s|/.*/programs|programs|g')"
}

echo "-- input and output are the program's"
echo hello | record -o cat.cct -- cat
sed -n '$p' stderr
# The cores that the program could use: all, or those of the mask.
cores() {
	"$CORECAST" criticality --json "$1" | jq .cores
}
[ "$(cores cat.cct)" -eq "$("$CORECAST" doctor --json | jq .machine.usable_cores)" ]
taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')" "$CORECAST" record -o one.cct -- true 2>/dev/null
[ "$(cores one.cct)" -eq 1 ]

# What others had of the one core while the program ran, which its own time is no part of.
taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')" "$CORECAST" record --via preload -o busy.cct -- bash -c 'for ((i = 0; i < 300000; i++)); do :; done' 2>/dev/null
"$CORECAST" export busy.cct --to json | jq -e '.others_wall_ns > 1e8 and .others_ns <= .others_wall_ns - 1e8' >/dev/null

echo "-- the program's failure"
record -o false.cct -- sh -c 'echo out; exit 3'
tail -n 1 stderr
record -o killed.cct -- "$program" kill
tail -n 1 stderr | sed 's|/.*/programs|programs|'

echo "-- an allocator that locks"
"$CORECAST" record --via preload --budget none -o own_malloc.cct -- "$CORECAST_BUILD/tests/programs/own_malloc" 2>stderr
[ "$("$CORECAST" export own_malloc.cct --to csv | grep -c ',pass,mutex,')" -ge 200 ]

echo "-- the unwinder's own lock"
timeout 60 "$CORECAST" record --via preload -o jit_frames.cct -- "$CORECAST_BUILD/tests/programs/jit_frames" 2>stderr

echo "-- sleeping that the library cannot see"
"$CORECAST" record --via preload -o own_waits.cct -- "$CORECAST_BUILD/tests/programs/own_waits" 2>stderr
if [ -r /proc/self/schedstat ]; then # else it cannot know
	"$CORECAST" criticality own_waits.cct | tr -s ' \n' ' ' |
		grep -q 'they slept, and the library does not see why .*record --via bpf'
fi

# Where one thread has the lock whenever the others ask, it looks like a condition.
echo "-- a lock of the program's own"
"$CORECAST" record --via preload --samples 0 -o own_futex.cct -- "$CORECAST_BUILD/tests/programs/own_futex" >stdout 2>stderr
"$CORECAST" criticality own_futex.cct | grep -cE '^ +(shop_lock|own_futex\+0x[0-9a-f]+) +(futex|condition) '

echo "-- files"
record -o cat.cct -- true
record --force -o cat.cct -- true
record -o missing/run.cct -- true

echo "-- programs"
record -o none.cct -- ./no-such-program
"$CORECAST" record -o none.cct -- ./no-such-program 2>&1 || echo "status $?"
"$CORECAST" record -o none.cct -- ./cat.cct 2>&1 || echo "status $?"
record -o none.cct -- "$CORECAST_BUILD/tests/programs/static"
cp "$CORECAST" alone # without its library
./alone record --via preload -o none.cct -- true 2>stderr || grep -o "cannot find 'preload" stderr
rm alone
[ ! -e none.cct ]

echo "-- usage"
for arguments in "" "operand" "--size-limit 0 -- true" "--via magic -- true"; do
	# shellcheck disable=SC2086 # several words
	"$CORECAST" record $arguments >stdout 2>stderr || echo "status $?: $(head -n 1 stderr)"
done

echo "-- the end of the file ends the recording"
record --size-limit 1 -o small.cct -- "$CORECAST_BUILD/tests/programs/crowd" threads 300
grep -c 'recording ended' stderr
"$CORECAST" criticality small.cct >report
