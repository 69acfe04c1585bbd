"""`schedlab attend` on the live kernel: what it prints, how it ends, and the focus under a real window manager."""

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager

import pytest
from conftest import COMMAND, ROOT, agent_or_skip

DESKTOP = ROOT / "examples" / "attention" / "desktop.toml"
LAYOUT = """
attention = { dwell = "100ms", stay = "200ms", foreground = 1 }
level = [{ name = "foreground", nice = 1 }, { name = "background", nice = 4 }, { name = "batch", nice = 9 }]
"""
EXPERIMENT = """
duration = "2s"
metrics = ["tasks.focused.share", "tasks.hog.share"]
[machine]
preset = "uniform"
processors = 1
[scheduler]
name = "eevdf"
[workload.focused]
load = "spin"
passes = "forever"
[workload.hog]
load = "spin"
passes = "forever"
[attention]
focus = [{ at = "0s", job = "focused" }]
period = "100ms"
layout = { rule = [{ name = "hog", level = "batch" }], attention = { dwell = "0s" }, overload = { share = 1.0 } }
[sweep]
"attention.enabled" = [false, true]
"""
PATIENCE_SECONDS = 20
#: The screen of the test.
SCREEN = ":93"


@pytest.fixture(autouse=True)
def permitted():
    """Only root can put nice values back."""
    agent_or_skip()
    if os.geteuid() != 0:
        pytest.skip("nice values can be put back by root alone")


def until(condition) -> bool:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(condition())


def nice(pid: int) -> int:
    """Compared with this process, as whose children all begin."""
    return os.getpriority(os.PRIO_PROCESS, pid) - os.getpriority(os.PRIO_PROCESS, 0)


@contextmanager
def running(*words, **more):
    child = subprocess.Popen(list(map(str, words)), **more)
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


@pytest.fixture
def attending(schedlab):
    """A daemon at work in the test's folder, with these options."""
    with ExitStack() as stack:

        def start(*words, **environment):
            (schedlab.folder / "layout.toml").write_text(LAYOUT)
            options = ("--layout", "layout.toml", "--socket", "run/socket", "--every", "200ms")
            child = stack.enter_context(
                running(COMMAND, "attend", *options, *words, cwd=schedlab.folder, env=os.environ | environment,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
            )  # fmt: skip
            assert child.stderr.readline().startswith("at work; the focus comes from: ")
            return child

        yield start


def test_the_focus_is_given_by_command_and_all_is_put_back_at_the_end(schedlab, attending):
    with running("sleep", "60") as one, running("sleep", "60") as other:
        daemon = attending("--json")
        said = schedlab("attend", "focus", one.pid, "--socket", "run/socket").stdout
        assert said.startswith("the focus is at program ")
        assert until(lambda: nice(one.pid) == 1)
        schedlab("attend", "focus", other.pid, "--socket", "run/socket")
        assert until(lambda: (nice(one.pid), nice(other.pid)) == (4, 1))
        state = schedlab.json("attend", "status", "--socket", "run/socket", "--json")["status"]
        assert {program["level"] for program in state["programs"]} == {"foreground", "background"}
        assert "sleep" in schedlab("attend", "status", "--socket", "run/socket").stdout
        # As from a terminal: to both processes.
        os.killpg(daemon.pid, signal.SIGINT)
        out, _ = daemon.communicate(timeout=PATIENCE_SECONDS)
        assert (nice(one.pid), nice(other.pid)) == (0, 0)
        ended = json.loads(out)["ended"]
        assert (ended["stopped_by_signal"], len(ended["undone"]["back"])) == (True, 2)


def test_killed_it_leaves_nothing(attending, schedlab):
    with running("sleep", "60") as one:
        daemon = attending()
        schedlab("attend", "focus", one.pid, "--socket", "run/socket")
        assert until(lambda: nice(one.pid) == 1)
        daemon.kill()
        assert until(lambda: nice(one.pid) == 0)


def test_what_it_would_do_is_printed_and_not_done(schedlab):
    done = schedlab("attend", "--layout", DESKTOP, "--dry-run")
    assert done.stdout.splitlines()[2] == "batch        nice +10, slice 20ms, policy batch, weight 25, io idle"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a layout: --layout FILE"),
        (("frobnicate",), "frobnicate: there is status, and focus PID"),
        (("focus", "x"), "focus x: there is status, and focus PID"),
        (("status", "--socket", "none"), "no schedlab attend answers there"),
        (("--layout", "wrong.toml"), "wrong.toml: level: 0 is not allowed; 1 to 20 is"),
        (("--layout", DESKTOP, "--every", "1ms"), "1ms is not allowed; 100ms to 1min is"),
    ],
)
def test_what_is_wrong_is_said(schedlab, words, said):
    (schedlab.folder / "wrong.toml").write_text("level = []")
    done = schedlab("attend", *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.fixture
def screen():
    """An X server without a screen, with a window manager."""
    for program in ("Xvfb", "openbox", "xterm", "xdotool"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    environment = os.environ | {"DISPLAY": SCREEN}
    with running("Xvfb", SCREEN, "-screen", "0", "800x600x24", "-nolisten", "tcp", stderr=subprocess.DEVNULL):
        assert until(lambda: os.path.exists(f"/tmp/.X11-unix/X{SCREEN[1:]}"))
        with running("openbox", env=environment, stderr=subprocess.DEVNULL):
            yield environment


def test_windows_have_the_focus_that_a_window_manager_gives(screen, attending):
    def window(name):
        return running("xterm", "-T", name, "-e", "sleep", "60", env=screen, stderr=subprocess.DEVNULL)

    def found(name):
        done = subprocess.run(["xdotool", "search", "--name", name], env=screen, capture_output=True, check=False)
        return done.stdout.split()

    def activate(name):
        subprocess.run(["xdotool", "windowactivate", "--sync", found(name)[0]], env=screen, check=True, timeout=20)

    with window("first") as first, window("second") as second:
        assert until(lambda: found("first") and found("second"))
        daemon = attending(DISPLAY=SCREEN)
        for name, of in (("first", first), ("second", second), ("first", first)):
            activate(name)
            assert until(lambda of=of: nice(of.pid) == 1), f"{name} has no attention"
        assert until(lambda: nice(second.pid) == 4)
        os.killpg(daemon.pid, signal.SIGTERM)
        assert until(lambda: (nice(first.pid), nice(second.pid)) == (0, 0))


def of_both(metrics):
    """The share of the focused hog in what both have: what other programs of a busy host take is in neither."""
    focused, hog = (metrics[f"tasks.{job}.share"]["mean"] for job in ("focused", "hog"))
    return 100 * focused / (focused + hog)


def test_levels_of_an_experiment_are_compared_blind_on_the_host(schedlab):
    (schedlab.folder / "levels.toml").write_text(EXPERIMENT)
    sealed = schedlab.json("run", "levels.toml", "--on", "host", "--blind", "--dirty", "--seeds", "2")
    assert [cell["factors"] for cell in sealed["cells"]] == [{"setting": "A"}, {"setting": "B"}]
    share = {cell["factors"]["setting"]: of_both(cell["metrics"]) for cell in sealed["cells"]}
    better = max(share, key=share.get)
    meant = schedlab.json("unseal", sealed["folder"], "--verdict", f"more for the focus under {better}")["letters"]
    assert meant[better] == {"attention.enabled": "true"}
    # Without levels two hogs share evenly; nice 0 has 9 times the weight of nice 10.
    assert share[better] > 75 > 60 > min(share.values()) > 40
