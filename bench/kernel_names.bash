# SPDX-License-Identifier: GPL-3.0-or-later
# For the scripts beside it that run the kernels of examples/kernels: builds, and makes a folder $work for the time
# of the script. Sets $source, $build.
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CORECAST_BUILD:-$source/build}
[ -f "$build/build.ninja" ] || meson setup "$build" "$source" >&2
ninja -C "$build" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# kernel_names [NAME...]: those, or all that this machine can run.
kernel_names() {
	local file name
	if [ $# -gt 0 ]; then
		printf '%s\n' "$@"
		return
	fi
	for file in "$build"/examples/kernels/*; do
		name=$(basename "$file")
		if [ -f "$file" ] && [ -x "$file" ] && { [ "$name" != matmul_fma ] || grep -qw fma /proc/cpuinfo; }; then
			echo "$name"
		fi
	done
}

# Without fused arithmetic, which an emulator does 70 times as slowly.
emulated_kernel_names() {
	kernel_names "$@" | grep -vx matmul_fma
}
