#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every file of source says in its first lines the licence that LICENSE has for its folder: licences.sh SOURCE
set -euo pipefail

cd "$1"
failed=0
shopt -s globstar nullglob

licences_of() {
	case $1 in
	include/* | preload/*) echo MIT ;;
	plugin/*.h) echo 'GPL-2.0-or-later MIT' ;;
	bpf/* | plugin/*) echo GPL-2.0-or-later ;;
	*) echo GPL-3.0-or-later ;;
	esac
}

for file in {src,cmd,include,preload,bpf,plugin,tests,fuzz,bench,examples,scripts,.ci}/**; do
	[ -f "$file" ] || continue
	case $file in
	*.c | *.h | *.sh | *.bash | *.py) ;;
	*) read -rN 2 start <"$file" 2>/dev/null && [ "$start" = '#!' ] || continue ;;
	esac
	said=
	for ((i = 0; i < 3; i++)); do
		read -r line || break
		[[ $line != *SPDX-License-Identifier:\ * ]] || read -r said _ <<<"${line#*SPDX-License-Identifier: }"
	done <"$file"
	if [ -z "$said" ] || [[ " $(licences_of "$file") " != *" $said "* ]]; then
		echo "$file: its licence is ${said:-not told}, not $(licences_of "$file")"
		failed=1
	fi
done
for licence in GPL-3.0-or-later GPL-2.0-or-later MIT; do
	if ! [ -s "LICENSES/$licence.txt" ]; then
		echo "LICENSES/$licence.txt is missing"
		failed=1
	fi
done
exit "$failed"
