/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A row is six words of eight bytes, so 48 planes:
 *
 *	rows		word 0  word 1 ... word 5		w[0..7] of word 0
 *			                            -->		plane 0: byte 0 of all rows
 *	row 0		........ ........  ........		plane 1: byte 1 of all rows
 *	row 1		........ ........  ........		...
 *
 * Times become small numbers by prediction, and the high bytes of addresses hardly change, so most
 * planes are one byte repeated: they take one byte and no time. Row counts are rounded up to eight
 * so that eight rows are always transposed at once.
 */
#include "trace/pack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
	WORDS = TRACE_RECORD_BYTES / 8,
	PLANES = TRACE_RECORD_BYTES,
	GROUP = 8, /* rows transposed at once */
	PREFIX_BYTES = 8 + PLANES, /* which planes are stored, and the byte of the others */
	NO_CPU_BIT = PLANES, /* beside the planes' bits: cpu_ns is 0 in all rows, not predicted */
	ROWS_MAX = TRACE_CHUNK_BYTES_MAX / TRACE_RECORD_BYTES,
	/*
	 * Of a recorded sysbench mutex: 2.3 bytes a row as with level 3, and 15% faster; level -1
	 * takes 2.9 bytes and is no faster.
	 */
	LEVEL = 1,
};

struct packer {
	ZSTD_CCtx *compressor;
	ZSTD_DCtx *decompressor;
	uint8_t *planes; /* prefix and planes, as zstd sees them */
	size_t capacity;
};

static size_t round_up(size_t row_count)
{
	return (row_count + GROUP - 1) / GROUP * GROUP;
}

int packer_new(struct packer **ret, struct err *err)
{
	AUTO(packer) struct packer *packer = calloc(1, sizeof *packer);
	if (packer) {
		packer->compressor = ZSTD_createCCtx();
		packer->decompressor = ZSTD_createDCtx();
	}
	if (!packer || !packer->compressor || !packer->decompressor)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE(packer);
	return 0;
}

void packer_free(struct packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->compressor);
	ZSTD_freeDCtx(packer->decompressor);
	free(packer->planes);
	free(packer);
}

size_t pack_bound(size_t row_count)
{
	return ZSTD_compressBound(PREFIX_BYTES + round_up(row_count) * PLANES);
}

static int reserve(struct packer *packer, size_t rounded)
{
	size_t need = PREFIX_BYTES + rounded * PLANES;
	if (need <= packer->capacity)
		return 0;
	uint8_t *grown = realloc(packer->planes, need);
	if (!grown)
		return -ENOMEM;
	packer->planes = grown;
	packer->capacity = need;
	return 0;
}

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unzigzag(uint64_t coded)
{
	return coded >> 1 ^ (0 - (coded & 1));
}

/* Swaps the parts of `a` that lie `shift` above the mask with the parts of `b` under it. */
static inline void swap_parts(uint64_t *a, uint64_t *b, unsigned shift, uint64_t mask)
{
	uint64_t t = (*a >> shift ^ *b) & mask;
	*b ^= t;
	*a ^= t << shift;
}

/* Eight words as an 8 by 8 matrix of bytes, transposed. Its own inverse. */
static inline void transpose(uint64_t w[GROUP])
{
	for (int i = 0; i < 4; i++)
		swap_parts(&w[i], &w[i + 4], 32, 0x00000000ffffffffu);
	for (int i = 0; i < 8; i += 4) {
		swap_parts(&w[i], &w[i + 2], 16, 0x0000ffff0000ffffu);
		swap_parts(&w[i + 1], &w[i + 3], 16, 0x0000ffff0000ffffu);
	}
	for (int i = 0; i < 8; i += 2)
		swap_parts(&w[i], &w[i + 1], 8, 0x00ff00ff00ff00ffu);
}

static bool has_cpu(const struct trace_record *rows, size_t row_count)
{
	for (size_t i = 0; i < row_count; i++)
		if (rows[i].cpu_ns)
			return true;
	return false;
}

/* The words of one row as they are packed. */
static void predict(const struct trace_record *row, const struct trace_record *before,
	bool with_cpu, uint64_t words[WORDS])
{
	uint64_t elapsed_ns = row->time_ns - before->time_ns;
	memcpy(words, row, TRACE_RECORD_BYTES);
	words[0] = zigzag(elapsed_ns);
	if (with_cpu)
		words[1] = zigzag(row->cpu_ns - before->cpu_ns - elapsed_ns);
}

static void to_planes(const struct trace_record *rows, size_t row_count, uint64_t first_ns,
	bool with_cpu, uint8_t *planes, size_t rounded)
{
	const struct trace_record first = { .time_ns = first_ns };
	const struct trace_record *before = &first;
	for (size_t start = 0; start < rounded; start += GROUP) {
		uint64_t words[GROUP][WORDS] = { 0 };
		for (size_t i = 0; i < GROUP && start + i < row_count; i++) {
			predict(&rows[start + i], before, with_cpu, words[i]);
			before = &rows[start + i];
		}
		for (size_t word = 0; word < WORDS; word++) {
			uint64_t square[GROUP];
			for (size_t i = 0; i < GROUP; i++)
				square[i] = words[i][word];
			transpose(square);
			for (size_t byte = 0; byte < 8; byte++)
				memcpy(planes + (word * 8 + byte) * rounded + start, &square[byte],
					8);
		}
	}
}

