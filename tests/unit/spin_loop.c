/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which loops only wait, each from the bytes that an assembler makes of it. */
#include "cmocka_all.h"

#include "code/spin_loop.h"

enum { BEGIN = 0x1000 };

/* Where a thread spins that is at an offset of the code; 0: nowhere. */
static uint64_t look(const void *bytes, size_t size, uint64_t offset)
{
	uint64_t found = spin_loop_find(BEGIN, bytes, size, BEGIN + offset);
	return found ? found - BEGIN + 1 : 0;
}

/* In a build that decodes nothing only what lies right before is seen. */
static void skip_without_decoder(void)
{
	static const uint8_t loop[] = { 0xf3, 0x90, 0xeb, 0xfc }; /* pause; jmp */
	if (look(loop, sizeof loop, 0) == 0)
		skip();
}

static void a_loop_that_pauses_waits_wherever_in_it(void **state)
{
	(void)state;
	/* mov (%rdi), %eax; pause; mov (%rdi), %eax; test %eax, %eax; jne pause; ret */
	static const uint8_t code[] = { 0x8b, 0x07, 0xf3, 0x90, 0x8b, 0x07, 0x85, 0xc0, 0x75, 0xf8,
		0xc3 };
	skip_without_decoder();
	for (uint64_t at = 2; at <= 8; at += 2)
		assert_int_equal(look(code, sizeof code, at), 3);
	assert_int_equal(look(code, sizeof code, 0), 0);
	assert_int_equal(look(code, sizeof code, 10), 0);
}

/* As the C library's: the way round is from the locked instruction through the loop that waits, and back. */
static void a_spin_lock_waits_and_its_section_does_not(void **state)
{
	(void)state;
	/*
	 * 1: mov $1, %eax; xchg %eax, (%rdi); test %eax, %eax; je 3f; 2: pause; mov (%rdi), %eax; test %eax, %eax;
	 * jne 2b; jmp 1b; 3: addl $1, (%rsi); movl $0, (%rdi); dec %edx; jne 1b; ret
	 */
	static const uint8_t code[] = { 0xb8, 1, 0, 0, 0, 0x87, 0x07, 0x85, 0xc0, 0x74, 0x0a, 0xf3,
		0x90, 0x8b, 0x07, 0x85, 0xc0, 0x75, 0xf8, 0xeb, 0xeb, 0x83, 0x06, 0x01, 0xc7, 0x07,
		0, 0, 0, 0, 0xff, 0xca, 0x75, 0xde, 0xc3 };
	skip_without_decoder();
	assert_int_equal(look(code, sizeof code, 13), 12);
	assert_int_equal(look(code, sizeof code, 21), 0);
	assert_int_equal(look(code, sizeof code, 24), 0);
	assert_int_equal(look(code, sizeof code, 30), 0);
}

static void who_reads_the_same_again_and_again_waits(void **state)
{
	(void)state;
	/* mov (%rdi), %eax; test %eax, %eax; je */
	static const uint8_t code[] = { 0x8b, 0x07, 0x85, 0xc0, 0x74, 0xfa, 0xc3 };
	skip_without_decoder();
	assert_int_equal(look(code, sizeof code, 0), 1);
	assert_int_equal(look(code, sizeof code, 2), 1);
	assert_int_equal(look(code, sizeof code, 4), 1);
	assert_int_equal(look(code, sizeof code, 6), 0);
}

static void who_goes_on_each_time_works(void **state)
{
	(void)state;
	/* mov (%rax), %rax; test %rax, %rax; jne: along a list */
	static const uint8_t list[] = { 0x48, 0x8b, 0x00, 0x48, 0x85, 0xc0, 0x75, 0xf8 };
	/* add (%rdi), %eax; cmp %eax, %edx; jne */
	static const uint8_t sum[] = { 0x03, 0x07, 0x39, 0xc2, 0x75, 0xfa };
	/* mov (%rdi), %eax; mov %eax, (%rsi); test %eax, %eax; je: others see what it writes */
	static const uint8_t copy[] = { 0x8b, 0x07, 0x89, 0x06, 0x85, 0xc0, 0x74, 0xf8 };
	/* jmp to itself: nobody can let it go */
	static const uint8_t end[] = { 0xeb, 0xfe };
	skip_without_decoder();
	assert_int_equal(look(list, sizeof list, 0), 0);
	assert_int_equal(look(sum, sizeof sum, 0), 0);
	assert_int_equal(look(copy, sizeof copy, 0), 0);
	assert_int_equal(look(end, sizeof end, 0), 0);
}

#if defined(__x86_64__)
/* Java's pause is a function of its own; the C library's sched_yield() as the kernel shows who is in it. */
static void who_paused_or_gave_up_its_core_last_waits(void **state)
{
	(void)state;
	/* pause; mov $1, %eax; ret */
	static const uint8_t pause[] = { 0xf3, 0x90, 0xb8, 1, 0, 0, 0, 0xc3 };
	/* mov $24, %eax; syscall; ret */
	static const uint8_t yield[] = { 0xb8, 0x18, 0, 0, 0, 0x0f, 0x05, 0xc3 };
	/* mov $1, %eax; syscall; ret */
	static const uint8_t write[] = { 0xb8, 0x01, 0, 0, 0, 0x0f, 0x05, 0xc3 };
	assert_int_equal(look(pause, sizeof pause, 2), 1);
	assert_int_equal(look(yield, sizeof yield, 7), 1);
	assert_int_equal(look(write, sizeof write, 7), 0);
}
#else
static void who_paused_or_gave_up_its_core_last_waits(void **state)
{
	(void)state;
	skip();
}
#endif

static void code_that_is_cut_off_is_unknown(void **state)
{
	(void)state;
	static const uint8_t code[] = { 0x8b, 0x07, 0x85, 0xc0, 0x74, 0xfa };
	for (size_t size = 0; size < sizeof code; size++)
		assert_int_equal(look(code, size, 0), 0);
	assert_int_equal(look(code, sizeof code, 100), 0);
	assert_int_equal(spin_loop_find(BEGIN, code, sizeof code, BEGIN - 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_that_pauses_waits_wherever_in_it),
		cmocka_unit_test(a_spin_lock_waits_and_its_section_does_not),
		cmocka_unit_test(who_reads_the_same_again_and_again_waits),
		cmocka_unit_test(who_goes_on_each_time_works),
		cmocka_unit_test(who_paused_or_gave_up_its_core_last_waits),
		cmocka_unit_test(code_that_is_cut_off_is_unknown),
	};
	return cmocka_run_group_tests_name("spin_loop", tests, NULL, NULL);
}
