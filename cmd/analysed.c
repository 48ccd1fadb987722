/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysed.h"

#include "base/path.h"
#include "base/plural.h"
#include "base/runtimes.h"
#include "code/variables.h"
#include "code/vdso.h"
#include "trace/timeline.h"
#include "uarch/profile_store.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A trace file begins with its magic number, a timeline as CSV with the name of its first column. */
bool analysed_is_timeline(FILE *file)
{
	static const char magic[] = { 'C', 'C', 'T', 'R', 'A', 'C', 'E', '1' };
	char line[256] = "";
	bool is_trace = fread(line, 1, sizeof magic, file) == sizeof magic &&
			memcmp(line, magic, sizeof magic) == 0;
	rewind(file);
	do {
		if (is_trace || !fgets(line, sizeof line, file))
			break;
	} while (line[0] == '#');
	rewind(file);
	return is_trace || strncmp(line, "time_ns", strlen("time_ns")) == 0;
}

bool analysed_is_profile(FILE *file)
{
	char bytes[16];
	size_t count = fread(bytes, 1, sizeof bytes, file);
	rewind(file);
	return profile_is_file(bytes, count);
}

static struct code_place find_place(void *context, const char *module, uint64_t address)
{
	struct symbol found = symbols_find(context, module, address);
	return (struct code_place){ .symbol = found.function,
		.offset = !found.function && found.start ? address - found.start : found.offset,
		.file = found.file,
		.line = found.line,
		.is_system = found.is_system || runtime_is(module) || vdso_is(module),
		.is_given = found.is_given };
}

static char *name_object(void *context, const char *module, uint64_t address)
{
	return symbols_variable(context, module, address);
}

static char *name_local(
	void *context, const char *module, uint64_t code, int64_t begin, int64_t offset)
{
	const struct stack_place place = { .offset = offset, .begin = begin };
	return symbols_local(context, module, code, &place);
}

static char *name_passed(void *context, uint8_t what, const struct code_call *calls, size_t count)
{
	/* Beginnings of the names of those who take, or make, such an object. */
	static const char *const functions[WHAT_SEM + 1][4] = {
		[WHAT_MUTEX] = { "pthread_mutex_", "mtx_", "omp_" },
		[WHAT_RWLOCK] = { "pthread_rwlock_" },
		[WHAT_SPIN] = { "pthread_spin_" },
		[WHAT_COND] = { "pthread_cond_", "cnd_", "_ZNSt18condition_variable" },
		[WHAT_BARRIER] = { "pthread_barrier_" },
		[WHAT_SEM] = { "sem_" },
	};
	struct call_place places[LOCK_CALLERS_MAX];
	size_t i = 0;
	for (; i < count && i < LOCK_CALLERS_MAX; i++)
		places[i] = (struct call_place){ calls[i].module, calls[i].site };
	return what <= WHAT_SEM ? symbols_passed(context, places, i, functions[what]) : NULL;
}

static size_t find_inlined(
	void *context, const char *module, uint64_t address, const char *ret[CODE_INLINED_MAX])
{
	static_assert((int)CODE_INLINED_MAX == (int)SYMBOL_INLINED_MAX, "one array");
	return symbols_inlined(context, module, address, ret);
}

static void say_quality(const char *path, const struct trace_quality *quality, FILE *notes)
{
	if (quality->torn_chunks > 0)
		fprintf(notes,
			"corecast: %s: %" PRIu64 " part%s of the file %s damaged and left out\n",
			path, quality->torn_chunks, plural(quality->torn_chunks),
			quality->torn_chunks == 1 ? "is" : "are");
	if (quality->is_full)
		fprintf(notes, "corecast: %s: recording ended at its size limit, or the disk's\n",
			path);
}

/* What was asked for that this timeline cannot show. */
static void say_limits(const struct analysed *file, const struct analysis_opts *opts, FILE *notes)
{
	if (opts->needs_core && !file->results->has_cores)
		fprintf(notes,
			"corecast: %s: who had a core was not recorded, so threads that wait for "
			"one count as active; 'corecast record --via bpf' sees it\n",
			file->path);
	if (opts->window_to_ns > 0 && file->results->elapsed_ns == 0)
		fprintf(notes, "corecast: %s: the window lies behind the end of the timeline\n",
			file->path);
}

/* A futex is what the C library's function that waits at it is for. */
static uint8_t what_of_function(const char *function)
{
	static const struct {
		const char *part;
		uint8_t what;
	} names[] = { { "cond_", WHAT_COND }, { "condition_variable", WHAT_COND },
		{ "cnd_", WHAT_COND }, { "barrier", WHAT_BARRIER }, { "rwlock", WHAT_RWLOCK },
		{ "shared_mutex", WHAT_RWLOCK }, { "shared_timed", WHAT_RWLOCK },
		{ "shared_lock", WHAT_RWLOCK }, { "future", WHAT_COND }, { "mutex", WHAT_MUTEX },
		{ "lll_lock", WHAT_MUTEX }, { "lock_pi", WHAT_MUTEX }, { "mtx_", WHAT_MUTEX },
		{ "sem_", WHAT_SEM }, { "counting_semaphore", WHAT_SEM },
		{ "atomic_semaphore", WHAT_SEM }, { "arrive_and_wait", WHAT_BARRIER },
		{ "5latch", WHAT_COND }, { "GOMP_critical", WHAT_MUTEX },
		{ "GOMP_atomic", WHAT_MUTEX }, { "GOMP_ordered", WHAT_MUTEX },
		{ "omp_set", WHAT_MUTEX }, { "GOMP_", WHAT_BARRIER } };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strstr(function, names[i].part))
			return names[i].what;
	return WHAT_NONE;
}

