/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of model_check() share. All return 0, -EINVAL or -ENOMEM. */
#ifndef MODEL_CHECK_H
#define MODEL_CHECK_H

#include "model/model.h"

struct check {
	const struct model *model;
	const double *parameters; /* of all, NULL: the defaults */
	struct err *err;
};

/* How far probabilities that belong together may be from 1: what a person writes as 0.333 thrice. */
#define CHECK_PROBABILITY_SLACK 0.0010001

/* Says "FILE:LINE: ..."; -EINVAL. */
int check_fail(const struct check *c, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* That there is one, which is not too long; `what` is what it names. */
int check_name(const struct check *c, unsigned line, const char *what, const char *name);
/* That it can be computed and is of this unit; *ret: what it is with these parameters. */
int check_value(const struct check *c, unsigned line, const struct model_value *value,
	enum model_unit unit, double *ret);

/* A whole number from min to max. */
int check_whole(const struct check *c, unsigned line, const char *what,
	const struct model_value *value, double min, double max);

/* *ret_takes_time: what is drawn can be above 0. */
int check_dist(
	const struct check *c, unsigned line, const struct model_dist *dist, bool *ret_takes_time);

/* *ret_most: the largest that can be drawn. */
int check_count(
	const struct check *c, unsigned line, const struct model_count *count, double *ret_most);

/* All groups of threads. */
int check_threads(const struct check *c);

#endif
