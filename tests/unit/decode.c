/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machine code of x86-64 gets the class whose time it takes. */
#include "cmocka_all.h"
#include "plugin/code_class.h"
#include "plugin/decode.h"

#include <string.h>

struct sample {
	const char *bytes;
	enum code_class class;
};

static void assert_classes(const struct sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct raw_code code;
		size_t size = strlen(samples[i].bytes);
		assert_true(decode(0x1000, samples[i].bytes, size, &code, NULL));
		assert_int_equal(code.bytes, size);
		if (code.class != samples[i].class)
			fail_msg("sample %zu is of class %d, not %d", i, code.class,
				samples[i].class);
	}
}

static void roots_have_classes_of_their_own_by_precision(void **state)
{
	(void)state;
	static const struct sample samples[] = {
		{ "\xf2\x0f\x51\xc1", CODE_FP_ROOT }, /* sqrtsd xmm0, xmm1 */
		{ "\x66\x0f\x51\xc1", CODE_FP_ROOT }, /* sqrtpd */
		{ "\xc5\xf3\x51\xc2", CODE_FP_ROOT }, /* vsqrtsd */
		{ "\xd9\xfa", CODE_FP_ROOT }, /* fsqrt */
		{ "\xf3\x0f\x51\xc1", CODE_FP_ROOT_SINGLE }, /* sqrtss */
		{ "\x0f\x51\xc1", CODE_FP_ROOT_SINGLE }, /* sqrtps */
		{ "\xc5\xfc\x51\xc1", CODE_FP_ROOT_SINGLE }, /* vsqrtps ymm0, ymm1 */
	};
	assert_classes(samples, sizeof(samples) / sizeof(*samples));
}

/* They wait for their address, and are told of no access. */
static void prefetches_read_registers_alone(void **state)
{
	(void)state;
	static const char *const samples[] = {
		"\x0f\x18\x0c\x18", /* prefetcht0 [rax + rbx] */
		"\x0f\x0d\x0c\x18", /* prefetchw [rax + rbx] */
	};
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		struct raw_code code;
		assert_true(decode(0x1000, samples[i], strlen(samples[i]), &code, NULL));
		assert_int_equal(code.class, CODE_ALU);
		assert_int_equal(code.flags, CODE_PREFETCH);
		assert_int_equal(code.reads, 1 << 0 | 1 << 3);
		assert_int_equal(code.address_reads, 0);
	}
}

/* What renaming does and what takes a port. */
static void narrow_moves_are_operations(void **state)
{
	(void)state;
	static const struct sample samples[] = {
		{ "\x48\x89\xc8", CODE_MOVE }, /* mov rax, rcx */
		{ "\x89\xc8", CODE_MOVE }, /* mov eax, ecx */
		{ "\x66\x89\xc8", CODE_ALU }, /* mov ax, cx */
		{ "\x88\xc8", CODE_ALU }, /* mov al, cl */
		{ "\x0f\xb6\xc1", CODE_ALU }, /* movzx eax, cl */
		{ "\x0f\xb7\xc1", CODE_ALU }, /* movzx eax, cx */
		{ "\x0f\xb6\x01", CODE_MOVE }, /* movzx eax, byte ptr [rcx] */
		{ "\x8a\x01", CODE_MOVE }, /* mov al, [rcx] */
	};
	assert_classes(samples, sizeof(samples) / sizeof(*samples));
}

static void addresses_of_three_parts_are_told(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		bool is_scaled;
	} samples[] = {
		{ "\x8b\x04\x11", false }, /* mov eax, [rcx + rdx] */
		{ "\x8b\x41\x08", false }, /* mov eax, [rcx + 8] */
		{ "\x8b\x44\x11\x08", true }, /* mov eax, [rcx + rdx + 8] */
		{ "\x8b\x04\x91", true }, /* mov eax, [rcx + 4 * rdx] */
	};
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		struct raw_code code;
		assert_true(
			decode(0x1000, samples[i].bytes, strlen(samples[i].bytes), &code, NULL));
		assert_int_equal((code.flags & CODE_SCALED) != 0, samples[i].is_scaled);
	}
}

