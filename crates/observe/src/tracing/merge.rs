//! The streams of several processors as one, in order of time.

use super::pages::RawEvent;
use std::{cmp::Reverse, collections::BinaryHeap};

/// Merges. At equal times the lower processor is first. Within a stream the order is kept; a time before its
/// predecessor's becomes that one's.
pub fn by_time(streams: Vec<Vec<RawEvent>>) -> Vec<RawEvent> {
    let mut all = Vec::with_capacity(streams.iter().map(Vec::len).sum());
    let mut last = 0;
    let mut at = vec![0; streams.len()];
    let first = |(i, stream): (usize, &Vec<RawEvent>)| Some(Reverse((stream.first()?.time, i)));
    let mut heads: BinaryHeap<_> = streams.iter().enumerate().filter_map(first).collect();
    while let Some(Reverse((_, stream))) = heads.pop() {
        // Most raw events come in bursts of one processor: go on with it until another one is due.
        let until = heads.peek().map_or((u64::MAX, usize::MAX), |Reverse(next)| *next);
        let rest = &streams[stream][at[stream]..];
        let burst = rest.iter().take_while(|it| (it.time, stream) <= until).count().max(1);
        for it in &rest[..burst] {
            last = it.time.max(last);
            all.push(RawEvent { time: last, ..*it });
        }
        at[stream] += burst;
        heads.extend(rest.get(burst).map(|it| Reverse((it.time, stream))));
    }
    all
}
