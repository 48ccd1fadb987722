/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A forecast, with its stalls if it has some, or two forecasts compared, as an SVG document. */
#include "report/forecast_view.h"

#include "base/cleanup.h"

void report_forecast_svg(struct strbuf *out, const struct forecast *forecast, const char *subject)
{
	AUTO_RELEASE(figure) struct figure main = { 0 }, stalls = { 0 };
	bool has_stalls = forecast_has_stalls(forecast);
	figure_of_forecast(&main, forecast, subject);
	if (has_stalls)
		figure_of_stalls(&stalls, forecast);
	figure_svg(out, (const struct figure[]){ main, stalls }, has_stalls ? 2 : 1, false);
}

void report_comparison_svg(struct strbuf *out, const struct comparison *comparison)
{
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	figure_of_comparison(&figure, comparison);
	figure_svg(out, &figure, 1, false);
}
