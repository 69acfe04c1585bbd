"""How good `schedlab tune` is: ten scenarios whose whole space was run, searched with a fifth of those runs.

    truth     the mean of each setting over all seeds, under the conditions; the grid's runs are settings x seeds
    asked     search and settle, as `schedlab tune` does before it measures ranges, with a fifth of the grid's runs,
              from ten starts: is what leads then within 2 % of the best?
    peers     at the same number of runs: random settings, and Optuna's TPE, both with three repeats of each
              setting, as a careful person would make, and both ending with the setting of the best mean

The peers are replayed from the same runs. Nothing here depends on the time that anything takes.

    .venv/bin/python bench/tune.py [NAME...] [--starts 10] [--out FOLDER]
"""

import argparse
import random
from pathlib import Path

import numpy as np

from schedlab import Experiment
from schedlab.targets.simulator import Simulator
from schedlab.tune.board import Board, Measured
from schedlab.tune.ledger import Ledger
from schedlab.tune.space import Space
from schedlab.tune.tuning import SEARCHED, SETTLED, leading, search, settle

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
REPORTS = ROOT / "python" / "schedlab" / "published" / "reproductions"

#: By name: the file, what is set, the goal, and the space.
SCENARIOS = {
    "request-slice": (
        EXAMPLES / "response.toml",
        ["workload.request.count=40", "workload.request.gap.exp=100ms"],
        {"minimize": ["tasks.request.turnaround.p99"], "keep": ["tasks.batch.share >= 80%"]},
        {"scheduler.slice": {"low": "500us", "high": "200ms"}},
    ),
    "minix-1990-quantum": (
        EXAMPLES / "quantum.toml",
        [],
        {"minimize": ["tasks.io.real"]},
        {"scheduler.slice": {"low": "17ms", "high": "500ms"}, "scheduler.ready_at": ["head", "tail"]},
    ),
    "irix-1999-slice": (
        REPORTS / "irix_1999_slice" / "slice_size.toml",
        ["workload.copies.count=10", "seeds=8"],
        {"minimize": ["tasks.copies.true_user"], "keep": ["tasks.copies.longest_gap <= 1s"]},
        {"scheduler.slice_size": {"low": 1, "high": 40}},
    ),
    "desktop-eevdf": (
        EXAMPLES / "desktop.toml",
        ["scheduler.name=eevdf", "duration=5s", "seeds=8"],
        {"minimize": ["tasks.editor.wakeup_latency.p99"]},
        {"scheduler.base_slice": {"low": "100us", "high": "20ms"}, "scheduler.wakeup_preemption": [True, False]},
    ),
    "desktop-cfs": (
        EXAMPLES / "desktop.toml",
        ["scheduler.name=cfs", "duration=5s", "seeds=8"],
        {"minimize": ["overhead"], "keep": ["tasks.editor.wakeup_latency.p99 <= 30ms"]},
        {
            "scheduler.latency": {"low": "2ms", "high": "60ms"},
            "scheduler.min_granularity": ["200us", "750us", "2ms", "6ms"],
            "scheduler.wakeup_granularity": ["200us", "1ms", "5ms"],
        },
    ),
    "desktop-rsdl": (
        EXAMPLES / "desktop.toml",
        ["scheduler.name=rsdl", "duration=5s", "seeds=8"],
        {"minimize": ["tasks.browser.wakeup_latency.p99"]},
        {"scheduler.rr_interval": {"low": "1ms", "high": "200ms"}, "scheduler.interactive": [False, True]},
    ),
    "desktop-mlfq": (
        EXAMPLES / "desktop.toml",
        ["scheduler.name=mlfq", "duration=5s", "seeds=8"],
        {"minimize": ["tasks.editor.pass_time.p99"]},
        {"scheduler.levels": {"low": 1, "high": 6}, "scheduler.slice": {"low": "1ms", "high": "50ms"}},
    ),
    "elevator-deadline": (
        EXAMPLES / "elevators.toml",
        ["elevator.name=deadline"],
        {"minimize": ["tasks.reader.real"]},
        {
            "elevator.fifo_batch": {"low": 1, "high": 64},
            "elevator.read_expire": ["50ms", "200ms", "500ms", "2s"],
            "elevator.writes_starved": [1, 2, 4, 8],
        },
    ),
    "memory-swappiness": (
        EXAMPLES / "memory.toml",
        ["machine.memory.size=24MiB", "cache.name=two_list"],
        {"minimize": ["tasks.program.real"]},
        {"reclaim.swappiness": {"low": 0, "high": 200}},
    ),
    "server-threads": (
        EXAMPLES / "pool.toml",
        ["workload.server.arrivals.poisson=700/s", "workload.server.requests=2000"],
        {"minimize": ["tasks.server.message_latency.p99"]},
        {"workload.server.count": {"low": 4, "high": 40}, "scheduler.base_slice": ["300us", "700us", "3ms", "10ms"]},
    ),
}
#: Repeats of a setting by the peers.
REPEATS = 3
#: Known settings in a row after which a search has nothing more to ask.
AGAIN = 50
#: What counts as having found the best.
NEAR = 0.02


