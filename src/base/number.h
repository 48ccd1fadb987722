/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Strict numbers from text, in the C locale whatever the environment says: the whole text must be
 * the number (spaces around it are allowed), so "12abc" and "" are refused.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdint.h>

/* Decimal. 0, or -EINVAL (not a number), -ERANGE (too large), -ENOMEM. What is too small becomes 0 or
   a denormal. Accepts nan and inf: check. */
int number_parse_double(const char *text, double *ret);

/*
 * As programs print them for people: besides, digits in groups of three ("12,345.6"), and k, M, G or T behind the number for 1e3 to
 * 1e12 ("1.5k"). Errors as number_parse_double().
 */
int number_parse_printed(const char *text, double *ret);

/* Decimal digits only. 0, or -EINVAL, -ERANGE. */
int number_parse_u32(const char *text, uint32_t *ret);

/* Decimal digits, or 0x and hexadecimal ones. 0, or -EINVAL, -ERANGE. */
int number_parse_u64(const char *text, uint64_t *ret);

#endif
