"""Tables as people read them."""

from schedlab.results.tables import column_names, level_name
from schedlab.units import readable_unit

STEPS = "workload.files.steps.0.repeat.steps"


def test_paths_through_steps_are_cut_to_the_shortest_distinct_end():
    assert column_names([f"{STEPS}.0.open.files", f"{STEPS}.0.open.size", "groups.buffers.memory"]) == [
        "…open.files",
        "…open.size",
        "groups.buffers.memory",
    ]


def test_ends_that_two_paths_share_are_lengthened_until_they_differ():
    names = column_names([f"{STEPS}.0.open.files", "workload.others.steps.0.repeat.steps.1.open.files"])
    assert names == ["…steps.0.open.files", "…steps.1.open.files"]


def test_no_end_begins_with_a_number():
    assert column_names(["workload.files.steps.0.read"]) == ["…steps.0.read"]


def test_a_policy_with_parameters_is_shown_by_its_name_and_theirs():
    assert level_name('{"name":"mq_deadline","writes_starved":0}') == "mq_deadline writes_starved=0"
    assert level_name("18ms") == "18ms"


def test_no_table_uses_base_units():
    assert (readable_unit("B", 0.0), readable_unit("s", 0.0), readable_unit("B", 2048.0)) == ("B", "s", "KiB")
