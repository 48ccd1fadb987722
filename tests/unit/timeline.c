/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timelines as text: written and read back the same, read as a person writes them, or refused. */
#include "trace_fixture.h"

#include "base/rng.h"
#include "report/perfetto.h"
#include "report/timeline_json.h"
#include "trace/csv_read.h"
#include "trace/csv_write.h"
#include "trace/timeline.h"
#include "trace/vocabulary.h"

#include <jansson.h>

/* Keeps what it is given. */
static int keep(void *context, const struct event *event, struct err *err)
{
	struct event_list *list = context;
	(void)err;
	assert_int_equal(
		mem_grow(&list->items, &list->capacity, list->count + 1, sizeof *event), 0);
	list->items[list->count] = *event;
	list->items[list->count].text = event->text ? strdup(event->text) : NULL;
	list->count++;
	return 0;
}

static int end(void *context, uint64_t end_ns, struct err *err)
{
	(void)err;
	((struct event_list *)context)->quality.end_ns = end_ns;
	return 0;
}

static void kept_release(struct event_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((void *)(uintptr_t)list->items[i].text);
	event_list_release(list);
}

static int read_csv(const char *text, struct event_list *list, struct err *err)
{
	struct event_sink sink = { .context = list, .event = keep, .finish = end };
	AUTO_FILE FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	*list = (struct event_list){ 0 };
	return timeline_csv_read(in, "t.csv", &sink, NULL, err);
}

static void assert_refused(const char *text, const char *reason)
{
	struct event_list list;
	struct err err = { "" };
	assert_int_equal(read_csv(text, &list, &err), -EINVAL);
	kept_release(&list);
	if (strcmp(err.text, reason) != 0)
		fail_msg("'%s' instead of '%s'", err.text, reason);
}

static void assert_same(const struct event *a, const struct event *b)
{
	struct event x = *a, y = *b;
	assert_true((x.text == NULL) == (y.text == NULL));
	if (x.text)
		assert_string_equal(x.text, y.text);
	x.text = y.text = NULL;
	assert_memory_equal(&x, &y, sizeof x);
}

/* Any event that there can be, every field used. */
static struct event random_event(struct rng *rng, uint64_t time_ns)
{
	static const char *const texts[] = { "", "plain", "a \"quoted\", one", " spaces ",
		"line\nbreak\r\t\x01\x7f", "back\\slash\\n", "gr\xc3\xbc\xc3\x9f" };
	struct event event = { .time_ns = time_ns,
		.cpu_ns = rng_next(rng),
		.object = rng_next(rng),
		.site = rng_next(rng),
		.value = rng_next(rng),
		.woken_ns = rng_below(rng, time_ns + 1),
		.pid = (uint32_t)rng_next(rng),
		.tid = 1 + (uint32_t)rng_below(rng, TRACE_TID_MAX),
		.kind = (uint8_t)(1 + rng_below(rng, EVENT_KINDS - 1)),
		.what = (uint8_t)rng_below(rng, WHAT_COUNT),
		.flags = (uint16_t)(rng_below(rng, 2 * EVENT_FLUSH) &
				    ~(TRACE_HELD | TRACE_KERNEL)) };
	if (event.kind == EVENT_NAME)
		event.text = texts[rng_below(rng, ARRAY_SIZE(texts))];
	return event;
}

