"""What `--trace` writes for a name in `.json`: the object form of the Trace Event Format, Google, 2016, by field.

For other names it is Perfetto's protobuf, read here by a reader of our own: both forms show the same run.
"""

import json
from itertools import pairwise

import pytest
from conftest import ROOT

#: What the format asks of each phase that we write: the fields that must be there, and those that may.
FIELDS = {
    "X": ({"name", "cat", "ph", "ts", "dur", "pid", "tid"}, {"args", "cname"}),
    "i": ({"name", "ph", "ts", "pid", "tid", "s"}, {"cat", "args"}),
    "C": ({"name", "ph", "ts", "pid", "tid", "args"}, {"cat", "id"}),
    "M": ({"name", "ph", "pid", "args"}, {"tid"}),
}
METADATA = {
    "process_name": ("name", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}
#: The names of colours that viewers keep, as far as they are of a thread's state.
COLOURS = {
    f"thread_state_{state}" for state in ("uninterruptible", "iowait", "running", "runnable", "sleeping", "unknown")
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """The desktop's first second: forks, pipes, periods, preemption, two processors."""
    from schedlab import Experiment

    path = tmp_path_factory.mktemp("trace") / "trace.json"
    Experiment.from_toml(ROOT / "examples" / "desktop.toml").record(path, "chrome", first=1)
    return json.loads(path.read_text())


def of(trace, phase):
    return [record for record in trace["traceEvents"] if record["ph"] == phase]


def test_the_document_is_an_object_with_the_events_and_a_unit(trace):
    assert set(trace) == {"traceEvents", "displayTimeUnit"}
    assert trace["displayTimeUnit"] in ("ms", "ns")
    assert {record["ph"] for record in trace["traceEvents"]} == set(FIELDS)


def test_every_record_has_the_fields_of_its_phase_and_no_other(trace):
    for record in trace["traceEvents"]:
        must, may = FIELDS[record["ph"]]
        assert must <= set(record) <= must | may, record


def test_every_field_has_its_type(trace):
    whole = {"pid", "tid"}
    for record in trace["traceEvents"]:
        assert all(type(record[field]) is int and record[field] > 0 for field in whole & set(record)), record
        assert all(type(record[field]) in (int, float) and record[field] >= 0 for field in {"ts", "dur"} & set(record))
        assert all(isinstance(record[field], str) and record[field] for field in {"name", "cat"} & set(record)), record
        assert isinstance(record.get("args", {}), dict)
        assert record.get("cname") in COLOURS | {None}


def test_counters_are_numbers_and_instants_have_a_scope(trace):
    assert all(type(value) in (int, float) for record in of(trace, "C") for value in record["args"].values())
    assert all(record["args"] for record in of(trace, "C"))
    assert {record["s"] for record in of(trace, "i")} <= {"g", "p", "t"}


def test_metadata_has_the_argument_of_its_kind(trace):
    for record in of(trace, "M"):
        argument, kind = METADATA[record["name"]]
        assert set(record["args"]) == {argument}
        assert type(record["args"][argument]) is kind
        assert ("tid" in record) == record["name"].startswith("thread_"), record


def test_every_track_that_is_used_has_a_name_of_its_own(trace):
    named = [(r["pid"], r["tid"]) for r in of(trace, "M") if r["name"] == "thread_name"]
    groups = [r["pid"] for r in of(trace, "M") if r["name"] == "process_name"]
    assert len(set(named)) == len(named)
    assert len(set(groups)) == len(groups)
    used = {(r["pid"], r["tid"]) for r in trace["traceEvents"] if r["ph"] != "M"}
    assert used <= set(named)
    assert {group for group, _ in used} <= set(groups)


def test_the_slices_of_a_track_do_not_overlap(trace):
    """Viewers stack a slice that begins within another; ours come one after the other. In whole ns: ts is in us."""
    tracks = {}
    for record in of(trace, "X"):
        begin = round(record["ts"] * 1000)
        tracks.setdefault((record["pid"], record["tid"]), []).append((begin, begin + round(record["dur"] * 1000)))
    assert len(tracks) > 40
    for slices in tracks.values():
        assert all(end <= begin for (_, end), (begin, _) in pairwise(sorted(slices)))


class Message(dict):
    """A protobuf message: field number -> values, numbers or bytes."""

    def __init__(self, data: bytes):
        super().__init__()
        place = 0

        def number():
            nonlocal place
            value = shift = 0
            while True:
                byte = data[place]
                place += 1
                value |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    return value

        while place < len(data):
            field, kind = divmod(number(), 8)
            assert kind in (0, 2), f"wire type {kind} is not used here"
            value = number()
            if kind == 2:
                value, place = data[place : place + value], place + value
            self.setdefault(field, []).append(value)

    def messages(self, field):
        return [Message(value) for value in self.get(field, [])]

    def packed(self, field):
        numbers, bytes_ = [], [*(b"".join(self.get(field, [])))]
        value = shift = 0
        for byte in bytes_:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                numbers.append(value)
                value = shift = 0
        return numbers


@pytest.fixture(scope="module")
def packets(tmp_path_factory):
    from schedlab import Experiment

    path = tmp_path_factory.mktemp("trace") / "trace.pftrace"
    Experiment.from_toml(ROOT / "examples" / "desktop.toml").record(path, "perfetto", first=1)
    return Message(path.read_bytes()).messages(1)


def threads(packets):
    """The names of tasks by their numbers."""
    found = [thread for packet in packets for tree in packet.messages(2) for thread in tree.messages(2)]
    return {thread[1][0]: thread[2][0].decode() for thread in found}


def dispatches(packets):
    """(processor, task's name, from, to) of what ran. Events have the name of the job."""
    found, running, of_task = [], {}, threads(packets)
    for bundle in (bundle for packet in packets for bundle in packet.messages(1)):
        (cpu,), (packed,) = bundle[1], bundle.messages(4)
        names = [name.decode() for name in packed[5]]
        rows = zip(packed.packed(1), packed.packed(3), packed.packed(6), strict=True)
        now = 0
        for passed, tid, name in rows:
            now += passed
            before = running.get(cpu)
            if before and before[0]:
                found.append((cpu, before[1], before[2], now))
            assert tid == 0 or of_task[tid].partition("#")[0] == names[name]
            running[cpu] = (tid, of_task.get(tid), now)
    return found


def test_both_forms_show_the_same_dispatches(packets, trace):
    ours = sorted(dispatches(packets))
    of_json = sorted(
        (record["tid"] - 100, record["name"], round(record["ts"] * 1000), round((record["ts"] + record["dur"]) * 1000))
        for record in of(trace, "X")
        if record["cat"] == "dispatch"
    )
    assert len(ours) > 100
    assert ours == of_json


def test_both_forms_show_the_same_instants(packets, trace):
    names = {entry[1][0]: entry[2][0].decode() for data in packets[0].messages(12) for entry in data.messages(2)}
    now, found = 0, []
    for packet in packets:
        for event in packet.messages(11):
            now += packet[8][0]
            found.append((now, names[event[10][0]]))
    instants = sorted((round(record["ts"] * 1000), record["name"]) for record in of(trace, "i"))
    assert sorted(one for one in found if one[1] != "ended") == instants
    assert instants


def test_both_forms_name_the_same_tasks(packets, trace):
    tracks = {(r["tid"], r["args"]["name"]) for r in of(trace, "M") if r["name"] == "thread_name" and r["pid"] == 2}
    assert set(threads(packets).items()) == tracks


def test_the_form_goes_by_the_name_of_the_file(schedlab, small):
    schedlab("run", small, "--trace", "a.json")
    schedlab("run", small, "--trace", "a.pftrace")
    assert json.loads((schedlab.folder / "a.json").read_text())["traceEvents"]
    assert Message((schedlab.folder / "a.pftrace").read_bytes()).messages(1)
