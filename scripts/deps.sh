#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the Debian packages that corecast needs. Does nothing, quickly, when all are there.
#
#   deps.sh           to build and use corecast
#   deps.sh --test    that, and what the tests and checks use
set -euo pipefail

# libyaml-dev: libcyaml's pkg-config file asks for it, its package does not.
build_packages=(gcc libc6-dev meson ninja-build pkgconf
	libgsl-dev libjansson-dev libcyaml-dev libyaml-dev libhwloc-dev libzstd-dev libsqlite3-dev libpfm4-dev libdw-dev libiberty-dev scdoc
	libbpf-dev libelf-dev bpftool clang libzydis-dev qemu-user valgrind)

# Compilers and checkers; shells for completion; chromium to open the HTML pages; real programs.
test_packages=(clang clang-format clang-tidy libomp-dev libclang-rt-dev libcmocka-dev jq shellcheck
	zsh fish chromium build-essential debhelper fakeroot
	libopenmpi-dev openmpi-bin
	sqlite3 pigz xz-utils zstd sysbench)

say() {
	printf 'deps: %s\n' "$*" >&2
}

wanted_packages() {
	printf '%s\n' "${build_packages[@]}"
	# Any Node.js that brings npm will do; Debian's own only where there is none.
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		printf '%s\n' nodejs npm
	fi
	if [ "${1:-}" = --test ]; then
		printf '%s\n' "${test_packages[@]}"
	fi
}

# Reads package names, prints those that are not installed.
missing_packages() {
	local installed
	installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null |
		sed -n 's/^installed //p' | sort -u)
	sort -u | comm -23 - <(printf '%s\n' "$installed")
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif [ -t 0 ]; then
		sudo "$@"
	else
		sudo -n "$@"
	fi
}

apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q \
		-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null >&2
}

case "${1:-}" in
'' | --test) ;;
*)
	say "usage: deps.sh [--test]"
	exit 2
	;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	say "this is not Debian: install these (or their like) by hand:" \
		"$(wanted_packages "$@" | tr '\n' ' ')"
	exit 1
fi

mapfile -t missing < <(wanted_packages "$@" | missing_packages)
if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi
if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
	say "missing packages and no sudo. As root: apt-get install --no-install-recommends ${missing[*]}"
	exit 1
fi

say "installing ${missing[*]}"
if ! apt_get update; then
	say "could not refresh the package lists; trying with those that are here"
fi
apt_get install -y --no-install-recommends "${missing[@]}"
