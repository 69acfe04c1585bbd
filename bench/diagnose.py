"""`schedlab diagnose` scored: trouble is planted on this host, and the resource and its user have to be named.

`diagnose.py [--repeat N] [--only NAME ...] [--part I/N] [--list] [--archive FILE]`, with the Python that has schedlab;
as root for all situations. A situation is right if its resource is among those that are short and the planted task,
program or control group is named for it, before other tasks that were planted next to it. What others do on this host
meanwhile may be named as well. The first line must name exactly the resources that the table marks as short. Prints the
score of each situation and of all; exits 1 below 90 %. With `--archive`, the answers replace those of the same
situations in that file, so that the suite can be run in parts; the score of the whole file is printed then.
"""

import argparse
import datetime
import json
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import moving_trees
import planted
import slow_peers
from bench import machine

from schedlab import _core

ENOUGH = 0.9
LASTING = "4s"
SITUATIONS = planted.SITUATIONS | slow_peers.SITUATIONS | moving_trees.SITUATIONS


def asked() -> dict:
    """The command itself."""
    words = [*planted.python("from schedlab.cli import main; main()"), "diagnose", "--json", "--for", LASTING]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def consistent(found: dict) -> bool:
    """The first line names exactly what the table marks as short."""
    if "summary" not in found:
        return True
    if not found["short"]:
        return found["summary"].startswith("short of nothing")
    return all(resource in found["summary"] for resource in found["short"]) and "nothing" not in found["summary"]


def busy(seconds: float = 0.5) -> float:
    """How much of the processors others use just now, percent."""

    def times() -> list[int]:
        return [int(word) for word in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]

    before = times()
    time.sleep(seconds)
    grown = [now - was for now, was in zip(times(), before, strict=True)]
    return round(100 * (1 - (grown[3] + grown[4]) / max(1, sum(grown))), 1)


def answer(name: str) -> dict:
    """Plants it and asks: whether the answer was right, where it has the culprit, and the answer in short."""
    by_others = busy()
    with SITUATIONS[name]() as there:
        ask = asked
        if isinstance(there, tuple):
            there, ask = there
        found = ask()
    place = there.place(found)
    right = place is not None and consistent(found)
    said = found.get("summary") or ", ".join(found["short"]) or "nothing"
    return {"right": right, "place": place, "busy_by_others_percent": by_others, "said": said}


def once(name: str) -> tuple[bool, str]:
    """Whether the answer was right, and the answer in short."""
    found = answer(name)
    return found["right"], found["said"]


def show(name: str, results: list[dict]) -> None:
    """Prints the score of one."""
    first = sum(it["place"] == 1 for it in results)
    right = sum(it["right"] for it in results)
    print(f"{name:40}right {right} of {len(results)}, named first {first}", flush=True)
    for it in results:
        if not it["right"]:
            print(f"    said (others used {it['busy_by_others_percent']:.0f} %): {it['said']}", flush=True)


def score(answers: dict[str, list[dict]]) -> float:
    """Prints the score of all, and gives it."""
    results = [it for group in answers.values() for it in group]
    right, first = sum(it["right"] for it in results), sum(it["place"] == 1 for it in results)
    share = right / len(results)
    print(f"right in {right} of {len(results)}, {100 * share:.0f} %; named first in {first}")
    return share


def archived(path: pathlib.Path, answers: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """Puts them into the file; gives all that it has, in the order of the table."""
    was = json.loads(path.read_text())["answers"] if path.exists() else {}
    both = was | answers
    both = {name: both[name] for name in SITUATIONS if name in both}
    results = [it for group in both.values() for it in group]
    result = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "engine": _core.version(),
        "lasting": LASTING,
        "right": sum(it["right"] for it in results),
        "named_first": sum(it["place"] == 1 for it in results),
        "of": len(results),
        "answers": both,
    }
    path.write_text(json.dumps(result, indent=1) + "\n")
    return both


def chosen(options: argparse.Namespace) -> list[str]:
    """The situations that are asked for."""
    names = options.only or list(SITUATIONS)
    for name in names:
        if name not in SITUATIONS:
            raise SystemExit(f"--only {name!r}: there are {', '.join(SITUATIONS)}")
    part, parts = map(int, options.part.split("/"))
    return names[(part - 1) * len(names) // parts : part * len(names) // parts]


def main() -> int:
    """The situations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="of the situations, the I-th of N parts")
    parser.add_argument("--list", action="store_true", help="print the names of the situations")
    parser.add_argument("--archive", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    if options.list:
        print(*SITUATIONS, sep="\n")
        return 0
    # What is planted is taken away again also at the end of `timeout`.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    answers: dict[str, list[dict]] = {}
    for name in chosen(options):
        answers[name] = [answer(name) for _ in range(options.repeat)]
        show(name, answers[name])
        if options.archive:
            everything = archived(options.archive, answers)
    return int(score(everything if options.archive else answers) < ENOUGH)


if __name__ == "__main__":
    sys.exit(main())
