/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a forecast says, in words, the answer first. Shared by the terminal and the page. */
#include "report/forecast_view.h"

#include "base/plural.h"

#include <inttypes.h>
#include <math.h>

static struct quantity_text value_text(const struct forecast *f, double value)
{
	return quantity_format(quantity_of_metric(f->metric), value);
}

/* A factor in a sentence: three digits, without zeros that say nothing, and no more than can be read. */
static struct quantity_text factor_text(double factor)
{
	struct quantity_text ret;
	snprintf(
		ret.text, sizeof ret.text, factor < 100 || factor >= 1e6 ? "%.3g" : "%.0f", factor);
	return ret;
}

/* What the target is compared with: one thread, or where that was not measured the fewest that were. */
static const struct forecast_point *base_of(const struct forecast *f)
{
	for (size_t i = 0; i + 1 < f->point_count; i++)
		if (isfinite(f->points[i].measured))
			return &f->points[i];
	return &f->points[0];
}

static void add_speedup(struct strbuf *out, const struct forecast *f)
{
	const struct forecast_point *target = &f->points[f->point_count - 1], *base = base_of(f);
	double speedup =
		speed_ratio(f->metric, forecast_known_value(base), forecast_known_value(target));
	struct quantity_text subject = { "one thread" };
	if (base->threads > 1)
		snprintf(subject.text, sizeof subject.text, "%" PRIu32 " threads", base->threads);
	if (speedup >= 0.995 && speedup < 1.005)
		strbuf_addf(out, ": as fast as %s", subject.text);
	else if (speedup >= 0.995)
		strbuf_addf(
			out, ": %s times as fast as %s", factor_text(speedup).text, subject.text);
	else if (speedup > 0)
		strbuf_addf(out, ": %s %s %s times as fast", subject.text,
			base->threads > 1 ? "are" : "is", factor_text(1 / speedup).text);
}

static void add_answer(struct strbuf *out, const struct forecast *f)
{
	const struct forecast_point *target = forecast_at(f, (uint32_t)f->point_count);
	bool is_time = f->metric == METRIC_TIME;
	strbuf_addf(out, "With %" PRIu32 " thread%s, expect %s%s", target->threads,
		plural(target->threads), is_time ? "" : "a throughput of ",
		value_text(f, target->value).text);
	if (isfinite(target->low) && isfinite(target->high))
		strbuf_addf(out, " (90%% interval %s to %s)", value_text(f, target->low).text,
			value_text(f, target->high).text);
	if (target->threads > 1)
		add_speedup(out, f);
	strbuf_add(out, ".\n");
}

/* "no faster", "12% slower": the target against a smaller count. */
static void add_loss(struct strbuf *out, const struct forecast *f, const struct forecast_point *at)
{
	double ratio = speed_ratio(f->metric, at->value, f->points[f->point_count - 1].value);
	if (ratio < 0.5)
		strbuf_addf(out, ", %s times as fast as at %zu", factor_text(1 / ratio).text,
			f->point_count);
	else if (ratio < 0.995)
		strbuf_addf(out, "; at %zu it is %.0f%% slower than there", f->point_count,
			100 * (1 - ratio));
	else if (ratio < 1.05)
		strbuf_addf(out, "; %zu are no faster", f->point_count);
	else
		strbuf_addf(out, "; %zu are only %.0f%% faster", f->point_count, 100 * (ratio - 1));
}

static void add_limit(struct strbuf *out, const struct forecast *f)
{
	const struct forecast_point *stop = forecast_at(f, f->stops_scaling_at);
	const struct forecast_point *best = forecast_at(f, f->best_threads);
	if (!stop) {
		if (f->point_count > 1)
			strbuf_addf(out, "It is still getting faster at %zu threads.\n",
				f->point_count);
		return;
	}
	double one = f->points[0].value, gain = speed_ratio(f->metric, one, stop->value);
	if (gain < 1.005 && (!best || speed_ratio(f->metric, one, best->value) < 1.005)) {
		strbuf_add(out, "It does not scale: no count is faster than one thread.\n");
		return;
	}
	bool hardly_scales = stop->threads > 1 && gain < 1.05;
	strbuf_addf(out, "It %s at %" PRIu32 " thread%s (%s)",
		hardly_scales ? "hardly scales: it is fastest" : "stops scaling", stop->threads,
		plural(stop->threads), value_text(f, stop->value).text);
	if (hardly_scales)
		strbuf_addf(out, ", by %.0f%%", 100 * (gain - 1));
	if (stop->threads < f->point_count)
		add_loss(out, f, stop);
	strbuf_add(out, ".\n");
	if (best && best->threads != stop->threads)
		strbuf_addf(out, "The best count is %" PRIu32 " threads (%s).\n", best->threads,
			value_text(f, best->value).text);
}

