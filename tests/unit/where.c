/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits and samples of known programs lead to the functions that are known to cause them. */
#include "program_run.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "code/function_table.h"
#include "collect/sampler.h"
#include "code/symbols.h"
#include "collect/where.h"
#include "report/where_text.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <stdbool.h>

static void find_waits(const struct run *run, const char *category, struct where **ret)
{
	struct err err = { 0 };
	if (where_from_waits(run->stalls, category, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_wait_leads_to_its_line(void **state)
{
	(void)state;
	AUTO_RELEASE(run) struct run run = { 0 };
	AUTO(where) struct where *where = NULL;
	measure("tests/programs/waits", "barrier", &run);
	find_waits(&run, "barrier", &where);
	assert_int_equal(where->place_count, 1);
	assert_int_equal(where->count, 1);
	const struct where_place *place = &where->places[0];
	assert_non_null(strstr(place->module, "tests/programs/waits"));
	assert_true(place->share == 1.0);
	assert_true(place->seconds == where->seconds);
	if (!HAVE_DW)
		return;
	assert_non_null(place->function);
	assert_string_equal(place->function, "meet");
	assert_non_null(place->file);
	assert_non_null(strstr(place->file, "waits.c"));
	assert_true(place->line > 0);
}

static void a_stripped_program_still_gets_module_and_address(void **state)
{
	(void)state;
	AUTO_RELEASE(run) struct run run = { 0 };
	AUTO(where) struct where *where = NULL;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	measure("tests/programs/stripped", "barrier", &run);
	find_waits(&run, "sync", &where);
	assert_int_equal(where->place_count, 1);
	assert_null(where->places[0].function);
	assert_true(where->places[0].address > 0);
	where_text(where, 10, &text);
	assert_non_null(strstr(text.text, "stripped+0x"));
}

static void a_category_without_waits_has_no_places(void **state)
{
	(void)state;
	AUTO_RELEASE(run) struct run run = { 0 };
	AUTO(where) struct where *where = NULL;
	measure("tests/programs/waits", "lock", &run);
	find_waits(&run, "sem", &where);
	assert_int_equal(where->place_count, 0);
	assert_int_equal(where->count, 0);
}

static void an_unknown_category_is_refused_with_the_known_ones(void **state)
{
	(void)state;
	struct err err = { 0 };
	struct sync_stalls stalls = { 0 };
	struct where *where = NULL;
	for (size_t i = 0; i < SYNC_STALLS_CATEGORIES; i++)
		stalls.categories[i].name = i == 0 ? "lock" : "other";
	assert_int_equal(where_from_waits(&stalls, "locks", &where, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'locks'"));
	assert_non_null(strstr(err.text, " lock other"));
	assert_null(where);
}

static void waits_in_a_runtime_are_its_callers(void **state)
{
	(void)state;
	char library[] = "/usr/lib/libstdc++.so.6";
	char program[] = "/no/such/program";
	char name[] = "cond";
	struct sync_site_stalls sites[] = {
		{ .waits = 2,
			.wait_s = 3,
			.frame_count = 3,
			.frames = { { library, 7 }, { program, 100 }, { program, 200 } } },
		{ .waits = 1,
			.wait_s = 2,
			.frame_count = 2,
			.frames = { { program, 100 }, { NULL, 5 } } },
		{ .waits = 4, .wait_s = 3, .frame_count = 1, .frames = { { library, 7 } } },
		{ .waits = 9, .wait_s = 2, .frame_count = 0 },
	};
	struct sync_stalls stalls = { .sites = sites, .site_count = ARRAY_SIZE(sites) };
	for (size_t i = 0; i < SYNC_STALLS_CATEGORIES; i++)
		stalls.categories[i].name = name;
	struct err err = { 0 };
	AUTO(where) struct where *where = NULL;
	assert_int_equal(where_from_waits(&stalls, "cond", &where, &err), 0);
	assert_int_equal(where->place_count, 2);
	assert_int_equal(where->lost, 9);
	assert_int_equal(where->count, 16);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(where->places[i].module, i == 0 ? program : library);
		assert_int_equal(where->places[i].address, i == 0 ? 100 : 7);
		assert_true(fabs(where->places[i].share - (i == 0 ? 0.5 : 0.3)) < 1e-12);
	}
}

/* Samples the program; skips where that is not possible. */
static void sample(const char *program, struct samples **ret)
{
	AUTO_FREE char *path = NULL;
	find(program, &path);
	struct err err = { 0 };
	AUTO(sampler) struct sampler *sampler = NULL;
	assert_int_equal(sampler_new(NULL, &sampler, &err), 0);
	int go[2];
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char byte;
		close(go[1]);
		while (read(go[0], &byte, 1) > 0)
			continue;
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	int r = sampler_attach(sampler, pid, &err);
	close(go[0]);
	close(go[1]);
	int status = 0;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		usleep(20000);
		assert_int_equal(sampler_drain(sampler), 0);
	}
	if (r < 0) {
		print_message("skipped: %s\n", err.text);
		skip();
	}
	assert_int_equal(status, 0);
	assert_int_equal(sampler_finish(sampler, ret, &err), 0);
}

static void samples_find_the_function_that_spends_most(void **state)
{
	(void)state;
	AUTO(samples) struct samples *samples = NULL;
	AUTO(where) struct where *where = NULL;
	struct err err = { 0 };
	sample("tests/programs/busy", &samples);
	/* 400 ms of processor time, one sample per ms; wide margins. */
	assert_in_range(samples->count, 100, 4000);
	assert_int_equal(samples->lost, 0);
	assert_int_equal(where_from_samples(samples, "cpu", &where, &err), 0);
	uint64_t sum = 0;
	for (size_t i = 0; i < where->place_count; i++)
		sum += where->places[i].count;
	assert_int_equal(sum, samples->count);
	assert_non_null(strstr(where->places[0].module, "tests/programs/busy"));
	assert_true(fabs(where->seconds - (double)samples->count * 1e-3) < 1e-9);
	if (!HAVE_DW)
		return;
	/* It does ten of eleven parts of the work. */
	assert_non_null(where->places[0].function);
	assert_string_equal(where->places[0].function, "spend_most");
	assert_true(where->places[0].share > 0.5);
}

/* In any file of this build: what the table says must hold for a function that is known. */
static void the_function_table_knows_where_a_function_starts(void **state)
{
	(void)state;
	AUTO_RELEASE(function_table) struct function_table table = { 0 };
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	uint64_t start = (uint64_t)((uintptr_t)find_waits - (uintptr_t)__ehdr_start);
	function_table_read("/proc/self/exe", &table);
	assert_true(table.count > 10);
	assert_int_equal(function_table_find(&table, start), start);
	assert_int_equal(function_table_find(&table, start + 5), start);
	assert_int_equal(function_table_find(&table, 0), 0);
	struct function_table none = { 0 };
	function_table_read("/dev/null", &none);
	assert_int_equal(function_table_find(&none, start), 0);
}

/*
 * As lld lays a file out: the code begins in the middle of a page, whose first part belongs to the
 * segment before.
 */
static void code_may_begin_inside_a_page(void **state)
{
	(void)state;
	const struct {
		ElfW(Ehdr) elf;
		ElfW(Phdr) headers[2];
	} file = {
		.elf = { .e_ident = ELFMAG, .e_phoff = sizeof(ElfW(Ehdr)), .e_phnum = 2 },
		.headers = { { .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x15818 },
			{ .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = 0x15820,
				.p_vaddr = 0x16820,
				.p_filesz = 0x41540 } },
	};
	char path[] = "/tmp/corecast-where-XXXXXX";
	AUTO_FD int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	assert_int_equal(symbols_address_of_offset(path, 0x15000), 0x16000); /* the mapping */
	assert_int_equal(symbols_address_of_offset(path, 0x15820), 0x16820);
	assert_int_equal(symbols_address_of_offset(path, 0x20000), 0x21000);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symbols_address_of_offset(path, 0x20000), 0x20000);
}

/* Also where its debug information is installed. */
static void code_of_the_c_library_has_a_name_and_no_line(void **state)
{
	(void)state;
	AUTO(symbols) struct symbols *symbols = NULL;
	Dl_info library;
	assert_int_equal(symbols_new(&symbols), 0);
	void *code = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	assert_non_null(code);
	assert_true(dladdr(code, &library) != 0);
	uint64_t address = (uintptr_t)code - (uintptr_t)library.dli_fbase;
	struct symbol symbol = symbols_find(symbols, library.dli_fname, address);
	assert_null(symbol.file);
	assert_int_equal(symbol.line, 0);
	if (HAVE_DW)
		assert_non_null(strstr(symbol.function, "gnu_get_libc_version"));
}

static void samples_without_names_are_gathered_by_function(void **state)
{
	(void)state;
	AUTO(samples) struct samples *samples = NULL;
	AUTO(where) struct where *where = NULL;
	struct err err = { 0 };
	sample("tests/programs/busy_stripped", &samples);
	assert_int_equal(where_from_samples(samples, "cpu", &where, &err), 0);
	assert_null(where->places[0].function);
	assert_non_null(strstr(where->places[0].module, "busy_stripped"));
	assert_true(where->places[0].share > 0.5);
}

static void the_table_fits_80_columns(void **state)
{
	(void)state;
	char category[] = "cpu";
	struct where_place places[] = {
		{ .function = "a_function_with_quite_a_long_name_for_a_table",
			.file = "/path/to/a_file_with_a_long_name.c",
			.line = 123456,
			.caller = "another_function_with_a_long_name",
			.count = 123456,
			.share = 0.75,
			.seconds = 12345.678 },
		{ .module = "/usr/bin/pigz",
			.address = 0x1234,
			.count = 7,
			.share = 0.25,
			.seconds = NAN },
		{ .address = 0x77, .count = 1, .seconds = NAN },
	};
	struct where where = {
		.category = category,
		.unit = "samples",
		.count = 123464,
		.seconds = NAN,
		.places = places,
		.place_count = ARRAY_SIZE(places),
		.lost = 3,
	};
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	where_text(&where, 2, &out);
	assert_string_equal(out.text, "cpu: 123464 samples\n"
				      " 75.0% 12345.678s 123456 "
				      "a_function_with_quite_a_long_name_for_a_table (a_fil...\n"
				      " 25.0%                7  pigz+0x1234\n"
				      "  and 1 more places\n"
				      "  3 samples without a place\n");
	for (const char *line = out.text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_leads_to_its_line),
		cmocka_unit_test(a_stripped_program_still_gets_module_and_address),
		cmocka_unit_test(a_category_without_waits_has_no_places),
		cmocka_unit_test(an_unknown_category_is_refused_with_the_known_ones),
		cmocka_unit_test(waits_in_a_runtime_are_its_callers),
		cmocka_unit_test(samples_find_the_function_that_spends_most),
		cmocka_unit_test(the_function_table_knows_where_a_function_starts),
		cmocka_unit_test(code_may_begin_inside_a_page),
		cmocka_unit_test(code_of_the_c_library_has_a_name_and_no_line),
		cmocka_unit_test(samples_without_names_are_gathered_by_function),
		cmocka_unit_test(the_table_fits_80_columns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
