#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds the Debian package from a copy of the tree, unpacks it and runs what is in it: debian_package.sh SOURCE
set -euo pipefail

for tool in dpkg-buildpackage dh fakeroot; do
	if ! command -v "$tool" >/dev/null; then
		echo "$tool is not installed"
		exit 77
	fi
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/corecast" "$folder/root"
tar -C "$1" --exclude='./build*' --exclude=./.git --exclude=node_modules -cf - . |
	tar -C "$folder/corecast" -xf -
cd "$folder/corecast"
# How fast the result is, is of no interest here.
DEB_BUILD_OPTIONS=noopt dpkg-buildpackage -b -uc -us
package=$(echo "$folder"/corecast_*.deb)
dpkg-deb --contents "$package"
dpkg-deb -x "$package" "$folder/root"
"$folder/root/usr/bin/corecast" --version
for page in docs/man/*.scd; do
	zcat "$folder/root/usr/share/man/man1/$(basename "$page" .scd).gz" | grep '^\.TH'
done
