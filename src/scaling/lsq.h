/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small dense linear least squares over the caller's memory (GSL underneath). Matrices are
 * row-major and are destroyed by the call.
 */
#ifndef SCALING_LSQ_H
#define SCALING_LSQ_H

#include <stddef.h>

enum { LSQ_COLUMNS_MAX = 8 };

/*
 * x = argmin |A x - y| by QR: rows >= columns, full rank; y becomes the residual y - A x.
 * 0, or -EDOM if A has not full rank (x is undefined then).
 */
int lsq_solve(double *a, double *y, size_t rows, size_t columns, double *x);

/*
 * The same by SVD, for any rank: the shortest of the minimisers. y is kept. 0, -EDOM, -ENOMEM.
 */
int lsq_solve_shortest(double *a, const double *y, size_t rows, size_t columns, double *x);

/* The unit vector x with the least |A x|: rows >= columns. 0, -EDOM. */
int lsq_null_vector(double *a, size_t rows, size_t columns, double *x);

/*
 * The x >= 0 with the least |A x - y|, by trying every set of zeros: exact, for up to
 * LSQ_COLUMNS_MAX columns. A and y are kept. 0, -ENOMEM.
 */
int lsq_solve_nonnegative(const double *a, const double *y, size_t rows, size_t columns, double *x);

#endif