static void csv_brings_every_event_back_exactly(void **state)
{
	(void)state;
	enum { EVENTS = 2000 };
	static struct event events[EVENTS];
	char *text = NULL;
	size_t size = 0;
	struct rng rng;
	struct event_list list;
	FILE *out = open_memstream(&text, &size);
	struct timeline_csv csv = { .out = out };
	struct event_sink sink = timeline_csv_sink(&csv);
	rng_init(&rng, 21);
	for (size_t i = 0; i < EVENTS; i++) {
		events[i] = random_event(&rng, 1000 + i / 3);
		assert_int_equal(sink_event(&sink, &events[i], NULL), 0);
	}
	assert_int_equal(sink_finish(&sink, 7777777, NULL), 0);
	assert_int_equal(fclose(out), 0);
	struct err err = { "" };
	if (read_csv(text, &list, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(list.count, EVENTS);
	assert_int_equal(list.quality.end_ns, 7777777);
	for (size_t i = 0; i < EVENTS; i++)
		assert_same(&list.items[i], &events[i]);
	kept_release(&list);
	free(text);
}

static void names_stand_for_threads_and_objects(void **state)
{
	(void)state;
	struct event_list list;
	assert_int_equal(read_csv("tid,event,time_ns,what,object,value\n"
				  "# a remark\n"
				  "main,start,0\n"
				  "\n"
				  "worker,start,10,,,main\n"
				  "worker,wait,20,cond,ready,queue\n"
				  "main,pass,20,mutex,queue\n"
				  "worker,pass,30,cond,ready\n"
				  "main,wait,40,join,,worker\n",
				 &list, NULL),
		0);
	const uint8_t kinds[] = { EVENT_NAME, EVENT_THREAD_START, EVENT_NAME, EVENT_THREAD_START,
		EVENT_NAME, EVENT_NAME, EVENT_WAIT, EVENT_PASS, EVENT_PASS, EVENT_WAIT };
	assert_int_equal(list.count, ARRAY_SIZE(kinds));
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(list.items[i].kind, kinds[i]);
	const struct event *e = list.items;
	assert_string_equal(e[0].text, "main");
	assert_int_equal(e[0].object, e[1].tid);
	assert_int_equal(e[3].value, e[1].tid); /* the parent */
	assert_string_equal(e[4].text, "ready");
	assert_int_equal(e[4].what, WHAT_COND);
	assert_string_equal(e[5].text, "queue");
	assert_int_equal(e[5].what, WHAT_MUTEX);
	assert_int_equal(e[6].object, e[4].object);
	assert_int_equal(e[6].value, e[5].object);
	assert_int_equal(e[7].object, e[5].object);
	assert_int_equal(e[7].flags, 0); /* it did not wait */
	assert_int_equal(e[8].flags, EVENT_WAITED);
	assert_int_equal(e[9].value, e[3].tid); /* joined */
	assert_int_equal(list.quality.end_ns, 40);
	kept_release(&list);
}

static void errors_name_the_line(void **state)
{
	(void)state;
	assert_refused("", "t.csv: empty: a timeline begins with a line that names the columns");
	assert_refused("time_ns,tid\n", "t.csv:1: no column 'event'");
	assert_refused("time_ns,tid,event,colour\n", "t.csv:1: a timeline has no column 'colour'");
	assert_refused("threads,time\n1,2\n", "t.csv:1: a timeline has no column 'threads': "
					      "measurements are for 'corecast forecast'");
	assert_refused("time_ns,tid,event,tid\n", "t.csv:1: column 'tid' twice");
	assert_refused(
		"time_ns,tid,event\n1,1,start\n\n2,1,stop\n", "t.csv:4: there is no event 'stop'");
	assert_refused("time_ns,tid,event\n1,1,start\n# x\n0,1,exit\n",
		"t.csv:4: time 0 is before that of line 2: rows come in order of time");
	assert_refused("time_ns,tid,event\n-1,1,start\n", "t.csv:2: time_ns: '-1' is not a number");
	assert_refused("time_ns,tid,event\n,1,start\n", "t.csv:2: no time");
	assert_refused("time_ns,tid,event\n1,,start\n", "t.csv:2: no thread (tid)");
	assert_refused(
		"time_ns,tid,event\n1,4194305,start\n", "t.csv:2: thread numbers go up to 4194304");
	assert_refused(
		"time_ns,tid,event,what\n1,1,wait,door\n", "t.csv:2: what: there is no 'door'");
	assert_refused(
		"time_ns,tid,event,flags\n1,1,wait,late\n", "t.csv:2: flags: 'late' is none");
	assert_refused("time_ns,tid,event,object\n1,1,wait,x\n",
		"t.csv:2: 'x' is the name of what? The column 'what' tells");
	assert_refused("time_ns,tid,event,what,object\n1,1,wait,mutex,12x\n",
		"t.csv:2: '12x' is neither a number nor a name");
	assert_refused("time_ns,tid,event,text\n1,1,wait,hello\n",
		"t.csv:2: only events 'name' have a text");
	assert_refused("time_ns,tid,event,text\n1,1,name,a\\q\n",
		"t.csv:2: text: after a backslash comes another, n, or x and two digits");
	assert_refused(
		"time_ns,tid,event,woken_ns\n1,1,pass,2\n", "t.csv:2: woken_ns is after time_ns");
	assert_refused("time_ns,tid,event,value\n1,1,tick,many\n",
		"t.csv:2: value: 'many' is not a number");
}

static void words_are_unique(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
		assert_int_equal(event_kind_parse(event_kind_word(kind)), kind);
	for (unsigned what = 0; what < WHAT_COUNT; what++)
		assert_int_equal(event_what_parse(event_what_word(what)), what);
	for (unsigned flags = 0; flags < 2 * EVENT_FLUSH; flags++) {
		if (flags & (TRACE_HELD | TRACE_KERNEL))
			continue; /* of the file only */
		char words[EVENT_FLAGS_BYTES];
		event_flags_words(flags, words);
		assert_int_equal(event_flags_parse(words), flags);
	}
	assert_string_equal(event_kind_word(EVENT_KINDS), "?");
	assert_int_equal(event_flags_parse("waited|"), -EINVAL);
	assert_int_equal(event_flags_parse("|"), -EINVAL);
}

static const char hand_written[] = "time_ns,tid,event,what,object,woken_ns,value\n"
				   "1000,1,start\n"
				   "1000,2,start\n"
				   "1100,1,pass,mutex,\"a \"\"b\"\"\"\n"
				   "1250,2,wait,mutex,\"a \"\"b\"\"\"\n"
				   "2000,1,release,mutex,\"a \"\"b\"\"\"\n"
				   "2007,2,pass,mutex,\"a \"\"b\"\"\",2001,1\n"
				   "2100,2,region_begin,,parse\n"
				   "2200,2,region_end,,parse\n"
				   "2300,1,request_begin,,,,7\n"
				   "2400,2,request_end,,,,7\n"
				   "2500,1,wait,sleep\n";

static struct trace_reader *open_hand_written(struct trace_path *path)
{
	struct trace_reader *reader = NULL;
	trace_path_init(path);
	AUTO_FILE FILE *file = fopen(path->text, "we");
	assert_true(fputs(hand_written, file) >= 0 && fflush(file) == 0);
	assert_int_equal(timeline_open(path->text, &reader, NULL), 0);
	return reader;
}

/* A slice, or what else there is one of with this name. */
static json_t *find_named(json_t *events, const char *phase, const char *name)
{
	size_t i;
	json_t *event;
	json_array_foreach(events, i, event)
	{
		if (strcmp(json_string_value(json_object_get(event, "ph")), phase) == 0 &&
			strcmp(json_string_value(json_object_get(event, "name")), name) == 0)
			return event;
	}
	fail_msg("no %s named '%s'", phase, name);
	return NULL;
}

static double number_at(json_t *event, const char *key)
{
	json_t *value = json_object_get(event, key);
	assert_true(json_is_number(value));
	return json_number_value(value);
}

static void perfetto_shows_waits_as_slices(void **state)
{
	(void)state;
	struct trace_path path;
	AUTO(trace_reader) struct trace_reader *reader = open_hand_written(&path);
	AUTO(trace_reader) struct trace_reader *for_names = NULL;
	AUTO_RELEASE(event_names) struct event_names names = { 0 };
	struct event event;
	assert_int_equal(timeline_open(path.text, &for_names, NULL), 0);
	while (trace_reader_next(for_names, &event, NULL) > 0)
		assert_int_equal(event_names_add(&names, &event), 0);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(perfetto_write(out, reader, &names, NULL), 0);
	assert_int_equal(fclose(out), 0);
	json_t *root = json_loads(text, 0, NULL);
	json_t *events = json_object_get(root, "traceEvents");
	assert_true(json_is_array(events));
	json_t *wait = find_named(events, "X", "mutex a \"b\"");
	assert_int_equal(number_at(wait, "tid"), 2);
	/* Microseconds from the first event on. */
	assert_true(number_at(wait, "ts") == 0.25 && number_at(wait, "dur") == 0.751);
	assert_int_equal(number_at(json_object_get(wait, "args"), "woken_by"), 1);
	json_t *no_core = find_named(events, "X", "no core");
	assert_true(number_at(no_core, "ts") == 1.001 && number_at(no_core, "dur") == 0.006);
	(void)find_named(events, "B", "region parse");
	(void)find_named(events, "E", "region parse");
	assert_string_equal(
		json_string_value(json_object_get(find_named(events, "b", "request"), "id")),
		"0x7");
	(void)find_named(events, "e", "request");
	assert_int_equal(number_at(find_named(events, "X", "sleep"), "dur"), 0);
	(void)find_named(events, "C", "active threads");
	json_decref(root);
	free(text);
	trace_path_release(&path);
}

static void json_has_every_event(void **state)
{
	(void)state;
	struct trace_path path;
	AUTO(trace_reader) struct trace_reader *reader = open_hand_written(&path);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(timeline_json_write(out, reader, NULL), 0);
	assert_int_equal(fclose(out), 0);
	json_t *root = json_loads(text, 0, NULL);
	json_t *events = json_object_get(root, "events");
	assert_int_equal(number_at(root, "version"), 1);
	assert_int_equal(json_array_size(events), trace_reader_quality(reader)->events);
	assert_int_equal(number_at(root, "threads"), 2);
	assert_int_equal(number_at(root, "lost_events"), 0);
	json_t *pass = json_array_get(events, 7);
	assert_string_equal(json_string_value(json_object_get(pass, "event")), "pass");
	assert_int_equal(number_at(pass, "woken_ns"), 2001);
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(pass, "flags"), 0)), "waited");
	json_decref(root);
	free(text);
	trace_path_release(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(csv_brings_every_event_back_exactly),
		cmocka_unit_test(names_stand_for_threads_and_objects),
		cmocka_unit_test(errors_name_the_line),
		cmocka_unit_test(words_are_unique),
		cmocka_unit_test(perfetto_shows_waits_as_slices),
		cmocka_unit_test(json_has_every_event),
	};
	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
