"""What attention levels are worth on this host: a program that draws a frame every 16 ms next to batch work, with
`schedlab attend`, without, and with what else is installed (GameMode).

    python3 bench/attention.py --agent python/schedlab/targets/bin/schedlab-agent --rounds 12

Each round runs every way once, in random order, next to new hogs, each in a session of its own. The frame program has
5 ms of work; its p99 of wakeup latency and the frames that are not done within 16 ms are compared with those without,
round by round, by the same permutation test and intervals as results of experiments. As root, on a quiet machine.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from schedlab.stats import comparison

ROOT = Path(__file__).parent.parent
PERIOD, WORK = 0.016, 0.005
#: Seconds that a way has to take effect before frames are counted.
WARM_UP = 2.0
#: What the frame program runs: it prints the latency of each wakeup and whether its frame was late, as JSON.
FRAMES = """
import json, os, sys, time
period, work, warm_up, lasting = map(float, sys.argv[1:])
late, missed = [], 0
begin = time.monotonic() + period
due, end = begin, begin + warm_up + lasting
while due < end:
    now = time.monotonic()
    if due > now:
        time.sleep(due - now)
        woken = time.monotonic()
        if due - begin > warm_up:
            late.append(woken - due)
    used = time.thread_time() + work
    while time.thread_time() < used:
        pass
    done = time.monotonic()
    if due - begin > warm_up and done > due + period:
        missed += 1
    due += period
    while due + period < done:
        due += period
        missed += due - begin > warm_up
print(json.dumps({"late": late, "missed": int(missed), "nice": os.getpriority(os.PRIO_PROCESS, 0)}))
"""
HOG = "while True: pass"
RULE = f'\n[[rule]]\ncommand = "*{HOG}"\nlevel = "batch"\n'
LAYOUTS = ROOT / "examples" / "attention"
DESKTOP, OF_2007 = LAYOUTS / "desktop.toml", LAYOUTS / "rsdl-2007.toml"
GAMEMODE = "[general]\nrenice=10\nioprio=0\ninhibit_screensaver=0\ndesiredgov=\n"


@contextmanager
def running(words: list[str], **more):
    """A process in a session of its own, ended at the end."""
    child = subprocess.Popen(words, start_new_session=True, **more)
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


def frames(lasting: float) -> list[str]:
    """The frame program."""
    return [sys.executable, "-c", FRAMES, *map(str, (PERIOD, WORK, WARM_UP, lasting))]


def without(stack: ExitStack, agent: Path, folder: Path, lasting: float) -> dict:
    """The frame program as it is."""
    return _measured(stack.enter_context(running(frames(lasting), stdout=subprocess.PIPE)))


def attend(
    stack: ExitStack, agent: Path, folder: Path, lasting: float, rule: str = "", shipped: Path = DESKTOP
) -> dict:
    """With `schedlab attend`, the focus given by its command; all hogs have had it, before."""
    place, layout = f"--socket={folder / 'socket'}", folder / "layout.toml"
    layout.write_text(shipped.read_text() + rule)
    words = [str(agent), "attend", "run", f"--layout={layout}", f"--journal={folder / 'journal'}", place]
    daemon = stack.enter_context(running(words, stdout=subprocess.PIPE))
    assert b"at_work" in daemon.stdout.readline()
    child = stack.enter_context(running(frames(lasting), stdout=subprocess.PIPE))
    for pid in (*stack.hogs, child.pid):
        subprocess.run([str(agent), "attend", "focus", str(pid), place], check=True, capture_output=True)
    found = _measured(child)
    daemon.terminate()
    ended = json.loads(daemon.stdout.read())
    assert not ended["undone"]["failed"], ended["undone"]
    return found | {"own": ended["ended"]["own_share"]}


def ruled(stack: ExitStack, agent: Path, folder: Path, lasting: float) -> dict:
    """The same, where a rule of the layout names the hogs as batch work."""
    return attend(stack, agent, folder, lasting, RULE)


def ruled_2007(stack: ExitStack, agent: Path, folder: Path, lasting: float) -> dict:
    """The same with the nice values of the report of 2007, which have the batch work at 5."""
    return attend(stack, agent, folder, lasting, RULE, OF_2007)


def gamemode(stack: ExitStack, agent: Path, folder: Path, lasting: float) -> dict:
    """With GameMode, asked to renice by 10."""
    (folder / "gamemode.ini").write_text(GAMEMODE)
    environment = os.environ | {"XDG_CONFIG_HOME": str(folder)}
    script = 'gamemoded >/dev/null & sleep 0.5; exec /usr/games/gamemoderun "$@"'
    words = ["dbus-run-session", "--", "sh", "-c", script, "sh", *frames(lasting)]
    return _measured(
        stack.enter_context(running(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment))
    )


WAYS = {"without": without, "attend": attend, "ruled": ruled, "ruled_2007": ruled_2007, "gamemode": gamemode}


def _measured(child: subprocess.Popen) -> dict:
    out, _ = child.communicate()
    found = json.loads(out.decode().splitlines()[-1])
    late = sorted(found["late"])
    return {
        "p99_ms": 1e3 * late[int(0.99 * len(late))] if late else float("nan"),
        "missed": found["missed"],
        "nice": found["nice"],
    }


def once(way: str, agent: Path, hogs: int, lasting: float) -> dict:
    """One way next to new hogs."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        all_hogs = [stack.enter_context(running([sys.executable, "-c", HOG])) for _ in range(hogs)]
        stack.hogs = [hog.pid for hog in all_hogs]
        time.sleep(0.3)
        return WAYS[way](stack, agent, Path(folder), lasting)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--lasting", type=float, default=5.0)
    parser.add_argument("--hogs", type=int, default=4)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    ways = [
        way for way in WAYS if way != "gamemode" or (shutil.which("gamemoded") and shutil.which("dbus-run-session"))
    ]
    found: dict[str, list[dict]] = {way: [] for way in ways}
    for number in range(given.rounds):
        for way in random.Random(number).sample(ways, len(ways)):
            found[way].append(once(way, given.agent, given.hogs, given.lasting))
    if given.json:
        given.json.write_text(json.dumps(found))
    for metric in ("p99_ms", "missed"):
        base = [one[metric] for one in found["without"]]
        print(f"{metric}: without {median(base):.2f} (median of {len(base)})")
        for way in ways[1:]:
            values = [one[metric] for one in found[way]]
            judged = comparison.difference(values, base)
            mean, low, high, _ = judged.of
            print(
                f"  {way}: {median(values):.2f}; difference of means {mean:.2f} [{low:.2f}, {high:.2f}], "
                f"p {judged.adjusted:.4f}: {judged.verdict}"
            )
    own = [one["own"] for way in ways for one in found[way] if "own" in one]
    print(f"own use of attend: {max(own):.3%} of a processor at most, median {median(own):.3%}")


if __name__ == "__main__":
    main()
