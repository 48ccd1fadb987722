# SPDX-License-Identifier: GPL-3.0-or-later
# Stopped by a signal, then resumed: nothing is lost, nothing is measured twice.

rows() {
	grep -v '^#' "$1" | awk -F, 'NR > 1 { print $1, $3 }' | sort -n
}

# The third run of this program never ends. It says which process it is.
cat >program <<'END'
#!/bin/sh
echo "$1" >>log
sleep 0.2
test "$(wc -l <log)" -eq 3 || exit 0
echo $$ >pid
exec sleep 1000
END
chmod +x program

measure() {
	"$CORECAST" measure --stalls none -n 1-3 -r 2 -o runs.csv "$@" -- ./program '{n}' >stdout 2>stderr
}

# Starts a measurement, waits until its third run hangs, and stops it by a signal.
stop_with() {
	rm -f runs.csv log pid
	"$CORECAST" measure --stalls none -n 1-3 -r 2 -o runs.csv -- ./program '{n}' >stdout 2>stderr &
	local measuring=$! status=0
	timeout 60 sh -c 'until [ -s pid ]; do sleep 0.05; done'
	kill -"$1" "$measuring"
	wait "$measuring" 2>/dev/null || status=$?
	sleep 0.2
	# Ended, though perhaps nobody has collected it yet.
	if grep -q '^State:.*[RSDT] ' "/proc/$(cat pid)/status" 2>/dev/null; then
		echo "the program still runs"
		exit 1
	fi
	echo "SIG$1: exit $status, $(rows runs.csv | wc -l) rows"
}

for signal in INT TERM; do
	stop_with $signal
	grep -o 'stopped with 4 runs to go' stderr
	grep -o 'corecast measure --resume -n 1-3 -r 2 -o runs.csv' stderr
done

echo "== stopped in its first run, it is begun anew without --force"
"$CORECAST" measure --stalls none -n 1 -r 1 -o first.csv -- sh -c 'kill -INT $PPID; sleep 1000' '{n}' >stdout 2>stderr || true
grep -o "stopped with 1 run to go; there is no row yet in 'first.csv'" stderr
"$CORECAST" measure --stalls none -n 1 -r 1 -o first.csv -- true '{n}' >stdout 2>stderr
rows first.csv

echo "== a torn line is dropped"
printf '3,0.1' >>runs.csv
measure --resume
rows runs.csv
wc -l <log

echo "== nothing is left to do"
measure --resume
wc -l <log

echo "== another command is refused"
status=0
"$CORECAST" measure --stalls none --resume -n 1-3 -o runs.csv -- sleep '{n}' >stdout 2>stderr || status=$?
echo "exit $status"
cat stderr

echo "== what failed is tried again"
touch bad
"$CORECAST" measure --stalls none -n 1,2 -r 1 -o tries.csv -- sh -c 'test $0 = 1 || ! test -e bad' '{n}' >stdout 2>stderr || true
rows tries.csv
rm bad
"$CORECAST" measure --stalls none --resume -n 1,2 -r 1 -o tries.csv -- sh -c 'test $0 = 1 || ! test -e bad' '{n}' >stdout 2>stderr
rows tries.csv

echo "== killed outright"
stop_with KILL
measure --resume
rows runs.csv | wc -l
