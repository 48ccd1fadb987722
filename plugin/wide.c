/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wide.h"

#include "code_class.h"

/* The emulator treats vector registers as lost at a call. */
static void clear_upper_halves(unsigned index, void *userdata)
{
	(void)index, (void)userdata;
	__asm__ volatile("vzeroupper");
}

static bool is_floating_point(const struct raw_code *code)
{
	switch (code->class) {
	case CODE_FP_ADD:
	case CODE_FP_MULTIPLY:
	case CODE_FP_FMA:
	case CODE_FP_DIVIDE:
	case CODE_FP_DIVIDE_SINGLE:
	case CODE_FP_ROOT:
	case CODE_FP_ROOT_SINGLE:
	case CODE_CONVERT:
		return true;
	default:
		return false;
	}
}

void wide_translate(struct qemu_plugin_tb *tb, const struct block *block)
{
	bool is_clear = true;
	if (!__builtin_cpu_supports("avx"))
		return;
	for (uint32_t i = 0; i < block->count; i++) {
		const struct raw_code *code = block_code(block, i);
		if (!is_clear && (is_floating_point(code) || i + 1 == block->count)) {
			qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i),
				clear_upper_halves, QEMU_PLUGIN_CB_NO_REGS, NULL);
			is_clear = true;
		}
		if (code->flags & CODE_WIDE && !is_floating_point(code))
			is_clear = false;
	}
}
