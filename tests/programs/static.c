/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statically linked: nothing can be preloaded into it. */
int main(void)
{
	return 0;
}
