//! What happened in a recording of a kernel, task by task and processor by processor.
