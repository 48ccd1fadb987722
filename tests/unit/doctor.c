/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collect/doctor: over recorded folders and machines that others have. */
#include "cmocka_all.h"

#include "collect/counters.h"
#include "doctor/doctor.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* A processor with so many counters at once; 0: it refuses everything with `refusal`. */
struct processor {
	int counters;
	int refusal;
	int in_group;
	uint64_t missing_config; /* a code that it does not know */
};

static int open_event(void *context, const struct perf_event_attr *attr, pid_t pid, int group)
{
	struct processor *processor = context;
	(void)pid;
	if (processor->counters == 0)
		return processor->refusal;
	if (attr->type == PERF_TYPE_RAW && attr->config == processor->missing_config)
		return -EINVAL;
	processor->in_group = group < 0 ? 1 : processor->in_group + 1;
	return processor->in_group > processor->counters ? -EINVAL : 100;
}

static int read_event(void *context, int fd, struct counter_reading *ret)
{
	(void)context;
	(void)fd;
	*ret = (struct counter_reading){ 0 };
	return 0;
}

static void close_event(void *context, int fd)
{
	(void)context;
	assert_int_equal(fd, 100);
}

static struct doctor *examine(const char *root, struct processor *processor)
{
	const struct counter_source source = { open_event, read_event, close_event, processor };
	struct doctor *doctor = NULL;
	assert_int_equal(
		doctor_new(&(struct doctor_opts){ root, &source, true }, &doctor, NULL), 0);
	return doctor;
}

static const struct doctor_finding *find(const struct doctor *doctor, const char *name)
{
	for (size_t i = 0; i < doctor->count; i++)
		if (strcmp(doctor->findings[i].name, name) == 0)
			return &doctor->findings[i];
	fail_msg("no finding '%s'", name);
	return NULL;
}

static void expect(const struct doctor *doctor, const char *name, enum doctor_status status,
	const char *summary, const char *command)
{
	const struct doctor_finding *f = find(doctor, name);
	if (f->status != status || !strstr(f->summary, summary) || !strstr(f->command, command))
		fail_msg("%s is %s: '%s', command '%s'", name, doctor_status_name(f->status),
			f->summary, f->command);
}

/* Every finding is complete: what is not there says what is lost, what is used, how to get it. */
static void check_complete(const struct doctor *doctor)
{
	assert_true(doctor->count >= 9);
	for (size_t i = 0; i < doctor->count; i++) {
		const struct doctor_finding *f = &doctor->findings[i];
		assert_true(*f->name && *f->purpose && *f->summary);
		bool has_all = *f->lost && *f->instead && *f->command;
		bool has_none = !*f->lost && !*f->instead && !*f->command;
		if (f->status == DOCTOR_OK ? !has_none : !has_all)
			fail_msg("%s: lost '%s', instead '%s', command '%s'", f->name, f->lost,
				f->instead, f->command);
	}
}

static void a_machine_that_tells_nothing_is_no_failure(void **state)
{
	(void)state;
	struct processor none = { .refusal = -ENOSYS };
	AUTO(doctor) struct doctor *doctor = examine("/nonexistent", &none);
	check_complete(doctor);
	assert_int_equal(doctor->machine.usable, 1);
	expect(doctor, "hardware events", DOCTOR_MISSING, "no event set", "docs/formats");
	expect(doctor, "software events", DOCTOR_MISSING, "this kernel has none", "kernel");
	expect(doctor, "waiting", DOCTOR_MISSING, "schedstat", "CONFIG_SCHED_INFO");
	expect(doctor, "BPF", DOCTOR_MISSING, "no BTF", "linux-image");
	expect(doctor, "frequency", DOCTOR_MISSING, "not there", "modprobe");
	expect(doctor, "energy", DOCTOR_MISSING, "no RAPL", "modprobe");
}

