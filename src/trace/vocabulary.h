/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words for the numbers of an event, in text formats and on screen. */
#ifndef TRACE_VOCABULARY_H
#define TRACE_VOCABULARY_H

#include <stdint.h>

/* "wait", "pass", ...; "" for EVENT_NONE and WHAT_NONE; "?" for a number that is none. */
const char *event_kind_word(unsigned kind);
const char *event_what_word(unsigned what);

/* One bit's word: "waited", ...; NULL: no event has it. Bits are 0 to EVENT_FLAG_BITS - 1. */
enum { EVENT_FLAG_BITS = 16 };
const char *event_flag_word(unsigned bit);

/* The number of a word, or -EINVAL; "" is EVENT_NONE and WHAT_NONE. */
int event_kind_parse(const char *word);
int event_what_parse(const char *word);

/* Words with '|' between them, "" for none: the flags, or -EINVAL. */
int event_flags_parse(const char *words);

/* The above; at most EVENT_FLAGS_BYTES with the terminator. */
enum { EVENT_FLAGS_BYTES = 96 };
void event_flags_words(unsigned flags, char ret[EVENT_FLAGS_BYTES]);

#endif
