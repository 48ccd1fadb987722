# SPDX-License-Identifier: GPL-3.0-or-later
# Recorded programs of every kind, exported for Perfetto, keep the rules of its format; names are in it.
cp "$CORECAST_SOURCE"/tests/man/run.csv hand.csv
"$CORECAST" export hand.csv --to perfetto -o hand.json
record() {
	"$CORECAST" record --via preload -o "$1.cct" -- "${@:2}" >/dev/null 2>stderr
	"$CORECAST" export "$1.cct" --to perfetto -o "$1.json"
}
record locks "$CORECAST_BUILD/tests/programs/lock_names"
record crowd "$CORECAST_BUILD/tests/programs/crowd" threads 300
record marks "$CORECAST_BUILD/tests/programs/events" marks
for program in omp omp_llvm; do
	if [ -x "$CORECAST_BUILD/tests/programs/$program" ]; then
		record "$program" "$CORECAST_BUILD/tests/programs/$program" tasks
	fi
done
python3 "$CORECAST_SOURCE/tests/trace_events.py" ./*.json
# Names of the program's own need its symbols.
if ! "$CORECAST" doctor | grep 'no libdw' >/dev/null; then
	grep '"name": "barrier together"' locks.json >/dev/null
	grep '"site": "take_turns' locks.json >/dev/null
fi
