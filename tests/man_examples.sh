#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the examples of man pages: man_examples.sh PAGE.scd...
#
# An example is a line that starts with "$ " in the section EXAMPLES (indented or in a literal block;
# a backslash at its end, which scdoc writes as two, continues it). The examples of one page run in order in one folder, which starts
# with the files of tests/man/ and examples/models/, with ./app, a program that takes the number of threads, and app.ccp, a profile. Each must exit 0.
# $CORECAST and $CORECAST_BUILD say what to run.
set -euo pipefail

examples_of() {
	awk '/^# / { inside = $0 == "# EXAMPLES" }
		inside && (more || /^[ \t]*\$ /) {
			line = $0
			if (!more) sub(/^[ \t]*\$ /, "", line)
			more = line ~ /\\+$/
			sub(/\\+$/, "", line)
			printf "%s%s", line, more ? "" : "\n"
		}' "$1"
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")")
mkdir "$folder/bin"
ln -s "$CORECAST" "$folder/bin/corecast"
PATH=$folder/bin:$PATH
failed=0

for page in "$@"; do
	page=$(readlink -f "$page")
	work=$folder/$(basename "$page" .scd)
	mkdir "$work"
	find "$here/man" "$here/../examples/models" -type f -exec cp {} "$work" ';'
	printf '#!/bin/sh\nexec "%s" "%s" 20\n' "$CORECAST_BUILD/examples/peaks" "\$1" >"$work/app"
	chmod +x "$work/app"
	"$CORECAST_BUILD/tests/programs/profile_of" "$here/man/profile.csv" "$work/app.ccp"
	count=0
	while read -r example; do
		count=$((count + 1))
		echo "$ $example"
		if ! (cd "$work" && bash -c "$example" </dev/null 2>&1); then
			echo "$(basename "$page"): this example failed: $example"
			failed=1
		fi
	done < <(examples_of "$page")
	if [ "$count" -eq 0 ]; then
		echo "$(basename "$page"): no examples: the section EXAMPLES needs lines that start with '\$ '"
		failed=1
	fi
done
exit "$failed"
