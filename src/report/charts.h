/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Vega, Vega-Lite and Vega-Embed as one script with their licences, from npm by web/bundle.sh at
 * build time. No bytes where the build could not get them.
 */
#ifndef REPORT_CHARTS_H
#define REPORT_CHARTS_H

#include <stddef.h>

extern const char charts_js[];
extern const size_t charts_js_bytes;

#endif
