"""How right `schedlab whatif` is: loads are recorded under one setting, predicted for another, and run under that.

`whatif.py [LOAD ...] [--repeats N] [--seconds N] [--kept-apart] [--archive FILE]`, as root, on a quiet machine. The
loads and the changes are in whatif.toml. For each load, once as recorded and once for each change:

    recorded    a recording under the setting as it is: one before all changes, and one after each half of them
    replayed    the replay of the first under the same setting: self-consistency
    predicted   its replay under the changed setting; and the same from all recordings together
    repeats     recordings of the same load run under the changed setting

Numbers are of groups of tasks: share, switches, wakeup latency at p50 and p99, and the time of fixed work. A prediction
is right if it lies within the range of the repeats widened by 2 points (share), 15 % (switches, time), 25 % or 0.1 ms
(latency); its interval is right if it meets that range as it is. What the gate refuses is not judged, but counted; nor
is a p50 whose repeats spread more than 30 %.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).parent
SCHEDLAB = pathlib.Path(sys.executable).parent / "schedlab"
#: Numbers of a group, and how far a prediction may lie outside the range of the repeats: in its unit, and as a share.
NUMBERS = {
    "share_pct": (2.0, 0.0),
    "switches_per_s": (1.0, 0.15),
    "wakeup_us.p50": (100.0, 0.25),
    "wakeup_us.p99": (100.0, 0.25),
}
#: The same for the replay of the recorded setting and the recording.
SELF = {
    "share_pct": (1.0, 0.0),
    "switches_per_s": (1.0, 0.10),
    "wakeup_us.p50": (100.0, 0.15),
    "wakeup_us.p99": (100.0, 0.15),
}
ELAPSED = (0.0, 0.15)
#: Fewer wakeups in the recording say nothing of a percentile.
FEWEST_WAKEUPS = 50
WARM_UP_S = 1.0
POLICIES = {"other": 0, "fifo": 1, "rr": 2, "batch": 3, "idle": 5}


class Treatment(ctypes.Structure):
    """`struct sched_attr` of sched_setattr(2)."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    ]


#: Its number on x86_64 and on aarch64.
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}[os.uname().machine]


def treat(change: str, cpus: str) -> None:
    """Treat this process as a change says ("nice=5, slice=20ms"), on those processors."""
    fields = dict(part.strip().split("=") for part in change.split(",") if part.strip())
    os.sched_setaffinity(0, numbers(fields.pop("cpus", cpus)))
    policy, _, priority = fields.pop("policy", "other").partition(":")
    slice_ns = int(float(fields.pop("slice", "0ms").removesuffix("ms")) * 1e6)
    nice = int(fields.pop("nice", "0"))
    if fields:
        raise SystemExit(f"a change that cannot be made here: {fields}")
    size = ctypes.sizeof(Treatment)
    treatment = Treatment(size, POLICIES[policy], 0, nice, int(priority or 0), slice_ns, 0, 0)
    if ctypes.CDLL(None, use_errno=True).syscall(SCHED_SETATTR, 0, ctypes.byref(treatment), 0):
        raise SystemExit(f"sched_setattr: {os.strerror(ctypes.get_errno())}")


def numbers(cpus: str) -> set[int]:
    """The processors of a list such as "0-1"."""
    ends = [part.split("-") for part in cpus.split(",")]
    return {cpu for end in ends for cpu in range(int(end[0]), int(end[-1]) + 1)}


def started(words: str, change: str, cpus: str, folder: str) -> subprocess.Popen:
    """Start a part of a load, treated, in a process group of its own."""
    argv = [sys.executable, __file__, "--treated", change, cpus, words]
    with open(f"{folder}/said", "a") as said:
        return subprocess.Popen(argv, cwd=folder, stdout=said, stderr=said, process_group=0)


