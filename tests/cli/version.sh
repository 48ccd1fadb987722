# SPDX-License-Identifier: GPL-3.0-or-later
# The version is meson.build's, and one line of it.
version=$(sed -n "s/^[[:space:]]*version: '\(.*\)',$/\1/p" "$CORECAST_SOURCE/meson.build")
"$CORECAST" --version | sed "s/$version/VERSION/"
