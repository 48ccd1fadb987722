# SPDX-License-Identifier: GPL-3.0-or-later
# For the scripts beside it: $source are our sources, $build is where they are built, CORECAST_BUILD or build/ in them.
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CORECAST_BUILD:-$source/build}

# up_to_date [TARGET...]: builds these, or everything, as far as that has to be done.
up_to_date() {
	[ -f "$build/build.ninja" ] || meson setup "$build" "$source" >&2
	ninja -C "$build" "$@" >&2
}
