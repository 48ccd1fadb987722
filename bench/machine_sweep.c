/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether better processors are predicted to be faster: machine_sweep [-a] [-w FOLDER] MACHINE.yaml PROFILE.ccp...
 *
 * Every figure of the machine file is made worse and better in steps, one at a time, units and their ports too, and each profile
 * predicted on all of them with the same draws. Prints where a better figure makes a program slower by more than half a percent; -a
 * prints every sweep. -w writes the machine files instead, FOLDER/FIELD.STEP.yaml, for bench/reference.
 */
#include "base/mem.h"
#include "base/path.h"
#include "meaning/meaning.h"
#include "uarch/machine_field.h"
#include "uarch/predict.h"
#include "uarch/profile_store.h"
#include "uarch/profile_timeline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double SLOWER = 1.005;
static const double steps[] = { 0.5, 0.7, 0.85, 1, 1.2, 1.5,
	2 }; /* of the file's figure, if more is better */
enum { STEPS = ARRAY_SIZE(steps), PORT_STEPS = 8, NAME = 64 };

/* Figures that say nothing of speed, or whose order nobody can tell. */
static const char *const skipped[] = { "predictor", "fuses", "binds", "memory.prefetch", "ports" };
/* Less of them is better; of the others more. */
static const char *const costs[] = { "latency", "front_end", "store_forward", "store_blocked",
	"second_latency", "walk", "delay", "second_delay", "transfer", "lock", "wake", "wake_cost",
	"switch", "fault" };

struct subject {
	const char *name;
	struct profile profile;
	struct meaning *meaning;
	struct rppm *rppm;
};

/* One figure's processors, the worst first. */
struct sweep {
	char name[NAME];
	struct processor points[STEPS + PORT_STEPS];
	size_t count;
};

