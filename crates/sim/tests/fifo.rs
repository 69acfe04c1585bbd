//! fifo: what its entry promises. On several processors, see `kernel/one_queue.rs`; as a queue, `kernel/closed_forms.rs`.

use schedlab_policies::schedulers::Fifo;

schedlab_testing::test_scheduler!(Fifo);
