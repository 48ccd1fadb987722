/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing a finished report. */
#include "report/report.h"

#include "base/cleanup.h"
#include "base/outfile.h"

#include <errno.h>
#include <string.h>

int report_write(const struct strbuf *report, FILE *file, struct err *err)
{
	if (strbuf_failed(report) < 0)
		return err_set(err, -ENOMEM, "out of memory while writing the report");
	errno = 0;
	if (fwrite(report->text, 1, report->length, file) != report->length) {
		int code = errno ? -errno : -EIO;
		return err_set(err, code, "cannot write the report: %s", strerror(-code));
	}
	return 0;
}

int report_save(const struct strbuf *report, const char *path, struct err *err)
{
	AUTO_RELEASE(outfile) struct outfile out = { 0 };
	int code = outfile_open(&out, path, err);
	if (code < 0)
		return code;
	code = report_write(report, out.file, err);
	return code < 0 ? err_prefix(err, code, "%s", out.path) : outfile_commit(&out, err);
}