def recorded(load: dict, change: dict[str, str], file: pathlib.Path, seconds: float) -> None:
    """Run a load under a change by parts, and record it."""
    cpus = change.get("all", "").partition("cpus=")[2] or load["cpus"]
    parts = {name: part for name, part in load["parts"].items() if name not in change.get("remove", "")}
    with tempfile.TemporaryDirectory(prefix="schedlab-bench-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o777)
        if load.get("before"):
            subprocess.run(["bash", "-ec", load["before"]], cwd=folder, check=True, capture_output=True)
        alive = []
        try:
            fixed = [name for name, part in parts.items() if part.get("fixed")]
            for name, part in parts.items():
                if name not in fixed:
                    alive.append(started(part["run"], change.get(name, ""), cpus, folder))
                    time.sleep(part.get("settle", 0.2))
            time.sleep(WARM_UP_S)
            words = [SCHEDLAB, "record", "-q", "--allow-loss", "-o", file]
            if fixed:
                treated = [
                    sys.executable,
                    __file__,
                    "--treated",
                    change.get(fixed[0], ""),
                    cpus,
                    parts[fixed[0]]["run"],
                ]
                subprocess.run([*words, "--", *treated], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            else:
                subprocess.run([*words, "--for", f"{seconds}s"], check=True, stdout=subprocess.DEVNULL)
            dead = [part for part in alive if part.poll() is not None]
            if dead:
                raise SystemExit(f"a part ended too early: {pathlib.Path(folder, 'said').read_text()[-400:]}")
        finally:
            for part in reversed(alive):
                ended(part)


def ended(part: subprocess.Popen) -> None:
    """End a part with all that it started."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(part.pid, sent)
            part.wait(timeout=3)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
    part.wait()


def asked(words: list) -> dict:
    """What a verb prints as JSON."""
    done = subprocess.run([str(word) for word in [SCHEDLAB, *words, "--json"]], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr[-400:]}")
    return json.loads(done.stdout)


def groups(load: dict) -> list[str]:
    """The options that name the groups of a load."""
    return [word for name, part in load["parts"].items() for word in ("--group", f"{name}={part['tasks']}")]


def options(load: dict, change: dict[str, str]) -> list[str]:
    """A change as options of `schedlab whatif`."""
    every = "|".join(part["tasks"] for part in load["parts"].values())
    words = []
    for name, treatment in change.items():
        if name == "remove":
            words += ["--remove", load["parts"][treatment]["tasks"]]
        else:
            tasks = every if name == "all" else load["parts"][name]["tasks"]
            words += ["--change", f"{tasks}: {treatment}"]
    return words


def of(group: dict, path: str):
    """A number of a group, by its path."""
    for name in path.split("."):
        group = (group or {}).get(name)
    return group


def meets(value: float, low: float, high: float, slack: tuple[float, float]) -> bool:
    """Whether a value lies in a range, widened by the larger of an absolute and a relative slack."""
    return low - max(slack[0], slack[1] * low) <= value <= high + max(slack[0], slack[1] * high)


def judged(found: dict, truth: list[dict], slacks: dict, load: dict) -> list[dict]:
    """Each number of each group: what was predicted, what happened, and whether they agree."""
    rows = []
    for name, group in found["groups"].items():
        if name not in load["parts"]:
            continue
        for path, slack in slacks.items():
            value = of(group, path)
            seen = [of(one["groups"].get(name, {}), path) for one in truth]
            few = path.startswith("wakeup") and any(
                ((one["groups"].get(name) or {}).get("wakeups") or 0) < FEWEST_WAKEUPS for one in truth
            )
            if value is None or value["recorded"] is None or None in seen or few:
                continue
            rows.append(row(name, path, value, seen, slack))
    if found["elapsed_s"] and all(one["elapsed_s"] for one in truth):
        rows.append(row("all", "elapsed_s", found["elapsed_s"], [one["elapsed_s"] for one in truth], ELAPSED))
    return rows


def row(group: str, path: str, value: dict, seen: list[float], slack: tuple[float, float]) -> dict:
    """One number, judged."""
    low, high = min(seen), max(seen)
    verdict = "refused"
    spread = path.endswith("p50") and len(seen) > 1 and high > 1.3 * low
    if value["predicted"] is not None:
        verdict = "spread" if spread else "right" if meets(value["predicted"], low, high, slack) else "wrong"
    covers = value["low"] is not None and value["low"] <= high and value["high"] >= low
    return {"group": group, "number": path, **value, "seen": [low, high], "verdict": verdict, "covers": covers}


def explained(load: dict, file: pathlib.Path) -> dict:
    """A recording by groups, with the time of its command. Turns that its end cuts off count, as in replays."""
    found = asked(["trace", file, "--by", "comm", "--allow-loss", *groups(load)])
    for row in found["groups"].values():
        row["share_pct"] += 100 * row["cut_run_s"] / found["span_s"]
    fixed = any(part.get("fixed") for part in load["parts"].values())
    return {"groups": found["groups"], "elapsed_s": found["span_s"] if fixed else None}


def one_load(name: str, load: dict, given: argparse.Namespace, folder: pathlib.Path) -> list[dict]:
    """A load and all its changes: first all is recorded, then predicted."""
    every = [one for one in load["changes"] if given.repeats and bool(one.get("apart")) == given.kept_apart]
    changes = [{key: value for key, value in one.items() if key != "apart"} for one in every]
    bases, repeats = [folder / f"{name}-base-0.dat"], []
    recorded(load, {}, bases[0], given.seconds)
    for number, change in enumerate(changes):
        repeats.append([folder / f"{name}-change-{number}-{again}.dat" for again in range(given.repeats)])
        for file in repeats[-1]:
            recorded(load, change, file, given.seconds)
        if number + 1 in (len(changes) // 2, len(changes)):
            bases.append(folder / f"{name}-base-{number + 1}.dat")
            recorded(load, {}, bases[-1], given.seconds)
    as_is = [explained(load, file) for file in bases]
    found = [compared(name, {}, [*bases[:1], *groups(load)], as_is[:1], SELF, load)]
    if len(bases) > 1:
        found[0]["runs_of_it"] = [runs(one, load) for one in as_is]
    for change, files in zip(changes, repeats, strict=True):
        truth = [explained(load, file) for file in files]
        words = [*options(load, change), *groups(load)]
        found.append(compared(name, change, [bases[0], *words], truth, NUMBERS, load))
        if len(bases) > 1:
            found[-1]["from_all"] = compared(name, change, [*bases, *words], truth, NUMBERS, load)["rows"]
    return found


def compared(name: str, change: dict, words: list, truth: list[dict], slacks: dict, load: dict) -> dict:
    """A prediction next to what happened, printed."""
    predicted = asked(["whatif", *words])
    found = {"load": name, "change": change, "rows": judged(predicted, truth, slacks, load)} | limits(predicted)
    show(found)
    return found


def runs(one: dict, load: dict) -> dict:
    """The numbers of a run by group."""
    named = {name: one["groups"].get(name) for name in load["parts"]}
    return {name: {path: of(group, path) for path in NUMBERS} for name, group in named.items()}


def limits(found: dict) -> dict:
    """What a prediction leaves out, and the share of waits without a cause."""
    return {"cannot_tell": found["cannot_tell"], "unattributed_share": found["unattributed_share"]}


def figure(value: float | None) -> str:
    """A number for the eye."""
    return "-" if value is None else f"{value:.6g}"


def show(one: dict) -> None:
    """Print a load under a change."""
    words = "; ".join(f"{part}: {change}" for part, change in one["change"].items()) or "as recorded"
    print(f"\n{one['load']}, {words}")
    for it in one["rows"]:
        interval = f"[{figure(it['low'])}, {figure(it['high'])}]"
        seen = f"{it['seen'][0]:.6g} to {it['seen'][1]:.6g}"
        print(
            f"  {it['group']:8} {it['number']:15} {figure(it['recorded']):>9} -> {figure(it['predicted']):>9} "
            f"{interval:22} seen {seen:24} {it['verdict']}{'' if it['covers'] else ' (interval)'}"
        )
    for it in one["cannot_tell"][:6]:
        print(f"    cannot tell: {it['what']}: {it['why']}")
    sys.stdout.flush()


def summary(found: list[dict]) -> None:
    """Print how much was right."""
    for words, chosen in (("as recorded", False), ("predicted", True)):
        rows = [row for one in found if bool(one["change"]) == chosen for row in one["rows"]]
        right, wrong = (sum(row["verdict"] == it for row in rows) for it in ("right", "wrong"))
        refused, spread = (sum(row["verdict"] == it for row in rows) for it in ("refused", "spread"))
        open_rows = [row for row in rows if row["verdict"] in ("right", "wrong")]
        covered = statistics.mean(row["covers"] for row in open_rows) if open_rows else 0
        counts = f"{right} right, {wrong} wrong, {refused} refused, {spread} spread too much"
        print(f"\n{words}: {counts}; covered {covered:.0%}")
        rows = [row for one in found for row in one.get("from_all", ()) if row["verdict"] in ("right", "wrong")]
        if chosen and rows:
            right, covered = (
                statistics.mean(of_row)
                for of_row in ([row["verdict"] == "right" for row in rows], [row["covers"] for row in rows])
            )
            print(f"from all recordings of each load: {right:.0%} of {len(rows)} right; covered {covered:.0%}")


def main() -> None:
    """Run it."""
    if sys.argv[1:2] == ["--treated"]:
        change, cpus, words = sys.argv[2:]
        treat(change, cpus)
        os.execvp("bash", ["bash", "-c", f"exec {words}"] if not re.search("[;|&]", words) else ["bash", "-c", words])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loads", nargs="*")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each change; 0: only replay what was recorded")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--kept-apart", action="store_true", help="the changes that were kept apart while building")
    parser.add_argument("--archive", type=pathlib.Path, help="write all numbers here")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the recordings in this folder")
    given = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("recording needs root")
    loads = tomllib.loads((HERE / "whatif.toml").read_text())
    if unknown := set(given.loads) - set(loads):
        raise SystemExit(f"no such load: {', '.join(unknown)}; there are {', '.join(loads)}")
    found = []
    for name in given.loads or loads:
        with tempfile.TemporaryDirectory(prefix="schedlab-bench-", dir="/var/tmp") as folder:
            found += one_load(name, loads[name], given, given.keep or pathlib.Path(folder))
        if given.archive:
            given.archive.write_text(json.dumps(found, indent=1))
    summary(found)


if __name__ == "__main__":
    main()
