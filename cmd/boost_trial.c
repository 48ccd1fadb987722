/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "boost_trial.h"

#include "collect/sync_stalls.h"
#include "steer/rate.h"
#include "steer/tune_share.h"
#include "report/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const double CONFIDENCE = 0.95;

/* What a switch leaves behind is passed over. */
static const double SETTLE_SHARE = 0.1;

struct boost_trial {
	struct boost_trial_opts opts;
	struct tune_share *share; /* NULL: nothing is shared with the program */
	struct rate *rate;
	struct rapl *rapl; /* borrowed */
	struct trial trial;
	bool is_on, is_settling;
	double begin_s, end_s; /* of the part of the slice that goes on */
	double begin_j;
};

void boost_trial_free(struct boost_trial *trial)
{
	if (!trial)
		return;
	rate_free(trial->rate);
	tune_share_free(trial->share);
	free(trial);
}

int boost_trial_new(const struct boost_trial_opts *opts, struct boost_trial **ret, struct err *err)
{
	AUTO(boost_trial) struct boost_trial *trial = calloc(1, sizeof *trial);
	if (!trial)
		return err_set(err, -ENOMEM, "out of memory");
	trial->opts = *opts;
	trial->trial.is_guarded = opts->is_guarded;
	rng_init(&trial->trial.rng, 1);
	int code = rate_needs_page(opts->metric)
			   ? tune_share_new(PRELOAD_RECORDS, &trial->share, err)
			   : 0;
	if (code == 0)
		code = rate_new(opts->metric, tune_share_page(trial->share), &trial->rate, err);
	if (code < 0)
		return code;
	*ret = TAKE(trial);
	return 0;
}

size_t boost_trial_environment(const struct boost_trial *trial, const char **ret)
{
	return trial->share ? tune_share_environment(trial->share, ret) : 0;
}

int boost_trial_output(const struct boost_trial *trial)
{
	return rate_output(trial->rate);
}

static double joules(const struct boost_trial *trial)
{
	double j;
	return trial->rapl && rapl_read(trial->rapl, &j) == 0 ? j : NAN;
}

/* The next slice; its first part is passed over if something was switched. */
static void begin_slice(struct boost_trial *trial, double now_s)
{
	bool is_on = trial_is_on(&trial->trial);
	trial->is_settling = is_on != trial->is_on;
	trial->is_on = is_on;
	trial->begin_s = now_s;
	trial->begin_j = joules(trial);
	trial->end_s = now_s + (trial->is_settling ? SETTLE_SHARE : 1) * trial->opts.slice_s;
}

int boost_trial_start(
	struct boost_trial *trial, pid_t pid, double now_s, struct rapl *rapl, struct err *err)
{
	trial->rapl = rapl;
	int code = rate_start(trial->rate, pid, err);
	trial->is_on = !trial_is_on(&trial->trial); /* how it starts is passed over, too */
	begin_slice(trial, now_s);
	return code;
}

int boost_trial_poll(struct boost_trial *trial, double now_s, bool *ret_is_on, struct err *err)
{
	*ret_is_on = trial->is_on;
	if (now_s < trial->end_s) {
		rate_look(trial->rate);
		return 0;
	}
	if (trial->is_settling) {
		trial->is_settling = false;
		trial->begin_s = now_s;
		trial->begin_j = joules(trial);
		trial->end_s = now_s + trial->opts.slice_s;
		return rate_begin(trial->rate, err);
	}
	double rate, rate_s, seconds = now_s - trial->begin_s;
	int code = rate_read(trial->rate, true, &rate, &rate_s, err);
	if (code < 0)
		return code == -EAGAIN ? 0 : code; /* the slice goes on */
	trial_slice(&trial->trial, rate, (joules(trial) - trial->begin_j) / seconds, seconds);
	begin_slice(trial, now_s);
	*ret_is_on = trial->is_on;
	return 0;
}

static const char *state_name(const struct trial *trial)
{
	return trial->state == TRIAL_ALWAYS  ? "pays"
	       : trial->state == TRIAL_NEVER ? "costs"
					     : "open";
}

static void print_factor(FILE *out, const char *what, const struct trial_pairs *pairs)
{
	struct trial_factor f = trial_pairs_factor(pairs, CONFIDENCE);
	if (isnan(f.factor)) {
		fprintf(out, "corecast: %s: too short a run for a pair of slices\n", what);
		return;
	}
	fprintf(out, "corecast: %s: %+.1f%%", what, 100 * (f.factor - 1));
	if (!isnan(f.low))
		fprintf(out, " (95%% interval %+.1f%% to %+.1f%%)", 100 * (f.low - 1),
			100 * (f.high - 1));
	fprintf(out, ", %llu pairs\n", (unsigned long long)pairs->count);
}

void boost_trial_print(struct boost_trial *trial, FILE *out)
{
	const struct trial *t = &trial->trial;
	rate_end(trial->rate);
	const char *nothing = rate_nothing(trial->rate);
	if (nothing) {
		fprintf(out, "corecast: what boosting gained is not known: %s\n", nothing);
		return;
	}
	print_factor(out, "gain of boosting", &t->rates);
	if (t->on_s > 0 && t->off_s > 0)
		fprintf(out, "corecast: with it %.6g/s, without %.6g/s; slices of %g s\n",
			t->on_work / t->on_s, t->off_work / t->off_s, trial->opts.slice_s);
	if (t->joules.count > 0)
		print_factor(out, "energy for a unit of work", &t->joules);
	if (!t->is_guarded && trial_pairs_factor(&t->rates, CONFIDENCE).high < 1)
		fputs("corecast: boosting made it slower: do without, or let --guard switch it "
		      "off\n",
			out);
	if (t->is_guarded)
		fprintf(out, "corecast: boosting %s\n",
			t->state == TRIAL_ALWAYS  ? "was shown to pay, and is on"
			: t->state == TRIAL_NEVER ? "was shown to cost, and is off"
						  : "was not shown to pay or to cost lately");
}

static json_t *factor_json(const struct trial_pairs *pairs)
{
	struct trial_factor f = trial_pairs_factor(pairs, CONFIDENCE);
	return json_pack("{s:I, s:o, s:o, s:o}", "pairs", (json_int_t)pairs->count, "gain",
		json_number(f.factor - 1), "low", json_number(f.low - 1), "high",
		json_number(f.high - 1));
}

json_t *boost_trial_json(const struct boost_trial *trial)
{
	const struct trial *t = &trial->trial;
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:I}", "metric",
		json_text(trial->opts.metric), "slice_s", json_number(trial->opts.slice_s), "rate",
		factor_json(&t->rates), "energy_per_work",
		t->joules.count > 0 ? factor_json(&t->joules) : json_null(), "with_per_s",
		json_number(t->on_s > 0 ? t->on_work / t->on_s : NAN), "without_per_s",
		json_number(t->off_s > 0 ? t->off_work / t->off_s : NAN), "verdict",
		t->is_guarded ? state_name(t) : "none", "verdicts", (json_int_t)t->verdicts);
}