class Known:
    """A space of which every run is known: measures as a ledger does, from a table. It has one load."""

    loads = ({},)

    def __init__(self, experiment: Experiment, out: Path):
        """Run the whole space; what is in `out` is not run again."""
        self.experiment, self.space = experiment, Space.of(experiment)
        simulator = Simulator(threads=2)
        ledger = Ledger(experiment, self.space, lambda part: simulator, out)
        settings = [self.space.present, *(one for one in self.space.all() if one != self.space.present)]
        with ledger.kept():
            ledger.measure([(one, len(experiment.seeds)) for one in settings])
        self.whole = ledger.board
        self.runs = ledger.spent
        self.begin()

    def begin(self) -> None:
        """Forget what was measured."""
        self.board = Board(self.whole.counters, self.space.present)
        self.board.refused = dict(self.whole.refused)
        self.spent = 0

    cost = Ledger.cost

    def measure(self, asked) -> None:
        """As `Ledger.measure`."""
        wanted = {one: repeats for one, repeats in asked if one not in self.board.refused}
        present = self.space.present
        if wanted:
            wanted[present] = max(wanted.get(present, 1), *wanted.values())
        for one, repeats in wanted.items():
            whole, known = self.whole.measured[one], self.board.measured.get(one)
            repeats = 1 if whole.alike else repeats
            if known is None or known.repeats < repeats:
                self.spent += repeats - (known.repeats if known else 0)
                self.board.measured[one] = Measured(whole.values[:, :repeats], whole.missed[:repeats], whole.alike)

    def regret(self, setting) -> float:
        """By how much a setting is worse than the best of all, by all runs; infinite if it misses a condition."""
        if self.whole.missed(setting):
            return float("inf")
        return self.whole.worst_of(setting)


def raced(known: Known, budget: int, start: int):
    """What leads when `schedlab tune` has searched and settled."""
    search(known, int(SEARCHED / SETTLED * budget), start)
    settle(known, budget)
    return leading(known)


def scattered(known: Known, budget: int, start: int):
    """Random settings, three repeats each."""
    settings = [one for one in known.space.all() if one not in known.whole.refused]
    random.Random(start).shuffle(settings)
    return _best_mean(known, settings, budget)


def optuna_alone(known: Known, budget: int, start: int):
    """Optuna's TPE as it comes, three repeats of each setting that it proposes."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=start))

    def proposed():
        while True:
            trial = study.ask()
            setting = tuple(
                trial.suggest_int(one.path, 0, len(one.levels) - 1)
                if one.ordered
                else trial.suggest_categorical(one.path, list(range(len(one.levels))))
                for one in known.space.dimensions
            )
            yield setting
            if setting in known.whole.refused:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                mean = known.whole.signed(setting)[0, :REPEATS].mean()
                missed = known.whole.measured[setting].missed[:REPEATS].max(initial=0.0)
                study.tell(trial, mean if not missed else abs(mean) * (10 + missed))

    return _best_mean(known, proposed(), budget)


def _best_mean(known: Known, settings, budget: int):
    """Measure settings until the budget is used, and give the one with the best mean that keeps the conditions."""
    spent, means, again = 0, {}, 0
    for asked in range(50 * budget):
        setting = next(settings, None) if not isinstance(settings, list) else (settings[asked : asked + 1] or [None])[0]
        if setting is None:
            break
        if setting in means or setting in known.whole.refused:
            # What is known costs nothing; but TPE may ask for nothing else.
            again += 1
            if again > AGAIN:
                break
            continue
        again = 0
        whole = known.whole.measured[setting]
        cost = 1 if whole.alike else min(REPEATS, whole.repeats)
        if spent + cost > budget:
            break
        spent += cost
        means[setting] = (whole.missed[:cost].max(initial=0.0), known.whole.signed(setting)[0, :cost].mean())
    return min(means, key=means.get)


def main() -> None:
    """Print a row for each scenario, and how often each way ended near the best."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(SCENARIOS))
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--out", type=Path, default=Path("results/bench-tune"))
    given = parser.parse_args()
    ways = {"schedlab": raced, "random": scattered, "optuna": optuna_alone}
    print(f"{'scenario':22}{'settings':>9}{'grid':>7}{'budget':>8}  " + "".join(f"{way:>22}" for way in ways))
    totals = dict.fromkeys(ways, 0)
    for name in given.names or SCENARIOS:
        file, set, goal, space = SCENARIOS[name]
        experiment = Experiment.from_toml(file, set=set).replace(sweep={}, goal=goal, space=space)
        known = Known(experiment, given.out / name)
        budget = int(given.share * known.runs)
        cells = []
        for way, searched in ways.items():
            ends = []
            for start in range(given.starts):
                known.begin()
                ends.append(known.regret(searched(known, budget, start)))
            near = sum(end <= NEAR for end in ends)
            totals[way] += near
            cells.append(f"{near:>3} of {given.starts}, {100 * float(np.median(ends)):6.2f} %")
        head = f"{name:22}{known.space.size:>9}{known.runs:>7}{budget:>8}  "
        print(head + "".join(f"{cell:>22}" for cell in cells), flush=True)
    searches = given.starts * len(given.names or SCENARIOS)
    print(f"{'all':48}" + "".join(f"{near:>10} of {searches}" for near in totals.values()))
    print("columns: starts that end within 2 % of the best, and the median of what is lost")


if __name__ == "__main__":
    main()
