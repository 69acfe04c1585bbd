//! The runs: every policy in a cache of every size, over a trace or samples of it, on all processors that rayon has.

use crate::{
    choice::Choice,
    distances,
    future::{as_told, next_uses},
    sample::{Sample, Sampling},
    sizes::Size,
    store::Store,
};
use rayon::prelude::*;
use schedlab_model::info::Params;
use schedlab_policies::caches::{Entry, Key, Visitor, visit};
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
    /// For policies that draw lots.
    pub seed: u64,
    /// Whether a stack policy's curve comes from one pass. The results are the same; a bench turns it off.
    pub one_pass: bool,
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
            match kind.stack && plan.one_pass {
                true => jobs.push(Job { part, policy, sizes: all }),
                false => jobs.extend(all.map(|size| Job { part, policy, sizes: size..size + 1 })),
            }
        }
    }
    let mut rows: Vec<Row> = jobs.par_iter().with_max_len(1).flat_map_iter(|job| job.run(plan)).collect();
    rows.sort_unstable_by_key(|row| (row.policy, row.size, row.group));
    Ok(rows)
}

fn parts<'a>(keys: &'a [Key], objects: u32, plan: &Plan, clairvoyant: bool) -> Result<Vec<Part<'a>>, String> {
    let part = |group, keys: Cow<'a, [Key]>, objects, slots, out_of| {
        let next_uses = clairvoyant.then(|| next_uses(&keys, objects));
        Part { group, keys, objects, next_uses, slots, out_of }
    };
    let requests = keys.len() as f64;
    let slots = plan.sizes.iter().map(|size| size.slots);
    let Some(sampling) = plan.sampling else {
        return Ok(vec![part(None, Cow::Borrowed(keys), objects, slots.collect(), requests)]);
    };
    let slots: Vec<u32> = slots.map(|slots| sampling.scaled(slots)).collect::<Result<_, _>>()?;
    let samples = sampling.take(keys, objects);
    if samples.iter().any(|sample| sample.keys.is_empty()) {
        let rate = sampling.rate;
        return Err(format!("a sample of {rate} of {objects} different things is empty: take a larger one, or none"));
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
        if E::STACK && plan.one_pass {
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
            store.request(key, as_told(next));
        }),
        None => keys.iter().for_each(|&key| {
            store.request(key, u64::MAX);
        }),
    }
    store.misses()
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
