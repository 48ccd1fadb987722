# SPDX-License-Identifier: GPL-3.0-or-later
# Small programs that succeed, fail, hang or are missing: what is kept, what is said, how it exits.

measure() {
	"$CORECAST" measure --stalls none "$@" 2>stderr
}

# The rows as "threads repeat", sorted.
rows() {
	grep -v '^#' "$1" | awk -F, 'NR > 1 { print $1, $3 }' | sort -n
}

# No process of the file `pids` is left.
expect_gone() {
	local pid
	while read -r pid; do
		if kill -0 "$pid" 2>/dev/null; then
			echo "process $pid is still there"
			exit 1
		fi
	done <pids
}

expect_failure() {
	local status=0
	measure "$@" >stdout || status=$?
	if [ "$status" -ne 1 ]; then
		echo "exit status $status instead of 1: $*"
		cat stderr
		exit 1
	fi
}

echo "== every count, every repeat"
measure -n 1-3 -r 2 -o plain.csv -- sh -c 'exit 0' '{n}' >stdout
rows plain.csv
grep -c '^Next: corecast forecast plain.csv --to 6$' stdout

echo "== too few counts for a forecast: what is missing"
measure -n 1 -r 2 -o few.csv -- sh -c 'exit 0' '{n}' >stdout
grep -o '^Next: a forecast needs 3 thread counts: corecast measure --resume -n [1-9]*,[1-9]* -r 2 -o few.csv' stdout |
	sed 's/-n [1-9]*,[1-9]*/-n .../'
bash -c "$(sed -n "s|^Next: a forecast needs 3 thread counts: corecast|'$CORECAST'|p" stdout)" 2>stderr | grep -c '^Next: corecast forecast few.csv'

echo "== a forecast from more threads than cores says so"
printf 'threads,time\n# note: oversubscribed above 2 threads: only 2\n1,8\n2,4.5\n3,4.4\n4,4.6\n' >over.csv
"$CORECAST" forecast over.csv --json | jq -r '.notes[] | select(test("cores of their machine"))' | cut -c 1-74
sed -i s/above\ 2/above\ 4/ over.csv
"$CORECAST" forecast over.csv --json | jq '[.notes[] | select(test("cores of their machine"))] | length'

echo "== the count is in the arguments and in the environment"
measure -n 3,5 -r 1 -o env.csv --env MY_THREADS -- sh -c 'test "$MY_THREADS-$OMP_NUM_THREADS" = "$0-"' '{n}' >stdout
measure -n 3,5 -r 1 -o omp.csv -- sh -c 'test "$OMP_NUM_THREADS" = "$0"' '{n}' >stdout
rows omp.csv

echo "== an existing file is kept"
cp plain.csv before.csv
expect_failure -n 1 -o plain.csv -- true '{n}'
cmp plain.csv before.csv
grep -o -- '--resume' stderr
measure -n 1 -r 1 -o plain.csv --force -- true '{n}' >stdout
rows plain.csv

echo "== failing at 3 threads"
expect_failure -n 1-4 -r 1 -o fails.csv -- sh -c 'echo working; echo "no luck" >&2; test "$0" != 3' '{n}'
rows fails.csv
grep -A 1 'failed at 3' stderr
grep '^# failed' fails.csv

echo "== output on stdout is shown when there is none on stderr"
expect_failure -n 1 -r 1 -o out.csv -- sh -c 'seq 100; exit 7' '{n}'
grep -c '^    [0-9]*$' stderr
grep -v "note: cores were shared" stderr | tail -n 2

echo "== hanging"
expect_failure -n 1,2 -r 1 -o hangs.csv --timeout 0.5 -- \
	sh -c 'test "$0" = 1 || { sleep 1000 & echo $! $$ | tr " " "\n" >pids; sleep 1000; }' '{n}'
rows hangs.csv
grep -o 'no end after 0.5 s' stderr
expect_gone

echo "== killed"
expect_failure -n 1 -r 1 -o killed.csv -- sh -c 'kill -KILL $$' '{n}'
grep -o 'killed by signal 9' stderr

echo "== missing"
expect_failure -n 1 -o missing.csv -- no-such-program '{n}'
cat stderr
test ! -e missing.csv
expect_failure -n 1 -o missing.csv -- /etc/passwd '{n}'
test ! -e missing.csv

echo "== throughput"
measure -n 1,2 -r 1 -o ops.csv --throughput-regex 'ops/s: ([0-9.]+)' -- sh -c 'echo "ops/s: 1"; echo "ops/s: $0.5"' '{n}' >stdout
grep -v '^#' ops.csv | cut -d, -f1,2 | sort
expect_failure -n 1 -r 1 -o none.csv --throughput-regex 'ops/s: ([0-9.]+)' -- echo nothing '{n}'
grep -o 'no match' stderr

echo "== standard output discarded"
expect_failure -n 1 -r 1 -o null.csv --stdout null -- sh -c 'echo out; echo why >&2; exit 1' '{n}'
grep -A 1 'failed at 1' stderr
expect_failure -n 1 -r 1 -o null2.csv --stdout null -- sh -c 'echo out; exit 1' '{n}'
grep -A 1 'failed at 1' stderr

echo "== without {n}"
measure -n 1 -r 1 -o bare.csv -- true >stdout
grep -c 'no {n}' stderr

echo "== a program that closes everything and leaves a process behind"
measure -n 1 -r 1 -o leaves.csv -- \
	sh -c 'exec <&- >&- 2>&-; setsid sleep 1000 & echo $! >pids' '{n}' >stdout
grep -o 'left 1 process running' leaves.csv
expect_gone

echo "== more threads than cores"
measure -n 1,5000 -r 1 -o many.csv -- true '{n}' >stdout
rows many.csv
grep -c '^# note: oversubscribed' many.csv
