/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shell completion, printed from the command table. */
#ifndef CMD_COMPLETION_H
#define CMD_COMPLETION_H

/* shell: "bash", "zsh" or "fish". Returns an exit status. */
int completion_print(const char *shell);

#endif
