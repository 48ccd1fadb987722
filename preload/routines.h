/* SPDX-License-Identifier: MIT */
/* What a new thread runs, as its program knows it. */
#ifndef PRELOAD_ROUTINES_H
#define PRELOAD_ROUTINES_H

/*
 * Of a thread that is to do routine(argument): the routine itself; of a std::thread, for which libstdc++ has a routine
 * of its own, the function that the program gave it, or where the compiler put what calls that.
 */
const void *routine_of(const void *routine, const void *argument);

#endif
