/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of numbers and formulas the reader of models needs besides model.h. */
#ifndef MODEL_VALUE_H
#define MODEL_VALUE_H

#include "model/model.h"

/* The field that gives an object's size: "threads" of a barrier, ...; NULL: it has none. */
const char *model_size_word(enum model_object_kind kind);

/* Such as "us" or "/s". */
bool value_is_unit(const char *name);

/* A number, time or rate without parameters: "4", "4.3 us", "70 /s". 0, -EINVAL, -ENOMEM. */
int value_read_constant(const char *text, double *ret, enum model_unit *ret_unit, struct err *err);

#endif
