"""What is predicted of another run: its processors are not as fast, and several recordings show how far runs differ."""

import json

import pytest
from conftest import valid
from test_whatif import Traced

from schedlab.whatif.judged import Predicted, judge
from schedlab.whatif.replays import at_speeds
from schedlab.whatif.several import combined


def served(path, computes_ms):
    """A client asks a server every 10 ms, which computes for a half more and less than that in turn."""
    trace, client, server, idle = Traced(), ("client", 11), ("server", 12), ("swapper/0", 0)
    for begin in range(10, 4000, 10):
        end = begin + 0.5 + computes_ms * (1.5 if begin % 20 else 0.5)
        trace.wake(begin, client)
        trace.switch(begin + 0.01, client)
        trace.wake(begin + 0.5, server, "d..2.")
        trace.switch(begin + 0.51, server, "S")
        trace.wake(end, client, "d..2.")
        trace.switch(end + 0.02, client, "S")
        trace.switch(end + 0.5, idle, "S")
    return str(trace.write(path))


@pytest.fixture
def asked(schedlab):
    """Asks for a prediction, and gives the answer as JSON."""

    def ask(*words):
        done = schedlab("whatif", *words, "--json", "--seeds", "4")
        assert done.returncode == 0, done.stderr
        return valid(json.loads(done.stdout), "whatif")

    return ask


def share_of_the_server(found):
    return found["groups"]["server"]["share_pct"]


@pytest.mark.parametrize(
    ("path", "value", "low", "high"),
    [
        (("share_pct",), 60.0, 59.0, 61.0),
        (("share_pct",), 2.0, 1.9, 2.1),
        (("switches_per_s",), 1000.0, 950.0, 1050.0),
        (("wakeup_us", "p99"), 20.0, 19.0, 21.0),
    ],
)
def test_a_model_that_is_right_as_recorded_may_be_off_a_little_elsewhere(path, value, low, high):
    found = judge(path, 50.0, [50.0] * 3, [value] * 3)
    assert (found.low, found.predicted, found.high) == pytest.approx((low, value, high))


def test_speeds_are_at_equal_ratios_around_the_one_that_is_set():
    speeds = [one["recording"]["speed"] for one in at_speeds({"recording": {"speed": 2.0}}, 0.25, 5)]
    assert speeds == pytest.approx([2 / 1.25, 2 / 1.25**0.5, 2.0, 2 * 1.25**0.5, 2.5])
    assert at_speeds({"recording": {}}, 0.0, 2) == [{"recording": {}}] * 2


def width(share):
    return share["high"] - share["low"]


def test_processors_of_another_run_may_be_faster_or_slower(tmp_path, asked):
    trace = served(tmp_path / "served.txt", 3)
    without = share_of_the_server(found := asked(trace, "--speed-spread", "0"))
    assert without["predicted"] == pytest.approx(30, abs=1)
    assert not any("faster" in line for line in found["assumptions"])
    for spread, words in ((0.1, []), (0.2, ["--speed-spread", "20%"])):
        share = share_of_the_server(found := asked(trace, *words))
        assert share["predicted"] == pytest.approx(30, abs=1)
        # A point more than these speeds give, and more than other blocks of the run.
        assert width(share) > width(without) + 20 * spread
        assert (share["low"], share["high"]) == pytest.approx((30 / (1 + spread) - 1, 30 * (1 + spread) + 1), abs=1.5)
        said = f"processors of another run are up to {100 * spread:.0f} % faster or slower (--speed-spread)"
        assert said in found["assumptions"]


def test_processors_of_a_simulated_machine_are_as_fast_in_each_run(asked, schedlab):
    (schedlab.folder / "load.toml").write_text(
        'machine = "uniform"\nduration = "2s"\nscheduler = { name = "eevdf" }\nworkload.server = '
        '{ passes = "forever", steps = [{ timer = { period = "10ms", mode = "absolute" } }, { compute = "3ms" }] }\n'
    )
    schedlab.ok("run", "load.toml", "--set", "seeds=1", "--trace", "run.recording")
    without, given = asked("run.recording"), asked("run.recording", "--speed-spread", "10%")
    assert width(share_of_the_server(given)) > width(share_of_the_server(without)) + 1


def test_a_faster_machine_is_asked_for_as_a_setting(tmp_path, asked):
    share = share_of_the_server(asked(served(tmp_path / "served.txt", 3), "--set", "recording.speed=1.5"))
    assert share["predicted"] == pytest.approx(20, abs=1)


def test_several_recordings_show_how_far_runs_differ(tmp_path, asked):
    files = [served(tmp_path / f"{length}.txt", length) for length in (2, 3, 5)]
    found = asked(*files, "--speed-spread", "0")
    assert found["recordings"] == files
    share = share_of_the_server(found)
    assert (share["recorded"], share["predicted"]) == (pytest.approx(30, abs=1), pytest.approx(30, abs=1))
    assert (share["low"], share["high"]) == (pytest.approx(20, abs=3), pytest.approx(50, abs=3))
    alone = [asked(file)["causes"]["server"]["tasks"] for file in files]
    assert found["causes"]["server"]["tasks"] == sum(alone)


def test_a_number_that_half_of_the_recordings_refuse_is_not_predicted():
    known, refused = Predicted(3.0, 4.0, 3.5, 5.0), Predicted(2.0, why_not="it is off")
    assert combined([known, refused]) == Predicted(2.5, why_not="in 1 of 2 recordings: it is off")
    assert combined([known, refused, Predicted(4.0, 6.0, 5.5, 7.0)]) == Predicted(3.0, 5.0, 3.5, 7.0)
    absent = Predicted(None, why_not="the recording does not have it")
    assert combined([absent, known]) == known
    assert combined([absent, absent]) == absent


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--speed-spread", "much"], "--speed-spread 'much': is no number of percent from 0% to 100%"),
        (["--speed-spread=-5%"], "--speed-spread '-5%': is no number of percent from 0% to 100%"),
        (["--set", "recording.speed=0"], "recording.speed: 0 is out of range: from 0.01 to 100"),
        (["--write", "out.toml"], "--write makes an experiment of one recording: give one"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, schedlab, words, said):
    files = [served(tmp_path / name, 3) for name in ("a.txt", "b.txt")]
    done = schedlab("whatif", *files, *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_of_several_recordings_the_one_that_lacks_a_task_is_named(tmp_path, schedlab):
    trace, other = Traced(), tmp_path / "other.txt"
    for turn in range(100):
        trace.switch(4 * turn, ("ab"[turn % 2], 101 + turn % 2))
    trace.write(other)
    done = schedlab("whatif", served(tmp_path / "served.txt", 3), str(other), "--change", "server: nice=5")
    assert done.returncode == 2
    assert f"{other}: 'server: nice=5': no task of the recording has such a name" in done.stderr
