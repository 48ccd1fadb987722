/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * YAML files into structs by libcyaml's schemas, with errors for people: "FILE:LINE: what is wrong,
 * in which field". Unknown, missing and repeated fields are errors; aliases are refused (a file of
 * a few lines could expand to gigabytes).
 */
#ifndef COLLECT_YAML_FILE_H
#define COLLECT_YAML_FILE_H

#include "base/err.h"

#include <cyaml/cyaml.h>
#include <stddef.h>

enum { YAML_FILE_BYTES_MAX = 1 << 20 };

/*
 * Reads a file of at most YAML_FILE_BYTES_MAX. `schema` describes a pointer to a mapping; *ret is that
 * struct, to be freed with yaml_file_free() and the same schema.
 * 0, a negative errno of opening or reading, -EFBIG, -EINVAL (not such a file), -ENOMEM.
 */
int yaml_file_load(
	const char *path, const struct cyaml_schema_value *schema, void **ret, struct err *err);

/* As above, from memory; `path` names the text in errors. */
int yaml_file_parse(const char *path, const char *text, size_t length,
	const struct cyaml_schema_value *schema, void **ret, struct err *err);

/* data may be NULL. */
void yaml_file_free(const struct cyaml_schema_value *schema, void *data);

#endif
