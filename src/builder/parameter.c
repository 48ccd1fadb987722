/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of a model, named after what they set. */
#include "builder/parts.h"

#include <errno.h>
#include <stdio.h>

/* Letters, digits and '_', no digit at first. */
static void make_name(char *text)
{
	for (char *c = text; *c; c++) {
		bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
		bool is_digit = *c >= '0' && *c <= '9' && c > text;
		if (!is_letter && !is_digit)
			*c = '_';
	}
}

int build_add_parameter(struct model *model, const char *of, const char *what, double value,
	const char *note, uint32_t *ret)
{
	AUTO_FREE char *name = NULL;
	for (unsigned number = 1; !name || model_find_parameter(model, name) != MODEL_NONE;
		number++) {
		free(name);
		name = NULL;
		if (asprintf(&name, "%.60s%s%s%.0u", of ? of : "", of ? "_" : "", what,
			    number > 1 ? number : 0) < 0)
			return -ENOMEM;
		make_name(name);
	}
	int code = model_add_parameter(model, name, ret);
	if (code < 0)
		return code;
	struct model_parameter *added = &model->parameters[*ret];
	added->value = value;
	added->note = model_text(model, note);
	return added->note ? 0 : -ENOMEM;
}
