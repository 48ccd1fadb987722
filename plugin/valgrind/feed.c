/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads what the Valgrind tool tells (stream.h) and plays the emulator to the profiler's plugin: the functions of
 * qemu_api.h are here, so that there is one profiler for both. Runs beside Valgrind, on another core.
 *
 *	corecast-feed PLUGIN OPTION... <STREAM
 *
 * OPTION is the plugin's own (out=..., page=..., trace=on). The page is one of its own: the program's is
 * Valgrind's to count in. Exits with 1 when the stream is not one.
 */
#include "plugin/qemu_api.h"
#include "preload/profile_page.h"
#include "stream.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	WORDS = 1 << 15,
	THREADS = 512,
	INSTRUCTIONS_MAX = 4096, /* of a block: Valgrind's are far below */
};

struct qemu_plugin_insn {
	uint64_t address;
	uint8_t bytes[15];
	uint8_t size;
	qemu_plugin_vcpu_mem_cb_t access;
	void *userdata;
};

struct qemu_plugin_tb {
	uint64_t count;
	struct qemu_plugin_insn *insns;
	qemu_plugin_vcpu_udata_cb_t executed;
	void *userdata;
};

struct thread {
	uint64_t slot; /* PROFILE_SLOTS: none */
	uint64_t stretch;
	bool is_there;
};

static struct {
	qemu_plugin_vcpu_simple_cb_t start, exit;
	qemu_plugin_vcpu_tb_trans_cb_t translate;
	qemu_plugin_vcpu_syscall_cb_t syscall;
	qemu_plugin_udata_cb_t end;
	void *end_userdata;
} calls;

static struct profile_page *page;
static struct qemu_plugin_tb *blocks;
static size_t block_count, block_capacity;
static struct thread threads[THREADS];

/* What the plugin asks the emulator for. */

QEMU_EXPORT void qemu_plugin_register_vcpu_init_cb(
	qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t call)
{
	(void)id;
	calls.start = call;
}

QEMU_EXPORT void qemu_plugin_register_vcpu_exit_cb(
	qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t call)
{
	(void)id;
	calls.exit = call;
}

QEMU_EXPORT void qemu_plugin_register_vcpu_tb_trans_cb(
	qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t call)
{
	(void)id;
	calls.translate = call;
}

QEMU_EXPORT void qemu_plugin_register_vcpu_syscall_cb(
	qemu_plugin_id_t id, qemu_plugin_vcpu_syscall_cb_t call)
{
	(void)id;
	calls.syscall = call;
}

QEMU_EXPORT void qemu_plugin_register_vcpu_syscall_ret_cb(
	qemu_plugin_id_t id, qemu_plugin_vcpu_syscall_ret_cb_t call)
{
	(void)id, (void)call; /* forks: the tool leaves their children alone */
}

QEMU_EXPORT void qemu_plugin_register_atexit_cb(
	qemu_plugin_id_t id, qemu_plugin_udata_cb_t call, void *userdata)
{
	(void)id;
	calls.end = call;
	calls.end_userdata = userdata;
}

QEMU_EXPORT void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
	qemu_plugin_vcpu_udata_cb_t call, enum qemu_plugin_cb_flags flags, void *userdata)
{
	(void)flags;
	tb->executed = call;
	tb->userdata = userdata;
}

QEMU_EXPORT void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
	qemu_plugin_vcpu_udata_cb_t call, enum qemu_plugin_cb_flags flags, void *userdata)
{
	(void)insn, (void)call, (void)flags, (void)userdata; /* mends what the emulator does */
}

QEMU_EXPORT void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
	qemu_plugin_vcpu_mem_cb_t call, enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
	void *userdata)
{
	(void)flags, (void)rw;
	insn->access = call;
	insn->userdata = userdata;
}

QEMU_EXPORT size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
	return tb->count;
}

QEMU_EXPORT uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb)
{
	return tb->insns[0].address;
}

