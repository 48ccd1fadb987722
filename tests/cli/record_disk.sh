# SPDX-License-Identifier: GPL-3.0-or-later
# Requests to disks: which thread caused them, how many bytes, and in which order they were queued, started, done.
export TMPDIR=.
dd if=/dev/zero of=file bs=64k count=4 oflag=direct 2>dd.log || { echo "no direct input and output here"; exit 77; }
if ! "$CORECAST" record --disk --samples 0 -o run.cct -- dd if=file of=copy bs=64k iflag=direct conv=fsync 2>stderr; then
	sed 's/^corecast: //' stderr
	exit 77
fi
grep -q 'recording via bpf, because only the kernel sees requests to disks' stderr
grep -q ', 0 lost$' stderr
"$CORECAST" export run.cct --to csv >run.csv
grep ',disk_queue,' run.csv >queued || { echo "the files here are on no block device"; exit 77; }

# Each is queued, started and done, in this order; a flush may have no start of its own. Writes that nobody waits for, of
# others' pages on a busy disk, may not have come to their end with the program.
awk -F, '$4 ~ /^disk_/ { print $6, NR, $4, $11 }' run.csv | sort -k1,1 -k2n | awk '
	function is_sound() {
		return got == "queue start end " || (got == "queue end " && is_flush) || (got ~ /^queue (start )?$/ && is_write)
	}
	function check() { if (got != "" && !is_sound()) { print id, got; bad = 1 } }
	$1 != id { check(); id = $1; got = ""; is_flush = is_write = 0 }
	{ sub(/disk_/, "", $3); got = got $3 " "; is_flush = is_flush || $4 ~ /flush/; is_write = is_write || $4 ~ /write/ }
	END { check(); exit bad }'
# The file was read by direct input: 256 KiB, not ahead. fsync() wrote as much, at least.
awk -F, '$4 == "disk_start" && $11 == "" { n += $8 % 4294967296 } END { exit n < 262144 }' run.csv
awk -F, '$4 == "disk_start" && $11 ~ /write/ { n += $8 % 4294967296 } END { exit n < 262144 }' run.csv
# They are not steps of the thread: its criticality is what it is without them.
"$CORECAST" criticality run.cct >text
grep -v disk_ run.csv >without.csv
"$CORECAST" criticality run.csv --json | jq '.threads[].criticality_s' >with
"$CORECAST" criticality without.csv --json | jq '.threads[].criticality_s' >without
cmp with without

# Beside the kernel the library tells of each call on a file, also of those that found all in the page cache.
cat >read.py <<'END'
import os
file = os.open("file", os.O_RDONLY)
os.read(file, 65536)
for i in range(5):
    os.pread(file, 4096, 0)
END
if "$CORECAST" record --via both --disk --samples 0 -o calls.cct -- python3 read.py 2>stderr; then
	"$CORECAST" export calls.cct --to csv >calls.csv
	awk -F, '$4 == "wait" && $5 == "io" && $8 == 1 { n++ } END { exit n < 6 }' calls.csv
	"$CORECAST" model calls.cct -o calls.yaml >text
fi

# The library cannot see them.
status=0
"$CORECAST" record --disk --via preload -o none.cct -- true 2>stderr || status=$?
[ "$status" -eq 1 ]
grep -q 'only the kernel sees requests to disks' stderr
