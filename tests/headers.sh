#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every header compiles alone; the public ones also as strict C99 and as C++, and need no header of ours
# or of another library. Usage: headers.sh SOURCE
set -euo pipefail

cd "$1"
read -ra flags <<<"-Wall -Wextra -Werror -I. -Iinclude -Isrc -Icmd \
	$(pkg-config --cflags gsl jansson libcyaml hwloc)"
failed=0

# compile_alone COMPILER FILE OPTIONS...: includes it twice, so that the guard is tested too.
compile_alone() {
	local compiler=$1 header=$2
	shift 2
	if ! printf '#include "%s"\n#include "%s"\nextern int unused;\n' "$PWD/$header" "$PWD/$header" |
		$compiler -fsyntax-only "$@" "${flags[@]}" -; then
		echo "$header does not compile alone ($compiler $*)"
		failed=1
	fi
}

# has COMPILER: one of several, of which users may have any.
has() {
	command -v "$1" >/dev/null
}

own=gcc # whether a header includes what it uses does not depend on the compiler
has gcc || own=clang
while read -r header; do
	compile_alone "$own" "$header" -x c -std=gnu11 -D_GNU_SOURCE
done < <(find src cmd preload include -name '*.h' | sort)

while read -r header; do
	for compiler in gcc clang; do
		! has $compiler || compile_alone $compiler "$header" -x c -std=c99 -pedantic-errors
	done
	for compiler in g++ clang++; do
		! has $compiler || compile_alone $compiler "$header" -x c++ -std=c++11 -pedantic-errors
	done
	other=$(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\(.*\)/\1/p' "$header" |
		grep -vE '^<(assert|errno|float|inttypes|limits|math|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|time)\.h>$' ||
		true)
	if [ -n "$other" ]; then
		echo "$header includes $other: public headers include only those of the C standard"
		failed=1
	fi
done < <(find include -name '*.h' | sort)
exit "$failed"
