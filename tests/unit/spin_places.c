/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a program spins, by its own memory: this one's. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "record/spin_places.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
/* Never run: somebody is said to be in it. */
__asm__(".text\n"
	".globl waits_here\n"
	"waits_here: pause\n"
	"	jmp waits_here\n"
	"	nop\n"
	".globl works_here\n"
	"works_here: nop\n"
	"	ret\n");
extern const char waits_here[], works_here[];

enum { OMP = 4096 }; /* nothing is there */

static uint64_t find(struct spin_places *places, uint64_t at, const uint64_t *callers, size_t count)
{
	struct address_spaces spaces = { 0 };
	uint32_t pid = (uint32_t)getpid();
	assert_int_equal(address_spaces_read(&spaces, pid), 0);
	const struct mapping omp = { .pid = pid, .start = OMP, .end = OMP + 4096 };
	assert_true(address_spaces_map(&spaces, &omp, "/usr/lib/libomp.so.5") >= 0);
	uint64_t found = spin_places_find(places, &spaces, pid, at, callers, count);
	assert_int_equal(spin_places_find(places, &spaces, pid, at, callers, count), found);
	address_spaces_release(&spaces);
	return found;
}

static void own_code_is_where_it_spins(void **state)
{
	(void)state;
	AUTO_RELEASE(spin_places) struct spin_places places = { 0 };
	uint64_t caller = 1;
	assert_int_equal(
		find(&places, (uintptr_t)waits_here + 2, &caller, 1), (uintptr_t)waits_here + 1);
	assert_int_equal(find(&places, (uintptr_t)works_here, &caller, 1), 0);
	assert_int_equal(find(&places, 8, &caller, 1), 0); /* nothing is there */
}

static void of_a_library_for_all_it_is_who_called(void **state)
{
	(void)state;
	AUTO_RELEASE(spin_places) struct spin_places places = { 0 };
	const unsigned char *yield = (const unsigned char *)dlsym(RTLD_DEFAULT, "sched_yield");
	size_t behind = 2;
	while (behind < 64 && memcmp(yield + behind - 2, "\x0f\x05", 2) != 0)
		behind++;
	if (behind == 64 || memcmp(yield + behind - 7, "\xb8\x18\0\0\0", 5) != 0)
		skip(); /* another C library's */
	uint64_t at = (uintptr_t)yield + behind;
	/* Not a function that sanitizers have in the program instead. */
	const uint64_t callers[] = { (uintptr_t)yield, (uintptr_t)works_here };
	assert_int_equal(find(&places, at, callers, 2), (uintptr_t)works_here);
	assert_int_equal(find(&places, at, NULL, 0), at - 6);
	/* Whose own threads yield: nobody called them. */
	const uint64_t own[] = { (uintptr_t)yield, OMP + 16, OMP + 32 };
	assert_int_equal(find(&places, at, own, 3), OMP + 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_code_is_where_it_spins),
		cmocka_unit_test(of_a_library_for_all_it_is_who_called),
	};
	return cmocka_run_group_tests_name("spin_places", tests, NULL, NULL);
}
#else
int main(void)
{
	return 77;
}
#endif
