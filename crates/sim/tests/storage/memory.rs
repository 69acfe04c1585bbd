//! Memory: faults, paging, and what is shared.

use crate::{machine, run};
use schedlab_model::event::Kind;

fn memory(pages: u32) -> String {
    // Twenty pages are the kernel's reserve.
    machine(&format!(
        r#"files = {{ block = "4KiB", cache_blocks = 1000 }}, memory = {{ size = "{}KiB", swap = "4MiB" }}, "#,
        4 * (pages + 20)
    ))
}

/// A task that writes each of its pages in turn, `times` times.
fn user(name: &str, pages: u32, times: u32) -> String {
    format!(
        "workload.{name} = {{ steps = [{{ touch = {{ size = \"{}KiB\", times = {times}, write = true, compute = \"100us\" }} }}] }}\n",
        4 * pages
    )
}

#[test]
fn a_task_that_fits_faults_once_a_page_and_never_waits() {
    let run = run(&format!("{}{}", memory(100), user("a", 60, 5)), 1);
    assert_eq!(run.get("minor_faults"), 60.0);
    assert_eq!((run.get("major_faults"), run.get("swap_out")), (0.0, 0.0));
    assert!((run.get("elapsed") - 60.0 * 5.0 * 100e-6).abs() < 1e-9);
}

#[test]
fn a_loop_over_more_than_memory_pages_at_every_touch() {
    for reclaim in ["linux_1_0", "two_list"] {
        let text = format!("{}reclaim = {{ name = \"{reclaim}\" }}\n{}", memory(100), user("a", 120, 5));
        let run = run(&text, 1);
        assert!(run.get("swap_in") > 200.0, "{reclaim}: {} in", run.get("swap_in"));
        assert!(run.get("swap_out") >= run.get("swap_in"), "{reclaim}");
        assert_eq!(run.get("tasks.a.completed"), 1.0);
        assert_eq!(run.get("tasks.a.major_faults"), run.get("swap_in"), "{reclaim}: a page in is a fault waited for");
    }
}

#[test]
fn several_tasks_share_a_program_file() {
    let touch = r#"{ steps = [{ touch = { image = "cc", size = "200KiB", compute = "1ms" } }] }"#;
    let text = format!("{}workload.a = {touch}\nworkload.b = {touch}\n", memory(200));
    let run = run(&text, 1);
    assert_eq!(run.get("page_in"), 200.0, "read once");
    assert_eq!(run.get("minor_faults") + run.get("major_faults"), 100.0, "each has it in its own table");
}

#[test]
fn the_end_of_a_task_gives_its_memory_back() {
    let text =
        format!("{}{}{}", memory(100), user("a", 80, 1), user("b", 80, 1).replace("steps", "start = \"1s\", steps"));
    assert_eq!(run(&text, 1).get("swap_out"), 0.0);
}

#[test]
fn programs_that_outgrow_memory_and_swap_area_are_cut_off() {
    let text = format!("{}reclaim = {{ name = \"linux_1_0\" }}\n{}", memory(100), user("a", 2000, 1));
    let run = run(&text, 1);
    assert!(run.of(Kind::Exited).any(|event| event.flag == 1));
}

#[test]
fn files_take_memory_that_programs_leave_and_give_it_back() {
    // Files are worth more to two_list, but programs not nothing: it takes a few of their pages.
    for (reclaim, most) in [("linux_1_0", 0.0), ("two_list", 6.0)] {
        let reader = r#"workload.r = { steps = [{ open = { files = 1, size = "600KiB" } },
            { repeat = { times = 150, steps = [{ read = "4KiB" }] } }, "close"] }"#;
        let late = user("a", 60, 3).replace("steps", "start = \"20s\", steps");
        let text = format!("{}reclaim = {{ name = \"{reclaim}\" }}\n{reader}\n{late}", memory(100));
        let run = run(&text, 1);
        let faults = run.get("tasks.a.major_faults");
        assert!(faults <= most, "{reclaim}: pages of the program were reclaimed, not the cache's: {faults}");
    }
}

