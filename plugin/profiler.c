/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin: what QEMU calls. `-plugin FILE[,backend=NAME],out=RAW[,page=PAGE][,trace=on][,pace=on][,program=FILE,timeline=TRACE]`; PAGE is
 * that of preload/profile_page.h, without which each thread is one stretch; trace: also a full trace (trace_raw.h); pace: see
 * pace.h; program, timeline: a static program (calls.h), and where its events go.
 */
#include "blocks.h"
#include "calls.h"
#include "exec.h"
#include "execute.h"
#include "guest.h"
#include "out.h"
#include "pace.h"
#include "preload/profile_page.h"
#include "record.h"
#include "reuse.h"
#include "thread.h"
#include "wide.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

QEMU_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
QEMU_EXPORT int qemu_plugin_install(
	qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

static const char *backend = "qemu";

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	calls_translate(tb);
	if (guest_is_recorder(qemu_plugin_tb_vaddr(tb))) {
		execute_translate_unseen(tb);
		return;
	}
	struct block *block = blocks_translate(tb);
	if (!block)
		return;
	wide_translate(tb, block);
	execute_translate(tb, block);
}

static void on_vcpu_init(qemu_plugin_id_t id, unsigned index)
{
	(void)id;
	if (index < VCPUS)
		guest_add_vcpu(index);
}

static void on_vcpu_exit(qemu_plugin_id_t id, unsigned index)
{
	(void)id;
	if (index < VCPUS)
		guest_end_thread(&vcpu_table[index]);
}

static void on_syscall(qemu_plugin_id_t id, unsigned index, int64_t number, uint64_t a1,
	uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	(void)id, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
	if (index >= VCPUS)
		return;
	pace_call(&vcpu_table[index], number, a1, a2, a3);
	if (number == SYS_prctl && a1 == PROFILE_PRCTL && a2 == PROFILE_TRIALS_BEGIN)
		kernel_trials_begin();
	else if (number == SYS_prctl && a1 == PROFILE_PRCTL && a2 == PROFILE_TRIALS_END)
		kernel_trials_end();
	else if (number == SYS_prctl && a1 == PROFILE_PRCTL)
		guest_prctl(&vcpu_table[index], a2);
	calls_syscall(&vcpu_table[index], number, a1, a2);
	bool may_end = number == SYS_execve || number == SYS_execveat || number == SYS_kill ||
		       number == SYS_tkill || number == SYS_tgkill;
	if (may_end && vcpu_table[index].thread) {
		/* The emulator and all that is in it may be gone after this. */
		thread_write(&vcpu_table[index], true);
		out_flush();
		if (number == SYS_execve)
			exec_follow(a1, a2, a3);
	}
	kernel_call_begin(vcpu_table[index].thread, number, !vcpu_table[index].slot->own_calls);
}

static void on_syscall_return(qemu_plugin_id_t id, unsigned index, int64_t number, int64_t result)
{
	(void)id;
	bool forks = number == SYS_fork || number == SYS_vfork || number == SYS_clone ||
		     number == SYS_clone3;
	if (index >= VCPUS)
		return;
	uint64_t system_ns = kernel_call_end(vcpu_table[index].thread, number);
	if (forks && result == 0)
		guest_forked(index);
	pace_spend(&vcpu_table[index], system_ns);
	pace_resume(&vcpu_table[index]);
}

static void on_end(qemu_plugin_id_t id, void *userdata)
{
	(void)id, (void)userdata;
	guest_end();
}

/* Of an option that begins so; NULL: of another. */
static const char *value_of(const char *option, const char *begin)
{
	size_t length = strlen(begin);
	return strncmp(option, begin, length) == 0 ? option + length : NULL;
}

static int set_option(const char *option)
{
	const char *value;
	if ((value = value_of(option, "out=")))
		return out_open(value, backend);
	if ((value = value_of(option, "page=")))
		return guest_map_page(value);
	if ((value = value_of(option, "program=")))
		return calls_watch(value);
	if ((value = value_of(option, "timeline=")))
		return calls_timeline(value);
	if ((value = value_of(option, "backend="))) {
		backend = value; /* the arguments stay */
	} else if (strcmp(option, "pace=on") == 0) {
		pace_init();
	} else if (strcmp(option, "trace=on") == 0) {
		record_everything();
		blocks_write_all();
	} else {
		return -1;
	}
	return 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (info->system_emulation || strcmp(info->target_name, "x86_64") != 0) {
		(void)fprintf(stderr, "corecast: profiles programs for x86-64 only\n");
		return -1;
	}
	for (int i = 0; i < argc; i++) {
		if (set_option(argv[i])) {
			(void)fprintf(stderr, "corecast: cannot use '%s'\n", argv[i]);
			return -1;
		}
	}
	guest_begin();
	reuse_init();
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init);
	qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_exit);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
