# SPDX-License-Identifier: GPL-3.0-or-later
# Columns counted by the kernel's counters, on any machine: an event set of this processor is given that
# names software events, which every machine has. Real ones take the same way.

if ! grep -q '^cpu family' /proc/cpuinfo; then
	echo "the event set of this test is for x86"
	exit 77
fi
field() {
	sed -n "/^$1[ \t]*: /{s///p;q}" /proc/cpuinfo
}
mkdir -p data/events
cat >data/events/software.yaml <<END
name: Any processor that runs this test
source: perf_event_open(2)
match:
  - vendor: $(field vendor_id)
    family: $(field 'cpu family')
events:
  - {name: task_clock, config: 1, type: software, unit: ns, meaning: Processor time.}
END

program=("$CORECAST_BUILD/examples/scales" "{n}" 20)
CORECAST_DATADIR=$PWD/data "$CORECAST" measure -n 1,2 -r 1 -o runs.csv -- "${program[@]}" >stdout 2>stderr
if ! grep -q 'stall:task_clock' runs.csv; then
	sed -n 's/.*\(no hardware stall events\)/\1/p' stderr
	exit 77
fi
grep '^# stalls' runs.csv
# The counted time is the time that the kernel accounts to the program, within 20% and 20 ms.
awk -F, '/^[0-9]/ {
	rows++
	cpu = $4 + $5
	if ($NF < 0.8 * cpu - 0.02 || $NF > 1.2 * cpu + 0.02) {
		print "counted", $NF, "s, accounted", cpu, "s"
		exit 1
	}
} END { print rows, "rows" }' runs.csv
