/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/die.h"

#include <dwarf.h>
#include <stddef.h>

bool die_type(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute type;
	return dwarf_attr_integrate(die, DW_AT_type, &type) && dwarf_formref_die(&type, ret);
}

bool die_operation(Dwarf_Die *die, unsigned attribute, Dwarf_Addr code, Dwarf_Op *ret)
{
	Dwarf_Attribute location;
	Dwarf_Op *ops = NULL;
	size_t count = 0;
	if (!dwarf_attr_integrate(die, attribute, &location) ||
		dwarf_getlocation_addr(&location, code, &ops, &count, 1) < 1 || count != 1)
		return false;
	*ret = ops[0];
	return true;
}

bool die_frame_base(Dwarf_Die *function, Dwarf_Addr code, int *ret)
{
	Dwarf_Op base;
	if (!die_operation(function, DW_AT_frame_base, code, &base))
		return false;
	if (base.atom == DW_OP_call_frame_cfa)
		*ret = FRAME_BASE_CFA;
	else if (base.atom >= DW_OP_reg0 && base.atom <= DW_OP_reg31)
		*ret = base.atom - DW_OP_reg0;
	else
		return false;
	return true;
}
