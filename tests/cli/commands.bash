# SPDX-License-Identifier: GPL-3.0-or-later
# For tests that source it: all commands, and a command's options, as help prints them.
corecast_commands() {
	"$CORECAST" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | grep -v '^completion$'
}

corecast_options() {
	"$CORECAST" "$1" --help | sed -nE 's/^  (-., |    )(--[a-z][a-z0-9-]*).*/\2/p'
}
