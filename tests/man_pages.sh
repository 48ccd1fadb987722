#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command has a man page, and the page names every option that the command's help names.
# Usage: man_pages.sh PAGE...: the pages that are built (corecast, corecast-measure, ...)
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/cli/commands.bash"
failed=0
overview=$CORECAST_SOURCE/docs/man/corecast.1.scd
for command in $(corecast_commands); do
	if ! grep -q -- "^\*corecast-$command\*(1)$" "$overview"; then
		echo "$overview does not say what corecast-$command is for"
		failed=1
	fi
done
for command in $(corecast_commands); do
	page=$CORECAST_SOURCE/docs/man/corecast-$command.1.scd
	if [[ " $* " != *" corecast-$command "* ]] || ! [ -e "$page" ]; then
		echo "corecast $command has no man page: write $page and list it in docs/meson.build"
		failed=1
		continue
	fi
	for option in $(corecast_options "$command" | grep -vx -e --help); do
		if ! grep -q -- "$option" "$page"; then
			echo "$page does not mention $option"
			failed=1
		fi
	done
done
exit "$failed"
