/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/where.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/runtimes.h"
#include "code/symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

void where_free(struct where *where)
{
	if (!where)
		return;
	symbols_free(where->symbols);
	free(where->places);
	free(where->category);
	free(where);
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Without a function's name the address tells places apart. */
static bool is_same_place(const struct where_place *a, const struct where_place *b)
{
	return is_same_text(a->module, b->module) && is_same_text(a->function, b->function) &&
	       is_same_text(a->file, b->file) && is_same_text(a->caller, b->caller) &&
	       a->line == b->line && (a->function || a->address == b->address);
}

/* A place list that grows; `where` when it is finished. */
struct builder {
	struct where *where;
	size_t capacity;
};

static int builder_init(struct builder *builder, const char *category, const char *unit)
{
	builder->capacity = 0;
	builder->where = calloc(1, sizeof(*builder->where));
	if (!builder->where)
		return -ENOMEM;
	builder->where->unit = unit;
	builder->where->category = strdup(category);
	if (!builder->where->category)
		return -ENOMEM;
	return symbols_new(&builder->where->symbols);
}

static void builder_release(struct builder *builder)
{
	where_free(builder->where);
}

static int add_place(struct builder *builder, const struct where_place *place)
{
	struct where *where = builder->where;
	for (size_t i = 0; i < where->place_count; i++)
		if (is_same_place(&where->places[i], place)) {
			where->places[i].count += place->count;
			where->places[i].seconds += place->seconds;
			return 0;
		}
	if (mem_grow(&where->places, &builder->capacity, where->place_count + 1,
		    sizeof(where->places[0])) < 0)
		return -ENOMEM;
	where->places[where->place_count++] = *place;
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct where_place *left = a;
	const struct where_place *right = b;
	if (left->share != right->share)
		return left->share < right->share ? 1 : -1;
	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return left->address < right->address ? -1 : left->address > right->address;
}

/* Shares are of time where there is time, else of counts. */
static struct where *finish(struct builder *builder)
{
	struct where *where = TAKE(builder->where);
	for (size_t i = 0; i < where->place_count; i++) {
		struct where_place *place = &where->places[i];
		if (where->seconds > 0)
			place->share = place->seconds / where->seconds;
		else if (where->count > 0)
			place->share = (double)place->count / (double)where->count;
	}
	if (where->place_count > 0)
		qsort(where->places, where->place_count, sizeof(where->places[0]), compare_places);
	return where;
}

/* A return address lies behind the call: one byte back is inside it. */
static struct symbol find_call(struct symbols *symbols, const struct sync_address *frame)
{
	if (!frame->module)
		return (struct symbol){ 0 };
	return symbols_find(symbols, frame->module, frame->offset - 1);
}

static bool in_runtime(const struct sync_address *frame)
{
	return frame->module && runtime_is(frame->module);
}

static struct where_place place_of_wait(
	struct symbols *symbols, const struct sync_site_stalls *site)
{
	size_t own = 0;
	while (own < site->frame_count && in_runtime(&site->frames[own]))
		own++;
	if (own == site->frame_count)
		own = 0; /* runtimes all the way: then its caller */
	const struct sync_address *frame = &site->frames[own];
	struct symbol symbol = find_call(symbols, frame);
	struct where_place place = {
		.function = symbol.function,
		.file = symbol.file,
		.line = symbol.line,
		.module = symbol.module,
		.address = frame->offset,
		.count = site->waits,
		.seconds = site->wait_s,
	};
	if (own + 1 < site->frame_count && !in_runtime(&frame[1]))
		place.caller = find_call(symbols, &frame[1]).function;
	return place;
}

static int find_category(const struct sync_stalls *stalls, const char *name, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf known = { 0 };
	for (size_t i = 0; i < SYNC_STALLS_CATEGORIES; i++) {
		if (strcmp(stalls->categories[i].name, name) == 0)
			return (int)i;
		strbuf_addf(&known, " %s", stalls->categories[i].name);
	}
	return err_set(err, -EINVAL, "no category '%s' of waits; there are: sync%s", name,
		known.text ? known.text : "");
}

static int add_wait(struct builder *builder, const struct sync_site_stalls *site)
{
	struct where *where = builder->where;
	where->count += site->waits;
	where->seconds += site->wait_s;
	if (site->frame_count == 0) {
		where->lost += site->waits;
		return 0;
	}
	struct where_place place = place_of_wait(where->symbols, site);
	return add_place(builder, &place);
}

int where_from_waits(
	const struct sync_stalls *stalls, const char *category, struct where **ret, struct err *err)
{
	bool is_all = strcmp(category, "sync") == 0;
	int wanted = is_all ? 0 : find_category(stalls, category, err);
	if (wanted < 0)
		return wanted;
	AUTO_RELEASE(builder) struct builder builder = { 0 };
	if (builder_init(&builder, category, "waits") < 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < stalls->site_count; i++) {
		if (!is_all && stalls->sites[i].category != (size_t)wanted)
			continue;
		if (add_wait(&builder, &stalls->sites[i]) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = finish(&builder);
	return 0;
}

static struct where_place place_of_sample(
	struct symbols *symbols, const struct sample_site *site, double period_s)
{
	struct symbol symbol = { 0 };
	if (site->module)
		symbol = symbols_find(symbols, site->module, site->address);
	return (struct where_place){
		.function = symbol.function,
		.file = symbol.function ? symbol.file : NULL,
		.module = symbol.module,
		.address = symbol.start > 0 ? symbol.start : site->address,
		.count = site->count,
		.seconds = (double)site->count * period_s,
	};
}

int where_from_samples(
	const struct samples *samples, const char *category, struct where **ret, struct err *err)
{
	AUTO_RELEASE(builder) struct builder builder = { 0 };
	if (builder_init(&builder, category, "samples") < 0)
		return err_set(err, -ENOMEM, "out of memory");
	struct where *where = builder.where;
	where->count = samples->count;
	where->seconds = (double)samples->count * samples->period_s;
	where->lost = samples->lost;
	for (size_t i = 0; i < samples->site_count; i++) {
		struct where_place place =
			place_of_sample(where->symbols, &samples->sites[i], samples->period_s);
		if (add_place(&builder, &place) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = finish(&builder);
	return 0;
}
