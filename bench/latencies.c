/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cycles of instructions on this core, for the units of machine files: chains (latency) and independent ones (interval). A
 * cycle is what a dependent `imul` takes a third of, as on every core since Nehalem and Zen; the least of many short
 * rounds counts, so that other work on the machine hardly disturbs.
 */
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>

enum {
	ITERATIONS = 5000,
	ROUNDS = 300,
	IMUL_CYCLES = 3,
	TIMES = 10,
	SHORT_ROUNDS = ITERATIONS * TIMES
};

#define TEN(x) x "\n" x "\n" x "\n" x "\n" x "\n" x "\n" x "\n" x "\n" x "\n" x "\n"

/* So many rounds of `body`; registers but rcx and eight words at rsi are free to use. */
#define LOOP_OF(name, init, rounds, body)                                                          \
	static void name(void)                                                                     \
	{                                                                                          \
		static uint64_t words[64] __attribute__((aligned(64)));                            \
		asm volatile(init "\nmov %0, %%rcx\n.p2align 6\n1:\n" body "dec %%rcx\njnz 1b"     \
			     :                                                                     \
			     : "i"(rounds), "S"(words)                                             \
			     : "rax", "rbx", "rcx", "rdx", "rdi", "r8", "xmm0", "xmm1", "memory",  \
			     "cc");                                                                \
	}

/* ITERATIONS times ten of `body`; or as many rounds of one. */
#define LOOP(name, init, body) LOOP_OF(name, init, ITERATIONS, TEN(body))
#define SHORT_LOOP(name, init, body) LOOP_OF(name, init, SHORT_ROUNDS, body "\n")

#define THREES "mov $3, %%ebx\ncvtsi2sd %%ebx, %%xmm1\ncvtsi2sd %%ebx, %%xmm0\nmov $-1, %%r8"
#define SINGLE THREES "\ncvtsi2ss %%ebx, %%xmm1\ncvtsi2ss %%ebx, %%xmm0"

LOOP(imul_chain, THREES, "imul %%rbx, %%rax")
LOOP(divide_32, THREES, "mov %%r8d, %%eax\nxor %%edx, %%edx\ndiv %%ebx")
LOOP(divide_32_chain, THREES, "xor %%edx, %%edx\ndiv %%ebx\nor %%r8d, %%eax")
LOOP(divide_64, THREES, "mov %%r8, %%rax\nxor %%edx, %%edx\ndiv %%rbx")
LOOP(divide_64_chain, THREES, "xor %%edx, %%edx\ndiv %%rbx\nor %%r8, %%rax")
LOOP(add_chain, SINGLE, "addss %%xmm1, %%xmm0")
LOOP(multiply_chain, SINGLE, "mulss %%xmm1, %%xmm0")
LOOP(add_multiply_chain, SINGLE, "addss %%xmm1, %%xmm0\nmulss %%xmm1, %%xmm0")
LOOP(divide_single, SINGLE, "movaps %%xmm1, %%xmm0\ndivss %%xmm1, %%xmm0")
LOOP(divide_double, THREES, "movapd %%xmm1, %%xmm0\ndivsd %%xmm1, %%xmm0")
LOOP(root_single, SINGLE, "xorps %%xmm0, %%xmm0\nsqrtss %%xmm1, %%xmm0")
LOOP(root_single_chain, SINGLE, "sqrtss %%xmm0, %%xmm0")
LOOP(root_double, THREES, "xorps %%xmm0, %%xmm0\nsqrtsd %%xmm1, %%xmm0")
LOOP(root_double_chain, THREES, "sqrtsd %%xmm0, %%xmm0")
LOOP(plain_load, THREES, "mov (%%rsi), %%rax")
LOOP(plain_store, THREES, "mov %%rax, (%%rsi)")
LOOP(vector_load, THREES, "movups (%%rsi), %%xmm0")
LOOP(vector_store, THREES, "movups %%xmm0, (%%rsi)")
LOOP(two_vector_loads, THREES,
	"movsd (%%rsi), %%xmm0\nmovsd 64(%%rsi), %%xmm1\nmov 128(%%rsi), %%rax\nmov 192(%%rsi), "
	"%%rax")
LOOP(one_vector_load, THREES,
	"movsd (%%rsi), %%xmm0\nmov 64(%%rsi), %%rax\nmov 128(%%rsi), %%rax\nmov 192(%%rsi), %%rax")
LOOP(locked_add, THREES, "lock addq $1, (%%rsi)")
LOOP(fence, THREES, "mfence")
LOOP(memory_add, "xor %%edi, %%edi", "addq $1, (%%rsi, %%rdi, 8)")
LOOP(load_chain, "xor %%edi, %%edi\nmovq $0, (%%rsi)", "mov (%%rsi, %%rdi, 8), %%rdi")

/* What a load gets from the store before it, through a multiplication, so that nothing else shortens the chain. */
#define FORWARD THREES "\nxor %%edi, %%edi"
LOOP(forward_word, FORWARD, "mov %%rax, 8(%%rsi)\nmov 8(%%rsi), %%rax\nimul %%rbx, %%rax")
LOOP(forward_indexed, FORWARD,
	"mov %%rax, 8(%%rsi, %%rdi)\nmov 8(%%rsi, %%rdi), %%rax\nimul %%rbx, %%rax")
LOOP(forward_half, FORWARD, "mov %%eax, 8(%%rsi)\nmov 8(%%rsi), %%eax\nimul %%ebx, %%eax")
LOOP(forward_part, FORWARD, "mov %%al, 8(%%rsi)\nmov 8(%%rsi), %%rax\nimul %%rbx, %%rax")

LOOP(taken_branch, THREES, "cmp %%rbx, %%r8\njne 9f\n.p2align 5\n9:")

