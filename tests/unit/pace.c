/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is waited for so that threads go at one pace (plugin/pace.h). The other thread is this test's own, or nobody's. */
#include "cmocka_all.h"

#include "plugin/pace.h"

#include <pthread.h>
#include <unistd.h>

enum { ME, OTHER, FAR = 2 * PACE_TURN };

struct vcpu vcpu_table[VCPUS];
unsigned vcpu_end;
static struct profile_slot slots[2];

static void start(uint64_t stretch)
{
	pace_init();
	vcpu_end = 2;
	for (unsigned i = 0; i < 2; i++) {
		vcpu_table[i] = (struct vcpu){ .slot = &slots[i], .index = (uint16_t)i };
		slots[i] = (struct profile_slot){ .stretch = PROFILE_START };
		pace_begin(&vcpu_table[i]);
	}
	slots[OTHER].stretch = stretch;
	slots[ME].instructions = FAR;
}

static void *go_on(void *unused)
{
	vcpu_table[OTHER].host_tid = gettid();
	__atomic_store_n(&slots[OTHER].instructions, FAR, __ATOMIC_RELAXED);
	return unused;
}

/* On its way out of a wait, or in its recorder. */
static void who_is_not_counted_for_a_moment_is_waited_for(void **state)
{
	(void)state;
	pthread_t thread;
	start(PROFILE_NOT_COUNTED);
	vcpu_table[OTHER].mode = VCPU_UNSTARTED;
	assert_int_equal(pthread_create(&thread, NULL, go_on, NULL), 0);
	(void)pace_look(&vcpu_table[ME]);
	assert_int_equal(__atomic_load_n(&slots[OTHER].instructions, __ATOMIC_RELAXED), FAR);
	(void)pthread_join(thread, NULL);
}

static void who_waits_in_a_system_call_is_not_waited_for(void **state)
{
	(void)state;
	uint64_t before = pace_unpaced();
	start(PROFILE_NOT_COUNTED);
	vcpu_table[OTHER].mode = VCPU_UNSTARTED; /* would be waited for half a second */
	pace_call(&vcpu_table[OTHER], 7, 0, 0, 0);
	(void)pace_look(&vcpu_table[ME]);
	assert_false(pace_runs(&vcpu_table[OTHER]));
	pace_resume(&vcpu_table[OTHER]);
	assert_true(pace_runs(&vcpu_table[OTHER]));
	assert_int_equal(pace_unpaced(), before);
}

static void what_is_executed_far_ahead_is_counted(void **state)
{
	(void)state;
	uint64_t before = pace_unpaced();
	start(PROFILE_START); /* no thread: sleeps for ever */
	uint64_t next = pace_look(&vcpu_table[ME]);
	assert_int_equal(pace_unpaced(), before + next);
	start(PROFILE_NOT_COUNTED); /* does nothing that counts */
	(void)pace_look(&vcpu_table[ME]);
	assert_int_equal(pace_unpaced(), before + next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_not_counted_for_a_moment_is_waited_for),
		cmocka_unit_test(who_waits_in_a_system_call_is_not_waited_for),
		cmocka_unit_test(what_is_executed_far_ahead_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