/* Moves the planes that differ together, behind the prefix that tells which; their end. */
static size_t leave_out_constant(uint8_t *packed, size_t rounded, bool with_cpu)
{
	uint8_t *planes = packed + PREFIX_BYTES;
	uint64_t stored = with_cpu ? 0 : 1ull << NO_CPU_BIT;
	size_t end = PREFIX_BYTES;
	for (size_t i = 0; i < PLANES; i++) {
		const uint8_t *plane = planes + i * rounded;
		packed[8 + i] = plane[0];
		if (memcmp(plane, plane + 1, rounded - 1) == 0)
			continue;
		stored |= 1ull << i;
		memmove(packed + end, plane, rounded);
		end += rounded;
	}
	memcpy(packed, &stored, sizeof stored);
	return end;
}

int pack_rows(struct packer *packer, const struct trace_record *rows, size_t row_count,
	uint64_t first_ns, void *packed, struct err *err)
{
	size_t rounded = round_up(row_count);
	if (row_count == 0 || row_count > ROWS_MAX)
		return err_set(err, -EINVAL, "a chunk of %zu records", row_count);
	if (reserve(packer, rounded) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	bool with_cpu = has_cpu(rows, row_count);
	to_planes(rows, row_count, first_ns, with_cpu, packer->planes + PREFIX_BYTES, rounded);
	size_t bytes = leave_out_constant(packer->planes, rounded, with_cpu);
	size_t code = ZSTD_CCtx_setParameter(packer->compressor, ZSTD_c_compressionLevel, LEVEL);
	if (!ZSTD_isError(code))
		code = ZSTD_CCtx_setParameter(packer->compressor, ZSTD_c_checksumFlag, 1);
	if (!ZSTD_isError(code))
		code = ZSTD_compress2(
			packer->compressor, packed, pack_bound(row_count), packer->planes, bytes);
	if (ZSTD_isError(code))
		return err_set(err, -EIO, "cannot compress: %s", ZSTD_getErrorName(code));
	return (int)code;
}

/* One word of all rows; `at` points to its stored planes and is moved behind them. */
static void word_from_planes(const uint8_t *prefix, unsigned stored, const uint8_t **at,
	uint64_t *ret, size_t row_count, size_t rounded)
{
	uint64_t constant;
	memcpy(&constant, prefix, sizeof constant);
	if (!stored) {
		for (size_t row = 0; row < row_count; row++)
			ret[row * WORDS] = constant;
		return;
	}
	const uint8_t *planes[8];
	for (size_t byte = 0; byte < 8; byte++) {
		planes[byte] = stored >> byte & 1 ? *at : NULL;
		*at += planes[byte] ? rounded : 0;
	}
	for (size_t start = 0; start < row_count; start += GROUP) {
		uint64_t square[GROUP];
		for (size_t byte = 0; byte < 8; byte++) {
			if (planes[byte])
				memcpy(&square[byte], planes[byte] + start, 8);
			else
				memset(&square[byte], prefix[byte], 8);
		}
		transpose(square);
		size_t count = row_count - start < GROUP ? row_count - start : GROUP;
		for (size_t i = 0; i < count; i++)
			ret[(start + i) * WORDS] = square[i];
	}
}

static void undo_prediction(
	struct trace_record *rows, size_t row_count, uint64_t first_ns, bool with_cpu)
{
	uint64_t time_ns = first_ns, cpu_ns = 0;
	for (size_t i = 0; i < row_count; i++) {
		uint64_t elapsed_ns = unzigzag(rows[i].time_ns);
		time_ns += elapsed_ns;
		rows[i].time_ns = time_ns;
		if (!with_cpu)
			continue;
		cpu_ns += unzigzag(rows[i].cpu_ns) + elapsed_ns;
		rows[i].cpu_ns = cpu_ns;
	}
}

int unpack_rows(struct packer *packer, const void *packed, size_t bytes, uint64_t first_ns,
	struct trace_record *rows, size_t row_count)
{
	size_t rounded = round_up(row_count);
	if (row_count == 0 || row_count > ROWS_MAX)
		return -EBADMSG;
	if (reserve(packer, rounded) < 0)
		return -ENOMEM;
	size_t length = ZSTD_decompressDCtx(packer->decompressor, packer->planes,
		PREFIX_BYTES + rounded * PLANES, packed, bytes);
	if (ZSTD_isError(length) || length < PREFIX_BYTES)
		return -EBADMSG;
	uint64_t stored;
	memcpy(&stored, packer->planes, sizeof stored);
	bool with_cpu = !(stored >> NO_CPU_BIT & 1);
	stored &= ~(1ull << NO_CPU_BIT);
	if (stored >> PLANES ||
		length != PREFIX_BYTES + (size_t)__builtin_popcountll(stored) * rounded)
		return -EBADMSG;
	const uint8_t *at = packer->planes + PREFIX_BYTES;
	for (size_t word = 0; word < WORDS; word++)
		word_from_planes(packer->planes + 8 + word * 8,
			(unsigned)(stored >> 8 * word) & 0xff, &at, (uint64_t *)(void *)rows + word,
			row_count, rounded);
	undo_prediction(rows, row_count, first_ns, with_cpu);
	return 0;
}
