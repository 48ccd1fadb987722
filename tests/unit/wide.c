/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the upper halves of vector registers are cleared (plugin/wide.h). */
#include "cmocka_all.h"

#include "plugin/code_class.h"
#include "plugin/wide.h"

#include <string.h>

enum { MOST = 8 };

/* In place of the emulator's: instructions are numbers, and those are marked where it is to call. */
static char marks[MOST + 1];
static struct raw_code codes[MOST];

struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index)
{
	(void)tb;
	return (struct qemu_plugin_insn *)&marks[index];
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
	qemu_plugin_vcpu_udata_cb_t call, enum qemu_plugin_cb_flags flags, void *userdata)
{
	(void)flags;
	*(char *)insn = '^';
	call(0, userdata); /* an instruction that this processor has */
}

const struct raw_code *block_code(const struct block *block, uint32_t index)
{
	(void)block;
	return &codes[index];
}

/* m: a move, M: of 256 bits, f: a multiplication, F: of 256 bits, j: a jump. */
static const char *marks_of(const char *instructions)
{
	struct block block = { .count = (uint32_t)strlen(instructions) };
	memset(marks, ' ', sizeof(marks));
	marks[block.count] = '\0';
	for (uint32_t i = 0; i < block.count; i++) {
		char letter = instructions[i];
		codes[i] = (struct raw_code){
			.class = strchr("fF", letter) ? CODE_FP_MULTIPLY
				 : letter == 'j'      ? CODE_JUMP
						      : CODE_MOVE,
			.flags = strchr("MF", letter) ? CODE_WIDE : 0,
		};
	}
	wide_translate(NULL, &block);
	return marks;
}

static void skip_without_avx(void)
{
	if (!__builtin_cpu_supports("avx")) {
		print_message("skipped: no AVX\n");
		skip();
	}
}

static void narrow_blocks_are_left_alone(void **state)
{
	(void)state;
	assert_string_equal(marks_of("mfmfmj"), "      ");
}

static void after_wide_moves_they_are_cleared_at_the_end(void **state)
{
	(void)state;
	skip_without_avx();
	assert_string_equal(marks_of("MMmj"), "   ^");
}

static void they_are_cleared_before_floating_point_once(void **state)
{
	(void)state;
	skip_without_avx();
	assert_string_equal(marks_of("MfFj"), " ^  ");
	assert_string_equal(marks_of("MFMfMj"), " ^ ^ ^");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(narrow_blocks_are_left_alone),
		cmocka_unit_test(after_wide_moves_they_are_cleared_at_the_end),
		cmocka_unit_test(they_are_cleared_before_floating_point_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
