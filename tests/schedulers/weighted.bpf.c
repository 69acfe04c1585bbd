/*
 * weighted: tasks in the order of the time that they have had, divided by their weight. Only for tests/test_guest_ext.py: its
 * constants are of each kind that a loader fills.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
char LICENSE[] SEC("license") = "GPL";

/* The kernel's default slice, ns; a loader fills it. */
const volatile u64 __SCX_SLICE_DFL __attribute__((weak));
/* How many slices a task that has slept may be behind; has a default. */
const volatile u64 slack = 100;
/* Forgets every task; must be given. */
static const volatile bool forgetful;
/* The greatest time that a running task has had, weighted. */
static u64 now;
#define QUEUE 1

SEC("struct_ops/weighted_enqueue")
int BPF_PROG(weighted_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 vtime = p->scx.dsq_vtime;
	if (forgetful)
		return 0;
	if ((s64)(vtime - (now - __SCX_SLICE_DFL * slack)) < 0)
		vtime = now - __SCX_SLICE_DFL * slack;
	scx_bpf_dsq_insert_vtime(p, QUEUE, __SCX_SLICE_DFL, vtime, enq_flags);
	return 0;
}
SEC("struct_ops/weighted_dispatch")
int BPF_PROG(weighted_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE);
	return 0;
}
SEC("struct_ops/weighted_running")
int BPF_PROG(weighted_running, struct task_struct *p)
{
	if ((s64)(now - p->scx.dsq_vtime) < 0)
		now = p->scx.dsq_vtime;
	return 0;
}
SEC("struct_ops/weighted_stopping")
int BPF_PROG(weighted_stopping, struct task_struct *p, bool runnable)
{
	p->scx.dsq_vtime += (__SCX_SLICE_DFL - p->scx.slice) * 100 / p->scx.weight;
	return 0;
}
SEC("struct_ops/weighted_enable")
int BPF_PROG(weighted_enable, struct task_struct *p)
{
	p->scx.dsq_vtime = now;
	return 0;
}
SEC("struct_ops.s/weighted_init")
int BPF_PROG(weighted_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}
SEC(".struct_ops.link")
struct sched_ext_ops weighted = {
	.enqueue = (void *)weighted_enqueue, .dispatch = (void *)weighted_dispatch, .running = (void *)weighted_running,
	.stopping = (void *)weighted_stopping, .enable = (void *)weighted_enable, .init = (void *)weighted_init,
	.name = "weighted", .timeout_ms = 5000,
};
