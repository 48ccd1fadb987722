/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the names of a what-if question are: threads, locks, code and regions as `criticality` prints
 * them. A function stands for all calls in it. "lock:NAME" and the like say which kind is meant.
 */
#include "whatif_parts.h"

#include "base/intlist.h"
#include "base/mem.h"
#include "base/number.h"
#include "report/criticality_code.h"
#include "report/criticality_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED_MAX = 12 };

static const char *const kinds[] = { [REPLAY_THREAD] = "thread",
	[REPLAY_LOCK] = "lock",
	[REPLAY_SITE] = "site",
	[REPLAY_REGION] = "region" };

/* Everything that has a name. */
struct named {
	struct replay_target target;
	char *name;
	char *role; /* of a thread: its name in the table of what changes; else NULL */
	char *function; /* that a site is in, or a thread began in; NULL: unknown */
	char *shared; /* of a thread: the name that it has in common with others; else NULL */
};

struct directory {
	struct named *items;
	size_t count, capacity;
};

static void directory_release(struct directory *directory)
{
	for (size_t i = 0; i < directory->count; i++) {
		free(directory->items[i].name);
		free(directory->items[i].role);
		free(directory->items[i].function);
		free(directory->items[i].shared);
	}
	free(directory->items);
}

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static int add(struct directory *directory, struct replay_target target, const char *name,
	const char *function)
{
	if (mem_grow(&directory->items, &directory->capacity, directory->count + 1,
		    sizeof *directory->items) < 0)
		return -ENOMEM;
	struct named item = { target, strdup(name), NULL, copy(function), NULL };
	directory->items[directory->count++] = item;
	return !item.name || (function && !item.function) ? -ENOMEM : 0;
}

static int add_sites(struct directory *directory, const struct whatif *whatif)
{
	struct replay_target target;
	int code = 0;
	for (size_t i = 0; code == 0 && replay_site(whatif->replay, i, &target); i++) {
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		/* What is stored is where a call returns to: the call lies before it. */
		struct code_place place = criticality_find_code(whatif->before.results,
			&whatif->before.finder, target.pid, target.number - 1);
		AUTO_FREE char *function = place.symbol ? strdup(place.symbol) : NULL;
		criticality_add_code(&text, whatif->before.results, &whatif->before.finder,
			target.pid, target.number - 1);
		code = strbuf_failed(&text) < 0 ? -ENOMEM
						: add(directory, target, text.text, function);
	}
	return code;
}

static int add_thread(
	struct directory *directory, const struct criticality_view *view, size_t index)
{
	const struct result_thread *thread = &view->results->threads[index];
	struct replay_target target = {
		.kind = REPLAY_THREAD, .pid = thread->pid, .number = thread->tid
	};
	int code = add(directory, target, view->threads[index], view->routines[index]);
	if (code < 0)
		return code;
	struct named *item = &directory->items[directory->count - 1];
	item->role = criticality_role(view, index);
	if (!thread->name || strcmp(item->name, thread->name) == 0)
		return 0;
	item->shared = strdup(thread->name);
	return item->shared ? 0 : -ENOMEM;
}

static int fill(struct directory *directory, const struct whatif *whatif)
{
	const struct results *r = whatif->before.results;
	struct criticality_view view;
	struct replay_target region;
	const char *name;
	criticality_view_init(&view, r, "", &whatif->before.finder);
	int code = view.failed ? -ENOMEM : 0;
	for (size_t i = 0; code == 0 && i < r->thread_count; i++)
		code = add_thread(directory, &view, i);
	for (size_t i = 0; code == 0 && i < r->lock_count; i++)
		code = add(directory,
			(struct replay_target){ .kind = REPLAY_LOCK,
				.what = r->locks[i].what,
				.pid = r->locks[i].pid,
				.number = r->locks[i].address },
			view.locks[i], NULL);
	for (size_t i = 0; code == 0 && replay_region(whatif->replay, i, &region, &name); i++)
		code = add(directory, region, name ? name : "region", NULL);
	criticality_view_release(&view);
	return code < 0 ? code : add_sites(directory, whatif);
}

