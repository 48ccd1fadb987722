#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes charts.js, the pinned Vega-Lite and what it needs as one script, and charts.c, which embeds it.
#
#	bundle.sh auto|enabled|disabled SOURCE_FOLDER CHARTS_JS CHARTS_C
#
# Where npm or the network is missing, `auto` makes an empty bundle, with which pages have static
# figures; `enabled` fails. Runs only when the lock file changes: delete charts.js to try again.
set -euo pipefail

mode=$1 source=$2 js=$3 c=$4
folder=$(dirname "$js")/npm
log=$folder/npm.log

install_packages() {
	mkdir -p "$folder"
	cp "$source/package.json" "$source/package-lock.json" "$folder/"
	command -v npm >"$log" || { echo 'npm is not installed' >"$log"; return 1; }
	timeout 300 npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund \
		--fetch-retries=1 --fetch-timeout=30000 >"$log" 2>&1
}

# Each licence once, after the names of the packages that are under it.
print_licences() {
	local file hash package
	declare -A names texts
	for file in "$folder"/node_modules/{*,@*/*}/LICEN[CS]E*; do
		[ -f "$file" ] || continue
		hash=$(sha256sum <"$file" | cut -d' ' -f1)
		package=${file#"$folder/node_modules/"}
		names[$hash]+=" ${package%/*}"
		texts[$hash]=$file
	done
	printf '/*!\nThis script contains the following packages, under these licences.\n'
	for hash in $(printf '%s\n' "${!texts[@]}" | LC_ALL=C sort); do
		printf '\n==%s\n\n' "${names[$hash]}"
		sed 's,\*/,* /,g' "${texts[$hash]}"
	done
	printf '*/\n'
}

# An HTML parser ends a script at the first "</script", even inside a string.
print_bundle() {
	print_licences
	for package in vega vega-lite vega-embed; do
		sed -e 's,</script,<\\/script,gI' -e 's,<!--,<\\!--,g' -e '/^\/\/# sourceMappingURL/d' \
			"$folder/node_modules/$package/build/$package.min.js"
		printf '\n'
	done
}

if [ "$mode" != disabled ] && install_packages; then
	print_bundle >"$js"
elif [ "$mode" = enabled ]; then
	cat "$log" >&2
	echo "cannot install the packages of $source/package.json with npm" >&2
	exit 1
else
	[ "$mode" = disabled ] || echo "HTML pages will have static figures only: see $log" >&2
	: >"$js"
fi
rm -rf "$folder/node_modules"

cat >"$c" <<END
/* Made by bundle.sh from charts.js, $(sha256sum <"$js" | cut -d' ' -f1). */
#include "report/charts.h"

const size_t charts_js_bytes = $(wc -c <"$js");
__asm__(".section .rodata\n"
	".global charts_js\n"
	".hidden charts_js\n"
	"charts_js:\n"
	".incbin \"$(realpath "$js")\"\n"
	".byte 0\n"
	".previous\n");
END
