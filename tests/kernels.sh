#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every kernel, at its smallest size, has the same checksum with one thread and with three; options that are wrong are
# refused. Usage: kernels.sh FOLDER NAME...
set -euo pipefail

folder=$1
shift
failed=0

checksum() {
	timeout 60 "$@" | sed -n 's/^checksum: \([0-9a-f]\{16\}\)$/\1/p'
}

fail() {
	echo "$*"
	failed=1
}

for name in "$@"; do
	if [ "$name" = matmul_fma ] && ! grep -qw fma /proc/cpuinfo; then
		continue
	fi
	one=$(checksum "$folder/$name" -s 1)
	three=$(checksum "$folder/$name" -s 1 -n 3)
	other=$(checksum "$folder/$name" -s 2)
	[ -n "$one" ] || fail "$name: no checksum"
	[ "$one" = "$three" ] || fail "$name: $one with one thread, $three with three"
	[ "$one" != "$other" ] || fail "$name: $one at two sizes: the checksum is not of the work"
	status=0
	"$folder/$name" -n 0 >/dev/null 2>&1 || status=$?
	[ "$status" -eq 2 ] || fail "$name: exit status $status for no threads"
done
exit "$failed"
