# SPDX-License-Identifier: GPL-3.0-or-later
# Programs from the distribution are measured as they are: a row for each count, with a time above zero.
seq 300000 >numbers

measured=0
measure() {
	if ! command -v "$1" >/dev/null; then
		echo "$1 is not installed" >&2
		return
	fi
	"$CORECAST" measure -n 1,2 -r 1 -o "$1.csv" -- "$@" >summary
	awk -F, '/^#/ { next }
		!column { for (i = 1; i <= NF; i++) if ($i == "time") column = i; next }
		$column > 0 { counts[$1]++ }
		END { exit !(counts[1] == 1 && counts[2] == 1) }' "$1.csv"
	measured=$((measured + 1))
}

measure pigz -p '{n}' -kf numbers
measure xz -T'{n}' -1 -kf numbers
measure zstd -q -T'{n}' -f numbers
measure sysbench cpu --threads='{n}' --events=200 --time=0 run
if [ "$measured" -eq 0 ]; then
	echo "pigz, xz, zstd and sysbench are not installed"
	exit 77
fi
