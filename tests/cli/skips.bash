# SPDX-License-Identifier: GPL-3.0-or-later
# For tests that source it: skip, with the reason, what not every build can do.
skip_without_names() {
	if "$CORECAST" doctor | grep -E 'no (libdw|libiberty)' >/dev/null; then
		echo 'this build knows no names in the source'
		exit 77
	fi
}

skip_without_machine_code() {
	if [ ! -e "$CORECAST_BUILD/plugin/libcorecast-profile.so" ] || [ "$(uname -m)" != x86_64 ]; then
		echo 'this build does not read machine code'
		exit 77
	fi
}

skip_without_cpp() { # PROGRAM of tests/programs
	if [ ! -x "$CORECAST_BUILD/tests/programs/$1" ]; then
		echo 'no C++ compiler here'
		exit 77
	fi
}
