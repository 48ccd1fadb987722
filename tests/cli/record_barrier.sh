# SPDX-License-Identifier: GPL-3.0-or-later
# More threads than cores at a barrier: all who meet there are let go at one instant, by the last of them, even
# where the next round begins before everybody has left.
"$CORECAST" record --via preload --samples 0 -o run.cct -- \
	"$CORECAST_BUILD/examples/kernels/pathfinder" -n 7 -s 0.2 >/dev/null 2>stderr
"$CORECAST" export run.cct --to csv >run.csv
awk -F, '
	$4 == "pass" && $5 == "barrier" { met[$9]++; passes++ }
	$4 == "wait" && $5 == "barrier" { came[$1]++ }
	END {
		for (instant in met)
			if (met[instant] != 7 || !(instant in came)) bad++
		if (passes < 700 || bad) { print passes " left barriers, " bad + 0 " rounds are torn"; exit 1 }
	}' run.csv