QEMU_EXPORT struct qemu_plugin_insn *qemu_plugin_tb_get_insn(
	const struct qemu_plugin_tb *tb, size_t index)
{
	return &tb->insns[index];
}

QEMU_EXPORT const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn)
{
	return insn->bytes;
}

QEMU_EXPORT size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn)
{
	return insn->size;
}

QEMU_EXPORT uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	return insn->address;
}

/* The program is another process; what the tool tells of an instruction is whole. */
QEMU_EXPORT void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn)
{
	(void)insn;
	return NULL;
}

/* Bit 0 of what is passed as an access's description. */
QEMU_EXPORT bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info)
{
	return info & 1;
}

/* The stream. */

static uint64_t words[WORDS];
static size_t word_at, word_count;
static size_t stray_bytes; /* of a word that came in two parts */

/* False at its end. */
static bool read_word(uint64_t *ret)
{
	if (word_at == word_count) {
		char *start = (char *)words;
		memmove(start, start + word_count * sizeof(*words), stray_bytes);
		size_t have = stray_bytes;
		while (have < sizeof(*words)) {
			ssize_t got = read(STDIN_FILENO, start + have, sizeof(words) - have);
			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				return false;
			have += (size_t)got;
		}
		word_at = 0;
		word_count = have / sizeof(*words);
		stray_bytes = have % sizeof(*words);
	}
	*ret = words[word_at++];
	return true;
}

static int learn_block(uint64_t number)
{
	uint64_t count, bytes[2];
	if (number != block_count || !read_word(&count) || count == 0 || count > INSTRUCTIONS_MAX)
		return -EINVAL;
	if (block_count == block_capacity) {
		size_t capacity = block_capacity ? 2 * block_capacity : 4096;
		struct qemu_plugin_tb *more = realloc(blocks, capacity * sizeof(*blocks));
		if (!more)
			return -ENOMEM;
		blocks = more;
		block_capacity = capacity;
	}
	struct qemu_plugin_tb *block = &blocks[block_count++];
	*block = (struct qemu_plugin_tb){ .count = count };
	block->insns = calloc(count, sizeof(*block->insns));
	if (!block->insns)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = &block->insns[i];
		if (!read_word(&insn->address) || !read_word(&bytes[0]) || !read_word(&bytes[1]))
			return -EINVAL;
		memcpy(insn->bytes, bytes, sizeof(insn->bytes));
		insn->size = (uint8_t)(bytes[1] >> 56);
	}
	calls.translate(0, block);
	return 0;
}

/* The plugin's threads count in slots of this page; the stretch stands there, too. */
static struct profile_slot *slot_of(const struct thread *thread)
{
	return thread->slot < PROFILE_SLOTS ? &page->slots[thread->slot] : NULL;
}

static void set_stretch(struct thread *thread, uint64_t stretch)
{
	thread->stretch = stretch;
	struct profile_slot *slot = slot_of(thread);
	if (slot)
		profile_set_stretch(slot, stretch);
}

static void set_slot(unsigned number, uint64_t slot, uint64_t who)
{
	struct thread *thread = &threads[number];
	thread->slot = slot;
	if (slot < PROFILE_SLOTS) {
		profile_set_stretch(&page->slots[slot], PROFILE_NOT_COUNTED);
		page->slots[slot].pid = (uint32_t)(who >> 32);
		page->slots[slot].tid = (uint32_t)who;
	}
	calls.syscall(0, number, SYS_prctl, PROFILE_PRCTL, slot, 0, 0, 0, 0, 0, 0);
}

static void access_memory(unsigned thread, uint64_t block, uint64_t word, bool is_store)
{
	uint64_t index = word >> STREAM_INDEX_SHIFT & 0xfff;
	if (block >= block_count || index >= blocks[block].count)
		return;
	const struct qemu_plugin_insn *insn = &blocks[block].insns[index];
	if (insn->access)
		insn->access(thread, is_store, word & STREAM_ADDRESS_MASK, insn->userdata);
}