/* By the code that returns to an address: what of a header of C++'s is in it, else, if that is a library's, itself. */
static uint8_t what_of_code(const struct analysed *file, const struct result_module *module,
	uint64_t address, bool is_library)
{
	struct symbol code = symbols_find(file->symbols, module->path, address - 1 - module->bias);
	uint8_t what = code.header_function ? what_of_function(code.header_function) : WHAT_NONE;
	bool is_theirs = is_library || code.is_system;
	return what == WHAT_NONE && is_theirs && code.function ? what_of_function(code.function)
							       : what;
}

/* By what the program calls there. */
static uint8_t what_of_call(
	const struct analysed *file, const struct result_module *module, uint64_t site)
{
	const struct call_place place = { module->path, site - module->bias };
	const char *callee = symbols_callee(file->symbols, &place);
	if (!callee)
		return WHAT_NONE;
	if (strcmp(callee, "syscall") == 0) /* by itself: as Rust's locks do */
		return what_of_code(file, module, site, true);
	return what_of_function(callee);
}

/*
 * By the code that entered the kernel, where its name tells; else by what the program called: much of the C
 * library waits by one function of its own, and may have no symbols. In a static program the caller is the library's, too.
 */
static uint8_t what_of_futex(const struct analysed *file, const struct result_lock *lock)
{
	uint64_t entry = lock->entry ? lock->entry : lock->site;
	const struct result_module *waits = results_module(file->results, lock->pid, entry);
	const struct result_module *calls = results_module(file->results, lock->pid, lock->site);
	uint8_t what = WHAT_NONE;
	if (waits && lock->what != WHAT_JOIN)
		what = what_of_code(file, waits, entry, true);
	if (what == WHAT_NONE && calls && calls != waits)
		what = what_of_call(file, calls, lock->site);
	if (what == WHAT_NONE && calls)
		what = what_of_code(file, calls, lock->site, calls == waits);
	if (what == WHAT_NONE && calls == waits && calls)
		what = what_of_call(file, calls, lock->site);
	/* Debian's has no symbols; a team's threads that nobody called from the program wait at barriers. */
	if (what == WHAT_NONE && waits && strstr(waits->path, "libgomp") &&
		(lock->what == WHAT_COND || lock->what == WHAT_JOIN || calls == waits))
		what = WHAT_BARRIER;
	return what;
}

/* Where threads spin in a barrier of C++'s headers, it is one. */
static uint8_t what_of_place(const struct analysed *file, const struct result_lock *lock)
{
	const struct result_module *module = results_module(file->results, lock->pid, lock->site);
	uint8_t what = module ? what_of_code(file, module, lock->site, false) : WHAT_NONE;
	return what == WHAT_BARRIER ? what : WHAT_NONE;
}

static int name_futexes(struct analysed *file)
{
	bool is_changed = false;
	for (size_t i = 0; i < file->results->lock_count; i++) {
		const struct result_lock *lock = &file->results->locks[i];
		uint8_t what = lock->is_futex  ? what_of_futex(file, lock)
			       : lock->is_code ? what_of_place(file, lock)
					       : WHAT_NONE;
		if (what == WHAT_NONE)
			continue;
		results_set_futex(file->results, i, what);
		is_changed = true;
	}
	return is_changed ? results_find_again(file->results) : 0;
}

int analysed_read(
	struct analysed *file, const struct analysis_opts *opts, FILE *notes, struct err *err)
{
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	AUTO(analysis) struct analysis *analysis = NULL;
	int code = timeline_open(file->path, &reader, err);
	if (code < 0)
		return code;
	struct analysis_opts known = *opts;
	const struct trace_quality *quality = trace_reader_quality(reader);
	if (known.cores == 0)
		known.cores = quality->cores;
	known.others_ns = quality->others.cpu_ns;
	known.others_wall_ns = quality->others.wall_ns;
	code = analysis_new(&known, &analysis, err);
	if (code < 0)
		return code;
	struct event_sink sink = analysis_sink(analysis);
	code = trace_reader_replay(reader, &sink, err);
	if (code == 0)
		code = analysis_results(analysis, &file->results, err);
	if (code < 0)
		return code;
	if (notes) {
		say_quality(file->path, trace_reader_quality(reader), notes);
		say_limits(file, opts, notes);
	}
	if (symbols_new(&file->symbols) < 0 || name_futexes(file) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	file->finder = analysed_finder(file->symbols);
	return 0;
}

struct code_finder analysed_finder(struct symbols *symbols)
{
	return (struct code_finder){ symbols, find_place, name_object, name_local, name_passed,
		find_inlined };
}

void analysed_release(struct analysed *file)
{
	results_free(file->results);
	symbols_free(file->symbols);
	*file = (struct analysed){ 0 };
}

const char *analysed_subject(const struct analysed *file)
{
	return path_file_name(file->path);
}

struct criticality_input analysed_input(const struct analysed *file)
{
	return (struct criticality_input){
		.results = file->results,
		.subject = analysed_subject(file),
		.finder = &file->finder,
	};
}
