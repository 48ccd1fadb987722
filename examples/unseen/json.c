/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text parsing: documents of nested lists, strings and numbers, read character by character by recursive descent. */
#include "examples/kernels/common/kernel.h"

#include <stdbool.h>

#include <stdio.h>
#include <string.h>

enum { DOCUMENTS = 6000, DOCUMENT_BYTES = 4096, DEPTH = 5 };

struct shared {
	char *text;
	size_t documents;
	uint64_t *sums;
};

struct text {
	char *at, *end;
	uint64_t random;
};

static uint64_t draw(struct text *t, uint64_t below)
{
	t->random = kernel_mix(t->random, 0x2545f491);
	return (t->random >> 20) % below;
}

static void write_value(struct text *t, int depth)
{
	uint64_t kind = draw(t, depth > 0 ? 6 : 4);
	if (t->end - t->at < 64) {
		*t->at++ = '0';
		return;
	}
	if (kind < 2) {
		t->at += sprintf(t->at, "%d.%d", (int)draw(t, 100000) - 50000, (int)draw(t, 100));
	} else if (kind == 2) {
		*t->at++ = '"';
		for (uint64_t n = draw(t, 24); n > 0; n--) {
			uint64_t c = draw(t, 30);
			if (c == 29)
				*t->at++ = '\\';
			*t->at++ = c == 29 ? 'n' : c == 28 ? ' ' : (char)('a' + c % 26);
		}
		*t->at++ = '"';
	} else if (kind == 3) {
		t->at += sprintf(t->at, "%s", draw(t, 2) ? "true" : "null");
	} else {
		bool has_names = kind == 5;
		*t->at++ = has_names ? '{' : '[';
		for (uint64_t i = 0, n = 1 + draw(t, 6); i < n && t->end - t->at > 64; i++) {
			if (i > 0)
				t->at += sprintf(t->at, ", ");
			if (has_names)
				t->at += sprintf(t->at, "\"key%d\": ", (int)draw(t, 500));
			write_value(t, depth - 1);
		}
		*t->at++ = has_names ? '}' : ']';
	}
}

struct parser {
	const char *at;
	uint64_t sum;
};

static void skip_space(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t')
		p->at++;
}

static void read_string(struct parser *p)
{
	uint64_t hash = 5381;
	for (p->at++; *p->at != '"'; p->at++) {
		if (*p->at == '\\')
			p->at++;
		hash = hash * 33 + (unsigned char)*p->at;
	}
	p->at++;
	p->sum += hash;
}

static void read_number(struct parser *p)
{
	bool is_negative = *p->at == '-';
	double value = 0, place = 0.1;
	p->at += is_negative;
	for (; *p->at >= '0' && *p->at <= '9'; p->at++)
		value = value * 10 + (*p->at - '0');
	if (*p->at == '.')
		for (p->at++; *p->at >= '0' && *p->at <= '9'; p->at++, place /= 10)
			value += (*p->at - '0') * place;
	p->sum += (uint64_t)(int64_t)(is_negative ? -value : value);
}

static void read_value(struct parser *p)
{
	skip_space(p);
	char close = 0;
	switch (*p->at) {
	case '"':
		read_string(p);
		return;
	case 't':
	case 'n':
		p->sum += *p->at == 't';
		p->at += 4;
		return;
	case '[':
		close = ']';
		break;
	case '{':
		close = '}';
		break;
	default:
		read_number(p);
		return;
	}
	p->at++;
	for (skip_space(p); *p->at != close; skip_space(p)) {
		if (close == '}') {
			read_string(p);
			skip_space(p);
			p->at++; /* colon */
		}
		read_value(p);
		skip_space(p);
		if (*p->at == ',')
			p->at++;
	}
	p->at++;
	p->sum++;
}

static void parse(const struct kernel *kernel, int thread, void *data)
{
	struct shared *shared = data;
	struct kernel_part part = kernel_part(kernel, shared->documents, thread);
	for (size_t i = part.begin; i < part.end; i++) {
		struct parser p = { .at = shared->text + i * DOCUMENT_BYTES };
		for (; *p.at; skip_space(&p))
			read_value(&p);
		shared->sums[i] = p.sum;
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Parses documents (threads).");
	size_t count = kernel_scaled(&kernel, DOCUMENTS);
	struct shared shared = { kernel_array(count, DOCUMENT_BYTES), count,
		kernel_array(count, 8) };
	for (size_t i = 0; i < count; i++) {
		char *start = shared.text + i * DOCUMENT_BYTES;
		struct text t = { start, start + DOCUMENT_BYTES - 64, i };
		while (t.end - t.at > 128) {
			write_value(&t, DEPTH);
			*t.at++ = '\n';
		}
	}
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, parse, &shared);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, shared.sums, count * 8));
}