/* NULL: it has no label. */
static const char *find_label(
	const struct criticality_view *view, uint32_t pid, uint8_t what, uint64_t number)
{
	const struct results *r = view->results;
	for (size_t i = 0; what == WHAT_THREAD && i < r->thread_count; i++)
		if (r->threads[i].pid == pid && r->threads[i].tid == number)
			return view->threads[i];
	for (size_t i = 0; i < r->lock_count; i++)
		if (r->locks[i].pid == pid && r->locks[i].what == what &&
			r->locks[i].address == number)
			return view->locks[i];
	return NULL;
}

const char *whatif_name(void *context, uint32_t pid, uint8_t what, uint64_t number)
{
	struct whatif *whatif = context;
	struct criticality_view view;
	criticality_view_init(&view, whatif->before.results, "", &whatif->before.finder);
	const char *label = view.failed ? NULL : find_label(&view, pid, what, number);
	free(whatif->named);
	whatif->named = copy(label);
	criticality_view_release(&view);
	return whatif->named;
}

/* "lock:NAME": *name moves behind the colon. -1: any kind. */
static int kind_of(const char **name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		size_t length = strlen(kinds[i]);
		if (strncmp(*name, kinds[i], length) == 0 && (*name)[length] == ':') {
			*name += length + 1;
			return (int)i;
		}
	}
	return -1;
}

static bool is_called_by_function(const struct named *item, const char *name)
{
	return item->function && strcmp(item->function, name) == 0;
}

static bool is_shared(const struct named *item, const char *name)
{
	return item->shared && strcmp(item->shared, name) == 0;
}

/* Threads are called by the function that they began in only where threads are meant: it is also code. */
static bool is_called(const struct named *item, const char *name, int kind)
{
	if (kind >= 0 && (int)item->target.kind != kind)
		return false;
	if (is_called_by_function(item, name))
		return item->target.kind != REPLAY_THREAD || kind == REPLAY_THREAD;
	return strcmp(item->name, name) == 0 || (item->role && strcmp(item->role, name) == 0) ||
	       is_shared(item, name);
}

static const char *list_name(const struct named *item)
{
	return item->shared ? item->shared : item->role ? item->role : item->name;
}

/* What error messages list: of those that are called alike one. */
struct list {
	const struct named *items[LISTED_MAX];
	size_t count, more;
};

static void list_add(struct list *list, const struct named *item)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i]->target.kind == item->target.kind &&
			strcmp(list_name(list->items[i]), list_name(item)) == 0)
			return;
	if (list->count < LISTED_MAX)
		list->items[list->count++] = item;
	else
		list->more++;
}

static void list_write(const struct list *list, struct strbuf *out)
{
	for (size_t i = 0; i < list->count; i++)
		strbuf_addf(out, "%s%s:%s", i > 0 ? ", " : "", kinds[list->items[i]->target.kind],
			list_name(list->items[i]));
	if (list->more > 0)
		strbuf_addf(out, " and %zu more", list->more);
}

static int unknown(const struct directory *directory, const char *name, int kind, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	struct list list = { 0 };
	for (size_t i = 0; i < directory->count; i++)
		if (kind < 0 || (int)directory->items[i].target.kind == kind)
			list_add(&list, &directory->items[i]);
	list_write(&list, &text);
	return err_set(err, -ENOENT, "there is no %s '%s' in it. There are: %s",
		kind >= 0 ? kinds[kind] : "thread, lock, site or region", name,
		text.text ? text.text : "none");
}

/* Two of one kind that a name may mean together. */
static bool is_alike(const struct named *a, const struct named *b, const char *name)
{
	return a->target.kind == REPLAY_SITE ||
	       (is_called_by_function(a, name) && is_called_by_function(b, name)) ||
	       (is_shared(a, name) && is_shared(b, name));
}

