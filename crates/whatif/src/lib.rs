//! A recording of a kernel as a workload that can be run again under other settings.
