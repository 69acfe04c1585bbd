//! The formats of libCacheSim whose records know the next request for their object; in `oracle_general` its public traces
//! are kept. Fields in order, little endian, without gaps:
//!
//! | format | bytes | fields |
//! |---|---:|---|
//! | `oracle_general` | 24 | time in s (u32), object (u64), size (u32), next request (i64) |
//! | `oracle_general_op_ns` | 27 | time, object, size, operation (u8), name space (u16), next request |
//! | `oracle_sim_twr_ns` | 30 | time, object, size, time to live (u32), name space, next request |
//! | `oracle_sys_twr_ns` | 34 | time, object, size of the key (u16) and of the value (u32), operation (u16), name space, time to live, next request |
//!
//! The next request is the number of the request that asks for the same object next; -1 or the largest number: none does.
//!
//! ## Departures
//!
//! The next request serves to recognise the format and is not used: in a part of a trace it points out of the file; we look
//! ahead ourselves. libCacheSim leaves out records of size 0 by default; here they are left out where bytes are counted.

use super::{
    Format,
    records::{Layout, Operation, Records, Size, Time},
};

/// A format of such records. The closures capture nothing, since a table of formats is a constant.
macro_rules! format {
    ($name:literal, $summary:literal, $layout:ident) => {
        Format {
            name: $name,
            summary: $summary,
            fits: |beginning| $layout.fits(beginning, 0),
            open: |input, _, _| Ok(Box::new(Records::new($layout, input, 0))),
        }
    };
}

const PLAIN: Layout = Layout {
    record: 24,
    time: Time::Seconds(0),
    key: 4,
    size: Size::Four(12),
    operation: None,
    next: Some(16),
    mark: None,
};
const OP_NS: Layout = Layout { record: 27, operation: Some(Operation::Cache(16)), next: Some(19), ..PLAIN };
const SIM: Layout = Layout { record: 30, next: Some(22), ..PLAIN };
const SYS: Layout =
    Layout { record: 34, size: Size::KeyAndValue(12), operation: Some(Operation::Cache(18)), next: Some(26), ..PLAIN };

pub(super) const GENERAL: Format = format!("oracle_general", "libCacheSim's oracleGeneral: records of 24 bytes", PLAIN);
pub(super) const GENERAL_OP_NS: Format =
    format!("oracle_general_op_ns", "libCacheSim's oracleGeneralOpNS: records of 27 bytes", OP_NS);
pub(super) const SIM_TWR_NS: Format =
    format!("oracle_sim_twr_ns", "libCacheSim's oracleSimTwrNS: records of 30 bytes", SIM);
pub(super) const SYS_TWR_NS: Format =
    format!("oracle_sys_twr_ns", "libCacheSim's oracleSysTwrNS: records of 34 bytes", SYS);
