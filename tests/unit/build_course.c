/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPU times that change in the course of the work. */
#include "build_script.h"

enum { PIECES = 400, SITE = 4 };

/* What a thread's i-th piece of work takes. */
typedef uint64_t size_fn(uint32_t tid, int i);

static struct model *model_of(uint32_t threads, size_fn *size)
{
	struct script s = begin(threads);
	for (int i = 0; i < PIECES; i++)
		for (uint32_t tid = 1; tid <= threads; tid++) {
			uint64_t ns = size(tid, i);
			work(&s, tid, ns);
			s.now_ns += ns / threads;
			locked(&s, tid, LOCK, SITE);
		}
	return finish(&s, threads);
}

static const struct model_course *course_of(const struct model *model)
{
	for (size_t i = 0; i < model->groups[1].fragment_count; i++)
		if (model->groups[1].fragments[i].course.factor_count > 0)
			return &model->groups[1].fragments[i].course;
	return NULL;
}

static double simulated_s(const struct model *model)
{
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	return fit.simulated_s;
}

/* The last quarter of an array that was cut in two takes twice as long. */
static uint64_t half_of_an_array(uint32_t tid, int i)
{
	return tid == 2 && i >= PIECES / 2 ? 200000 : 100000;
}

static void threads_have_pieces_of_the_work(void **state)
{
	(void)state;
	AUTO(model) struct model *model = model_of(2, half_of_an_array);
	const struct model_course *course = course_of(model);
	assert_non_null(course);
	assert_int_equal(course->factor_count, 4);
	assert_true(fabs(course->factors[0] - 0.8) < 0.01);
	assert_true(fabs(course->factors[3] - 1.6) < 0.01);
	assert_true(value_with(model, &course->threads, 3) == 3);
	assert_true(has_note(model, "a piece of the work"));
	/* The second thread alone: a mean piece would be 125 us. */
	assert_true(fabs(simulated_s(model) / (PIECES * 150e-6) - 1) < 0.02);
}

static uint64_t growing(uint32_t tid, int i)
{
	return 50000 + (uint64_t)i * 500 + (i * 7 + tid) % 5 * 1000;
}

static void threads_go_through_it_together(void **state)
{
	(void)state;
	AUTO(model) struct model *model = model_of(2, growing);
	const struct model_course *course = course_of(model);
	assert_non_null(course);
	assert_null(course->threads.formula);
	assert_true(course->factors[0] < 0.5);
	assert_true(course->factors[course->factor_count - 1] > 1.5);
	assert_true(has_note(model, "workload changed"));
	assert_true(fabs(simulated_s(model) / (PIECES * 152e-6) - 1) < 0.02);
}

/* One core is slower by 15%. */
static uint64_t on_cores(uint32_t tid, int i)
{
	return (tid == 2 ? 115000 : 100000) + (uint64_t)(i * 7 % 5) * 1000;
}

static uint64_t varying(uint32_t tid, int i)
{
	return (uint64_t)(i * 13 + (int)tid) % 10 == 0 ? 900000 : 100000;
}

static void neither_slow_cores_nor_chance_make_a_course(void **state)
{
	(void)state;
	AUTO(model) struct model *cores = model_of(2, on_cores);
	AUTO(model) struct model *chance = model_of(2, varying);
	assert_null(course_of(cores));
	assert_null(course_of(chance));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_have_pieces_of_the_work),
		cmocka_unit_test(threads_go_through_it_together),
		cmocka_unit_test(neither_slow_cores_nor_chance_make_a_course),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
