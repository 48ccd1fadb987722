#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Enforces docs/ARCHITECTURE.md: which room includes which, and what rooms must not call.
#
#   rooms.sh SOURCE              checks the tree; one line for each violation; exits 1 if there is one
#   rooms.sh --self-test SOURCE  plants violations in a small tree and checks that each is found
set -euo pipefail

# Prints "ROOM ALLOWED ROOMS..." for each row of the table of rooms. A room's name is its last folder.
read_table() {
	awk -F'|' '/^## / { inside = $0 ~ /Who may use what/ }
		inside && $2 ~ /^ `/ {
			gsub(/[` ]/, "", $2); gsub(/[`]/, "", $4); sub(/.*\//, "", $2)
			print $2, $4
		}' "$1/docs/ARCHITECTURE.md"
}

room_files() {
	find "$1"/{src,cmd,include,preload,bpf,plugin,tests,fuzz,bench,examples} -name '*.[ch]' | sort
}

# Reads names of files; prints "FILE:LINE:NAME" for each #include "NAME" in them.
own_includes() {
	xargs -d '\n' awk -F'"' '/^[ \t]*#[ \t]*include[ \t]*"/ { print FILENAME ":" FNR ":" $2 }'
}

# Reads names of C files; prints their lines as "FILE:LINE:CODE", comments and the contents of strings left out.
code_lines() {
	xargs -d '\n' awk 'FNR == 1 { inside = 0 }
	{
		line = $0; out = ""
		while (line != "") {
			if (inside) {
				at = index(line, "*/")
				if (!at) break
				inside = 0; line = substr(line, at + 2)
			} else if (match(line, /\/\*|"([^"\\]|\\.)*"/)) {
				out = out substr(line, 1, RSTART - 1)
				if (substr(line, RSTART, 2) == "/*") inside = 1
				else out = out "\"\""
				line = substr(line, RSTART + RLENGTH)
			} else { out = out line; line = "" }
		}
		if (out != "") print FILENAME ":" FNR ":" out
	}'
}

# Includes of our own files: a name with a folder must be in an allowed room, one without in the same folder.
check_includes() {
	awk -v root="$1" '
		function room_of(file) {
			file = substr(file, length(root) + 2)
			sub(/^src\//, "", file)
			sub(/\/.*/, "", file)
			return file
		}
		FILENAME == "/dev/fd/3" {
			room = $1
			$1 = ""
			allowed[room] = $0 " "
			next
		}
		FILENAME == "/dev/fd/4" {
			if (!(room_of($0) in allowed))
				print $0 ": room \047" room_of($0) "\047 is not in the table of docs/ARCHITECTURE.md"
			is_there[$0] = 1
			next
		}
		{
			split($0, part, ":")
			file = part[1]
			included = part[3]
			room = room_of(file)
			target = included
			sub(/\/.*/, "", target)
			folder = file
			sub(/[^\/]*$/, "", folder)
			if (included !~ /\//) {
				if (!((folder included) in is_there))
					print file ":" part[2] ": \047" included "\047 is not beside it; name the room"
			} else if (target == "corecast") {
				if (room != "include" && index(allowed[room], " include ") == 0)
					print file ":" part[2] ": \047" room "\047 may not use the public header"
			} else if (target != room && index(allowed[room], " " target " ") == 0)
				print file ":" part[2] ": \047" room "\047 may not use \047" target "\047 (" included ")"
		}' /dev/fd/3 /dev/fd/4 - 3< <(read_table "$1") 4< <(room_files "$1") < <(room_files "$1" | own_includes)
}

# check_calls ROOT FOLDER NAMES WHY: prints where files below FOLDER call one of NAMES (an extended regular expression).
check_calls() {
	local root=$1 folder=$2 names=$3 why=$4
	find "$root/$folder" -name '*.[ch]' | sort | code_lines |
		{ grep -E ":[0-9]+:(|.*[^A-Za-z0-9_>.])($names)[[:space:]]*\(" || true; } |
		sed -E "s|^([^:]*:[0-9]+):.*|\1: $why|"
}

check_tree() {
	check_includes "$1"
	local room
	for room in scaling criticality sim model meaning replay builder uarch; do
		[ -d "$1/src/$room" ] || continue
		check_calls "$1" "src/$room" \
			'clock|clock_gettime|clock_now_n?s|gettimeofday|time|localtime|gmtime|getenv|secure_getenv|setenv|f?open|freopen|openat|popen|system|s?rand|s?random|[a-z]rand48|getrandom|arc4random[a-z_]*|getpid|(u|nano)?sleep' \
			'this room is pure: no clock, environment, file or unseeded random number'
	done
	check_calls "$1" src 'v?printf|puts|putchar|perror|exit|_?Exit|abort' \
		'code under src/ returns errors; it does not print or exit'
}

# expect_violation ROOT FILE LINE TEXT: with LINE appended to FILE, TEXT must be among the violations.
expect_violation() {
	local root=$1 file=$1/$2 line=$3 text=$4
	cp "$file" "$root/saved"
	printf '%s\n' "$line" >>"$file"
	if ! check_tree "$root" | grep -F "$file:" | grep -F "$text" >"$root/found"; then
		echo "not found: $text, with this line in $2: $line"
		exit 1
	fi
	mv "$root/saved" "$file"
}

self_test() {
	copy=$(mktemp -d)
	trap 'rm -rf "$copy"' EXIT
	mkdir -p "$copy"/{src/{base,scaling,report,collect},cmd,include,preload,bpf,plugin,tests,fuzz,bench,examples,docs}
	cp "$1/docs/ARCHITECTURE.md" "$copy/docs"
	for file in base/err scaling/forecast report/report collect/limits; do
		printf '#include "%s.h"\n' "$file" >"$copy/src/$file.c"
		echo >"$copy/src/$file.h"
	done
	if [ -n "$(check_tree "$copy")" ]; then
		echo "violations in a tree without any: $(check_tree "$copy")"
		exit 1
	fi
	expect_violation "$copy" src/base/err.c '#include "scaling/curve.h"' "'base' may not use 'scaling'"
	expect_violation "$copy" src/scaling/forecast.c '# include "collect/run.h"' "'scaling' may not use 'collect'"
	expect_violation "$copy" src/report/report.c '#include "cmd/command.h"' "'report' may not use 'cmd'"
	expect_violation "$copy" src/report/report.c '#include "command.h"' 'is not beside it'
	expect_violation "$copy" src/scaling/forecast.c 'static long t(void) { return time(NULL); }' 'pure'
	expect_violation "$copy" src/scaling/forecast.c 'static char *e(void) { return getenv ("X"); }' 'pure'
	expect_violation "$copy" src/base/err.c 'void say(void) { /* why */ puts("no"); }' 'does not print'
	expect_violation "$copy" src/collect/limits.c 'void leave(void) { exit(1); }' 'does not print or exit'
	mkdir "$copy/src/attic"
	echo >"$copy/src/attic/old.c"
	expect_violation "$copy" src/attic/old.c '' 'is not in the table'
}

if [ "$1" = --self-test ]; then
	self_test "$(readlink -f "$2")"
	exit
fi
violations=$(check_tree "$(readlink -f "$1")")
if [ -n "$violations" ]; then
	printf '%s\n' "$violations"
	exit 1
fi
