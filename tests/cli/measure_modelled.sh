# SPDX-License-Identifier: GPL-3.0-or-later
# Stalls without counters: from a profile at each thread count.
skip() {
	echo "$1"
	exit 77
}
"$CORECAST" measure --stalls wrong -- true 2>stderr && exit 1
grep 'auto, none or modelled' stderr >/dev/null
command -v qemu-x86_64 >/dev/null || skip "there is no emulator (qemu-user)"
[ -e "$CORECAST_BUILD/plugin/libcorecast-profile.so" ] || skip "this build has no plugin for the emulator"

"$CORECAST" measure --stalls modelled --machine nowhere -o none.csv -- true 2>stderr && exit 1
grep nowhere stderr >/dev/null
[ ! -e none.csv ]

# Main marks alone while all others wait: of four cores three are idle then, of two one.
"$CORECAST" measure --stalls modelled -n 2-6 -r 2 -o runs.csv -- \
	"$CORECAST_BUILD/examples/bottlenecks/serial" -t '{n}' -s 0.02 >summary 2>stderr
columns=core,branch,icache,l2,llc,memory,coherence,tlb,system,sibling,sync
grep '^threads,' runs.csv | grep -o 'stall:.*' | sed 's/stall:modelled_//g' | grep -x "$columns" >/dev/null
grep -v '^#' runs.csv | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i; next }
	{
		sync = $place["stall:modelled_sync"]; core = $place["stall:modelled_core"]
		if (($1 in seen) && seen[$1] != sync) { print "repeats differ at " $1; exit 1 }
		seen[$1] = sync; work[$1] = core
		for (i = place["stall:modelled_core"]; i < place["stall:modelled_core"] + 11; i++)
			if ($i !~ /^[0-9.e+]+$/) { print "not a number: " $i; exit 1 }
	}
	END {
		if (seen[4] > 3.3 * seen[2] || seen[4] < 2.7 * seen[2]) { print "waiting: " seen[2] " " seen[4]; exit 1 }
		if (work[4] > 1.1 * work[2] || work[4] < work[2] / 1.1) { print "work: " work[2] " " work[4]; exit 1 }
	}'

# Who forecasts can read the columns.
"$CORECAST" forecast runs.csv --to 8 >/dev/null

# Who stops the program while it is profiled stops the measurement. It does not become another one meanwhile: a signal that comes while the emulator
# executes a program leaves that one with all signals blocked (QEMU 7.2).
"$CORECAST" measure --stalls modelled -n 1,2 -r 1 -o stopped.csv -- \
	bash -c '[ -e once ] && { : >profiled; while :; do :; done; }; : >once' >summary 2>stderr &
measurement=$!
until [ -e profiled ]; do sleep 0.05; done
kill "$measurement"
status=0
wait "$measurement" || status=$?
[ "$status" -eq 1 ]
grep 'stopped with 2 runs to go' stderr >/dev/null
