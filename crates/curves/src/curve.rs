//! The runs: every policy in a cache of every size, over a trace or samples of it, on all processors that rayon has.

use crate::{
    bytes::ByteStore,
    choice::Choice,
    distances,
    future::{as_given, next_uses},
    sample::{Sample, Sampling},
    sizes::Size,
    store::Store,
    threads::each,
};
use schedlab_model::info::Params;
use schedlab_policies::caches::{ByteVisitor, Entry, InBytes, Key, Visitor, visit, visit_in_bytes};
use std::{borrow::Cow, ops::Range};

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Policies.
    pub policies: Vec<Choice>,
    /// Sizes of the cache, as [`crate::sizes::Sizes::of`] gives them.
    pub sizes: Vec<Size>,
    /// In samples; the whole trace if not given.
    pub sampling: Option<Sampling>,
    /// For randomised policies.
    pub seed: u64,
    /// Whether a stack policy's curve may come from one pass. The results are the same; a bench turns it off.
    pub one_pass: bool,
}

/// Sizes from which on one pass that finds all distances is quicker than a run for each size (56 ns a request to 9).
const SIZES_OF_ONE_PASS: usize = 6;

impl Plan {
    fn by_distances(&self) -> bool {
        self.one_pass && self.sizes.len() >= SIZES_OF_ONE_PASS
    }
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Index of the policy in the plan.
    pub policy: usize,
    /// Index of the size in the plan.
    pub size: usize,
    /// Which sample; `None` for the whole trace.
    pub group: Option<u32>,
    /// Requests of the trace or of the sample.
    pub requests: u64,
    /// Those that were not in the cache.
    pub misses: u64,
    /// Share of the whole trace's requests that miss: known for the whole, estimated from a sample.
    pub miss_ratio: f64,
    /// Where bytes count.
    pub in_bytes: Option<Missed>,
}

/// Requested bytes that were not in the cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Missed {
    /// How many.
    pub bytes: u64,
    /// Their share of all requested bytes.
    pub ratio: f64,
}

/// A trace or a sample of it, and what is to be known of it.
struct Part<'a> {
    group: Option<u32>,
    keys: Cow<'a, [Key]>,
    objects: u32,
    next_uses: Option<Vec<u32>>,
    /// Slots for each size of the plan.
    slots: Vec<u32>,
    /// What the misses are a share of.
    out_of: f64,
}

/// A policy in caches of some of the sizes.
struct Job<'a> {
    part: &'a Part<'a>,
    policy: usize,
    sizes: Range<usize>,
}

/// Runs a plan over a trace whose keys are numbers below `objects`. The rows are in order of policy, size and group, and the same
/// on any number of threads.
pub fn run(keys: &[Key], objects: u32, plan: &Plan) -> Result<Vec<Row>, String> {
    if keys.iter().any(|&key| key >= objects) {
        return Err(format!("a key is not below {objects}, the number of objects"));
    }
    let kinds: Vec<Kind> = plan.policies.iter().map(|choice| kind(choice.name)).collect();
    let clairvoyant = kinds.iter().any(|kind| kind.clairvoyant);
    let parts = parts(keys, objects, plan, clairvoyant)?;
    let mut jobs = Vec::new();
    for part in &parts {
        for (policy, kind) in kinds.iter().enumerate() {
            let all = 0..plan.sizes.len();
            match kind.stack && plan.by_distances() {
                true => jobs.push(Job { part, policy, sizes: all }),
                false => jobs.extend(all.map(|size| Job { part, policy, sizes: size..size + 1 })),
            }
        }
    }
    let mut rows = each(&jobs, |job| job.run(plan)).concat();
    rows.sort_unstable_by_key(|row| (row.policy, row.size, row.group));
    Ok(rows)
}

fn parts<'a>(keys: &'a [Key], objects: u32, plan: &Plan, clairvoyant: bool) -> Result<Vec<Part<'a>>, String> {
    let part = |group, keys: Cow<'a, [Key]>, objects, slots, out_of| {
        let next_uses = clairvoyant.then(|| next_uses(&keys, objects));
        Part { group, keys, objects, next_uses, slots, out_of }
    };
    let requests = keys.len() as f64;
    let slots = plan.sizes.iter().map(|size| u32::try_from(size.capacity).unwrap_or(u32::MAX));
    let Some(sampling) = plan.sampling else {
        return Ok(vec![part(None, Cow::Borrowed(keys), objects, slots.collect(), requests)]);
    };
    let slots: Vec<u32> = slots.map(|slots| sampling.scaled(slots)).collect::<Result<_, _>>()?;
    let samples = sampling.take(keys, objects);
    if samples.iter().any(|sample| sample.keys.is_empty()) {
        let rate = sampling.rate;
        return Err(format!("a sample of {rate} of {objects} distinct objects is empty: take a larger one, or none"));
    }
    let numbered = (0..).zip(samples);
    let expected = requests * sampling.rate;
    Ok(numbered
        .map(|(group, Sample { keys, objects })| part(Some(group), Cow::Owned(keys), objects, slots.clone(), expected))
        .collect())
}

