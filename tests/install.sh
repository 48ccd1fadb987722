#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What `meson install` leaves works from where it was put: install.sh MAN-PAGE...
# $CORECAST_PREFIX is the prefix that the build is configured for.
set -euo pipefail

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR=$root meson install -C "$CORECAST_BUILD" --no-rebuild >"$root/log" 2>&1 || {
	cat "$root/log"
	exit 1
}
prefix=$root$CORECAST_PREFIX

expect_file() {
	if ! [ -s "$1" ]; then
		echo "not installed: ${1#"$root"}"
		exit 1
	fi
}

expect_file "$prefix/bin/corecast"
"$prefix/bin/corecast" --version >"$root/version"
"$CORECAST" --version | cmp - "$root/version"
for page in "$@"; do
	expect_file "$prefix/share/man/man1/$page.1"
done
expect_file "$prefix/share/bash-completion/completions/corecast"
expect_file "$prefix/share/zsh/site-functions/_corecast"
expect_file "$prefix/share/fish/vendor_completions.d/corecast.fish"

# The library: its examples build with what pkg-config says and runs; it exports nothing but its own names.
expect_file "$prefix/include/corecast/corecast.h"
pc=$(find "$prefix" -name corecast.pc)
expect_file "$pc"
lib=$(find "$prefix" -name libcorecast.so)
expect_file "$lib"
read -ra flags < <(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs corecast)
${CC:-cc} "$CORECAST_SOURCE/examples/library/forecast.c" "${flags[@]}" -o "$root/forecast"
LD_LIBRARY_PATH=$(dirname "$lib") "$root/forecast" >"$root/forecast.out"
grep -q '^16 threads: ' "$root/forecast.out"
for compiler in "${CC:-cc} -x c" "${CXX:-c++} -x c++"; do
	if command -v "${compiler%% *}" >"$root/found"; then
		$compiler "$CORECAST_SOURCE/examples/library/tuner.c" -x none "${flags[@]}" -o "$root/tuner"
		LD_LIBRARY_PATH=$(dirname "$lib") "$root/tuner" >"$root/tuner.out"
		grep -q 'the load changed' "$root/tuner.out"
	fi
done
# A pool that may be tuned needs the headers only.
${CC:-cc} "$CORECAST_SOURCE/examples/pool_server.c" -I"$prefix/include" -pthread -o "$root/pool_server"
"$root/pool_server" 0.03 2 >"$root/pool_server.out"
grep -qE '^[0-9]+ [0-9]+ [0-9]+$' "$root/pool_server.out"
foreign=$(nm -D --defined-only "$lib" | awk '$2 != "A" && $3 !~ /^corecast_/ { print $3 }')
if [ -n "$foreign" ]; then
	echo "exported, but not corecast's: $foreign"
	exit 1
fi
