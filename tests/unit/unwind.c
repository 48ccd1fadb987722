/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Callers by the code's tables, of this program's own stack: what the compiler says that they are. */
#include "cmocka_all.h"
#include "code/unwind.h"

#include <stdint.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { IMAGE_BYTES = 4096 };

struct scene {
	struct stack_image image;
	unsigned char bytes[IMAGE_BYTES];
	uint64_t callers[2]; /* of look(), as it knows them */
};

/* What lies above its own variables is nobody's to read: sanitizers need not look. */
static __attribute__((noinline, no_sanitize("address", "undefined"))) void look(struct scene *scene)
{
	static ucontext_t context; /* on the stack it would fill the image */
	scene->callers[0] = (uintptr_t)__builtin_return_address(0);
	assert_int_equal(getcontext(&context), 0);
	scene->image = (struct stack_image){ .pc = (uint64_t)context.uc_mcontext.gregs[REG_RIP],
		.sp = (uint64_t)context.uc_mcontext.gregs[REG_RSP],
		.fp = (uint64_t)context.uc_mcontext.gregs[REG_RBP],
		.bytes = scene->bytes,
		.size = IMAGE_BYTES };
	const volatile unsigned char *stack =
		(const volatile unsigned char *)(uintptr_t)scene->image.sp;
	for (size_t i = 0; i < IMAGE_BYTES; i++)
		scene->bytes[i] = stack[i];
}

static __attribute__((noinline)) void call(struct scene *scene)
{
	scene->callers[1] = (uintptr_t)__builtin_return_address(0);
	look(scene);
	__asm__ volatile(""); /* the call above is no jump */
}

/* Returns how many. */
static size_t find(const struct scene *scene, uint64_t *ret, size_t max)
{
	AUTO(unwinder) struct unwinder *unwinder = NULL;
	struct address_spaces spaces = { 0 };
	uint32_t pid = (uint32_t)getpid();
	assert_int_equal(unwinder_new(&unwinder), 0);
	assert_int_equal(address_spaces_read(&spaces, pid), 0);
	size_t count = unwinder_callers(unwinder, &spaces, pid, &scene->image, ret, max);
	address_spaces_release(&spaces);
	return count;
}

static void callers_are_those_that_called(void **state)
{
	(void)state;
	static struct scene scene;
	uint64_t found[8];
	if (!unwinder_is_able())
		skip();
	call(&scene);
	assert_true(find(&scene, found, 8) >= 3);
	assert_int_equal(found[0], scene.callers[0]);
	assert_int_equal(found[1], scene.callers[1]);
	assert_int_equal(find(&scene, found, 1), 1);
}

static void they_end_with_the_image(void **state)
{
	(void)state;
	static struct scene scene;
	uint64_t found[8];
	if (!unwinder_is_able())
		skip();
	call(&scene);
	scene.image.size = 7;
	assert_int_equal(find(&scene, found, 8), 0);
}

static void code_of_no_file_has_no_callers(void **state)
{
	(void)state;
	static struct scene scene;
	uint64_t found[8];
	call(&scene);
	scene.image.pc = 16;
	assert_int_equal(find(&scene, found, 8), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_are_those_that_called),
		cmocka_unit_test(they_end_with_the_image),
		cmocka_unit_test(code_of_no_file_has_no_callers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	return 77;
}
#endif