static void strings_of_words_are_a_class_of_their_own(void **state)
{
	(void)state;
	static const struct sample samples[] = {
		{ "\xf3\xa4", CODE_STRING }, /* rep movsb */
		{ "\xf3\xaa", CODE_STRING }, /* rep stosb */
		{ "\xf3\xa5", CODE_STRING_WORDS }, /* rep movsd */
		{ "\xf3\x48\xa5", CODE_STRING_WORDS }, /* rep movsq */
		{ "\xf3\x48\xab", CODE_STRING_WORDS }, /* rep stosq */
	};
	assert_classes(samples, sizeof(samples) / sizeof(*samples));
}

static void what_takes_longer_by_its_operands_has_a_class_of_its_own(void **state)
{
	(void)state;
	static const struct sample samples[] = {
		{ "\x48\x8d\x04\x18", CODE_ALU }, /* lea rax, [rax + rbx] */
		{ "\x48\x8d\x40\x08", CODE_ALU }, /* lea rax, [rax + 8] */
		{ "\x48\x8d\x44\x18\x08", CODE_LEA }, /* lea rax, [rax + rbx + 8] */
		{ "\x48\x0f\x44\xc2", CODE_CONDITION }, /* cmove rax, rdx */
		{ "\x48\x0f\x42\xc2", CODE_CONDITION }, /* cmovb */
		{ "\x0f\x94\xc0", CODE_CONDITION }, /* sete al */
		{ "\x0f\x9f\x03", CODE_CONDITION }, /* setg [rbx] */
		{ "\x48\x0f\x4c\xc2", CODE_SELECT }, /* cmovl */
		{ "\x48\x0f\x47\xc2", CODE_SELECT }, /* cmova */
		{ "\xf3\x48\x0f\xb8\xc0", CODE_BIT_COUNT }, /* popcnt rax, rax */
		{ "\x66\x48\x0f\x6e\xc0", CODE_CROSS }, /* movq xmm0, rax */
		{ "\x66\x48\x0f\x7e\xc0", CODE_CROSS }, /* movq rax, xmm0 */
		{ "\xf3\x0f\x7e\xc1", CODE_MOVE }, /* movq xmm0, xmm1 */
	};
	assert_classes(samples, sizeof(samples) / sizeof(*samples));
}

static void divisions_have_theirs_by_size(void **state)
{
	(void)state;
	static const struct sample samples[] = {
		{ "\xf2\x0f\x5e\xc1", CODE_FP_DIVIDE }, /* divsd xmm0, xmm1 */
		{ "\xc5\xf4\x5e\xc2", CODE_FP_DIVIDE_SINGLE }, /* vdivps ymm0, ymm1, ymm2 */
		{ "\xf7\xf1", CODE_DIVIDE }, /* div ecx */
		{ "\x48\xf7\xf9", CODE_DIVIDE_LONG }, /* idiv rcx */
	};
	assert_classes(samples, sizeof(samples) / sizeof(*samples));
}

static void what_is_no_instruction_is_told(void **state)
{
	(void)state;
	struct raw_code code;
	assert_false(decode(0x1000, "\x06", 1, &code, NULL)); /* push es */
	assert_int_equal(code.class, CODE_OTHER);
	assert_int_equal(code.bytes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefetches_read_registers_alone),
		cmocka_unit_test(narrow_moves_are_operations),
		cmocka_unit_test(addresses_of_three_parts_are_told),
		cmocka_unit_test(strings_of_words_are_a_class_of_their_own),
		cmocka_unit_test(roots_have_classes_of_their_own_by_precision),
		cmocka_unit_test(what_takes_longer_by_its_operands_has_a_class_of_its_own),
		cmocka_unit_test(divisions_have_theirs_by_size),
		cmocka_unit_test(what_is_no_instruction_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
