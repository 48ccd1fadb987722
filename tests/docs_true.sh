#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What the README, docs/ and the man pages name is there: files that are linked to, commands, and the options
# behind a command's name or in its page's list of options.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/cli/commands.bash"
cd "$CORECAST_SOURCE"
failed=0

complain() {
	echo "$*"
	failed=1
}

# Prints the options of a man page's list: what its lines in bold begin with.
listed_options() {
	awk '/^# / { inside = $0 == "# OPTIONS" } inside && /^\*-/' "$1" | grep -oE -- '--[a-z][a-z0-9-]*'
}

# Prints "COMMAND OPTION" for each option behind `corecast COMMAND`, as far as that line's own program.
used_options() {
	sed 's/[*_`]//g' "$1" | grep -oE '(^|[^/a-z-])corecast [a-z]+ [^|;&<>]*' |
		sed -E 's/^[^c]?corecast //; s/ -- .*//; s/,? (and|or|as|corecast) .*//' |
		awk '{ for (i = 2; i <= NF; i++) if (match($i, /^--[a-z][a-z0-9-]*/)) print $1, substr($i, 1, RLENGTH) }'
}

mapfile -t pages < <(find README.md CONTRIBUTING.md docs bench fuzz examples -name '*.md' -o -name '*.scd' | sort)
declare -A options
for command in $(corecast_commands); do
	options[$command]=" $(corecast_options "$command" | tr '\n' ' ')"
done

for page in "${pages[@]}"; do
	while read -r command option; do
		[[ ${options[$command]:-} == *" $option "* ]] ||
			complain "$page: there is no 'corecast $command $option'"
	done < <(used_options "$page" | sort -u)
	while read -r target; do
		[ -e "$(dirname "$page")/$target" ] || complain "$page: links to '$target', which is not there"
	done < <(grep -oE '\]\([^)#: ]+' "$page" | sed 's/^](//' | sort -u)
done
for command in "${!options[@]}"; do
	while read -r option; do
		[[ ${options[$command]} == *" $option "* ]] ||
			complain "docs/man/corecast-$command.1.scd lists $option, which the command does not know"
	done < <(listed_options "docs/man/corecast-$command.1.scd")
done
exit "$failed"