static void add_reach(struct strbuf *out, const struct forecast *f)
{
	if (f->measured_max == 0 || f->measured_max >= f->point_count)
		return;
	strbuf_addf(out,
		"The highest measured count is %" PRIu32 "; the target is %s times that.\n",
		f->measured_max, factor_text((double)f->point_count / f->measured_max).text);
}

static void add_stalls(struct strbuf *out, const struct forecast *f)
{
	double share, share_now;
	uint32_t target = (uint32_t)f->point_count;
	const struct forecast_stall *worst = forecast_worst_stall(f, target, &share);
	if (!worst)
		return;
	strbuf_addf(
		out, "At %" PRIu32 " thread%s the most time is lost to ", target, plural(target));
	text_add_clean(out, worst->name);
	strbuf_addf(out, ": %.0f%% of all stalls", 100 * share);
	if (f->measured_max > 0 && f->measured_max < target) {
		const struct forecast_stall *now =
			forecast_worst_stall(f, f->measured_max, &share_now);
		strbuf_addf(out, " (%.0f%% at %" PRIu32 ")",
			100 * forecast_stall_share(f, worst, f->measured_max), f->measured_max);
		if (now && now != worst) {
			strbuf_add(out, ", ahead of ");
			text_add_clean(out, now->name);
			strbuf_addf(out, ", which leads at %" PRIu32, f->measured_max);
		}
	}
	strbuf_add(out, ".\n");
}

void findings_forecast(struct strbuf *out, const struct forecast *f)
{
	add_answer(out, f);
	add_limit(out, f);
	add_stalls(out, f);
	add_reach(out, f);
}

static bool intervals_overlap(const struct forecast_point *a, const struct forecast_point *b)
{
	return !(a->low > b->high || b->low > a->high);
}

static void add_times_as_fast(struct strbuf *out, const struct comparison *c, uint32_t threads)
{
	const struct forecast_point *a = forecast_at(c->a, threads),
				    *b = forecast_at(c->b, threads);
	double ratio = speed_ratio(c->a->metric, a->value, b->value);
	bool b_is_faster = !(ratio < 1), is_equal = fabs(ratio - 1) < 0.005;
	strbuf_addf(out, "With %" PRIu32 " thread%s, ", threads, plural(threads));
	if (is_equal) {
		strbuf_add(out, "both are equally fast");
	} else {
		text_add_clean(out, b_is_faster ? c->label_b : c->label_a);
		strbuf_addf(out, " is %s times as fast as ",
			factor_text(b_is_faster ? ratio : 1 / ratio).text);
		text_add_clean(out, b_is_faster ? c->label_a : c->label_b);
	}
	strbuf_addf(out, " (%s and %s)", value_text(c->a, b_is_faster ? b->value : a->value).text,
		value_text(c->a, b_is_faster ? a->value : b->value).text);
	if (!is_equal && intervals_overlap(a, b))
		strbuf_add(out, "; their 90% intervals overlap, so this is not certain");
	strbuf_add(out, ".\n");
}

void findings_comparison(struct strbuf *out, const struct comparison *c)
{
	uint32_t target = comparison_target(c);
	add_times_as_fast(out, c, target);
	if (target > 1)
		add_times_as_fast(out, c, 1);
	if (c->crossing == 0) {
		strbuf_addf(out, "Their order does not change between 1 and %" PRIu32 " threads.\n",
			target);
		return;
	}
	const struct forecast_point *a = forecast_at(c->a, c->crossing);
	const struct forecast_point *b = forecast_at(c->b, c->crossing);
	bool b_is_faster = a && b && speed_ratio(c->a->metric, a->value, b->value) > 1;
	strbuf_addf(out, "They cross: from %" PRIu32 " threads on, ", c->crossing);
	text_add_clean(out, b_is_faster ? c->label_b : c->label_a);
	strbuf_add(out, " is the faster one.\n");
}
