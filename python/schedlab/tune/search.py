"""Which settings are tried next, and which are repeated: a race in which noise does not choose the winner.

    rungs       1, 3, 9 ... repeats, up to those of the experiment. Of the settings on a rung the best third goes up
                to the next (asynchronous successive halving, L. Li et al., A System for Massively Parallel
                Hyperparameter Tuning, MLSys 2020); bad settings stay at one repeat, good ones have many
    proposals   the present setting and points of a Sobol sequence; then in turns
                    what Optuna's TPE (multi-objective, with conditions) expects most of
                    neighbours of the best, by steps that become smaller

The same measurements give the same proposals, so a search that was interrupted is resumed by asking again: the runs
that there are need not be made.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from schedlab.tune.board import Board
from schedlab.tune.front import separable
from schedlab.tune.space import OUTSIDE, Setting, Space

#: The share of a rung that goes up, and by which its repeats grow.
THIRD = 3
#: More counters than this are searched by their worst regret: of many, hardly any setting is dominated.
MOST_OBJECTIVES = 3
#: Settings of the first design, for each field and in all.
DESIGN, DESIGN_LEAST = 3, 6
#: Seeds that numpy takes.
SEEDS = 1 << 32
#: How often TPE is asked, in a batch, for a setting that is not known yet.
ASKED = 8


class Search:
    """A search through a space, by what is on the board."""

    def __init__(self, space: Space, board: Board, most: int, seed: int = 0):
        """`most` is the number of repeats that a good setting has in the end."""
        self._space, self._board, self._most, self._seed = space, board, most, seed
        self._design = list(self._sobol())
        self._turn = 0

    @property
    def rungs(self) -> list[int]:
        """The numbers of repeats."""
        found = [1]
        while found[-1] < self._most:
            found.append(min(found[-1] * THIRD, self._most))
        return found

    def next(self, count: int) -> list[tuple[Setting, int]]:
        """At most that many settings, each with the repeats that it shall have; none if there is nothing left to do."""
        going_up = self._promoted()[:count]
        fresh = self._proposed(count - len(going_up), {one for one, _ in going_up})
        return [*going_up, *((one, 1) for one in fresh)] or self._left()[:count]

    def _promoted(self) -> list[tuple[Setting, int]]:
        """Settings in the best third of their rung that have not gone up, the highest rung first.

        With one counter, those that repeats tell apart from the best need no more of them.
        """
        found: list[tuple[Setting, int]] = []
        rungs = self.rungs
        for low, high in reversed(list(pairwise(rungs))):
            there = [one for one in self._board.measured if self._repeats(one) >= low]
            best = self._board.order(there)[: len(there) // THIRD]
            if low > 1 and len(self._board.counters) == 1:
                others = [one for one in best[1:] if separable(self._board, best[0], one) is not True]
                best = [*best[:1], *others] if others else []
            found += [(one, high) for one in best if self._repeats(one) < high]
        return found

    def _repeats(self, setting: Setting) -> int:
        """How many repeats a setting has; one whose runs draw nothing has all."""
        measured = self._board.measured[setting]
        return self._most if measured.alike else measured.repeats

    def _left(self) -> list[tuple[Setting, int]]:
        """Where every setting was tried: the best that have not all repeats."""
        best = self._board.order(list(self._board.measured))
        return [(one, self._most) for one in best if self._repeats(one) < self._most]

    def _proposed(self, count: int, besides: set[Setting]) -> list[Setting]:
        """Settings that are not known, the most promising first."""
        known = {*self._board.measured, *self._board.refused, *besides}
        whole = self._space.size + (OUTSIDE in self._space.present)
        sources = [iter(self._design)] if self._designed(known) else self._in_turns(known)
        found: list[Setting] = []
        while len(found) < count and len(known) < whole:
            one = next((one for one in sources[0] if one not in known), None)
            if one is None:
                sources = sources[1:] or [self._scattered()]
                continue
            known.add(one)
            found.append(one)
            sources = [*sources[1:], sources[0]]
        return found

    def _designed(self, known: set[Setting]) -> bool:
        """Whether settings of the first design are left."""
        return any(one not in known for one in self._design)

    def _in_turns(self, known: set[Setting]) -> list[Iterator[Setting]]:
        """What is expected of a model and what is near the best, each first in every other batch."""
        self._turn += 1
        sources = [self._expected(len(known)), self._nearby()]
        return sources if self._turn % 2 else sources[::-1]

    def _sobol(self) -> Iterator[Setting]:
        """The present setting, its neighbours in names, and points that fill the space evenly."""
        yield self._space.present
        yield from self._points(max(DESIGN_LEAST, DESIGN * len(self._space.dimensions)))

    def _points(self, count: int) -> Iterator[Setting]:
        from scipy.stats import qmc

        sizes = [len(one.levels) for one in self._space.dimensions]
        power = max(count - 1, 1).bit_length()
        points = qmc.Sobol(len(sizes), rng=self._seed).random_base2(power)[:count]
        seen: set[Setting] = set()
        for point in points:
            setting = tuple(min(int(x * size), size - 1) for x, size in zip(point, sizes, strict=True))
            if setting not in seen:
                seen.add(setting)
                yield setting

    def _scattered(self) -> Iterator[Setting]:
        """Whatever is left, in an order that favours no corner."""
        yield from self._points(1 << 12)
        yield from self._space.all()

    def _nearby(self) -> Iterator[Setting]:
        """Neighbours of the best settings, the longest steps first."""
        contenders = self._board.order(list(self._board.measured))[: max(THIRD, len(self._board.counters))]
        longest = max(len(one.levels) for one in self._space.dimensions) // 8
        step = max(longest, 1)
        while step:
            for one in contenders:
                yield from self._space.neighbours(one, step)
            step //= 2

    def _expected(self, number: int) -> Iterator[Setting]:
        """What TPE proposes by all that was measured; `number` tells one call from another."""
        import optuna
        from optuna.distributions import CategoricalDistribution, IntDistribution
        from optuna.trial import TrialState, create_trial

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        axes = {
            one.path: IntDistribution(0, len(one.levels) - 1)
            if one.ordered
            else CategoricalDistribution(list(range(len(one.levels))))
            for one in self._space.dimensions
        }
        settings = [one for one in self._board.measured if OUTSIDE not in one]
        if not settings:
            return
        values = self._objectives(settings)
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=1, multivariate=True, seed=(self._seed * 1_000_003 + number) % SEEDS
        )
        study = optuna.create_study(directions=["minimize"] * values.shape[1], sampler=sampler)
        for one, row in zip(settings, values.tolist(), strict=True):
            missed = {"conditions": self._board.missed(one)} if self._board.missed(one) else {"conditions": -1.0}
            params = dict(zip(axes, one, strict=True))
            done = create_trial(
                state=TrialState.COMPLETE, params=params, distributions=axes, values=row, constraints=missed
            )
            study.add_trial(done)
        for _ in range(ASKED):
            trial = study.ask(axes)
            yield tuple(trial.params[path] for path in axes)

    def _objectives(self, settings: Sequence[Setting]):
        """What is to be small: the regret of each counter, or of many the worst one."""
        import numpy as np

        regrets = self._board.regrets(settings)
        finite = np.nan_to_num(regrets, nan=1e9, posinf=1e9)
        if finite.shape[1] > MOST_OBJECTIVES or self._board.weighted:
            return self._board.worst(finite)[:, None]
        return finite
