/* SPDX-License-Identifier: MIT */
#include "routines.h"

#include "modules.h"

#include <stdint.h>
#include <stddef.h>
#include <string.h>

enum {
	RUN_SLOT = 2, /* of std::thread::_State's virtual functions, behind two destructors */
	WORDS_MAX = 8, /* of what is called and its arguments: as many as anyone gives */
	PAGE_BYTES = 4096, /* at least: what lies behind an object's page may not be there */
};

/*
 * The argument of libstdc++'s routine is a std::thread::_State, part of that library's binary interface:
 *
 *	word 0		virtual functions
 *	1 ...		a std::tuple of what is called and its arguments; a lambda is an object without address,
 *			and its code is part of the virtual function
 *
 * Nothing is read that is not what it should be: the table lies in a file's data, what it points to in code.
 */
const void *routine_of(const void *routine, const void *argument)
{
	const uintptr_t *state = argument;
	const struct module *library = module_of((uintptr_t)routine);
	if (!library || !strstr(library->path, "/libstdc++.so") || !state ||
		(uintptr_t)state % sizeof(*state) != 0)
		return routine;
	const struct module *program = module_of(state[0]);
	if (!program || state[0] % sizeof(*state) != 0)
		return routine;
	uintptr_t run = ((const uintptr_t *)state[0])[RUN_SLOT];
	if (!module_has_code(program, run))
		return routine;
	for (int i = 1; i <= WORDS_MAX && (uintptr_t)(state + i) % PAGE_BYTES != 0; i++)
		if (module_has_code(program, state[i]))
			return (const void *)state[i];
	return (const void *)run;
}