static void a_containers_quota_is_told_with_its_file(void **state)
{
	(void)state;
	struct processor none = { .refusal = -EPERM };
	AUTO(doctor) struct doctor *doctor = examine(TEST_DATA "/container-v2", &none);
	check_complete(doctor);
	assert_int_equal(doctor->machine.usable, 2);
	expect(doctor, "limits", DOCTOR_LIMITED, "quota of 2.5 CPUs, cpuset of 16",
		"echo max | sudo tee /sys/fs/cgroup/cpu.max");
	assert_string_equal(find(doctor, "limits")->lost, "61.5 of 64 CPUs");
	expect(doctor, "software events", DOCTOR_MISSING, "forbidden", "--cap-add=PERFMON");
}

static void events_are_counted_at_once_where_counters_suffice(void **state)
{
	(void)state;
	struct processor zen = { .counters = 16 };
	AUTO(doctor) struct doctor *doctor = examine(TEST_DATA "/cgroup-v1", &zen);
	check_complete(doctor);
	expect(doctor, "hardware events", DOCTOR_OK, "AMD Zen 3: 8 stall events, 8 at once", "");
	expect(doctor, "limits", DOCTOR_LIMITED, "quota of 12 CPUs, cpuset of 8",
		"echo 0-23 | sudo tee /sys/fs/cgroup/cpuset/batch/cpuset.cpus");
	assert_string_equal(find(doctor, "limits")->lost, "16 of 24 CPUs");
}

static void few_counters_and_missing_events_are_told(void **state)
{
	(void)state;
	struct processor zen = { .counters = 6 };
	AUTO(doctor) struct doctor *doctor = examine(TEST_DATA "/cgroup-v1", &zen);
	expect(doctor, "hardware events", DOCTOR_LIMITED, "8 stall events, 6 at once", "");
	zen.missing_config = 0x10ae;
	AUTO(doctor) struct doctor *partial = examine(TEST_DATA "/cgroup-v1", &zen);
	check_complete(partial);
	expect(partial, "hardware events", DOCTOR_MISSING, "7 of 8 stall events of AMD Zen 3", "");
	assert_non_null(strstr(find(partial, "hardware events")->detail, "branch_buffer"));
}

static void forbidden_events_name_the_setting(void **state)
{
	(void)state;
	struct processor forbidden = { .refusal = -EACCES };
	AUTO(doctor) struct doctor *doctor = examine(TEST_DATA "/cgroup-v1", &forbidden);
	check_complete(doctor);
	expect(doctor, "hardware events", DOCTOR_MISSING, "forbidden",
		"sudo sysctl kernel.perf_event_paranoid=");
}

static void an_arm_core_without_fine_grain_events_says_so(void **state)
{
	(void)state;
	struct processor arm = { .counters = 6 };
	AUTO(doctor) struct doctor *v1 = examine(TEST_DATA "/neoverse", &arm);
	check_complete(v1);
	expect(v1, "hardware events", DOCTOR_OK, "Arm Neoverse V1", "");
	AUTO(doctor) struct doctor *n1 = examine(TEST_DATA "/neoverse-n1", &arm);
	check_complete(n1);
	expect(n1, "hardware events", DOCTOR_MISSING, "N1 has no fine-grain stall events", "");
}

static void this_machine_is_examined(void **state)
{
	(void)state;
	const struct doctor_opts opts = { "", &counter_source_kernel, false };
	AUTO(doctor) struct doctor *doctor = NULL;
	assert_int_equal(doctor_new(&opts, &doctor, NULL), 0);
	check_complete(doctor);
	expect(doctor, "build", DOCTOR_LIMITED, "no charts", "npm");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_that_tells_nothing_is_no_failure),
		cmocka_unit_test(a_containers_quota_is_told_with_its_file),
		cmocka_unit_test(events_are_counted_at_once_where_counters_suffice),
		cmocka_unit_test(few_counters_and_missing_events_are_told),
		cmocka_unit_test(forbidden_events_name_the_setting),
		cmocka_unit_test(an_arm_core_without_fine_grain_events_says_so),
		cmocka_unit_test(this_machine_is_examined),
	};
	return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
