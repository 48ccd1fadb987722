/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of a text: cut by strcspn, looked up by strcmp among hashed ones, sorted by qsort. */
#include "examples/kernels/common/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 60, WORDS = 12000, PLACES = 8192, VOCABULARY = 2500 };

struct entry {
	const char *word;
	uint64_t count;
};

struct shared {
	char *text;
	size_t bytes, texts;
	uint64_t *sums;
};

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->word, y->word);
}

static uint64_t count_words(const char *text)
{
	static _Thread_local char words[WORDS * 12];
	static _Thread_local struct entry entries[PLACES];
	char *room = words;
	memset(entries, 0, sizeof(entries));
	for (const char *at = text; *at; at += strspn(at, " ,.\n")) {
		size_t length = strcspn(at, " ,.\n");
		memcpy(room, at, length);
		room[length] = 0;
		uint64_t hash = 0;
		for (size_t i = 0; i < length; i++)
			hash = hash * 31 + (unsigned char)room[i];
		size_t place = hash % PLACES;
		while (entries[place].word && strcmp(entries[place].word, room) != 0)
			place = (place + 1) % PLACES;
		if (!entries[place].word) {
			entries[place].word = room;
			room += length + 1;
		}
		entries[place].count++;
		at += length;
	}
	size_t count = 0;
	for (size_t i = 0; i < PLACES; i++)
		if (entries[i].word)
			entries[count++] = entries[i];
	qsort(entries, count, sizeof(*entries), compare);
	return count * 1000 + entries[0].count;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->texts, thread);
	for (size_t i = part.begin; i < part.end; i++)
		s->sums[i] = count_words(s->text + i * s->bytes);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Counts words (threads).");
	struct shared s = { .bytes = WORDS * 12, .texts = 4 * kernel_scaled(&kernel, TEXTS / 4) };
	s.text = kernel_array(s.texts, s.bytes);
	s.sums = kernel_array(s.texts, 8);
	for (size_t t = 0; t < s.texts; t++) {
		char *at = s.text + t * s.bytes;
		for (size_t i = 0; i < WORDS; i++) {
			uint64_t random = kernel_mix(t, i) % VOCABULARY;
			random = random * (kernel_mix(t + 1, i) % VOCABULARY) /
				 VOCABULARY; /* few are frequent */
			uint64_t letters = kernel_mix(8, random);
			for (uint64_t k = 2 + letters % 7; k > 0; k--, letters /= 7)
				*at++ = (char)('a' + letters % 26);
			*at++ = i % 12 == 11 ? '\n' : ' ';
		}
	}
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.sums, s.texts * 8));
}