#[test]
fn a_cache_whose_blocks_are_all_active_gives_them_to_programs_that_have_no_swap_area_to_go_to() {
    // Every block has been used twice, so none is inactive when programs want the memory; at swappiness 0 they swap nothing.
    let reader = r#"workload.r = { passes = 3, steps = [{ open = { files = 1, size = "200KiB" } },
        { repeat = { times = 50, steps = [{ read = "4KiB" }] } }, "close"] }"#;
    let late = user("a", 70, 2).replace("steps", "start = \"20s\", steps");
    for swappiness in [0, 60] {
        let policies = format!(
            "reclaim = {{ name = \"two_list\", swappiness = {swappiness} }}\ncache = {{ name = \"two_list\" }}"
        );
        let run = run(&format!("{}{policies}\n{reader}\n{late}", memory(100)), 1);
        assert!(run.of(Kind::Exited).all(|event| event.flag == 0), "{swappiness}: a task was cut off");
        assert!(swappiness > 0 || run.get("swap_out") == 0.0, "{swappiness}: {}", run.get("swap_out"));
    }
}

#[test]
fn the_search_for_a_page_is_the_system_time_of_its_waiter() {
    // Every search ends in a page-out that is waited for.
    let text = |scan: &str| {
        let more = memory(100).replace("memory = {", &format!("calls.scan = \"{scan}\", memory = {{"));
        format!("{more}reclaim = {{ name = \"linux_1_0\" }}\n{}", user("a", 120, 3))
    };
    assert_eq!(run(&text("0us"), 1).get("tasks.a.true_sys"), 0.0);
    let searching = run(&text("20us"), 1);
    let least = searching.get("swap_out") * 20e-6;
    assert!(searching.get("tasks.a.true_sys") >= least, "{} s", searching.get("tasks.a.true_sys"));
}

#[test]
fn tasks_that_have_ended_do_not_hide_the_living_from_reclaim() {
    // Many tasks came and went; then one outgrows memory. A search that counted the dead as asked would give up.
    let gone = r#"workload.g = { count = 700, gap = "1ms", steps = [{ touch = { size = "4KiB", write = true } }] }"#;
    let late = user("w", 120, 2).replace("steps", "start = \"2s\", steps");
    let run = run(&format!("{}reclaim = {{ name = \"linux_1_0\" }}\n{gone}\n{late}", memory(100)), 1);
    assert!(run.get("swap_out") > 100.0);
    assert!(run.of(Kind::Exited).all(|event| event.flag == 0), "no task was cut off");
}

#[test]
fn a_cache_that_is_not_full_gives_up_pages_under_every_eviction_policy() {
    for cache in
        ["fifo", "lru", "clock", "random", "two_list", "mru", "lfu", "two_q", "arc", "lirs", "s3_fifo", "sieve"]
    {
        let reader = r#"workload.r = { steps = [{ repeat = { times = 3, steps = [{ open = { files = 1, size = "300KiB", name = "f" } },
            { repeat = { times = 75, steps = [{ read = "4KiB" }] } }, "close"] } }] }"#;
        let late = user("a", 60, 3).replace("steps", "start = \"5s\", steps");
        let text = format!("{}cache = {{ name = \"{cache}\" }}\n{reader}\n{late}", memory(100));
        let run = run(&text, 1);
        assert_eq!(run.get("tasks.a.completed") + run.get("tasks.r.completed"), 2.0, "{cache}");
        assert!(run.get("memory_cached") < 100.0 * 4096.0, "{cache}");
    }
}

#[test]
fn a_file_read_under_pressure_takes_the_place_of_old_blocks_and_stays() {
    // Programs leave one page free; the cache holds a file that was read before they came.
    let holder = |name: &str, kib: u32, start: &str| {
        format!(
            "workload.{name} = {{ passes = \"forever\", start = \"{start}\", steps = [{{ touch = {{ size = \"{kib}KiB\", write = true }} }}, \
             {{ sleep = \"1000s\" }}] }}\n"
        )
    };
    let read = |name: &str, kib: u32| {
        format!(r#"{{ open = {{ files = 1, size = "{kib}KiB", name = "{name}" }} }}, {{ read = "{kib}KiB" }}, "close""#)
    };
    let again = format!("{{ repeat = {{ times = 4, steps = [{}] }} }}", read("g", 8));
    let reader =
        format!("workload.r = {{ start = \"1s\", steps = [{}, {{ sleep = \"5s\" }}, {again}] }}\n", read("f", 28));
    let others = holder("h", 268, "0s") + &holder("i", 80, "3s");
    let text = format!("{}reclaim = {{ name = \"linux_1_0\" }}\n{others}{reader}", memory(100));
    let inodes = 2.0 * 4.0;
    assert_eq!(run(&text, 1).get("page_in"), 28.0 + 8.0 + inodes);
}
