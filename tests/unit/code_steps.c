/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What instructions do to pointers, each from the bytes that an assembler makes of it. */
#include "cmocka_all.h"

#include "code/code_steps.h"

#include <errno.h>

static struct code_steps *steps_of(const void *bytes, size_t size)
{
	struct code_steps *steps = NULL;
	int code = code_steps_new(0x1000, bytes, size, &steps);
	if (code == -EOPNOTSUPP)
		skip();
	assert_int_equal(code, 0);
	return steps;
}

/* The step of one instruction. */
static struct code_step only_step(const void *bytes, size_t size)
{
	AUTO(code_steps) struct code_steps *steps = steps_of(bytes, size);
	assert_int_equal(code_steps_count(steps), 1);
	return *code_steps_at(steps, 0);
}

#define STEP_OF(...)                                                                               \
	only_step((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void assert_sets(struct code_step step, int reg, int64_t number)
{
	assert_int_equal(step.does, CODE_SETS);
	assert_int_equal(step.to, reg);
	assert_true(step.offset == number);
	assert_int_equal(step.changed, 1 << reg);
}

static void a_whole_register_is_set_to_a_number(void **state)
{
	(void)state;
	/* mov $0x28, %ecx; mov $-8, %rcx; movabs $0x1122334455667788, %r9 */
	assert_sets(STEP_OF(0xb9, 0x28, 0, 0, 0), CODE_RCX, 0x28);
	assert_sets(STEP_OF(0x48, 0xc7, 0xc1, 0xf8, 0xff, 0xff, 0xff), CODE_RCX, -8);
	assert_sets(STEP_OF(0x49, 0xb9, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11), 9,
		0x1122334455667788);
}

static void the_upper_half_becomes_zero(void **state)
{
	(void)state;
	/* mov $-8, %ecx, in both encodings */
	assert_sets(STEP_OF(0xb9, 0xf8, 0xff, 0xff, 0xff), CODE_RCX, 0xfffffff8);
	assert_sets(STEP_OF(0xc7, 0xc1, 0xf8, 0xff, 0xff, 0xff), CODE_RCX, 0xfffffff8);
}

static void assert_only_changes(struct code_step step, int reg)
{
	assert_int_equal(step.does, CODE_CHANGES);
	assert_int_equal(step.changed, 1 << reg);
}

static void part_of_a_register_leaves_the_rest_unknown(void **state)
{
	(void)state;
	/* mov $0x28, %al; mov $0x28, %ah; mov $0x28, %cx; mov $0x28, %r9b */
	assert_only_changes(STEP_OF(0xb0, 0x28), CODE_RAX);
	assert_only_changes(STEP_OF(0xb4, 0x28), CODE_RAX);
	assert_only_changes(STEP_OF(0x66, 0xb9, 0x28, 0), CODE_RCX);
	assert_only_changes(STEP_OF(0x41, 0xb1, 0x28), 9);
}

static void pointers_are_copied_loaded_and_stored(void **state)
{
	(void)state;
	/* lea 0x18(%rdi), %rax */
	struct code_step step = STEP_OF(0x48, 0x8d, 0x47, 0x18);
	assert_int_equal(step.does, CODE_ADDS);
	assert_int_equal(step.to, CODE_RAX);
	assert_int_equal(step.from, CODE_RDI);
	assert_int_equal(step.offset, 0x18);
	/* mov -0x8(%rbp), %rdx */
	step = STEP_OF(0x48, 0x8b, 0x55, 0xf8);
	assert_int_equal(step.does, CODE_LOADS);
	assert_int_equal(step.to, CODE_RDX);
	assert_int_equal(step.from, CODE_RBP);
	assert_true(step.offset == -8);
	/* mov %rsi, 0x10(%rsp) */
	step = STEP_OF(0x48, 0x89, 0x74, 0x24, 0x10);
	assert_int_equal(step.does, CODE_STORES);
	assert_int_equal(step.to, CODE_RSP);
	assert_int_equal(step.from, CODE_RSI);
	assert_int_equal(step.offset, 0x10);
	assert_int_equal(step.changed, 0);
}

static void a_jump_target_is_preceded_by_the_jump(void **state)
{
	(void)state;
	/* 0x1000: jne 0x1004; 0x1002: jmp 0x1005; 0x1004: nop; 0x1005: ret */
	static const uint8_t code[] = { 0x75, 0x02, 0xeb, 0x01, 0x90, 0xc3 };
	AUTO(code_steps) struct code_steps *steps = steps_of(code, sizeof code);
	assert_int_equal(code_steps_count(steps), 4);
	size_t before[CODE_BEFORE_MAX];
	assert_int_equal(code_steps_preceding(steps, 2, before), 1);
	assert_int_equal(before[0], 0); /* the jump behind it in the file goes elsewhere */
	assert_int_equal(code_steps_preceding(steps, 3, before), 2);
	assert_int_equal(before[0], 2);
	assert_int_equal(before[1], 1);
	assert_int_equal(code_steps_before(steps, 0x1004), 1);
	assert_int_equal(code_steps_before(steps, 0x1007), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_register_is_set_to_a_number),
		cmocka_unit_test(the_upper_half_becomes_zero),
		cmocka_unit_test(part_of_a_register_leaves_the_rest_unknown),
		cmocka_unit_test(pointers_are_copied_loaded_and_stored),
		cmocka_unit_test(a_jump_target_is_preceded_by_the_jump),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
