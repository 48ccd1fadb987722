/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forbids itself what the preload library does, in the way that the argument says, and goes on with locks. With and
 * without the library the text and the end are the same.
 */
#include "hold.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void use_locks(void)
{
	for (int i = 0; i < 10000; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

/* No call of the C library's: it would ask for more. */
static void say(const char *text)
{
	(void)!write(1, text, strlen(text)); /* nobody could be told */
}

/* What is not `allowed` ends so. */
static void filter(uint32_t action, const int *allowed, unsigned char count)
{
	struct sock_filter steps[16] = { BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	unsigned short at = 1;
	for (unsigned char i = 0; i < count; i++)
		steps[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			(uint32_t)allowed[i], (unsigned char)(count - i), 0);
	steps[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	steps[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = { at, steps };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
		say("no filters here\n");
		_exit(77);
	}
}

static void few(uint32_t action)
{
	static const int allowed[] = { SYS_write, SYS_exit_group, SYS_exit, SYS_futex,
		SYS_rt_sigreturn };
	filter(action, allowed, sizeof allowed / sizeof *allowed);
}

/* Kills who asks for what nobody needs. */
static void nearly_all(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x3fffffff),
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LDX | BPF_MEM, 3),
		BPF_STMT(BPF_LD | BPF_IMM, SYS_ptrace),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW + sizeof(struct seccomp_data)),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	const struct sock_fprog program = { sizeof steps / sizeof *steps, steps };
	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

/* Its descriptors are few, closed behind the library's back, and said aloud. */
static void descriptors(const char *path)
{
	struct rlimit limit = { 64, 64 };
	check(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
	(void)execl(path, path, "few descriptors", (char *)NULL);
}

static void few_descriptors(void)
{
	printf("%d\n", open("/dev/null", O_RDONLY));
	printf("%d\n", open("/dev/null", O_RDONLY));
	closefrom(3);
	printf("%d\n", open("/dev/null", O_RDONLY));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	/* Programs ask so whether there are filters. */
	printf("%d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0 && errno == EFAULT);
	fflush(stdout);
	use_locks();
	if (strcmp(how, "strict") == 0)
		(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (strcmp(how, "killed") == 0)
		few(SECCOMP_RET_KILL_PROCESS);
	else if (strcmp(how, "refused") == 0)
		few(SECCOMP_RET_ERRNO | EPERM);
	else if (strcmp(how, "nearly all") == 0)
		nearly_all();
	else if (strcmp(how, "no counter") == 0)
		(void)prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	else if (strcmp(how, "descriptors") == 0)
		descriptors(argv[0]);
	else if (strcmp(how, "few descriptors") == 0)
		few_descriptors();
	use_locks();
	say("alive\n");
	(void)syscall(SYS_exit, 5); /* strict mode knows no exit_group() */
	return 6;
}
