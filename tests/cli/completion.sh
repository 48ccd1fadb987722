# SPDX-License-Identifier: GPL-3.0-or-later
# Completion parses in each shell that is here, and offers every command and every option.
source "$CORECAST_SOURCE/tests/cli/commands.bash"

for shell in bash zsh fish; do
	"$CORECAST" completion "$shell" >"corecast.$shell"
	for command in $(corecast_commands); do
		grep -qw -- "$command" "corecast.$shell"
	done
	if command -v "$shell" >/dev/null; then
		"$shell" -n "corecast.$shell"
	fi
done

# What bash would offer for the words so far, the last of them being completed.
offer() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_corecast
	printf '%s\n' "${COMPREPLY[@]}"
}

source corecast.bash
offer corecast mea | grep -x measure >/dev/null
for command in $(corecast_commands); do
	offer corecast "" | grep -x -- "$command" >/dev/null
	for option in $(corecast_options "$command"); do
		offer corecast "$command" -- | grep -x -- "$option" >/dev/null
	done
done