static void change_thread(unsigned number, enum stream_kind kind)
{
	bool starts = kind == STREAM_START;
	if (threads[number].is_there == starts)
		return;
	threads[number] = (struct thread){ PROFILE_SLOTS, PROFILE_NOT_COUNTED, starts };
	(starts ? calls.start : calls.exit)(0, number);
}

static int play(void)
{
	uint64_t word, block = 0;
	unsigned thread = 0;
	while (read_word(&word)) {
		enum stream_kind kind = (enum stream_kind)(word >> STREAM_SHIFT);
		uint64_t value = word & ~(UINT64_MAX << STREAM_SHIFT);
		bool is_thread =
			kind == STREAM_THREAD || kind == STREAM_START || kind == STREAM_EXIT;
		if ((is_thread && value >= THREADS) ||
			(kind == STREAM_EXECUTE && value >= block_count))
			return -EINVAL;
		switch (kind) {
		case STREAM_EXECUTE:
			block = value;
			if (blocks[block].executed)
				blocks[block].executed(thread, blocks[block].userdata);
			break;
		case STREAM_LOAD:
		case STREAM_STORE:
			access_memory(thread, block, word, kind == STREAM_STORE);
			break;
		case STREAM_STRETCH:
			if (!read_word(&value))
				return -EINVAL;
			set_stretch(&threads[thread], value);
			break;
		case STREAM_THREAD:
			thread = (unsigned)value;
			break;
		case STREAM_START:
		case STREAM_EXIT:
			change_thread((unsigned)value, kind);
			break;
		case STREAM_SLOT:
			if (!read_word(&word))
				return -EINVAL;
			set_slot(thread, value, word);
			break;
		case STREAM_BLOCK: {
			int code = learn_block(value);
			if (code < 0)
				return code;
			break;
		}
		case STREAM_EXEC:
			break;
		case STREAM_END:
			calls.end(0, calls.end_userdata);
			return 0;
		default:
			return -EINVAL;
		}
	}
	return 0; /* cut short: the plugin's file says that it is partial */
}

/* A page of our own, in a file without a name; the plugin opens it by its number. */
static int make_page(char *option, size_t size)
{
	int fd = memfd_create("corecast-page", 0);
	if (fd < 0 || ftruncate(fd, sizeof(*page)) < 0)
		return -errno;
	void *mapped = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	page = mapped;
	page->version = PROFILE_PAGE_VERSION;
	(void)snprintf(option, size, "page=/proc/self/fd/%d", fd);
	return 0;
}

typedef int (*install_function)(
	qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

static int load_plugin(const char *path, int count, char **options)
{
	static const qemu_info_t info = { .target_name = "x86_64",
		.version = { QEMU_PLUGIN_VERSION, QEMU_PLUGIN_VERSION } };
	void *plugin = dlopen(path, RTLD_NOW);
	union {
		void *object;
		install_function function;
	} install = { plugin ? dlsym(plugin, "qemu_plugin_install") : NULL };
	if (!install.object) {
		(void)fprintf(stderr, "corecast-feed: %s\n", dlerror());
		return -ENOENT;
	}
	return install.function(0, &info, count, options) ? -EINVAL : 0;
}

int main(int argc, char **argv)
{
	char page_option[64];
	if (argc < 3) {
		(void)fprintf(stderr, "usage: corecast-feed PLUGIN OPTION... <STREAM\n");
		return 2;
	}
	char **options = calloc((size_t)argc, sizeof(*options));
	if (!options || make_page(page_option, sizeof(page_option)) < 0) {
		(void)fprintf(stderr, "corecast-feed: out of memory\n");
		return 1;
	}
	memcpy(options, argv + 2, (size_t)(argc - 2) * sizeof(*options));
	options[argc - 2] = page_option;
	int code = load_plugin(argv[1], argc - 1, options);
	free(options);
	if (code == 0)
		code = play();
	if (code < 0)
		(void)fprintf(stderr, "corecast-feed: %s\n", strerror(-code));
	return code < 0;
}
