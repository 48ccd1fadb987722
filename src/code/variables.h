/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an object in memory is called in the program's source, by the types in its debug
 * information: the variable that holds it and the way to it through members and elements. Names
 * that the language reserves for the implementation are left out: what lies behind them is nobody's
 * who reads it ("pool.lock", not "pool.lock.__data.__lock" or "pool.lock._M_mutex").
 */
#ifndef CODE_VARIABLES_H
#define CODE_VARIABLES_H

#include <stddef.h>
#include <stdint.h>

struct Dwfl_Module;
struct code_index; /* code_scopes.h */

/* The variables of one module that lie at fixed addresses. { 0 } is not read yet. */
struct variables {
	struct variable *items; /* by address */
	size_t count, capacity;
	int is_read;
};

void variables_release(struct variables *variables);

/*
 * "server.queue.lock", "workers[3].lock", "run: lock" (a static variable of a function). `address` as
 * libdwfl counts. Reads the module's debug information at the first call. NULL: not known, or
 * without memory. The caller frees it.
 */
char *variables_find(struct variables *variables, struct Dwfl_Module *module, uint64_t address);

/* Where on the stack: as distances from the canonical address of a frame. */
struct stack_place {
	int64_t offset; /* of the object: below 0 */
	int64_t begin; /* of the frame, that is where the stack pointer stood: below 0 */
};

/* "main: jobs.lock": a variable of the function that `code` lies in. As above. */
char *variables_find_local(struct code_index *index, struct Dwfl_Module *module, uint64_t code,
	const struct stack_place *place);

#endif
