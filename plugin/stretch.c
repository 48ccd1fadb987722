/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stretch.h"

#include "branches.h"
#include "fetch.h"
#include "pace.h"
#include "record.h"
#include "reuse.h"

void stretch_leave(struct vcpu *vcpu)
{
	vcpu_settle(vcpu);
	record_leave(vcpu);
	reuse_leave(vcpu);
	fetch_leave(vcpu);
	vcpu->previous = &blocks_none;
	vcpu->sum = NULL;
}

void stretch_plan(struct vcpu *vcpu)
{
	uint64_t next = STRETCH_ATTEND_EVERY, pace = pace_look(vcpu);
	uint64_t micro = record_look(vcpu), window = branches_look(vcpu);
	if (pace < next)
		next = pace;
	if (micro < next)
		next = micro;
	if (window < next)
		next = window;
	vcpu->next_instructions = vcpu->slot->instructions + next;
}

void stretch_enter(struct vcpu *vcpu, uint64_t stretch)
{
	stretch_leave(vcpu);
	vcpu->stretch = stretch;
	vcpu->entered++;
	vcpu->mode &= ~(uint32_t)VCPU_OFF;
	if (stretch != PROFILE_NOT_COUNTED)
		vcpu->sum = thread_sum(vcpu->thread, stretch);
	if (!vcpu->sum) {
		vcpu->mode |= VCPU_OFF;
		return;
	}
	vcpu->thread->last_sum = vcpu->sum;
	vcpu->sum->counts.stretches++;
	pace_resume(vcpu);
	record_enter(vcpu);
	reuse_enter(vcpu);
	fetch_enter(vcpu);
	stretch_plan(vcpu);
}
