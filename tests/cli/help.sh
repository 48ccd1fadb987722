# SPDX-License-Identifier: GPL-3.0-or-later
# Every command has help that starts with its name, exits 0, writes nothing to stderr and fits 80 columns.
source "$CORECAST_SOURCE/tests/cli/commands.bash"

check_width() {
	local wide
	wide=$(awk 'length($0) > 80' "$1")
	if [ -n "$wide" ]; then
		echo "$1 is wider than 80 columns:"
		echo "$wide"
		exit 1
	fi
}

"$CORECAST" --help >overview 2>stderr
check_width overview
"$CORECAST" help | cmp overview -
"$CORECAST" -h | cmp overview -
corecast_commands | grep -x measure >/dev/null

for command in $(corecast_commands); do
	"$CORECAST" "$command" --help >"$command" 2>>stderr
	check_width "$command"
	head -n 1 "$command" | grep "^corecast $command: " >/dev/null
	grep -q "^Usage: corecast $command " "$command"
	"$CORECAST" help "$command" | cmp "$command" -
done
if [ -s stderr ]; then
	cat stderr
	exit 1
fi
