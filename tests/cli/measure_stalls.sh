# SPDX-License-Identifier: GPL-3.0-or-later
# Stall columns: from plugins (stdout, stderr, a file), from waits of threads for one another.

cat >tx.yaml <<'END'
category: tx_aborted
source: stdout
expression: 'aborted cycles: ([0-9]+)'
reduction: sum
unit: cycles
END
cat >lock.yaml <<'END'
category: lock_wait
source: waits.{n}.log
expression: 'waited ([0-9.]+) us'
reduction: max
unit: cycles
scale: 1000
END
cat >program <<'END'
#!/bin/sh
for i in $(seq "$1"); do
	echo "thread $i: aborted cycles: 100"
done
printf 'waited 1.5 us\nwaited 2.5 us\n' >"waits.$1.log"
END
chmod +x program

"$CORECAST" measure --stalls none -n 1,2,4 -r 1 -o runs.csv --plugin tx.yaml --plugin lock.yaml -- ./program '{n}' >stdout 2>stderr
grep '^# stalls' runs.csv
grep -v '^#' runs.csv | awk -F, '{ print $1, $(NF - 1), $NF }' | sort -n

echo "== a file that the program did not write"
status=0
"$CORECAST" measure --stalls none -n 8 -r 1 -o none.csv --plugin lock.yaml -- true '{n}' >stdout 2>stderr || status=$?
echo "exit $status"
grep -o "cannot read 'waits.8.log'" stderr

echo "== wrong plugins stop before anything runs"
sed 's/sum/total/' tx.yaml >wrong.yaml
for plugin in wrong.yaml missing.yaml; do
	status=0
	"$CORECAST" measure --stalls none -n 1 -o wrong.csv --plugin $plugin -- ./program '{n}' >stdout 2>stderr || status=$?
	echo "exit $status"
	cat stderr
	test ! -e wrong.csv
done
status=0
"$CORECAST" measure --stalls none -n 1 -o wrong.csv --plugin tx.yaml --plugin tx.yaml -- ./program '{n}' >stdout 2>stderr || status=$?
echo "exit $status"
cat stderr

echo "== waits of threads"
"$CORECAST" measure --stalls none -n 1,2 -r 1 -o sync.csv --sync-stalls -- "$CORECAST_BUILD/examples/peaks" '{n}' 20 >stdout 2>stderr
grep -v '^#' sync.csv | head -n 1 | tr , '\n' | grep sync_lock
awk -F, '!/^#/ && NF > 9 { rows++ } END { print rows - 1, "rows" }' sync.csv

echo "== the code behind them"
"$CORECAST" measure --stalls none -n 2 -r 1 -o where.csv --sync-stalls --where sync_lock --json -- "$CORECAST_BUILD/examples/peaks" '{n}' 50 >stdout 2>stderr
grep '"category"' stdout
status=0
"$CORECAST" measure --stalls none -n 1 -o wrong.csv --where sync_lock -- ./program '{n}' >stdout 2>stderr || status=$?
echo "exit $status"
cat stderr
test ! -e wrong.csv
