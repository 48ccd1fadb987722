/* SPDX-License-Identifier: MIT */
/*
 * The entry points of GCC's OpenMP runtime that may wait, and where the real ones are. Unlike the C
 * library, a runtime may be seen only by the module that brought it (a Python extension with its
 * own libgomp), and there may be several: so it is looked up from the caller's point of view.
 * The prototypes are those of libgomp_g.h; no header of them is installed.
 */
#ifndef PRELOAD_GOMP_H
#define PRELOAD_GOMP_H

#include <stdbool.h>
#include <stddef.h>

typedef void gomp_body(void *data);
typedef void gomp_copy(void *to, void *from);
typedef void gomp_loop(gomp_body *body, void *data, unsigned threads, long start, long end,
	long step, long chunk, unsigned flags);
typedef void gomp_runtime_loop(gomp_body *body, void *data, unsigned threads, long start, long end,
	long step, unsigned flags);
typedef bool gomp_loop_start(
	long start, long end, long step, long chunk, long *ret_from, long *ret_to);
typedef bool gomp_ull_loop_start(bool is_up, unsigned long long start, unsigned long long end,
	unsigned long long step, unsigned long long chunk, unsigned long long *ret_from,
	unsigned long long *ret_to);
typedef bool gomp_loop_next(long *ret_from, long *ret_to);
typedef bool gomp_ull_loop_next(unsigned long long *ret_from, unsigned long long *ret_to);

void GOMP_parallel(gomp_body *body, void *data, unsigned threads, unsigned flags);
void GOMP_parallel_sections(
	gomp_body *body, void *data, unsigned threads, unsigned count, unsigned flags);
gomp_loop GOMP_parallel_loop_static;
gomp_loop GOMP_parallel_loop_dynamic;
gomp_loop GOMP_parallel_loop_guided;
gomp_loop GOMP_parallel_loop_nonmonotonic_dynamic;
gomp_loop GOMP_parallel_loop_nonmonotonic_guided;
gomp_runtime_loop GOMP_parallel_loop_runtime;
gomp_runtime_loop GOMP_parallel_loop_nonmonotonic_runtime;
gomp_runtime_loop GOMP_parallel_loop_maybe_nonmonotonic_runtime;
gomp_loop_start GOMP_loop_dynamic_start;
gomp_loop_start GOMP_loop_guided_start;
gomp_loop_start GOMP_loop_nonmonotonic_dynamic_start;
gomp_loop_start GOMP_loop_nonmonotonic_guided_start;
gomp_loop_next GOMP_loop_dynamic_next;
gomp_loop_next GOMP_loop_guided_next;
gomp_loop_next GOMP_loop_nonmonotonic_dynamic_next;
gomp_loop_next GOMP_loop_nonmonotonic_guided_next;
gomp_ull_loop_start GOMP_loop_ull_dynamic_start;
gomp_ull_loop_start GOMP_loop_ull_guided_start;
gomp_ull_loop_start GOMP_loop_ull_nonmonotonic_dynamic_start;
gomp_ull_loop_start GOMP_loop_ull_nonmonotonic_guided_start;
gomp_ull_loop_next GOMP_loop_ull_dynamic_next;
gomp_ull_loop_next GOMP_loop_ull_guided_next;
gomp_ull_loop_next GOMP_loop_ull_nonmonotonic_dynamic_next;
gomp_ull_loop_next GOMP_loop_ull_nonmonotonic_guided_next;
void GOMP_barrier(void);
void GOMP_loop_end(void);
void GOMP_sections_end(void);
void GOMP_taskwait(void);
void GOMP_taskgroup_end(void);
bool GOMP_barrier_cancel(void);
bool GOMP_loop_end_cancel(void);
bool GOMP_sections_end_cancel(void);
void GOMP_critical_start(void);
void GOMP_critical_name_start(void **lock);
void GOMP_atomic_start(void);
void GOMP_ordered_start(void);
void GOMP_task(gomp_body *body, void *data, gomp_copy *copy, long size, long align,
	bool is_deferred, unsigned flags, void **depend, int priority, void *detach);
void GOMP_taskloop(gomp_body *body, void *data, gomp_copy *copy, long size, long align,
	unsigned flags, unsigned long tasks, int priority, long start, long end, long step);
