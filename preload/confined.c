/* SPDX-License-Identifier: MIT */
/*
 * Of a filter it is found out beforehand what it does to the calls that this library makes: it is a program for a
 * small machine (seccomp(2); classic BPF, McCanne and Jacobson, 1993), and is run here for each of them. A call that
 * fails under it is lost and counted like others that fail; one that kills, or comes to the program's ears, is too much.
 */
#include "confined.h"

#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#if defined(__x86_64__)
enum { ARCHITECTURE = (int)AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { ARCHITECTURE = (int)AUDIT_ARCH_AARCH64 };
#else
enum { ARCHITECTURE = 0 };
#endif

enum { DESCRIPTOR = 512, ADDRESS = 4096 }; /* like those in our calls */

/* All that a thread may do until its end, where it matters with the arguments. */
static const struct seccomp_data calls[] = {
	{ .nr = SYS_clock_gettime, .args = { CLOCK_THREAD_CPUTIME_ID, ADDRESS } },
	{ .nr = SYS_pwrite64, .args = { DESCRIPTOR, ADDRESS, ADDRESS } },
	{ .nr = SYS_newfstatat, .args = { DESCRIPTOR, ADDRESS, ADDRESS, AT_EMPTY_PATH } },
	{ .nr = SYS_fcntl, .args = { DESCRIPTOR, F_GETFL } },
	{ .nr = SYS_fallocate, .args = { DESCRIPTOR, 0, ADDRESS, ADDRESS } },
	{ .nr = SYS_mmap, .args = { 0, ADDRESS, PROT_READ | PROT_WRITE, MAP_SHARED, DESCRIPTOR } },
	{ .nr = SYS_madvise, .args = { ADDRESS, ADDRESS, MADV_RANDOM } },
	{ .nr = SYS_munmap, .args = { ADDRESS, ADDRESS } },
	{ .nr = SYS_openat, .args = { (uint32_t)AT_FDCWD, ADDRESS, O_RDONLY | O_CLOEXEC } },
	{ .nr = SYS_read, .args = { DESCRIPTOR, ADDRESS, ADDRESS } },
	{ .nr = SYS_getdents64, .args = { DESCRIPTOR, ADDRESS, ADDRESS } },
	{ .nr = SYS_close, .args = { DESCRIPTOR } },
	{ .nr = SYS_prlimit64, .args = { 0, RLIMIT_FSIZE, 0, ADDRESS } },
	{ .nr = SYS_prctl, .args = { PR_GET_NAME, ADDRESS } },
	{ .nr = SYS_gettid },
	{ .nr = SYS_getpid },
};

struct machine { /* as it is while a filter runs */
	uint32_t a, x, memory[BPF_MEMWORDS];
};

static uint32_t calculate(uint32_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	default: /* BPF_NEG */
		return -a;
	}
}

static bool compares(uint32_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default: /* BPF_JSET */
		return a & b;
	}
}

static uint32_t load(const struct machine *machine, const struct sock_filter *step,
	const struct seccomp_data *call)
{
	switch (BPF_MODE(step->code)) {
	case BPF_ABS:
		return step->k <= sizeof(*call) - sizeof(uint32_t)
			       ? *(const uint32_t *)((const char *)call + step->k)
			       : 0;
	case BPF_LEN:
		return sizeof(*call);
	case BPF_MEM:
		return machine->memory[step->k % BPF_MEMWORDS];
	default: /* BPF_IMM */
		return step->k;
	}
}

/* What is not as the kernel wants it, it will refuse: then it does not matter what comes out here. */
static uint32_t run(const struct sock_fprog *filter, const struct seccomp_data *call)
{
	struct machine machine = { 0 };
	for (uint32_t at = 0; at < filter->len; at++) {
		const struct sock_filter *step = &filter->filter[at];
		uint32_t other = BPF_SRC(step->code) == BPF_X ? machine.x : step->k;
		switch (BPF_CLASS(step->code)) {
		case BPF_LD:
			machine.a = load(&machine, step, call);
			break;
		case BPF_LDX:
			machine.x = load(&machine, step, call);
			break;
		case BPF_ST:
			machine.memory[step->k % BPF_MEMWORDS] = machine.a;
			break;
		case BPF_STX:
			machine.memory[step->k % BPF_MEMWORDS] = machine.x;
			break;
		case BPF_ALU:
			machine.a = calculate(BPF_OP(step->code), machine.a, other);
			break;
		case BPF_JMP:
			if (BPF_OP(step->code) == BPF_JA)
				at += step->k;
			else
				at += compares(BPF_OP(step->code), machine.a, other) ? step->jt
										     : step->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(step->code) == BPF_A ? machine.a : step->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(step->code) == BPF_TAX)
				machine.x = machine.a;
			else
				machine.a = machine.x;
		}
	}
	return SECCOMP_RET_ALLOW;
}

static bool is_endured(const struct sock_fprog *filter)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct seccomp_data call = calls[i];
		call.arch = (uint32_t)ARCHITECTURE;
		uint32_t action = run(filter, &call) & SECCOMP_RET_ACTION_FULL;
		bool may_fail = call.nr != SYS_clock_gettime; /* else times would be wrong */
		if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG &&
			(action != SECCOMP_RET_ERRNO || !may_fail))
			return false;
	}
	return true;
}

/* Programs ask with no filter whether the kernel knows filters. */
static void apply(const struct sock_fprog *filter)
{
	if (sink_mode == SINK_TRACES && filter && filter->filter && !is_endured(filter))
		sink_end();
}

void confined_by_seccomp(unsigned long operation, const void *arguments)
{
	if (operation == SECCOMP_SET_MODE_STRICT)
		sink_end();
	else if (operation == SECCOMP_SET_MODE_FILTER)
		apply(arguments);
}

void confined_by_prctl(int operation, const unsigned long arguments[2])
{
	enum {
		SET_SYSCALL_USER_DISPATCH = 59
	}; /* Linux 5.11: calls come to the program's ears; 0: no more */
	if ((operation == PR_SET_TSC && arguments[0] == PR_TSC_SIGSEGV) ||
		(operation == SET_SYSCALL_USER_DISPATCH && arguments[0] != 0) ||
		(operation == PR_SET_SECCOMP && arguments[0] == SECCOMP_MODE_STRICT))
		sink_end();
	else if (operation == PR_SET_SECCOMP && arguments[0] == SECCOMP_MODE_FILTER)
		apply((const struct sock_fprog *)arguments[1]);
}
