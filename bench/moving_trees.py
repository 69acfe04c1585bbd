"""Trees of recorded files whose counters move: situations of `diagnose.py` that this host cannot give."""

import contextlib
import pathlib
import shutil
import tempfile
import threading
from collections.abc import Callable

from planted import Planted

from schedlab.targets import agent
from schedlab.observe.usage import Usage
from schedlab.observe.diagnose import judge
from schedlab.observe.watch import Means, Rows, Request

TREE = pathlib.Path(__file__).parent.parent / "crates/observe/tests/trees/6.18"


class Tree:
    """A tree of recorded files whose counters move: so much of each kind of time in a tick of ours."""

    def __init__(self, stat: tuple[int, ...], group: Callable[[int], dict[str, str]] | None = None):
        """`stat`: user, nice, system, idle, iowait, irq, softirq, steal; `group`: its files after n ticks."""
        self.stat, self.group = stat, group

    def judged(self) -> dict:
        """As the command's JSON."""
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name) / "tree"
            shutil.copytree(TREE, root)
            stop = threading.Event()
            self.write(root, 1)
            mover = threading.Thread(target=self.move, args=(root, stop))
            mover.start()
            try:
                return judged_at(root)
            finally:
                stop.set()
                mover.join()

    def move(self, root: pathlib.Path, stop: threading.Event) -> None:
        """Until told to stop."""
        ticks = 1
        while not stop.wait(0.02):
            ticks += 1
            self.write(root, ticks)

    def write(self, root: pathlib.Path, ticks: int) -> None:
        """The counters after so many ticks."""
        times = " ".join(str(1000 + kind * ticks) for kind in self.stat)
        rest = "\nintr 5000\nctxt 5000\nprocesses 500\nprocs_running 1\nprocs_blocked 0\n"
        put(root / "proc/stat", f"cpu  {times} 0 0\ncpu0 {times} 0 0{rest}")
        for file, text in (self.group(ticks) if self.group else {}).items():
            put(root / "sys/fs/cgroup/shop.slice" / file, text)


def put(file: pathlib.Path, text: str) -> None:
    """In place, as long as before or longer: a sampler keeps its files open."""
    file.parent.mkdir(exist_ok=True)
    with file.open("r+" if file.exists() else "w") as open_file:
        open_file.write(text)


def judged_at(root: pathlib.Path) -> dict:
    """What is judged of another tree of files."""
    request = Request(every="100ms", count=8)
    schema = agent.ask(["sample", "--schema"])
    answer: dict = {}
    ask = threading.Thread(target=lambda: answer.update(agent.ask(["suspects", "--for", "700ms", "--root", str(root)])))
    ask.start()
    header, *lines = agent.lines([*request.arguments(), "--root", str(root)])
    rows, means = Rows(header, schema, request), Means()
    for line in lines:
        means.add(rows.row(line))
    ask.join()
    findings = judge(header, means, Usage(), answer)
    found = [{**vars(it), "tasks": [vars(task) for task in it.tasks]} for it in findings]
    return {"short": [it.resource for it in findings if it.short], "findings": found}


def quota_of_version_2(ticks: int) -> dict[str, str]:
    """A group that is throttled in four of five periods."""
    used = f"usage_usec {ticks * 900}\nuser_usec {ticks * 900}\nsystem_usec 0\n"
    return {"cpu.stat": f"{used}nr_periods {ticks}\nnr_throttled {ticks * 8 // 10}\nthrottled_usec {ticks * 9000}\n"}


def memory_of_version_2(ticks: int) -> dict[str, str]:
    """A group at its limit that reads again."""
    return {
        "memory.events": f"low 0\nhigh 0\nmax {ticks * 40}\noom 0\noom_kill 0\n",
        "memory.stat": f"anon 1\nworkingset_refault_anon 0\nworkingset_refault_file {ticks * 60}\npgmajfault {ticks}\n",
        "memory.pressure": f"some avg10=9.00 avg60=1.00 avg300=0.00 total={ticks * 9000}\nfull avg10=0.00 total=0\n",
        "memory.max": "16777216\n",
        "memory.current": "16777000\n",
    }


@contextlib.contextmanager
def on_tree(tree: Tree, planted: Planted):
    """No planting: a tree."""
    yield planted, tree.judged


IDLE = (1, 0, 1, 198, 0, 0, 0, 0)
SITUATIONS: dict[str, Callable] = {
    "steal (tree)": lambda: on_tree(Tree((60, 0, 10, 70, 0, 0, 0, 60)), Planted(("hypervisor",))),
    "steal is not busy (tree)": lambda: on_tree(Tree((2, 0, 1, 180, 0, 0, 0, 15)), Planted(())),
    "softirqs (tree)": lambda: on_tree(Tree((10, 0, 10, 90, 0, 0, 90, 0)), Planted(("interrupts",))),
    "quota, version 2 (tree)": lambda: on_tree(
        Tree(IDLE, quota_of_version_2), Planted(("processor quota",), group="/shop.slice")
    ),
    "memory.events, version 2 (tree)": lambda: on_tree(
        Tree(IDLE, memory_of_version_2), Planted(("memory and paging",), group="/shop.slice")
    ),
    "idle and healthy (tree)": lambda: on_tree(Tree(IDLE), Planted(())),
}
