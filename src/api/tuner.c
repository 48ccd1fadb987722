/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public tuner: checks what strangers pass, and hands over to the tuning room. */
#include <corecast/corecast.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tune/tuner.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct corecast_tuner {
	struct tuner *tuner;
};

static_assert(
	sizeof((struct corecast_tuner_choice *)0)->why == sizeof((struct tuner_decision *)0)->why,
	"both hold the same text");

CLEANUP_DEFINE(corecast_tuner, corecast_tuner_free)

void corecast_tuner_free(struct corecast_tuner *tuner)
{
	if (!tuner)
		return;
	tuner_free(tuner->tuner);
	free(tuner);
}

static void copy_choice(const struct tuner_decision *d, struct corecast_tuner_choice *ret)
{
	*ret = (struct corecast_tuner_choice){
		.threads = d->threads,
		.is_held = d->state == TUNER_HOLDING,
		.has_restarted = d->has_restarted,
		.steps = d->steps,
	};
	memcpy(ret->why, d->why, sizeof ret->why);
}

static int hand_over(int code, const struct err *err, struct corecast_error *error)
{
	static_assert(sizeof err->text == sizeof error->text, "both hold the same text");
	if (code < 0 && error)
		memcpy(error->text, err->text, sizeof error->text);
	return code;
}

static int make(unsigned threads_max, const struct corecast_tuner_opts *opts,
	struct corecast_tuner **ret, struct corecast_tuner_choice *ret_first, struct err *err)
{
	if (!ret || !ret_first)
		return err_set(err, -EINVAL, "there is no place for the result");
	struct tuner_opts inner = { .space = { .max = threads_max } };
	if (opts) {
		inner.space.min = opts->threads_min;
		inner.false_alarm = opts->false_alarm;
		inner.seed = opts->seed;
		if (!(opts->false_alarm >= 0 && opts->false_alarm < 1))
			return err_set(err, -EINVAL, "a chance of %g", opts->false_alarm);
		if (opts->policy) {
			inner.policy = tune_policy_by_name(opts->policy);
			if (!inner.policy)
				return err_set(err, -EINVAL,
					"there is no policy '%s': process, opresca, binsearch",
					opts->policy);
		}
	}
	AUTO(corecast_tuner) struct corecast_tuner *tuner = calloc(1, sizeof *tuner);
	if (!tuner)
		return err_set(err, -ENOMEM, "out of memory");
	struct tuner_decision first;
	int code = tuner_new(&inner, &tuner->tuner, &first, err);
	if (code < 0)
		return code;
	copy_choice(&first, ret_first);
	*ret = TAKE(tuner);
	return 0;
}

int corecast_tuner_new(unsigned threads_max, const struct corecast_tuner_opts *opts,
	struct corecast_tuner **ret, struct corecast_tuner_choice *ret_first,
	struct corecast_error *error)
{
	struct err err = { "" };
	return hand_over(make(threads_max, opts, ret, ret_first, &err), &err, error);
}

int corecast_tuner_measured(struct corecast_tuner *tuner, double performance,
	struct corecast_tuner_choice *ret, struct corecast_error *error)
{
	struct err err = { "" };
	struct tuner_decision decision;
	if (!tuner || !ret)
		return hand_over(
			err_set(&err, -EINVAL, "there is no tuner, or no place for the result"),
			&err, error);
	int code = tuner_measured(tuner->tuner, performance, 1, &decision, &err);
	if (code == 0)
		copy_choice(&decision, ret);
	return hand_over(code, &err, error);
}