void GOMP_taskloop_ull(gomp_body *body, void *data, gomp_copy *copy, long size, long align,
	unsigned flags, unsigned long tasks, int priority, unsigned long long start,
	unsigned long long end, unsigned long long step);
void omp_set_lock(void *lock);
int omp_test_lock(void *lock);
void omp_set_nest_lock(void *lock);
int omp_test_nest_lock(void *lock);
void GOMP_critical_end(void);
void GOMP_critical_name_end(void **lock);
void GOMP_atomic_end(void);
void GOMP_ordered_end(void);
void omp_unset_lock(void *lock);
int omp_get_num_threads(void);
int omp_get_thread_num(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);

#define GOMP_FUNCTIONS(X)                                                                          \
	X(GOMP_parallel)                                                                           \
	X(GOMP_parallel_sections)                                                                  \
	X(GOMP_parallel_loop_static)                                                               \
	X(GOMP_parallel_loop_dynamic)                                                              \
	X(GOMP_parallel_loop_guided)                                                               \
	X(GOMP_parallel_loop_nonmonotonic_dynamic)                                                 \
	X(GOMP_parallel_loop_nonmonotonic_guided)                                                  \
	X(GOMP_parallel_loop_runtime)                                                              \
	X(GOMP_parallel_loop_nonmonotonic_runtime)                                                 \
	X(GOMP_parallel_loop_maybe_nonmonotonic_runtime)                                           \
	X(GOMP_loop_dynamic_start)                                                                 \
	X(GOMP_loop_guided_start)                                                                  \
	X(GOMP_loop_nonmonotonic_dynamic_start)                                                    \
	X(GOMP_loop_nonmonotonic_guided_start)                                                     \
	X(GOMP_loop_dynamic_next)                                                                  \
	X(GOMP_loop_guided_next)                                                                   \
	X(GOMP_loop_nonmonotonic_dynamic_next)                                                     \
	X(GOMP_loop_nonmonotonic_guided_next)                                                      \
	X(GOMP_loop_ull_dynamic_start)                                                             \
	X(GOMP_loop_ull_guided_start)                                                              \
	X(GOMP_loop_ull_nonmonotonic_dynamic_start)                                                \
	X(GOMP_loop_ull_nonmonotonic_guided_start)                                                 \
	X(GOMP_loop_ull_dynamic_next)                                                              \
	X(GOMP_loop_ull_guided_next)                                                               \
	X(GOMP_loop_ull_nonmonotonic_dynamic_next)                                                 \
	X(GOMP_loop_ull_nonmonotonic_guided_next)                                                  \
	X(GOMP_barrier)                                                                            \
	X(GOMP_loop_end)                                                                           \
	X(GOMP_sections_end)                                                                       \
	X(GOMP_taskwait)                                                                           \
	X(GOMP_taskgroup_end)                                                                      \
	X(GOMP_barrier_cancel)                                                                     \
	X(GOMP_loop_end_cancel)                                                                    \
	X(GOMP_sections_end_cancel)                                                                \
	X(GOMP_critical_start)                                                                     \
	X(GOMP_critical_name_start)                                                                \
	X(GOMP_atomic_start)                                                                       \
	X(GOMP_ordered_start)                                                                      \
	X(GOMP_task)                                                                               \
	X(GOMP_taskloop)                                                                           \
	X(GOMP_taskloop_ull)                                                                       \
	X(omp_set_lock)                                                                            \
	X(omp_test_lock)                                                                           \
	X(omp_set_nest_lock)                                                                       \
	X(omp_test_nest_lock)                                                                      \
	X(GOMP_critical_end)                                                                       \
	X(GOMP_critical_name_end)                                                                  \
	X(GOMP_atomic_end)                                                                         \
	X(GOMP_ordered_end)                                                                        \
	X(omp_unset_lock)                                                                          \
	X(omp_get_num_threads)                                                                     \
	X(omp_get_thread_num)                                                                      \
	X(omp_get_max_threads)                                                                     \
	X(omp_set_num_threads)

struct gomp {
#define GOMP_MEMBER(name) __typeof__(name) *name;
	GOMP_FUNCTIONS(GOMP_MEMBER)
#undef GOMP_MEMBER
};

/*
 * The runtime that a caller would have called; never NULL. A runtime too old for a function, or a
 * caller that sees no runtime at all, gets NULL members. Keeps errno.
 */
const struct gomp *gomp_find(const void *caller);

#endif
