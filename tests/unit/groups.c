/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accesses of a block whose addresses follow from one of them (plugin/groups.h). */
#include "cmocka_all.h"
#include "plugin/code_class.h"
#include "plugin/groups.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 8 };

static struct raw_code codes[MOST];
static struct decoded_address operands[MOST];
static struct place places[MOST];
static struct block block = { .places = places };

const struct raw_code *block_code(const struct block *of, uint32_t index)
{
	return &codes[of->places[index].code];
}

bool block_makes_calls(const struct block *of, uint32_t index)
{
	uint8_t class = block_code(of, index)->class;
	return block_code(of, index)->flags & (CODE_LOAD | CODE_STORE) && class != CODE_ATOMIC &&
	       !code_is_string(class);
}

bool block_makes_one_call(const struct block *of, uint32_t index)
{
	return block_makes_calls(of, index) && block_code(of, index)->data_bytes <= 8;
}

/* Machine code in hexadecimal, an instruction after the other, ends with NULL. */
static void find(const char *const *instructions)
{
	const struct decoded_address *all[MOST];
	uint64_t address = 0x1000;
	block.count = 0;
	for (unsigned i = 0; instructions[i]; i++) {
		uint8_t bytes[16];
		size_t size = strlen(instructions[i]) / 2;
		for (size_t at = 0; at < size; at++)
			assert_int_equal(sscanf(&instructions[i][2 * at], "%2hhx", &bytes[at]), 1);
		(void)decode(address, bytes, size, &codes[i], &operands[i]); /* some nobody knows */
		all[i] = &operands[i];
		places[i] = (struct place){ .block = &block, .code = i, .index = (uint16_t)i };
		address += size;
		block.count++;
	}
	groups_find(&block, all);
}

static void assert_together(unsigned leader, unsigned other, int delta)
{
	assert_int_equal(places[leader].leader, leader);
	assert_int_equal(places[other].leader, leader);
	assert_int_equal(places[other].delta, delta);
	assert_in_range(delta + 1000, places[leader].low + 1000, places[leader].high + 1000);
}

static void assert_alone(unsigned place)
{
	assert_int_equal(places[place].leader, place);
	assert_int_equal(places[place].first, place);
	assert_int_equal(places[place].next, PLACE_NONE);
}

static void pushes_go_together(void **state)
{
	(void)state;
	/* push rbx; push rbp; sub rsp, 16; mov [rsp+8], rax; call */
	find((const char *const[]){ "53", "55", "4883ec10", "4889442408", "e800000000", NULL });
	assert_together(0, 1, -8);
	assert_together(0, 3, -16);
	assert_together(0, 4, -32);
	assert_int_equal(places[0].next, 1);
	assert_int_equal(places[1].next, 3);
	assert_int_equal(places[3].next, 4);
	assert_int_equal(places[4].next, PLACE_NONE);
	assert_int_equal(places[0].low, -32);
	assert_int_equal(places[0].high, 0);
}

static void pops_go_up(void **state)
{
	(void)state;
	/* mov rax, [rsp]; pop rbx; pop rbp; ret */
	find((const char *const[]){ "488b0424", "5b", "5d", "c3", NULL });
	assert_together(0, 1, 0);
	assert_together(0, 2, 8);
	assert_together(0, 3, 16);
}

static void a_constant_may_be_added_in_between(void **state)
{
	(void)state;
	/* mov rax, [rdi]; add rdi, 8; mov rbx, [rdi-16]; inc rdi; lea rdi, [rdi+7]; mov rcx, [rdi] */
	find((const char *const[]){
		"488b07", "4883c708", "488b5ff0", "48ffc7", "488d7f07", "488b0f", NULL });
	assert_together(0, 2, -8);
	assert_together(0, 5, 16);
}

static void another_value_ends_the_group(void **state)
{
	(void)state;
	/* mov rax, [rdi]; mov rdi, rcx; mov rbx, [rdi]; mov rdx, [rcx] */
	find((const char *const[]){ "488b07", "4889cf", "488b1f", "488b11", NULL });
	assert_alone(0);
	assert_alone(2);
	assert_alone(3);
	/* mov rax, [rdi]; mov rdi, [rdi+8]; mov rbx, [rdi]; add edi, 8; mov rbx, [rdi] */
	find((const char *const[]){ "488b07", "488b7f08", "488b1f", "83c708", "488b1f", NULL });
	assert_together(0, 1, 8);
	assert_alone(2);
	assert_alone(4);
}

static void indexes_count_as_often_as_they_are_scaled(void **state)
{
	(void)state;
	/* mov rax, [rdi+rsi*8]; inc rsi; mov rbx, [rdi+rsi*8-24]; mov rcx, [rdi+rsi*4] */
	find((const char *const[]){ "488b04f7", "48ffc6", "488b5cf7e8", "488b0cb7", NULL });
	assert_together(0, 2, -16);
	assert_alone(3);
}

static void segments_and_what_is_far_are_others(void **state)
{
	(void)state;
	/* mov rax, [rdi]; mov rax, fs:[rdi]; mov rax, [rdi+4096]; mov rax, [edi] */
	find((const char *const[]){ "488b07", "64488b07", "488b8700100000", "67488b07", NULL });
	for (unsigned i = 0; i < 4; i++)
		assert_alone(i);
}

static void what_is_in_the_code_has_an_address(void **state)
{
	(void)state;
	/* mov rax, [rip+0x10]; mov rbx, [rip+0x10]: 7 bytes further; mov rcx, [0x1010] */
	find((const char *const[]){ "488b0510000000", "488b1d10000000", "488b0c2510100000", NULL });
	assert_together(0, 1, 7);
	assert_together(0, 2, -7);
}

static void who_is_asked_for_once_leads(void **state)
{
	(void)state;
	/* movups xmm0, [rdi]; mov rax, [rdi+16]; movups [rdi+32], xmm0 */
	find((const char *const[]){ "0f1007", "488b4710", "0f114720", NULL });
	assert_together(1, 0, -16);
	assert_together(1, 2, 16);
	assert_int_equal(places[1].first, 0);
}

static void who_may_not_be_asked_for_is_alone(void **state)
{
	(void)state;
	/* mov rax, [rdi]; lock inc qword [rdi]; rep movsb; push qword [rdi]; prefetcht0 [rdi] */
	find((const char *const[]){ "488b07", "f048ff07", "f3a4", "ff37", "0f180f", NULL });
	for (unsigned i = 0; i < 5; i++)
		assert_alone(i);
}

static void what_nobody_knows_may_write_anything(void **state)
{
	(void)state;
	/* mov rax, [rdi]; push es, which is none here; mov rbx, [rdi]; pop rsp; mov rcx, [rsp]; mov rdx, [rsp+8] */
	find((const char *const[]){
		"488b07", "06", "488b1f", "5c", "488b0c24", "488b542408", NULL });
	assert_alone(0);
	assert_alone(2);
	assert_alone(3);
	assert_together(4, 5, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes_go_together),
		cmocka_unit_test(pops_go_up),
		cmocka_unit_test(a_constant_may_be_added_in_between),
		cmocka_unit_test(another_value_ends_the_group),
		cmocka_unit_test(indexes_count_as_often_as_they_are_scaled),
		cmocka_unit_test(segments_and_what_is_far_are_others),
		cmocka_unit_test(what_is_in_the_code_has_an_address),
		cmocka_unit_test(who_is_asked_for_once_leads),
		cmocka_unit_test(who_may_not_be_asked_for_is_alone),
		cmocka_unit_test(what_nobody_knows_may_write_anything),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