static bool is_among(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool is_skipped(const struct machine_field *field)
{
	return strcmp(field->section, "power") == 0 ||
	       is_among(field->key, skipped, ARRAY_SIZE(skipped)) ||
	       (strcmp(field->section, "memory") == 0 && strcmp(field->key, "prefetch") == 0);
}

/* Whole figures above 0 stay so: 0 often means that there is no limit. */
static double stepped(const struct machine_field *field, double value, double factor)
{
	double new = value *factor;
	bool is_whole = field->quantity == MACHINE_COUNT || field->quantity == MACHINE_NUMBER;
	if (is_whole || (field->quantity == MACHINE_LATENCY && value == floor(value)))
		new = new < 1 ? 1 : round(new);
	return new;
}

static void sweep_field(
	const struct machine_field *field, const struct processor *processor, struct sweep *ret)
{
	double value = machine_field_get(field, processor), last = -1;
	bool is_cost = is_among(field->key, costs, ARRAY_SIZE(costs));
	bool is_ns = field->store == MACHINE_CACHE &&
		     ((const struct cache *)(const void *)((const char *)processor + field->offset))
				     ->latency_ns > 0;
	*ret = (struct sweep){ .count = 0 };
	(void)snprintf(ret->name, sizeof(ret->name), "%s%s%s", field->section,
		*field->section ? "." : "", field->key);
	if (value <= 0)
		return;
	for (size_t i = 0; i < STEPS; i++) {
		double new = stepped(field, value, is_cost ? steps[STEPS - 1 - i] : steps[i]);
		struct processor point = *processor;
		if (new == last || machine_field_set(field, &point, new, is_ns, NULL) < 0 ||
			processor_check(&point, &(const char *){ NULL }, NULL) < 0)
			continue;
		ret->points[ret->count++] = point;
		last = new;
	}
}

static void sweep_unit(
	unsigned class, bool is_interval, const struct processor *processor, struct sweep *ret)
{
	const struct unit *unit = &processor->units[class];
	uint32_t value = is_interval ? unit->interval : unit->latency, last = 0;
	*ret = (struct sweep){ .count = 0 };
	(void)snprintf(ret->name, sizeof(ret->name), "units.%s.%s", code_class_name(class),
		is_interval ? "interval" : "latency");
	for (size_t i = 0; i < STEPS && value > 0; i++) {
		uint32_t new = (uint32_t)round(value * steps[STEPS - 1 - i]);
		new = new < 1 ? 1 : new;
		if (new == last || (is_interval && value == 1))
			continue;
		ret->points[ret->count] = *processor;
		*(is_interval ? &ret->points[ret->count].units[class].interval
			      : &ret->points[ret->count].units[class].latency) = last = new;
		ret->count++;
	}
}

static uint32_t *ports_of(struct processor *processor, unsigned what)
{
	return what < CODE_CLASSES    ? &processor->units[what].ports
	       : what == CODE_CLASSES ? &processor->load_ports
				      : &processor->store_ports;
}

/* One port, two, and so on: first those that it has, then the others in their order. */
static void sweep_ports(unsigned what, const struct processor *processor, struct sweep *ret)
{
	struct processor point = *processor;
	uint32_t has = *ports_of(&point, what), mask = 0;
	*ret = (struct sweep){ .count = 0 };
	(void)snprintf(ret->name, sizeof(ret->name), "%s.ports",
		what < CODE_CLASSES    ? code_class_name(what)
		: what == CODE_CLASSES ? "load"
				       : "store");
	for (unsigned round = 0; round < 2; round++)
		for (unsigned port = 0;
			port < processor->port_count && ret->count < STEPS + PORT_STEPS; port++) {
			if ((has >> port & 1) == round)
				continue;
			mask |= UINT32_C(1) << port;
			*ports_of(&point, what) = mask;
			ret->points[ret->count++] = point;
		}
}

static double predict(struct subject *subject, const struct processor *processor)
{
	AUTO_RELEASE(prediction) struct prediction prediction = { 0 };
	struct err err = { "" };
	if (rppm_run(subject->rppm, &(struct predict_run){ .processor = processor }, &prediction,
		    &err) < 0) {
		fprintf(stderr, "machine_sweep: %s: %s\n", subject->name, err.text);
		exit(1);
	}
	return (double)prediction.ns;
}

static unsigned judge(struct subject *subject, const struct sweep *sweep, bool prints_all)
{
	double times[STEPS + PORT_STEPS], best = INFINITY;
	bool is_slower = false;
	for (size_t i = 0; i < sweep->count; i++) {
		times[i] = predict(subject, &sweep->points[i]);
		is_slower |= times[i] > best * SLOWER;
		best = fmin(best, times[i]);
	}
	if (!is_slower && !prints_all)
		return 0;
	printf("%-6s %-16s %-24s", is_slower ? "SLOWER" : "", subject->name, sweep->name);
	for (size_t i = 0; i < sweep->count; i++)
		printf(" %.3f", times[i] / times[0]);
	printf("\n");
	(void)fflush(stdout);
	return is_slower;
}

static int write_all(const struct sweep *sweep, const char *folder)
{
	for (size_t i = 0; i < sweep->count; i++) {
		char path[4096], name[NAME + 8];
		struct processor point = sweep->points[i];
		(void)snprintf(name, sizeof(name), "%s.%zu", sweep->name, i);
		(void)snprintf(path, sizeof(path), "%s/%s.yaml", folder, name);
		point.name = name;
		FILE *out = fopen(path, "w");
		if (!out)
			return -errno;
		processor_write(&point, out);
		if (fclose(out) != 0)
			return -EIO;
	}
	return 0;
}

/* The whole file, which the caller frees. */
static int read_file(const char *path, char **ret, size_t *ret_length, struct err *err)
{
	FILE *in = fopen(path, "r");
	AUTO_FREE char *bytes = NULL;
	size_t capacity = 0, length = 0, got = 1;
	if (!in)
		return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	while (got > 0 && mem_grow(&bytes, &capacity, length + (1 << 20), 1) == 0)
		length += got = fread(bytes + length, 1, capacity - length, in);
	(void)fclose(in); /* it was only read */
	*ret = TAKE(bytes);
	*ret_length = length;
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int load(const char *path, struct subject *ret, struct err *err)
{
	ret->name = path_file_name(path);
	AUTO_FREE char *bytes = NULL;
	size_t length = 0;
	int code = read_file(path, &bytes, &length, err);
	if (code == 0)
		code = profile_read(bytes, length, path, &ret->profile, err);
	if (code == 0 && meaning_new(&ret->meaning) < 0)
		code = err_set(err, -ENOMEM, "out of memory");
	if (code < 0)
		return code;
	meaning_of_other_pace(ret->meaning);
	struct event_sink sink = meaning_sink(ret->meaning);
	code = profile_timeline_replay(&ret->profile, path, &sink, err);
	if (code == 0)
		code = rppm_new(&ret->profile, &(struct predict_opts){ .meaning = ret->meaning },
			&ret->rppm, err);
	if (code < 0)
		return code;
	sink = rppm_sink(ret->rppm);
	return profile_timeline_replay(&ret->profile, path, &sink, err);
}

/* The n-th sweep; false: no more. An empty one has nothing to vary. */
static bool make_sweep(size_t n, const struct processor *processor, struct sweep *ret)
{
	size_t fields = 0;
	for (const struct machine_field *field; (field = machine_field(fields)) != NULL; fields++)
		if (fields == n) {
			*ret = (struct sweep){ .count = 0 };
			if (!is_skipped(field))
				sweep_field(field, processor, ret);
			return true;
		}
	n -= fields;
	if (n < 2 * CODE_CLASSES)
		sweep_unit((unsigned)n / 2, n % 2, processor, ret);
	else if (n < 3 * CODE_CLASSES + 2)
		sweep_ports((unsigned)n - 2 * CODE_CLASSES, processor, ret);
	return n < 3 * CODE_CLASSES + 2;
}

int main(int argc, char **argv)
{
	struct processor processor = { 0 };
	struct err err = { "" };
	const char *folder = NULL;
	bool prints_all = false;
	int option, code = 0;
	while ((option = getopt(argc, argv, "aw:")) != -1) {
		if (option == '?')
			return 2;
		prints_all |= option == 'a';
		folder = option == 'w' ? optarg : folder;
	}
	if (optind >= argc)
		return 2;
	AUTO_FREE char *text = NULL;
	size_t length = 0;
	code = read_file(argv[optind], &text, &length, &err);
	if (code == 0)
		code = processor_parse(argv[optind++], text, length, &processor, &err);
	unsigned slower = 0, count = 0;
	for (int i = optind; code == 0 && (i < argc || folder); i++) {
		struct subject subject = { 0 };
		static struct sweep sweep;
		code = folder ? 0 : load(argv[i], &subject, &err);
		for (size_t n = 0; code == 0 && make_sweep(n, &processor, &sweep); n++) {
			if (sweep.count < 2)
				continue;
			count++;
			if (folder)
				code = write_all(&sweep, folder);
			else
				slower += judge(&subject, &sweep, prints_all);
		}
		rppm_free(subject.rppm);
		meaning_free(subject.meaning);
		profile_release(&subject.profile);
		if (folder)
			break;
	}
	if (code < 0)
		fprintf(stderr, "machine_sweep: %s\n", *err.text ? err.text : strerror(-code));
	else
		printf("%u of %u sweeps have a better figure that makes slower\n", slower, count);
	processor_release(&processor);
	return code < 0;
}