/* Whether all that are so called are one thing, or of one kind and called by what they have in common. */
static int check_one(const struct directory *directory, const char *name, int kind, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	const struct named *first = NULL;
	struct list list = { 0 };
	bool is_one = true;
	for (size_t i = 0; i < directory->count; i++) {
		const struct named *item = &directory->items[i];
		if (!is_called(item, name, kind))
			continue;
		is_one &= !first ||
			  (first->target.kind == item->target.kind && is_alike(first, item, name));
		first = first ? first : item;
		list_add(&list, item);
	}
	if (!first)
		return unknown(directory, name, kind, err);
	list_write(&list, &text);
	return is_one ? 0
		      : err_set(err, -ENOENT, "'%s' may be %s: say which one is meant", name,
				text.text ? text.text : "several");
}

static bool is_known(const struct directory *directory, const char *name, int kind)
{
	for (size_t i = 0; i < directory->count; i++)
		if (is_called(&directory->items[i], name, kind))
			return true;
	return false;
}

static int add_change(struct whatif *whatif, const struct directory *directory, const char *text,
	int kind, double factor, struct err *err)
{
	const char *name = text;
	int said = kind_of(&name);
	kind = said >= 0 ? said : kind;
	if (kind < 0 && !is_known(directory, name, -1) && is_known(directory, name, REPLAY_THREAD))
		kind = REPLAY_THREAD; /* by the function that it began in */
	int code = check_one(directory, name, kind, err);
	for (size_t i = 0; code == 0 && i < directory->count; i++) {
		const struct named *item = &directory->items[i];
		if (!is_called(item, name, kind))
			continue;
		if (factor != 0 && !replay_can_speed_up(whatif->replay, &item->target))
			return err_set(err, -EINVAL,
				"'%s' cannot be made faster: the recording shows who waited for "
				"it, not who held it",
				name);
		if (factor == 0 && !replay_can_leave_out(whatif->replay, &item->target))
			return err_set(err, -EINVAL,
				"'%s' cannot be left out: it guards a condition, or is no lock "
				"that the recording shows in use",
				name);
		if (mem_grow(&whatif->changes, &whatif->change_capacity, whatif->change_count + 1,
			    sizeof *whatif->changes) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		whatif->changes[whatif->change_count++] =
			(struct replay_change){ .target = item->target, .factor = factor };
	}
	if (code == 0 && whatif->change_count > REPLAY_CHANGES_MAX)
		return err_set(err, -E2BIG, "'%s' stands for too many places in the code", name);
	return code;
}

static int add_words(struct whatif *whatif, const char *before, const char *text)
{
	AUTO_RELEASE(strbuf) struct strbuf words = { 0 };
	strbuf_addf(&words, "%s%s", before, text);
	if (strbuf_failed(&words) < 0)
		return -ENOMEM;
	whatif->words[whatif->word_count++] = TAKE(words.text);
	return 0;
}

/* "NAME=VALUE": *ret_value is in the name's memory. */
static int split(const char *text, char **ret_name, const char **ret_value, struct err *err)
{
	char *name = strdup(text);
	char *equals = name ? strrchr(name, '=') : NULL;
	*ret_name = name;
	if (!name)
		return err_set(err, -ENOMEM, "out of memory");
	if (!equals || equals == name)
		return err_set(err, -EINVAL, "'%s' is not NAME=VALUE", text);
	*equals = '\0';
	*ret_value = equals + 1;
	return 0;
}

static int read_speed(const char *text, char **ret_name, double *ret_factor, struct err *err)
{
	const char *value = NULL;
	int code = split(text, ret_name, &value, err);
	if (code < 0)
		return code;
	if (number_parse_double(value, ret_factor) < 0 || !(*ret_factor >= REPLAY_FACTOR_LEAST) ||
		!(*ret_factor <= REPLAY_FACTOR_MOST))
		return err_set(err, -EINVAL, "'%s' is not NAME=FACTOR, a factor from %g to %.0f",
			text, REPLAY_FACTOR_LEAST, REPLAY_FACTOR_MOST);
	return 0;
}

static int read_pin(
	const char *text, char **ret_name, uint32_t **ret_cores, size_t *ret_count, struct err *err)
{
	const char *value = NULL;
	int code = split(text, ret_name, &value, err);
	return code < 0 ? code
			: intlist_parse(value, 0, REPLAY_CORES_MAX - 1, ret_cores, ret_count, err);
}

int whatif_check_asked(const struct whatif_asked *asked, struct err *err)
{
	for (size_t i = 0; i < asked->speed.count; i++) {
		AUTO_FREE char *name = NULL;
		double factor;
		int code = read_speed(asked->speed.items[i], &name, &factor, err);
		if (code < 0)
			return err_prefix(err, code, "--speed");
	}
	for (size_t i = 0; i < asked->pin.count; i++) {
		AUTO_FREE char *name = NULL;
		AUTO_FREE uint32_t *cores = NULL;
		size_t count;
		int code = read_pin(asked->pin.items[i], &name, &cores, &count, err);
		if (code < 0)
			return err_prefix(err, code, "--pin");
	}
	return 0;
}

static int add_speed(
	struct whatif *whatif, const struct directory *directory, const char *text, struct err *err)
{
	AUTO_FREE char *name = NULL;
	double factor = 0;
	int code = read_speed(text, &name, &factor, err);
	return code < 0 ? code : add_change(whatif, directory, name, -1, factor, err);
}

static int add_without(
	struct whatif *whatif, const struct directory *directory, const char *text, struct err *err)
{
	return add_change(whatif, directory, text, REPLAY_LOCK, 0, err);
}

/* Threads only, at their own speed. */
static int add_pin(
	struct whatif *whatif, const struct directory *directory, const char *text, struct err *err)
{
	AUTO_FREE char *name = NULL;
	AUTO_FREE uint32_t *cores = NULL;
	size_t from = whatif->change_count, count = 0;
	int code = read_pin(text, &name, &cores, &count, err);
	if (code == 0)
		code = add_change(whatif, directory, name, REPLAY_THREAD, 1, err);
	for (size_t i = from; code == 0 && i < whatif->change_count; i++)
		for (size_t k = 0; k < count; k++)
			whatif->changes[i].cores[cores[k] / 64] |= UINT64_C(1) << cores[k] % 64;
	return code;
}

int whatif_resolve(struct whatif *whatif, const struct whatif_asked *asked, struct err *err)
{
	const struct {
		const struct option_strings *given;
		int (*add)(struct whatif *, const struct directory *, const char *, struct err *);
		const char *option, *words;
	} kinds_of_change[] = { { &asked->speed, add_speed, "--speed", "" },
		{ &asked->without, add_without, "--without", "without " },
		{ &asked->pin, add_pin, "--pin", "pin " } };
	AUTO_RELEASE(directory) struct directory directory = { 0 };
	size_t count = asked->speed.count + asked->without.count + asked->pin.count;
	if (count == 0)
		return 0;
	whatif->words = calloc(count, sizeof *whatif->words);
	if (!whatif->words || fill(&directory, whatif) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t kind = 0; kind < ARRAY_SIZE(kinds_of_change); kind++) {
		const struct option_strings *given = kinds_of_change[kind].given;
		for (size_t i = 0; i < given->count; i++) {
			int code =
				kinds_of_change[kind].add(whatif, &directory, given->items[i], err);
			if (code < 0)
				return err_prefix(err, code, "%s", kinds_of_change[kind].option);
			if (add_words(whatif, kinds_of_change[kind].words, given->items[i]) < 0)
				return err_set(err, -ENOMEM, "out of memory");
		}
	}
	return 0;
}
