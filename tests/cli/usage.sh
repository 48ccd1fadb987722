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

for words in 'forecast runs.csv --to 0' 'forecast runs.csv --to 65537' 'simulate app.yaml --jobs 0' 'top -p 1 --count 0'; do
	# shellcheck disable=SC2086 # words
	expect_usage_error $words
	grep 'is not a whole number' stderr
done
