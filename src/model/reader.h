/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the reader of model files share. All return 0, -EINVAL ("FILE:LINE: ...") or -ENOMEM. */
#ifndef MODEL_READER_H
#define MODEL_READER_H

#include "model/model.h"
#include "model/yaml_tree.h"

struct reader {
	struct model *model; /* its parameters are read first: formulas are checked against them */
	const char *file;
	struct err *err;
};

/* Says "FILE:LINE: ..."; -EINVAL. */
int reader_fail(const struct reader *r, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int reader_out_of_memory(const struct reader *r);

/* The value of a key, NULL if it is not there; reader_finish() refuses keys that nobody took. */
struct yaml_node *reader_take(struct yaml_node *map, const char *key);
int reader_finish(const struct reader *r, const struct yaml_node *map, const char *what);

/* -EINVAL unless it is a mapping. */
int reader_map(const struct reader *r, const struct yaml_node *node, const char *what);

/* The optional field `key` of a mapping; without it nothing happens. */
int reader_text(const struct reader *r, struct yaml_node *map, const char *key, const char **ret);
int reader_flag(const struct reader *r, struct yaml_node *map, const char *key, bool *ret);
int reader_value(const struct reader *r, struct yaml_node *map, const char *key,
	enum model_unit unit, struct model_value *ret);
int reader_number(const struct reader *r, struct yaml_node *map, const char *key,
	enum model_unit unit, double *ret);
int reader_dist(
	const struct reader *r, struct yaml_node *map, const char *key, struct model_dist *ret);
int reader_count(
	const struct reader *r, struct yaml_node *map, const char *key, struct model_count *ret);

/* A value without parameters, whatever it measures. */
int reader_constant(const struct reader *r, const struct yaml_node *node, double *ret,
	enum model_unit *ret_unit);

/* A list of times or numbers. */
int reader_list(const struct reader *r, const struct yaml_node *node, enum model_unit unit,
	double **ret, size_t *ret_count);

/* The node itself. */
int reader_dist_node(const struct reader *r, struct yaml_node *node, struct model_dist *ret);
int reader_value_node(const struct reader *r, const struct yaml_node *node, enum model_unit unit,
	struct model_value *ret);

/* The section `threads`. */
int reader_threads(const struct reader *r, struct yaml_node *threads);

#endif
