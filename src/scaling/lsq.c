/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scaling/lsq.h"

#include "base/cleanup.h"

#include <errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Below this share of the largest, a diagonal of R or a singular value is rounding. */
static const double RANK_TOLERANCE = 1e-14;

static bool all_finite(const double *x, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

static bool has_full_rank(const double *qr, size_t columns)
{
	double largest = 0;
	for (size_t j = 0; j < columns; j++)
		largest = fmax(largest, fabs(qr[j * columns + j]));
	for (size_t j = 0; j < columns; j++)
		if (!(fabs(qr[j * columns + j]) > RANK_TOLERANCE * largest))
			return false;
	return true;
}

int lsq_solve(double *a, double *y, size_t rows, size_t columns, double *x)
{
	if (rows < columns || !all_finite(a, rows * columns))
		return -EDOM;
	double tau[LSQ_COLUMNS_MAX];
	gsl_matrix_view qr = gsl_matrix_view_array(a, rows, columns);
	gsl_vector_view t = gsl_vector_view_array(tau, columns);
	gsl_vector_view b = gsl_vector_view_array(y, rows);
	gsl_linalg_QR_decomp(&qr.matrix, &t.vector);
	if (!has_full_rank(a, columns))
		return -EDOM;

	/* gsl_linalg_QR_lssolve() without its copies: y = Q' y, R x = head, residual = Q (0, tail) */
	gsl_linalg_QR_QTvec(&qr.matrix, &t.vector, &b.vector);
	for (size_t j = columns; j-- > 0;) {
		double sum = y[j];
		for (size_t k = j + 1; k < columns; k++)
			sum -= a[j * columns + k] * x[k];
		x[j] = sum / a[j * columns + j];
		y[j] = 0;
	}
	gsl_linalg_QR_Qvec(&qr.matrix, &t.vector, &b.vector);
	return all_finite(x, columns) ? 0 : -EDOM;
}

/* A = U S V', U in place of A; V row-major. */
static int decompose(double *a, size_t rows, size_t columns, double *v, double *s)
{
	if (rows < columns || !all_finite(a, rows * columns))
		return -EDOM;
	double work[LSQ_COLUMNS_MAX];
	gsl_matrix_view u = gsl_matrix_view_array(a, rows, columns);
	gsl_matrix_view vm = gsl_matrix_view_array(v, columns, columns);
	gsl_vector_view sv = gsl_vector_view_array(s, columns);
	gsl_vector_view w = gsl_vector_view_array(work, columns);
	if (gsl_linalg_SV_decomp(&u.matrix, &vm.matrix, &sv.vector, &w.vector) != 0)
		return -EDOM;
	return all_finite(s, columns) ? 0 : -EDOM;
}

int lsq_solve_shortest(double *a, const double *y, size_t rows, size_t columns, double *x)
{
	double v[LSQ_COLUMNS_MAX * LSQ_COLUMNS_MAX], s[LSQ_COLUMNS_MAX];
	int code = decompose(a, rows, columns, v, s);
	if (code < 0)
		return code;
	memset(x, 0, columns * sizeof *x);
	for (size_t k = 0; k < columns; k++) {
		if (!(s[k] > RANK_TOLERANCE * s[0]))
			continue;
		double projection = 0;
		for (size_t i = 0; i < rows; i++)
			projection += a[i * columns + k] * y[i];
		for (size_t j = 0; j < columns; j++)
			x[j] += v[j * columns + k] * projection / s[k];
	}
	return all_finite(x, columns) ? 0 : -EDOM;
}

int lsq_null_vector(double *a, size_t rows, size_t columns, double *x)
{
	double v[LSQ_COLUMNS_MAX * LSQ_COLUMNS_MAX], s[LSQ_COLUMNS_MAX];
	int code = decompose(a, rows, columns, v, s);
	if (code < 0)
		return code;
	for (size_t j = 0; j < columns; j++)
		x[j] = v[j * columns + columns - 1];
	return 0;
}

/* Solves with the columns of `mask` only; the squared residual, or infinity if that is no answer. */
static double solve_subset(const double *a, const double *y, size_t rows, size_t columns,
	unsigned mask, double *work, double *x)
{
	double *sub = work, *residual = work + rows * columns, part[LSQ_COLUMNS_MAX];
	size_t used = 0;
	for (size_t j = 0; j < columns; j++) {
		if (!(mask >> j & 1))
			continue;
		used++;
	}
	size_t at = 0;
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++)
			if (mask >> j & 1)
				sub[at++] = a[i * columns + j];
	memcpy(residual, y, rows * sizeof *y);
	if (used > 0 && lsq_solve(sub, residual, rows, used, part) < 0)
		return INFINITY;

	size_t next = 0;
	for (size_t j = 0; j < columns; j++) {
		x[j] = mask >> j & 1 ? part[next++] : 0;
		if (x[j] < 0)
			return INFINITY;
	}
	double square = 0;
	for (size_t i = 0; i < rows; i++)
		square += residual[i] * residual[i];
	return square;
}

int lsq_solve_nonnegative(const double *a, const double *y, size_t rows, size_t columns, double *x)
{
	AUTO_FREE double *work = malloc((rows * columns + rows) * sizeof *work);
	if (!work)
		return -ENOMEM;
	double best = INFINITY;
	for (unsigned mask = 0; mask < 1u << columns; mask++) {
		double candidate[LSQ_COLUMNS_MAX];
		double square = solve_subset(a, y, rows, columns, mask, work, candidate);
		if (square < best) {
			best = square;
			memcpy(x, candidate, columns * sizeof *x);
		}
	}
	return 0;
}
