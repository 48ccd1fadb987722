# SPDX-License-Identifier: GPL-3.0-or-later
# What the C library reads for fgets(), fread() and the like is told as what read() reads: the bytes of all of them are those that were written.
"$CORECAST" record --via preload --samples 0 --budget none -o run.cct -- "$CORECAST_BUILD/tests/programs/streams" >bytes 2>stderr
"$CORECAST" export run.cct --to csv -o run.csv
awk -F, -v bytes="$(cat bytes)" '
	$5 == "queue" { sum[$4] += $8 }
	$5 == "io" && $4 == "pass" { waits++ }
	END { print (sum["release"] == bytes), (sum["pass"] == bytes), (waits > 10) }' run.csv
