//! A reader of protobuf that shares nothing with the writer, and of Perfetto's packed scheduler events.

use std::collections::BTreeMap;

/// A field's value as it stands on the wire.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

/// The fields of a message, in the order of their numbers; each may be there several times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Message(BTreeMap<u64, Vec<Value>>);

fn number(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (&first, rest) = bytes.split_first().expect("a number ends");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first < 0x80 {
            return value;
        }
    }
    unreachable!()
}

impl Message {
    pub fn of(mut bytes: &[u8]) -> Message {
        let mut message = Message::default();
        while !bytes.is_empty() {
            let tag = number(&mut bytes);
            let value = match tag & 7 {
                0 => Value::Number(number(&mut bytes)),
                2 => {
                    let length = number(&mut bytes) as usize;
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    Value::Bytes(value.to_vec())
                }
                other => panic!("wire type {other} is not used here"),
            };
            message.0.entry(tag >> 3).or_default().push(value);
        }
        message
    }

    fn values(&self, field: u64) -> impl Iterator<Item = &Value> {
        self.0.get(&field).into_iter().flatten()
    }

    pub fn messages(&self, field: u64) -> Vec<Message> {
        self.blobs(field).into_iter().map(Message::of).collect()
    }

    pub fn message(&self, field: u64) -> Option<Message> {
        self.messages(field).pop()
    }

    pub fn number(&self, field: u64) -> Option<u64> {
        self.values(field).last().map(|value| match value {
            Value::Number(number) => *number,
            Value::Bytes(_) => panic!("field {field} is no number"),
        })
    }

    pub fn text(&self, field: u64) -> Option<String> {
        self.blobs(field).last().map(|text| String::from_utf8(text.to_vec()).unwrap())
    }

    pub fn texts(&self, field: u64) -> Vec<String> {
        self.blobs(field).into_iter().map(|text| String::from_utf8(text.to_vec()).unwrap()).collect()
    }

    /// A packed list.
    pub fn numbers(&self, field: u64) -> Vec<u64> {
        let mut numbers = Vec::new();
        for mut bytes in self.blobs(field) {
            while !bytes.is_empty() {
                numbers.push(number(&mut bytes));
            }
        }
        numbers
    }

    fn blobs(&self, field: u64) -> Vec<&[u8]> {
        self.values(field)
            .map(|value| match value {
                Value::Bytes(bytes) => bytes.as_slice(),
                Value::Number(_) => panic!("field {field} is a number"),
            })
            .collect()
    }
}

/// A context switch: when, on which processor, the state of the task before, the number and name of the next.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub struct Switch {
    pub cpu: u64,
    pub time: u64,
    pub state: u64,
    pub next: u64,
    pub name: String,
    pub priority: u64,
}

/// A wakeup: on which processor and when, of which task, for which processor, and whether by the task that runs where it is.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub struct Wakeup {
    pub cpu: u64,
    pub time: u64,
    pub task: u64,
    pub name: String,
    pub target: u64,
    pub by_task: bool,
}

/// The packed events of all bundles, a processor's in order.
pub fn scheduling(packets: &[Message]) -> (Vec<Switch>, Vec<Wakeup>) {
    let (mut switches, mut wakeups) = (Vec::new(), Vec::new());
    for bundle in packets.iter().filter_map(|packet| packet.message(1)) {
        let cpu = bundle.number(1).unwrap();
        let Some(packed) = bundle.message(4) else { continue };
        let names = packed.texts(5);
        let columns = |fields: [u64; 5]| fields.map(|field| packed.numbers(field));
        let [times, states, next, priorities, named] = columns([1, 2, 3, 4, 6]);
        assert!([&states, &next, &priorities, &named].iter().all(|column| column.len() == times.len()));
        let mut time = 0;
        for row in 0..times.len() {
            time += times[row];
            let (name, priority) = (names[named[row] as usize].clone(), priorities[row]);
            switches.push(Switch { cpu, time, state: states[row], next: next[row], name, priority });
        }
        let [times, tasks, targets, named, flags] = columns([7, 8, 9, 11, 12]);
        let mut time = 0;
        for row in 0..times.len() {
            time += times[row];
            let (name, target, by_task) = (names[named[row] as usize].clone(), targets[row], flags[row] == 0);
            assert!(by_task || flags[row] == 8);
            wakeups.push(Wakeup { cpu, time, task: tasks[row], name, target, by_task });
        }
    }
    (switches, wakeups)
}
