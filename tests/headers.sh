#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every header compiles alone; the public ones also as strict C99 and as C++, and need no header of ours
# or of another library. Usage: headers.sh SOURCE (CC and CXX name the compilers: gcc and g++ if unset)
set -euo pipefail

cd "$1"
cc=${CC:-gcc}
cxx=${CXX:-g++}
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

while read -r header; do
	compile_alone "$cc" "$header" -x c -std=gnu11 -D_GNU_SOURCE
done < <(find src cmd preload include -name '*.h' | sort)

while read -r header; do
	compile_alone "$cc" "$header" -x c -std=c99 -pedantic-errors
	if command -v "$cxx" >/dev/null; then
		compile_alone "$cxx" "$header" -x c++ -std=c++11 -pedantic-errors
	fi
	other=$(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\(.*\)/\1/p' "$header" |
		grep -vE '^<(assert|errno|float|inttypes|limits|math|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|time)\.h>$' ||
		true)
	if [ -n "$other" ]; then
		echo "$header includes $other: public headers include only those of the C standard"
		failed=1
	fi
done < <(find include -name '*.h' | sort)
exit "$failed"
