/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How well a model that was made from a run reproduces that run: it is simulated with its default
 * parameters, and what comes out is held against what was recorded.
 */
#ifndef MODEL_FIT_H
#define MODEL_FIT_H

#include "model/model.h"

enum { FIT_RUNS = 3 };

/* Means over FIT_RUNS seeds; 0: the run has none. Errors are relative: |measured - simulated| / measured. */
struct model_fit {
	bool is_known; /* else `why` tells */
	char why[256];
	bool is_open; /* requests come from outside: response and throughput count, not how long it lasts */
	double measured_s, simulated_s; /* how long it took */
	double measured_cpu_s, simulated_cpu_s;
	double measured_per_s, simulated_per_s; /* requests */
	double measured_response_s, simulated_response_s;
	double simulated_queued_s; /* of that, until a thread takes the request */
};

/* |measured - simulated| / measured; NAN without a measured value. */
double model_fit_error(double measured, double simulated);

/* The model passes model_check(). A simulation that fails (deadlock) is a result, not an error. 0 or -ENOMEM. */
int model_fit_run(const struct model *model, struct model_fit *ret);

/*
 * The recording sees a request when it is read, so that what it waits until then was taken for thinking: the parameter `think`, of a model with
 * clients that think, is less by as much as they wait in the model. `fit` is that of the model, and is made anew. 0 or -ENOMEM.
 */
int model_fit_think(struct model *model, struct model_fit *fit);

/*
 * `response_s`: the mean that the clients of the recorded run measured. What it is more than the model's own is the model's `way`,
 * and was taken for thinking: then the parameter `think`, of a model with clients that think, is less by as much. A note says so, or that there is nothing
 * of the kind. `fit` is that of the model, and is made anew. 0 or -ENOMEM.
 */
int model_fit_response(struct model *model, double response_s, struct model_fit *fit);

/*
 * What a model cannot do at the setting of its own run it will not do at others: where it is off by more than a quarter, a note says so.
 * A run that `is_slowed` is expected to be slower than its model. 0 or -ENOMEM.
 */
int model_fit_add_note(struct model *model, const struct model_fit *fit);

#endif
