"""`schedlab time` compared with a control group that is not its own and with wait4: processor time and switches.

`accounting.py --agent AGENT [--repeat N]`, as root, where the controller cpuacct of version 1 is mounted. Each command
is run as root and as the user nobody, N times; it enters a group of ours first and then does its work. Printed are the
largest error of the processor time against that group, and the switches against what wait4 tells of the agent's child.
Exits 1 if a processor time is off by more than 2 %.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

NOBODY = 65534
LARGEST_ERROR = 0.02
BURN = "i=0; while [ $i -lt {} ]; do i=$((i+1)); done"

COMMANDS = {
    "50 children of 2 ms": f"for n in $(seq 50); do sh -c '{BURN.format(3000)}'; done",
    "1,000 x /bin/true": "n=0; while [ $n -lt 1000 ]; do /bin/true; n=$((n+1)); done",
    "a configure-like script": "sh ./configure > /dev/null 2>&1",
    "make -j4 of 40 files": "make -s -j4 -C sources",
    "a daemon (two forks)": f"(setsid sh -c '{BURN.format(300000)}; sleep 2' > /dev/null 2>&1 &); sleep 1.5",
    "a daemon that ends before": f"(setsid sh -c '{BURN.format(300000)}' > /dev/null 2>&1 &); sleep 1.5",
    "a pipeline": "seq 300000 | sort -n | tail -1 > /dev/null",
}


def prepare(folder: pathlib.Path) -> None:
    """The files that the commands need."""
    sources = folder / "sources"
    sources.mkdir()
    names = [f"f{n}" for n in range(40)]
    for name in names:
        body = "\n".join(f"int {name}_{k}(int x) {{ return x * {k} + {k}; }}" for k in range(60))
        (sources / f"{name}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n{body}\n")
    objects = " ".join(f"{name}.o" for name in names)
    (sources / "Makefile").write_text(f"all: clean\n\t$(MAKE) objects\nobjects: {objects}\nclean:\n\trm -f *.o\n")
    tests = "\n".join(
        f"echo 'int main(void) {{ return {n}; }}' > conf$$.c; gcc -c conf$$.c -o conf$$.o && "
        f'v=`expr {n} + 1`; echo "checking $v... `uname -s | sed s/L/l/`"; rm -f conf$$.*'
        for n in range(25)
    )
    (folder / "configure").write_text(f"cd {folder}/sources\n{tests}\n")
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)


@contextlib.contextmanager
def group():
    """A group that only counts, which nobody may enter too."""
    path = pathlib.Path(f"/sys/fs/cgroup/cpuacct/bench-{os.getpid()}")
    path.mkdir()
    os.chown(path / "cgroup.procs", NOBODY, -1)
    try:
        yield path
    finally:
        for _ in range(300):
            with contextlib.suppress(OSError):
                path.rmdir()
                break
            time.sleep(0.02)


def once(agent: pathlib.Path, script: str, user: int, folder: pathlib.Path) -> tuple[float, dict, int]:
    """Error of the processor time, the answer, and the group's time."""
    with group() as counted:
        words = [agent, "time", "--journal", folder / f"journal-{user}", "--"]
        words += ["sh", "-c", f"echo $$ > {counted}/cgroup.procs; {script}"]
        done = subprocess.run(
            words, capture_output=True, cwd=folder, user=user, group=user, extra_groups=[], check=True
        )
        used = int((counted / "cpuacct.usage").read_text())
    answer = json.loads(done.stdout.splitlines()[-1])
    found = answer["whole"]["user_ns"] + answer["whole"]["system_ns"]
    return found / used - 1, answer, used


def switches(script: str, folder: pathlib.Path, user: int) -> tuple[int, int]:
    """By wait4, of a run of its own."""
    shell = subprocess.Popen(["sh", "-c", script], cwd=folder, user=user, group=user, stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(shell.pid, 0)
    return usage.ru_nvcsw, usage.ru_nivcsw


def main() -> int:
    """Run all."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--agent", type=pathlib.Path, required=True)
    asked.add_argument("--repeat", type=int, default=3)
    asked = asked.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        agent = folder / "schedlab-agent"
        shutil.copy(asked.agent, agent)
        print(f"{'command':28}{'user':8}{'group s':>10}{'error %':>20}{'switches':>18}{'wait4':>18}")
        for title, script in COMMANDS.items():
            for user, who in ((0, "root"), (NOBODY, "nobody")):
                runs = [once(agent, script, user, folder) for _ in range(asked.repeat)]
                errors = [error for error, *_ in runs]
                worst = max(worst, *map(abs, errors))
                _, answer, used = runs[-1]
                ours = "{voluntary_switches} + {involuntary_switches}".format(**answer["counts"])
                theirs = "{} + {}".format(*switches(script, folder, user))
                spread = f"{100 * min(errors):+.2f} to {100 * max(errors):+.2f}"
                print(f"{title:28}{who:8}{used / 1e9:10.3f}{spread:>20}{ours:>18}{theirs:>18}")
    print(f"largest error: {100 * worst:.2f} %")
    return int(worst > LARGEST_ERROR)


if __name__ == "__main__":
    sys.exit(main())
