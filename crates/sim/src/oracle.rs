//! The oracle, for policies that ask to know what no kernel can: how long a task will run before it next waits or ends.
//! It reads ahead in the task's program with a copy of the task's random numbers, so that asking changes nothing.

use crate::kernel::Kernel;
use schedlab_model::{Nanos, event::Observer, task::TaskId};
use schedlab_policies::schedulers::Scheduler;
use schedlab_workloads::{Instruction, draws::draw};

/// Instructions looked at before the answer is "at least so long": a program may compute endlessly.
const FARTHEST: usize = 10_000;

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// Notes what is left of a task's run to its next wait. What a system call adds in the kernel is not counted.
    pub fn foresee(&mut self, task: TaskId) {
        if self.view.bursts.len() <= task as usize {
            self.view.bursts.resize(task as usize + 1, 0);
        }
        self.view.bursts[task as usize] = self.foreseen(task);
    }

    fn foreseen(&self, task: TaskId) -> Nanos {
        let process = &self.processes[task as usize];
        let program = &self.programs.programs[process.program as usize];
        let (mut rng, mut loops) = (process.rng.clone(), process.life.loops);
        let (mut at, mut total) = (process.next_instruction as usize, process.left);
        for _ in 0..FARTHEST {
            at += 1;
            match program[at - 1] {
                Instruction::Compute { span, .. } => total = total.saturating_add(draw(span, &mut rng)),
                Instruction::Call(span) => total = total.saturating_add(draw(span, &mut rng)),
                Instruction::Busy(length) => {
                    // What is left of a time that has begun, besides the burst in hand.
                    let left = match process.life.busy_until {
                        Some(until) if at - 1 == process.next_instruction as usize => until.saturating_sub(self.now),
                        _ => length,
                    };
                    total = total.max(process.left).saturating_add(left);
                }
                Instruction::Enter { depth } => loops[depth as usize] = 0,
                Instruction::Again { start, times: u32::MAX, .. } => at = start as usize,
                Instruction::Again { depth, start, times } => {
                    loops[depth as usize] += 1;
                    if loops[depth as usize] < times {
                        at = start as usize;
                    }
                }
                Instruction::Replay => {
                    return total.saturating_add(self.replayed.as_ref().map_or(0, |replayed| replayed.burst(task)));
                }
                Instruction::Sleep { .. } | Instruction::Period(_) | Instruction::Receive(_) => return total,
                Instruction::Timer { .. } => return total,
                Instruction::Wait | Instruction::Pause | Instruction::Lock(_) | Instruction::Exit => return total,
                Instruction::Serve(_) | Instruction::ReadLock(_) | Instruction::Acquire(_) => return total,
                Instruction::Barrier(_) | Instruction::ConditionWait { .. } => return total,
                _ => {}
            }
        }
        Nanos::MAX
    }
}
