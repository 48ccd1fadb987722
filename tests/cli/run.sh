#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs one test of the command: run.sh NAME.sh
#
# NAME.sh runs in an empty folder with $CORECAST (the built command), $CORECAST_SOURCE and
# $CORECAST_BUILD (the trees). Its standard output must equal NAME.sh.stdout where there is one.
# Exit 0: passed; 77: skipped, for the reason on its last line; else failed.
# Pipes end with what reads all of its input (grep >/dev/null, not grep -q), or the writer may fail.
# CORECAST_TEST_UPDATE=1 rewrites NAME.sh.stdout instead of comparing.
set -euo pipefail

script=$(readlink -f "$1")
expected=$script.stdout
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/work"
cd "$folder/work"

status=0
env -u NO_COLOR -u COLUMNS LC_ALL=C.UTF-8 TERM=dumb TMPDIR="$folder" BASH_XTRACEFD=9 \
	bash -euxo pipefail "$script" </dev/null >"$folder/stdout" 9>"$folder/trace" || status=$?

if [ "$status" -ne 0 ]; then
	cat "$folder/stdout"
	if [ "$status" -ne 77 ]; then
		echo "$(basename "$script"): exit status $status, after" >&2
		tail -n 8 "$folder/trace" >&2
		if [ -e stderr ]; then
			tail -n 8 stderr >&2
		fi
	fi
	exit "$status"
fi
if [ "${CORECAST_TEST_UPDATE:-}" = 1 ] && [ -e "$expected" ]; then
	cp "$folder/stdout" "$expected"
fi
if [ -e "$expected" ]; then
	diff -u "$expected" "$folder/stdout"
else
	cat "$folder/stdout"
fi
