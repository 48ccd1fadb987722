# SPDX-License-Identifier: GPL-3.0-or-later
# For the scripts beside it that run the kernels of examples/kernels and, as they come from the distribution, pigz, xz, zstd
# and sysbench: builds, and makes a folder $work for the time of the script. CORECAST_KERNELS: a folder of other programs with the
# same options, instead of all of these, such as examples/unseen of the build folder; or `strangers` (strangers.bash).
. "$(dirname "${BASH_SOURCE[0]}")/build.bash"
. "$(dirname "${BASH_SOURCE[0]}")/strangers.bash"
up_to_date
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kernels_folder=${CORECAST_KERNELS:-$build/examples/kernels}

# kernel_names [NAME...]: those, or all that this machine can run.
kernel_names() {
	local file name
	if [ $# -gt 0 ]; then
		printf '%s\n' "$@"
		return
	fi
	if [ "$kernels_folder" = strangers ]; then
		stranger_names
		return
	fi
	for file in "$kernels_folder"/*; do
		name=$(basename "$file")
		if [ -f "$file" ] && [ -x "$file" ] && { [ "$name" != matmul_fma ] || grep -qw fma /proc/cpuinfo; }; then
			echo "$name"
		fi
	done
	[ -z "${CORECAST_KERNELS-}" ] || return 0
	for name in pigz xz zstd sysbench; do
		if command -v "$name" >/dev/null; then
			echo "$name"
		fi
	done
}

# Without fused arithmetic, which an emulator computes in software.
emulated_kernel_names() {
	kernel_names "$@" | grep -vx matmul_fma
}

# Of these those of examples/kernels, whose threads and sizes can be set.
own_kernel_names() {
	emulated_kernel_names "$@" | grep -vxE 'pigz|xz|zstd|sysbench'
}

# scaled SIZE AT_1: in proportion, at least 1.
scaled() {
	awk -v size="$1" -v at_1="$2" 'BEGIN { n = int(size * at_1); print n < 1 ? 1 : n }'
}

# The compressors' input, 160 kB for each 1 of SIZE: our own sources again and again.
make_text() {
	local bytes
	bytes=$(scaled "$1" 160000)
	[ -e "$work/text" ] && return
	find "$source"/src "$source"/cmd -name '*.[ch]' -print0 | sort -z | xargs -0 cat >"$work/sources"
	for ((i = 0; i < bytes; i += 500000)); do
		head -c 500000 "$work/sources"
	done >"$work/text"
	truncate -s "$bytes" "$work/text"
}

# kernel_command NAME THREADS SIZE: sets $run. What it prints can be thrown away.
# shellcheck disable=SC2034 # $run is for who calls it
kernel_command() {
	local name=$1 threads=$2 size=$3
	if [ "$kernels_folder" = strangers ]; then
		stranger_command "$@"
		return
	fi
	case $name in
	pigz | xz | zstd) make_text "$size" ;;
	esac
	case $name in
	pigz) run=("$(command -v "$name")" -p "$threads" -c "$work/text") ;;
	xz) run=("$(command -v "$name")" -T "$threads" -1 --block-size="$(scaled "$size" 10000)" -c "$work/text") ;;
	zstd) run=("$(command -v "$name")" -q -7 -T"$threads" -B524288 -c "$work/text") ;;
	sysbench) run=("$(command -v "$name")" cpu --threads="$threads" --time=0 --events="$(scaled "$size" 8)" run) ;;
	*) run=("$kernels_folder/$name" -n "$threads" -s "$size") ;;
	esac
}

# instructions_of NAME THREADS SIZE: executed by this kernel of examples/kernels.
instructions_of() {
	"$build/corecast" profile --json --force -o "$work/count.ccp" -- \
		"$kernels_folder/$1" -n "$2" -s "$3" 2>/dev/null | sed -n '/^{/,$p' | jq .instructions
}

# size_for NAME THREADS INSTRUCTIONS: of this kernel of examples/kernels, found from two small sizes.
size_for() {
	awk -v a="$(instructions_of "$1" "$2" 0.1)" -v b="$(instructions_of "$1" "$2" 0.5)" -v wanted="$3" 'BEGIN {
		slope = (b - a) / 0.4
		size = slope > 0 ? 0.1 + (wanted - a) / slope : 0.1
		printf "%.3f", (size < 0.1 ? 0.1 : size > 20 ? 20 : size)
	}'
}

# awk that sees each line as soon as it is written: mawk reads pipes by blocks unless told otherwise.
awk_by_line() {
	if awk -W version 2>/dev/null </dev/null | grep -q mawk; then
		awk -W interactive "$@"
	else
		awk "$@"
	fi
}
