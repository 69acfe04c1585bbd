//! `schedlab-agent serve`: a subcommand for an asker on another computer, who may be gone at any moment.

use std::{
    io::{Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

/// Of the subcommand that is asked for, unless it is stopped.
const LONG: Duration = Duration::from_secs(20);

/// The agent, having got this line; its standard input is still open.
fn serve(silence: &str, line: &str) -> (Child, ChildStdin) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab-agent"));
    command.args(["serve", "--silence", silence]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("it is piped");
    writeln!(input, "{line}").expect("it reads");
    (child, input)
}

/// A request for a watch of so long.
fn watch() -> String {
    format!(r#"{{"words": ["noise", "--for", "{}s"], "given": ""}}"#, LONG.as_secs())
}

fn status(child: &mut Child) -> Option<i32> {
    child.wait().expect("it is our child").code()
}

#[test]
fn the_answer_is_the_subcommands_and_so_is_the_status() {
    let (mut child, _input) = serve("60s", r#"{"words": ["tunables", "page_cluster"], "given": ""}"#);
    let mut said = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut said).expect("it is text");
    assert!(said.contains("page_cluster"), "{said}");
    assert_eq!(status(&mut child), Some(0));
    let (mut child, _input) = serve("60s", r#"{"words": ["tunables", "no_such"], "given": ""}"#);
    assert_eq!(status(&mut child), Some(2));
}

#[test]
fn what_is_given_is_the_subcommands_standard_input() {
    let (mut child, _input) = serve("60s", r#"{"words": ["run"], "given": "no plan"}"#);
    let mut said = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it is text");
    assert!(said.starts_with("error: the plan: "), "{said}");
    assert_eq!(status(&mut child), Some(2));
}

#[test]
fn the_end_of_its_input_stops_the_subcommand() {
    let (mut child, input) = serve("60s", &watch());
    let begun = Instant::now();
    drop(input);
    assert_eq!(status(&mut child), Some(128 + libc::SIGTERM));
    assert!(begun.elapsed() < LONG);
}

#[test]
fn silence_stops_it_and_bytes_do_not() {
    let (mut child, mut input) = serve("2s", &watch());
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        input.write_all(b"\n").expect("it lives");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(child.try_wait().expect("it is our child"), None);
    assert_eq!(status(&mut child), Some(128 + libc::SIGTERM));
    assert!(begun.elapsed() < LONG);
}

#[test]
fn a_line_that_is_no_request_is_refused() {
    let (mut child, _input) = serve("60s", "hello");
    assert_eq!(status(&mut child), Some(2));
}
