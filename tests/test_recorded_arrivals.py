"""Times of arrival in a file next to the experiment."""

import json
import os

import pytest

from schedlab import Experiment, UsageError

POOL = """
question = "How long do requests wait?"
machine = "uniform"
scheduler = { name = "eevdf" }
seeds = 1
metrics = ["tasks.server.passes", "tasks.server.pass_time.max"]
[workload.server]
count = 2
arrivals = { recorded = RECORDED }
steps = [{ compute = "5ms" }]
"""


@pytest.fixture
def experiment(tmp_path):
    """Write an experiment in a folder, and its file of times."""

    def write(times="# of a day\n0.001\n2ms # busy\n\n2ms\n", recorded='{ file = "times.txt" }'):
        folder = tmp_path / "asked"
        folder.mkdir(exist_ok=True)
        (folder / "times.txt").write_text(times)
        (folder / "ask.toml").write_text(POOL.replace("RECORDED", recorded))
        return folder / "ask.toml"

    return write


def test_times_in_a_file_are_those_of_a_list(schedlab, experiment):
    found = schedlab.json("run", experiment())
    listed = schedlab.json("run", experiment(recorded='["1ms", "2ms", "2ms"]'), "--fresh")
    assert found["cells"] == listed["cells"]
    (cell,) = found["cells"]
    assert cell["metrics"]["tasks.server.passes"]["mean"] == 3


def test_other_times_are_another_scenario_and_equal_ones_are_known(schedlab, experiment):
    first = schedlab.json("run", experiment())
    same = schedlab.json("run", experiment("1ms\n2ms\n0.002s\n"))
    other = schedlab.json("run", experiment("1ms\n2ms\n3ms\n"))
    assert [one["runs"]["computed"] for one in (first, same, other)] == [1, 0, 1]
    assert first["cells"][0]["scenario"] == same["cells"][0]["scenario"] != other["cells"][0]["scenario"]


def test_a_path_begins_at_the_experiment_whatever_the_folder(experiment, tmp_path, monkeypatch):
    path = experiment()
    monkeypatch.chdir(tmp_path)
    relative = Experiment.from_toml(path)
    absolute = Experiment.from_toml(path, set=[f'workload.server.arrivals.recorded.file="{path.parent}/times.txt"'])
    assert relative.cells() == absolute.cells()
    path.with_name("times.txt").unlink()
    again = relative.replace(seeds=2)
    assert again.cells() == relative.cells()
    assert json.loads(json.dumps(relative.definition)) == relative.definition


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ("0.1\nx\n", 'times.txt:2: "x" is not a time: write one a line, in seconds (0.25) or with a unit ("250ms")'),
        ("2\n1\n", 'times.txt:2: "1" is earlier than the time before: write the times in order'),
        ("# none\n", 'times.txt:1: has no times: write one a line, in seconds (0.25) or with a unit ("250ms")'),
        ("2000h", "workload.server.arrivals.recorded[0]: 2000h is too long: at most 1000h"),
        ("1\n" * (2 << 20) + "1\n", "times.txt: is longer than 4 MiB, the most that is read of such a file"),
        ("1\n" * 1_000_001, "times.txt:1000001: is the 1000001th time: at most 1000000"),
    ],
)
def test_a_bad_file_is_named_with_its_line(schedlab, experiment, times, said):
    path = experiment(times)
    done = schedlab("run", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    found = schedlab("lint", path)
    assert found.returncode == 1
    assert said in found.stdout


def test_what_is_no_file_is_refused_before_it_is_read(schedlab, experiment):
    path = experiment()
    times = path.with_name("times.txt")
    for make, said in (
        (lambda: None, "No such file"),
        (lambda: times.mkdir(), "a folder"),
        (lambda: os.mkfifo(times), "a pipe (FIFO)"),
        (lambda: times.symlink_to("/dev/zero"), "a device"),
        (lambda: times.write_bytes(b"\xff\n"), "is not UTF-8"),
    ):
        if times.is_dir():
            times.rmdir()
        else:
            times.unlink(missing_ok=True)
        make()
        done = schedlab("run", path)
        assert done.returncode == 2
        assert said in done.stderr
        assert "times.txt" in done.stderr


def test_files_are_for_experiments_that_are_read_and_not_for_sweeps(experiment, tmp_path):
    definition = Experiment.from_toml(experiment(recorded='["1ms"]')).definition
    definition["workload"]["server"]["arrivals"] = {"recorded": {"file": str(tmp_path / "asked" / "times.txt")}}
    assert len(Experiment.from_dict(definition).cells()) == 1
    swept = Experiment.from_toml(experiment())
    with pytest.raises(Exception, match="a file of times cannot be swept"):
        swept.sweep({"workload.server.arrivals.recorded.file": ["times.txt"]})
    with pytest.raises(UsageError, match=r"names the file .*nowhere\.txt, which cannot be read"):
        Experiment.from_toml(experiment(), set=['workload.server.arrivals.recorded.file="nowhere.txt"'])
