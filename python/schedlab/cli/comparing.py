"""What `run` and `compare` share: the question of a comparison, its runs, and how it is printed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.cli.forms import Form

if TYPE_CHECKING:
    import polars as pl

    from schedlab.experiment import Experiment
    from schedlab.results import Results
    from schedlab.stats.comparison import Question


def over(
    experiment: "Experiment", over: str, baseline: str | None, on: str | None
) -> "tuple[Experiment, str, str | None]":
    """The experiment swept over a field, its base, and where it runs."""
    from schedlab.errors import UsageError
    from schedlab.results import compared
    from schedlab.targets.names import named

    if baseline:
        raise UsageError("--over compares with its first value: leave out --baseline, or sweep in the file")
    field, given, listed = over.partition("=")
    if field == "on":
        places = named(listed if given else on, experiment)
        if len(places) < 2:
            raise UsageError(
                "--over on compares places: name several, as --on guest:base/bzImage,guest:patched/bzImage"
            )
        return experiment, f"on={places[0]}", ",".join(places)
    values = compared.read_levels(listed)
    if not given or len(values) < 2:
        raise UsageError(f"--over {over}: a field with two values or more, as scheduler.name=cfs,eevdf; or on")
    swept = experiment.sweep({field: values})
    return swept, f"{field}={swept.cells()[0].factors[field]}", on


def question(within: str | None, of: str, until_known: bool, baseline: str | None, svg: Path | None) -> "Question":
    """What the options ask of a comparison; refused where nothing is compared."""
    from schedlab.errors import UsageError
    from schedlab.results import compared
    from schedlab.stats.comparison import Question

    if not baseline and (within or until_known or of != "mean" or svg):
        raise UsageError("--within, --of, --until-known and --svg are about a comparison: add --over or --baseline")
    if until_known and of != "mean":
        raise UsageError("--until-known judges means: leave out --of")
    return Question(compared.read_statistic(of), compared.read_within(within) if within else None, sequence=until_known)


def until_known(
    experiment: "Experiment",
    fresh: bool,
    run: "Callable[..., Results]",
    in_turns: bool,
    baseline: str,
    question: "Question",
) -> "Results":
    """Run until each difference has its answer; what was run before is not run again.

    `in_turns`: runs depend on their moment, and are made pair by pair by one session. Of others some pairs are made
    at a time: first as many as are needed at least, then a twentieth more. Raises `Interrupted` on Ctrl-C.
    """
    from dataclasses import replace

    from schedlab.errors import Interrupted
    from schedlab.results import compared
    from schedlab.stats.sequence import FEWEST

    def known(results: "Results") -> bool:
        return compared.known(differences(results, baseline, question).to_dicts())

    seeds, computed = experiment.seeds, 0
    if in_turns:
        seen: list[Results] = []
        found = run(experiment, fresh=fresh, enough=lambda results: seen.append(results) or known(results))
        if not seen or seen[-1].seeds == seeds:
            return found
        # Known before the last repeat: the folder shall say which there are.
        return replace(run(experiment.replace(seeds=seen[-1].seeds), fresh=False), computed=found.computed)
    count, results = min(FEWEST, len(seeds)), None
    try:
        while True:
            results = run(experiment.replace(seeds=seeds[:count]), fresh=fresh and not computed)
            computed += results.computed
            if count == len(seeds) or len(results.alike) == len(results.scenarios) or known(results):
                return replace(results, computed=computed)
            count = min(count + 1 + count // 20, len(seeds))
    except KeyboardInterrupt:
        # Between two parts, of which the last is kept.
        if results is None:
            raise
        cells = len(results.scenarios)
        raise Interrupted(len(results.seeds) * cells, len(seeds) * cells, results.folder) from None


def differences(results: "Results", baseline: str, question: "Question") -> "pl.DataFrame":
    """Every cell against its base, in the metrics that the experiment shows."""
    return results.differences(None, baseline, question.within, question.of, question.sequence)


def draw(results: "Results", found: "pl.DataFrame", base: str, question: "Question", path: Path) -> None:
    """Draw what differs from the base, with its intervals."""
    from schedlab.results import compared

    compared.picture(found.to_dicts(), results.factors, question, base).write(path)


def document(
    results: "Results", found: "pl.DataFrame | None", baseline: str | None, question: "Question", svg: Path | None
) -> dict:
    """What --json says of a comparison; nothing if there is none."""
    from schedlab.results import compared

    if found is None:
        return {}
    rows = found.to_dicts()
    words = compared.words(rows, results.factors, question, baseline)
    said = {"baseline": baseline, "within": question.within, "words": words, "differences": rows}
    return said | ({"picture": str(svg)} if svg else {})


def show(
    results: "Results", found: "pl.DataFrame", base: str, question: "Question", form: Form, svg: Path | None
) -> None:
    """Print what differs from the base: words, then numbers.

    No colour: what is not shown shall not look like something.
    """
    from schedlab.cli.output import print_compared
    from schedlab.results import compared

    rows = found.to_dicts()
    said = compared.words(rows, results.factors, question, base)
    table = results.differences_table(found, question.within)
    notes = compared.notes(rows, question) + ([f"picture: {svg}"] if svg else [])
    print_compared(form, table.but(title=f"compared with {base}"), said, notes)
