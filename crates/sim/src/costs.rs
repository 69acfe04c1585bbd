//! The costs of operations on a machine.

use schedlab_model::{
    Nanos,
    machine::{IdleState, Machine, Sourced},
    units::Duration,
};

/// Costs of a machine, in ns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Costs {
    pub context_switch: Nanos,
    pub migration: Nanos,
    pub trap: Nanos,
    pub interrupt: Nanos,
    pub clock_interrupt: Nanos,
    pub timer_interrupt: Nanos,
    /// The idle states of a processor, and whether a timer wakes its task later than it expires, because of them or of its interrupt.
    pub idle_states: Vec<IdleState>,
    pub delays_timers: bool,
    pub clock_task: Nanos,
    pub copy_per_kib: Nanos,
    pub read: Nanos,
    pub write: Nanos,
    pub open: Nanos,
    pub close: Nanos,
    pub fork: Nanos,
    pub start: Nanos,
    pub exit: Nanos,
    /// Of a task of the workload.
    pub last_exit: Nanos,
    pub wait: Nanos,
    pub sleep: Nanos,
    pub send: Nanos,
    pub receive: Nanos,
    pub wake: Nanos,
    pub block: Nanos,
    pub lock: Nanos,
    /// Whether locks are futexes: taken and given back without a call where no task waits.
    pub futexes: bool,
    pub manage: Nanos,
    pub fault: Nanos,
    pub print_per_kib: Nanos,
    pub disk_command: Nanos,
    pub sector_copy: Nanos,
}

/// The costs of a machine.
pub(crate) fn costs(machine: &Machine) -> Costs {
    let (costs, calls) = (&machine.costs, &machine.calls);
    let own = |cost: &Option<Sourced<Duration>>| cost.as_ref().unwrap_or(&calls.manage).get().0;
    let rotating = machine.disk.as_ref().map(|disk| disk.command.get().0);
    Costs {
        context_switch: costs.context_switch.get().0,
        migration: costs.migration.get().0,
        trap: costs.trap.get().0,
        interrupt: costs.interrupt.get().0,
        clock_interrupt: machine.clock.interrupt.get().0,
        timer_interrupt: machine.clock.timer_interrupt.as_ref().map_or(0, |cost| cost.get().0),
        idle_states: machine.idle_states.clone(),
        delays_timers: machine.clock.timer_interrupt.as_ref().is_some_and(|cost| cost.get().0 > 0)
            || !machine.idle_states.is_empty(),
        clock_task: machine.clock.task.get().0,
        copy_per_kib: costs.copy_per_kib.get().0,
        read: calls.read.get().0,
        write: calls.write.get().0,
        open: calls.open.get().0,
        close: calls.close.get().0,
        fork: calls.fork.get().0,
        start: calls.start.get().0,
        exit: calls.exit.get().0,
        last_exit: if machine.prepared { 0 } else { calls.exit.get().0 },
        wait: own(&calls.wait),
        sleep: own(&calls.sleep),
        send: own(&calls.send),
        receive: own(&calls.receive),
        wake: calls.wake.get().0,
        block: calls.block.get().0,
        lock: own(&calls.futex),
        futexes: calls.futex.is_some(),
        manage: calls.manage.get().0,
        fault: calls.fault.get().0,
        print_per_kib: machine.terminal.per_kib.get().0,
        disk_command: rotating.or(machine.solid_state.as_ref().map(|chips| chips.command.get().0)).unwrap_or(0),
        sector_copy: machine.disk.as_ref().map_or(0, |disk| disk.sector_copy.get().0),
    }
}
