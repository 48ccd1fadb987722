# SPDX-License-Identifier: GPL-3.0-or-later
# A page, opened in Chromium: its charts are drawn, the pointer gets numbers, nothing is fetched, nothing
# is complained about, and the SVG is XML.
skip() {
	echo "$1"
	exit 77
}

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	skip "chromium is not installed"
[ -s "$CORECAST_BUILD/src/report/charts.js" ] || skip "this build has no Vega-Lite"

awk 'BEGIN {
	print "threads,time,stall:lock,stall:memory <&\"'\''>"
	for (n = 1; n <= 12; n++)
		print n "," 100 * (0.05 + 0.95 / n + 0.002 * (n - 1)) "," n * n "," 10 * n
}' >runs.csv
"$CORECAST" forecast runs.csv --to 48 --svg figure.svg --html page.html >/dev/null
if command -v xmllint >/dev/null; then
	xmllint --noout figure.svg
fi

# The page, moving a pointer over the first chart and noting what it shows.
{
	sed -e 's,</body>,,' -e 's,</html>,,' page.html
	cat <<-'END'
	<script>
	setTimeout(() => {
		const chart = document.querySelector('.chart svg');
		chart.scrollIntoView();
		const box = chart.getBoundingClientRect();
		const at = { clientX: box.left + box.width * 0.8, clientY: box.top + box.height / 2,
			bubbles: true };
		const target = document.elementFromPoint(at.clientX, at.clientY);
		for (const type of ['pointerover', 'pointermove'])
			target.dispatchEvent(new PointerEvent(type, at));
		setTimeout(() => {
			const shown = document.querySelector('#vg-tooltip-element');
			document.body.dataset.shown = shown ? shown.innerText.replace(/\s+/g, ' ') : '';
			const fetched = performance.getEntriesByType('resource').map((entry) => entry.name);
			document.body.dataset.fetched = fetched.join(' ') || 'nothing';
			document.body.dataset.wide = document.documentElement.scrollWidth > innerWidth;
			document.body.dataset.cut = [...document.querySelectorAll('.wide')].some((table) => table.scrollWidth > table.clientWidth);
		}, 200);
	}, 1000);
	</script>
	END
} >probe.html

# look WIDTH: the page's final document in dom, what the browser says in log. The browser gets no network.
look() {
	timeout 120 "$browser" --headless --no-sandbox --disable-gpu --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--user-data-dir="$PWD/profile" --virtual-time-budget=5000 --window-size="$1,1000" \
		--host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr --dump-dom \
		"file://$PWD/probe.html" >dom 2>log || skip "chromium does not run here: $(tail -1 log)"
}

expect() {
	grep -q -- "$1" dom || { echo "at width $width: no '$1' in the page" >&2; exit 1; }
}

for width in 1280 500; do
	look "$width"
	[ "$(grep -c '<script type="application/json">' dom)" -eq "$(grep -c 'class="chart vega-embed' dom)" ]
	if grep 'class="static"' dom >&2; then
		exit 1
	fi
	expect 'class="mark-line'
	expect 'class="mark-area'
	expect 'class="mark-symbol'
	expect 'data-shown="threads [0-9]* 90% interval [0-9.]* s to [0-9.]* s forecast [0-9.]* s'
	expect 'data-fetched="nothing"'
	expect 'data-wide="false"'
	expect 'data-cut="false"'
	if grep 'CONSOLE' log >&2; then
		exit 1
	fi
done

# On paper no table is cut.
command -v pdftotext >/dev/null || exit 0
"$CORECAST_BUILD/tests/programs/profile_of" "$CORECAST_SOURCE/tests/man/profile.csv" app.ccp
"$CORECAST" predict app.ccp --machine neoverse-v1 --html page.html >/dev/null 2>log
timeout 120 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir="$PWD/profile" \
	--print-to-pdf="$PWD/page.pdf" "file://$PWD/page.html" >dom 2>log
pdftotext -layout page.pdf - | grep 'most critical' >/dev/null