LOOP(blocks, THREES, ".rept 20\nnopl 8(%%rax)\n.endr\njmp 9f\n9:")
SHORT_LOOP(short_loop, THREES, ".rept 11\nnopl 8(%%rax)\n.endr")
SHORT_LOOP(long_loop, THREES, ".rept 13\nnopl 8(%%rax)\n.endr")
SHORT_LOOP(longer_loop, THREES, ".rept 20\nnopl 8(%%rax)\n.endr")
SHORT_LOOP(call_and_return, THREES, "call 8f\njmp 9f\n8: ret\n9:")

LOOP(move_if_equal, THREES, "cmp %%rbx, %%rax\ncmove %%r8, %%rax")
LOOP(move_if_less, THREES, "cmp %%rbx, %%rax\ncmovl %%r8, %%rax")
LOOP(address_of_two, THREES, "lea (%%rax, %%rbx), %%rax")
LOOP(address_of_three, THREES, "lea 8(%%rax, %%rbx), %%rax")
LOOP(pair, THREES,
	"lea 8(%%rbx), %%rax\nadd %%rbx, %%rax\nlea 8(%%rbx), %%rdi\nadd %%rbx, %%rdi\n"
	"lea 8(%%rbx), %%rdx\nadd %%rbx, %%rdx")
LOOP(multiply_and_test, THREES,
	"imul $3, %%rbx, %%rax\ntest %%rbx, %%rbx\nimul $3, %%rbx, %%rdi\ntest %%rbx, %%rbx\n"
	"imul $3, %%rbx, %%rdx\ntest %%rbx, %%rbx")
LOOP(multiply_and_shift, THREES,
	"imul $3, %%rbx, %%rax\nbt $3, %%rbx\nimul $3, %%rbx, %%rdi\nbt $3, %%rbx\n"
	"imul $3, %%rbx, %%rdx\nbt $3, %%rbx")
LOOP(to_doubles, THREES,
	"pxor %%xmm0, %%xmm0\ncvtsi2sd %%rbx, %%xmm0\npxor %%xmm1, %%xmm1\ncvtsi2sd %%rbx, %%xmm1")
LOOP(cross, THREES, "movq %%rax, %%xmm0\nmovq %%xmm0, %%rax")
LOOP(bit_count, THREES, "popcnt %%rax, %%rax")
LOOP(convert, THREES, "pxor %%xmm0, %%xmm0\ncvtsi2sd %%rax, %%xmm0\ncvttsd2si %%xmm0, %%rax")

/* A linear congruential generator (Knuth's MMIX), a chain of 4 cycles, whose sign nobody foretells. */
#define GENERATOR                                                                                  \
	"movabs $6364136223846793005, %%rdi\nmovabs $1442695040888963407, %%rdx\nmov $1, %%eax"
LOOP(random_branch, GENERATOR,
	"imul %%rdi, %%rax\nadd %%rdx, %%rax\ntest %%rax, %%rax\njs 9f\nadd %%rdx, %%r8\n9:")

/* Ticks of one of the ten. */
static double ticks(void (*loop)(void))
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = __rdtsc();
		loop();
		uint64_t taken = __rdtsc() - start;
		least = taken < least ? taken : least;
	}
	return (double)least / ITERATIONS / TIMES;
}

int main(void)
{
	static const struct {
		const char *what;
		void (*loop)(void);
	} loops[] = {
		{ "divide, 32 bits", divide_32 },
		{ "divide, 32 bits, and or: chain", divide_32_chain },
		{ "divide, 64 bits", divide_64 },
		{ "divide, 64 bits, and or: chain", divide_64_chain },
		{ "fp_add: chain", add_chain },
		{ "fp_multiply: chain", multiply_chain },
		{ "fp_add and fp_multiply: chain", add_multiply_chain },
		{ "fp_divide_single", divide_single },
		{ "fp_divide", divide_double },
		{ "square root, single", root_single },
		{ "square root, single: chain", root_single_chain },
		{ "square root, double", root_double },
		{ "square root, double: chain", root_double_chain },
		{ "load", plain_load },
		{ "store", plain_store },
		{ "load of a vector", vector_load },
		{ "store of a vector", vector_store },
		{ "two loads of vectors and two others", two_vector_loads },
		{ "one and three", one_vector_load },
		{ "atomic", locked_add },
		{ "fence", fence },
		{ "add to memory: chain", memory_add },
		{ "load: chain", load_chain },
		{ "8 bytes forwarded, multiply: chain", forward_word },
		{ "... by an address with an index", forward_indexed },
		{ "4 bytes forwarded, multiply: chain", forward_half },
		{ "8 bytes of which 1 was stored", forward_part },
		{ "compare and branch 32 bytes ahead", taken_branch },
		{ "20 nop and jump, ten in turn", blocks },
		{ "loop of 11 nop", short_loop },
		{ "loop of 13 nop", long_loop },
		{ "loop of 20 nop", longer_loop },
		{ "loop of call, return and jump", call_and_return },
		{ "compare, move if equal: chain", move_if_equal },
		{ "compare, move if less: chain", move_if_less },
		{ "address of two parts: chain", address_of_two },
		{ "address of three parts: chain", address_of_three },
		{ "three additions, one behind each", pair },
		{ "three multiplications and three tests", multiply_and_test },
		{ "three multiplications and three bit tests", multiply_and_shift },
		{ "two conversions to a double", to_doubles },
		{ "to a vector register and back: chain", cross },
		{ "popcnt: chain", bit_count },
		{ "to a double and back: chain", convert },
		{ "generator, branch by its sign", random_branch },
	};
	double cycle = ticks(imul_chain) / IMUL_CYCLES;
	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++)
		printf("%-36s %6.1f\n", loops[i].what, ticks(loops[i].loop) / cycle);
	return 0;
}