impl Job<'_> {
    fn run(&self, plan: &Plan) -> Vec<Row> {
        let Job { part, policy, ref sizes } = *self;
        let choice = &plan.policies[policy];
        let curve = Curve { part, slots: &part.slots[sizes.clone()], params: &choice.params, plan };
        let misses = visit(choice.name, curve).expect("a choice names a policy of the table");
        let row = |(size, misses): (usize, u64)| Row {
            policy,
            size,
            group: part.group,
            requests: part.keys.len() as u64,
            misses,
            miss_ratio: misses as f64 / part.out_of,
            in_bytes: None,
        };
        sizes.clone().zip(misses).map(row).collect()
    }
}

/// The misses of one policy in caches of some sizes.
struct Curve<'a> {
    part: &'a Part<'a>,
    slots: &'a [u32],
    params: &'a Params,
    plan: &'a Plan,
}

impl Visitor for Curve<'_> {
    type Output = Vec<u64>;

    fn visit<E: Entry>(self) -> Vec<u64> {
        let Curve { part, slots, params, plan } = self;
        if E::STACK && plan.by_distances() {
            return distances::misses(&part.keys, part.objects, slots);
        }
        // A cache for more than there is never evicts; so much of it is not built.
        let stores = slots.iter().map(|&slots| slots.min(part.objects));
        let future = part.next_uses.as_deref().filter(|_| E::CLAIRVOYANT);
        stores
            .map(|slots| misses(Store::<E>::new(params, slots, part.objects, plan.seed), &part.keys, future))
            .collect()
    }
}

fn misses<E: Entry>(mut store: Store<E>, keys: &[Key], future: Option<&[u32]>) -> u64 {
    match future {
        Some(future) => keys.iter().zip(future).for_each(|(&key, &next)| {
            store.request(key, as_given(next));
        }),
        None => keys.iter().for_each(|&key| {
            store.request(key, u64::MAX);
        }),
    }
    store.misses()
}

/// Runs a plan over a trace whose requests have sizes, in caches with capacities in bytes. There are no samples and no stack
/// distances: what one object evicts depends on its size. The rows are as of [`run`].
pub fn run_in_bytes(keys: &[Key], bytes: &[u64], objects: u32, plan: &Plan) -> Result<Vec<Row>, String> {
    if keys.iter().any(|&key| key >= objects) || keys.len() != bytes.len() || bytes.contains(&0) {
        return Err(format!("a key is not below {objects}, the number of objects, or its request has no size"));
    }
    if plan.sampling.is_some() {
        return Err("samples are of objects: leave out the sample where bytes count".to_owned());
    }
    let clairvoyant = plan.policies.iter().any(|choice| kind(choice.name).clairvoyant);
    let future = clairvoyant.then(|| next_uses(keys, objects));
    let asked: u128 = bytes.iter().map(|&size| u128::from(size)).sum();
    let runs = (0..plan.policies.len()).flat_map(|policy| (0..plan.sizes.len()).map(move |size| (policy, size)));
    let run = |&(policy, size): &(usize, usize)| {
        let Choice { name, params, .. } = &plan.policies[policy];
        let capacity = plan.sizes[size].capacity;
        let one = InOne { keys, bytes, objects, future: future.as_deref(), params, capacity, seed: plan.seed };
        let (misses, missed) =
            visit_in_bytes(name, one).ok_or_else(|| format!("{name} heeds no sizes: bytes cannot be counted"))?;
        let (requests, miss_ratio) = (keys.len() as u64, misses as f64 / keys.len() as f64);
        let in_bytes = Some(Missed { bytes: missed, ratio: missed as f64 / asked as f64 });
        Ok(Row { policy, size, group: None, requests, misses, miss_ratio, in_bytes })
    };
    each(&runs.collect::<Vec<_>>(), run).into_iter().collect()
}

/// A trace in one cache with a capacity in bytes.
struct InOne<'a> {
    keys: &'a [Key],
    bytes: &'a [u64],
    objects: u32,
    future: Option<&'a [u32]>,
    params: &'a Params,
    capacity: u64,
    seed: u64,
}

impl ByteVisitor for InOne<'_> {
    /// Misses, and the bytes that they requested.
    type Output = (u64, u64);

    fn visit<E: InBytes>(self) -> (u64, u64) {
        let InOne { keys, bytes, objects, future, params, capacity, seed } = self;
        let mut store = ByteStore::<E>::new(params, capacity, objects, seed);
        let requests = keys.iter().zip(bytes);
        match future.filter(|_| E::CLAIRVOYANT) {
            Some(future) => requests.zip(future).for_each(|((&key, &size), &next)| {
                store.request(key, size, as_given(next));
            }),
            None => requests.for_each(|(&key, &size)| {
                store.request(key, size, u64::MAX);
            }),
        }
        (store.misses(), store.missed_bytes())
    }
}

#[derive(Clone, Copy)]
struct Kind {
    stack: bool,
    clairvoyant: bool,
}

fn kind(name: &str) -> Kind {
    struct Ask;
    impl Visitor for Ask {
        type Output = Kind;
        fn visit<E: Entry>(self) -> Kind {
            Kind { stack: E::STACK, clairvoyant: E::CLAIRVOYANT }
        }
    }
    visit(name, Ask).expect("a choice names a policy of the table")
}
