/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON from data that may hold anything: text is cleaned, and numbers that JSON cannot say are null.
 * Without memory every function here returns NULL, as json_pack() does; a NULL that is packed or
 * pushed makes the whole NULL, so that memory is checked once, by json_add().
 */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include "base/strbuf.h"

#include <jansson.h>

json_t *json_number(double value); /* null if it is not finite */
json_t *json_text(const char *text); /* cleaned UTF-8 */

/* The array with the value appended, the object with the key set. Both arguments are taken over. */
json_t *json_push(json_t *array, json_t *value);
json_t *json_with(json_t *object, const char *key, json_t *value);

/*
 * Append the value, which is freed: as lines, with enough digits to be read back exactly; or in a
 * form that can stand inside an HTML <script> element. A NULL value makes the string fail.
 */
void json_add(struct strbuf *out, json_t *value);
void json_add_in_script(struct strbuf *out, json_t *value);

#endif
