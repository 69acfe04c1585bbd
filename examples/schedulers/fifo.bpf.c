/*
 * fifo: one queue, first come, first served, in slices. A scheduler for the kernel's sched_ext.
 *
 *   a task becomes ready       to the end of the queue, with a whole slice
 *   a processor is free        the first of the queue runs
 *   its slice is used up       at the next tick; to the end of the queue
 *
 * Nice levels mean nothing to it, and whoever wakes up preempts nobody: with N ready tasks a task that wakes up waits for at
 * most N slices, each of them up to a tick longer.
 *
 *   schedlab guest build examples/schedulers/fifo.bpf.c --kernel 6.17
 *
 * vmlinux.h has the types of that kernel; `build` makes it. What is here in capitals or begins with scx_ is the kernel's own.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* The kernel wants a license that lets it load the program. */
char LICENSE[] SEC("license") = "GPL";

#define MS 1000000ULL
/* How long a task may run before the next one's turn, ns. */
#define SLICE_NS (20 * MS)

/*
 * A task is ready, newly or still: it joins the queue that the kernel has for all processors. The kernel itself takes the first
 * of it whenever a processor has nothing to do.
 */
SEC("struct_ops/fifo_enqueue")
int BPF_PROG(fifo_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SLICE_NS, enq_flags);
	return 0;
}

/* The scheduler: what it does not define, the kernel does as it always would. */
SEC(".struct_ops.link")
struct sched_ext_ops fifo = {
	.enqueue = (void *)fifo_enqueue,
	.name = "fifo",
};
