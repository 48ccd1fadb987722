# SPDX-License-Identifier: GPL-3.0-or-later
# The bundled programs give the same result at any thread count, and behave as examples/README.md says.
scales=$CORECAST_BUILD/examples/scales
peaks=$CORECAST_BUILD/examples/peaks

for program in "$scales" "$peaks"; do
	"$program" -h | grep "^Usage: $(basename "$program") THREADS" >usage
	for wrong in 0 -1 two 1025 ''; do
		status=0
		"$program" "$wrong" >stdout 2>stderr || status=$?
		[ "$status" -eq 2 ]
	done
	for threads in 1 2 3 7 32; do
		"$program" "$threads" 5 | sed -n 's/^checksum: //p'
	done | sort -u >checksums
	[ "$(wc -l <checksums)" -eq 1 ]
done

# Processor seconds, by thread count, of the fastest run (others may be held up): those of scales stay, those of peaks
# grow (4 + 0.33 n: 3.4 times at 32, of which 1.8 is the middle).
grows() {
	"$CORECAST" measure -n 1,32 -r 3 -o cpu.csv --force -- "$1" '{n}' 20 >stdout
	awk -F, '/^#/ { next }
		!column { for (i = 1; i <= NF; i++) if ($i == "user_s") column = i; next }
		!($1 in least) || $column < least[$1] { least[$1] = $column }
		END { print (least[32] > 1.8 * least[1]) ? "grows" : "stays" }' cpu.csv
}
echo "processor time of scales: $(grows "$scales")"
echo "processor time of peaks: $(grows "$peaks")"

"$CORECAST" measure -n 1,2 -r 1 -o throughput.csv --throughput-regex 'throughput: ([0-9.]+)' \
	-- "$peaks" '{n}' 5 >stdout
awk -F, '!/^#/ { print $1, $2 + 0 == $2 ? "a number" : $2 }' throughput.csv | sort
