# SPDX-License-Identifier: GPL-3.0-or-later
# Wrong usage exits 2, says what is wrong on stderr, and prints nothing on stdout.
source "$CORECAST_SOURCE/tests/cli/commands.bash"

expect_usage_error() {
	local status=0
	"$CORECAST" "$@" >stdout 2>stderr || status=$?
	if [ "$status" -ne 2 ] || [ -s stdout ] || ! [ -s stderr ]; then
		echo "corecast $*: exit $status, stdout $(wc -c <stdout) bytes, stderr:"
		cat stderr
		exit 1
	fi
}

expect_usage_error
expect_usage_error no-such-command
grep -q "no such command: no-such-command" stderr
expect_usage_error --no-such-option
expect_usage_error completion
expect_usage_error completion tcsh
for words in '--help' '-h' 'help' 'completion --help' 'help completion'; do
	# shellcheck disable=SC2086 # words
	"$CORECAST" $words | grep '^  completion bash|zsh|fish' >stdout
done

for command in $(corecast_commands); do
	expect_usage_error "$command" --no-such-option
	grep -q "^corecast $command: no such option: --no-such-option" stderr
done

# What is written replaces neither what is read, by whatever name, nor what else is written.
printf 'threads,time\n1,8\n2,4.1\n4,2.2\n' >runs.csv
cp runs.csv kept.csv
ln -s runs.csv link.csv
ln runs.csv hard.csv
for words in 'forecast runs.csv --csv runs.csv' 'forecast runs.csv --html link.csv' 'forecast link.csv --svg hard.csv' \
	'report runs.csv -o ./runs.csv' 'criticality runs.csv --svg runs.csv' 'whatif runs.csv -o runs.csv' \
	'model runs.csv -o runs.csv' 'simulate runs.csv --csv runs.csv' 'predict runs.csv -m base --html runs.csv' \
	'explore runs.csv --space runs.csv --csv runs.csv' 'export runs.csv --to csv -o runs.csv'; do
	# shellcheck disable=SC2086 # words
	expect_usage_error $words
	grep -q 'which is read' stderr
done
expect_usage_error forecast runs.csv --svg a.out --html a.out
grep -q -- '--svg and --html name the same file' stderr
expect_usage_error explore kept.csv --space runs.csv --csv runs.csv
grep -q -- '--csv and --space name the same file' stderr
cmp runs.csv kept.csv
"$CORECAST" forecast runs.csv --svg /dev/null --html /dev/null >stdout

# Closed standard output is told, and no file that is opened takes its place.
printf 'time_ns,tid,event\n0,1,start\n1000,1,exit\n' >one.csv
cp one.csv kept.csv
for words in 'criticality one.csv' 'whatif one.csv --recorded-cores 1 --force' 'export one.csv --to json' 'doctor' 'help'; do
	# shellcheck disable=SC2086 # words
	if "$CORECAST" $words >&- 2>stderr; then exit 1; fi
	grep -q 'Bad file descriptor' stderr
done
if "$CORECAST" forecast - <&- >stdout 2>stderr; then exit 1; fi
cmp one.csv kept.csv

# An option without effect is an error.
for words in 'forecast runs.csv --within 4' 'forecast runs.csv --dataset-ratio 2' 'forecast runs.csv --frequency-ratio 2' \
	'simulate app.yaml -n 5 -d 5' 'measure --machine base -- true' 'measure --timeout 0 -- true' \
	'measure --throughput-regex ( -- true' 'measure --throughput-regex [0-9]+ -- true' 'whatif one.csv --speed main' \
	'whatif one.csv --speed main=x' 'whatif one.csv --speed main=0' 'whatif one.csv --pin main=one' 'simulate app.yaml -d 0'; do
	# shellcheck disable=SC2086 # words
	expect_usage_error $words
done
if "$CORECAST" forecast runs.csv --select one >stdout 2>stderr; then exit 1; fi
grep -q 'runs.csv: there is one curve in it: leave --select out' stderr

for words in 'forecast runs.csv --to 0' 'forecast runs.csv --to 65537' 'simulate app.yaml --jobs 0' 'top -p 1 --count 0' 'record -p 0' 'tune -p 0' 'boost -p 0' 'top -p 0'; do
	# shellcheck disable=SC2086 # words
	expect_usage_error $words
	grep 'is not a whole number' stderr
done
