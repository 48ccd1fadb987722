# SPDX-License-Identifier: GPL-3.0-or-later
# Who called what ran is known of programs without frame pointers and debug information, too, and said of a phase of one thread.
source "$CORECAST_SOURCE/tests/cli/skips.bash"
skip_without_names
[ "$(uname -m)" = x86_64 ] || { echo 'callers by tables: x86-64 only'; exit 77; }

if ! "$CORECAST" record --via preload --samples 2000 --force -o run.cct -- "$CORECAST_BUILD/tests/programs/alone" 2>stderr ||
	! grep 'samples of what ran' stderr >found; then
	sed 's/^corecast: //' stderr
	exit 77
fi
"$CORECAST" criticality run.cct --json | jq -r '.findings[0] | "\(.kind) of \(.subject)"'
"$CORECAST" criticality run.cct --json | jq -r '.findings[0].text' | grep -o 'main > lay_out > helper'
"$CORECAST" criticality run.cct --folded folded >text
grep -o '^_start;.*main;lay_out;helper' folded | sed 's/^.*;main/main/' | sort -u
grep -o ';fill;helper' folded | sort -u
# What somebody else compiled into a function says nothing about the program.
"$CORECAST" record --via preload --samples 2000 --force -o run.cct -- "$CORECAST_BUILD/tests/programs/alone_theirs" 2>stderr
"$CORECAST" criticality run.cct --json | jq -r '.findings[0].text' | grep -o 'time went to main[^.]*'
