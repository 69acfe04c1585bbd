"""Writes what the program itself can say of the documentation: `make docs`.

::

    docs/policies/*/*.md      a page for every policy, from its file and its entry in the table
    schema/experiment.json    the JSON Schema of experiment files
    examples/*.out            what `schedlab run` prints for every example
    examples/*.ipynb          the outputs of every notebook
    docs/matrix.md            every scheduler on every load of the matrix
    docs/pictures/*.svg       the figure of the README

A folder given as argument takes the files in place of the project's own.
"""

import ast
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path

from schedlab import Experiment, _core, matrix, units
from schedlab.gallery.policies import TITLES
from schedlab.report.matrix import colour, text
from schedlab.report.reproduced import figure_file
from schedlab.published.reproduction import reproduce

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SCHEDLAB = Path(sys.executable).with_name("schedlab")


def main() -> None:
    """Write everything below the folder of the first argument, or below the project's."""
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    for path, text in {**pages(), **schema(), **outputs(), **notebooks(), **pictures(), **the_matrix()}.items():
        (into / path).parent.mkdir(parents=True, exist_ok=True)
        (into / path).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """The page of every policy, and the list of them."""
    made, sections = {}, []
    for family, title in TITLES.items():
        rows = []
        for name in [info["name"] for info in json.loads(_core.catalogue())[family]]:
            entry = json.loads(_core.page(name, family))
            made[f"docs/policies/{family}/{name}.md"] = page(entry, family)
            rows.append(f"| [{name}]({family}/{name}.md) | {entry['info']['summary']} | {entry['info']['year']} |")
        sections.append(f"## {title}\n\n" + "\n".join(["| name | | year |", "|---|---|---|", *rows]))
    made["docs/policies/README.md"] = "\n\n".join([f"{NOTE}\n# Policies", GALLERY, *sections]) + "\n"
    return made


GALLERY = """`make gallery` writes these pages as a site in which every schedule runs and follows its knobs
([lab.md](../lab.md#the-gallery))."""
# Folders of the families whose name differs from the family's.
FOLDERS = {"reclaims": "reclaim"}


NOTE = "<!-- Written by `make docs`; change the policy's file instead. -->"


def page(entry: dict, family: str) -> str:
    """A policy's page: its file's documentation, then its entry in the table."""
    name, info = entry["name"], entry["info"]
    text = entry["page"].removeprefix(f"# {name}\n").strip()
    promises = ", ".join(map(promise, info["promises"])) or "none"
    (source,) = (POLICIES_SOURCE / FOLDERS.get(family, family)).rglob(f"{name}.rs")
    file = f"../../../{source.relative_to(ROOT)}"
    facts = f"{info['origin']}, {info['year']}. Promises: {promises}. File: [{name}.rs]({file})."
    return f"{NOTE}\n# {name}\n\n{text}\n\n## Parameters\n\n{parameters(info['parameters'])}\n\n## Origin\n\n{facts}\n"


POLICIES_SOURCE = ROOT / "crates/policies/src"

# How far a promise reaches; one that holds everywhere needs no word.
REACHES = {"each_processor": "each processor by itself", "unbound": "as long as no task is bound to processors"}


def promise(entry: dict) -> str:
    """A promise in words, with its reach."""
    words = entry["promise"].replace("_", " ")
    reach = REACHES.get(entry.get("reach"))
    return f"{words} ({reach})" if reach else words


def parameters(entries: list[dict]) -> str:
    """The table of a policy's parameters."""
    if not entries:
        return "None."
    rows = []
    for p in entries:
        cells = [
            f"`{p['name']}`",
            p["default"] or "must be given",
            units.allowed(p["domain"]),
            p["meaning"],
            p["host"] or "",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(["| name | default | allowed | meaning | on a Linux host |", "|---|---|---|---|---|", *rows])


def schema() -> dict[str, str]:
    """The JSON Schema."""
    return {"schema/experiment.json": _core.schema().rstrip("\n") + "\n"}


def pictures() -> dict[str, str]:
    """The I/O job of 1990 over the quantum: published and predicted."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = reproduce("minix-1990", {"out": Path(folder)})
    return {"docs/pictures/minix-1990.svg": figure_file(outcome, "The I/O job: real time")}


def the_matrix() -> dict[str, str]:
    """The page of the matrix: a section for each load."""
    with tempfile.TemporaryDirectory() as folder:
        done = matrix.run(out=folder)
    measures = "\n".join(f"- **{m.title}** [{m.unit}], {m.better} is better. {m.meaning}" for m in done.measures)
    sections = "\n\n".join(matrix_section(done, load) for load in done.loads)
    return {
        "docs/matrix.md": f"{MATRIX_HEAD.format(len(done.schedulers), len(done.loads))}\n{measures}\n\n{sections}\n"
    }


MATRIX_HEAD = """<!-- Written by `make docs`; change the loads or the schedulers instead. -->
# The scheduler matrix

{0} schedulers, each with its default parameters, on {1} loads. A load is an experiment file; each number is a mean over the seeds
named with its load ± half the width of its 95 % interval, of the scenario named in its row. Bold is the best of a column, or within
5 % of it. Schedulers for one processor are left out where a load has two. What a simulated machine of this kind leaves out stands in
[validity.md](validity.md).

```sh
schedlab matrix --html matrix.html                    # the same numbers as heat maps
schedlab matrix round_robin fifo --loads audio,hogs   # some of them
```

What is measured:
"""


def matrix_section(done: matrix.Matrix, load: matrix.Load) -> str:
    """What a load is, and every scheduler on it."""
    lines = (matrix.FOLDER / f"{load.name}.toml").read_text(encoding="utf-8").splitlines()
    told = " ".join(line.removeprefix("# ") for line in lines if line.startswith("# "))
    definition = load.experiment.definition
    (machine,) = done.results[load.name].manifest["machines"]
    seeds = load.experiment.seeds
    scene = f"Machine: {machine['title']}. Each run: {definition['duration']}. Seeds: {seeds[0]} to {seeds[-1]}."
    file = f"[{load.name}.toml](../python/schedlab/matrix/loads/{load.name}.toml)"
    head = ["scheduler", *(f"{m.title} [{m.unit}]" for m in load.measures), "scenario"]
    table = [head, ["---", *["--:"] * len(load.measures), "---"], *(matrix_row(done, load, s) for s in load.schedulers)]
    rows = "\n".join(f"| {' | '.join(row)} |" for row in table)
    return f"## {load.name}\n\n{told}\n\n{scene} File: {file}.\n\n{rows}"


def matrix_row(done: matrix.Matrix, load: matrix.Load, scheduler: str) -> list[str]:
    """A scheduler's numbers on a load, and their scenario."""
    fields = []
    for measure in load.measures:
        field = text(done.cells[measure.name, load.name, scheduler])
        best = colour(done.ratio(measure, load.name, scheduler)) == 0
        fields.append(f"**{field}**" if best else field)
    return [scheduler, *fields, f"`{done.scenarios[load.name, scheduler][:12]}`"]


def recorded() -> list[Path]:
    """The examples with a recorded output: those of the live host come out differently on every host."""
    return [file for file in sorted(EXAMPLES.glob("*.toml")) if not Experiment.from_toml(file).is_of_host]


def outputs() -> dict[str, str]:
    """What the command prints for every example that is recorded."""
    made = {}
    for file in recorded():
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(file, folder)
            command = [SCHEDLAB, "run", file.name]
            done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, env=PLAIN)
        made[f"examples/{file.stem}.out"] = DIGEST.sub("", done.stdout)
    return made


# As in a pipe, whatever terminal this runs in.
PLAIN = {**{name: value for name, value in os.environ.items() if name != "COLUMNS"}, "NO_COLOR": "1"}
# Of the engine and the scenarios, in the name of a results folder: every verb takes the name without it.
DIGEST = re.compile(r"(?<=[\w/])-[0-9a-f]{8}$", re.MULTILINE)


def notebooks() -> dict[str, str]:
    """Every notebook with its outputs."""
    made = {}
    for file in sorted(EXAMPLES.glob("*.ipynb")):
        notebook = json.loads(file.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
            with chdir(folder):
                execute(notebook, file.name)
        made[f"examples/{file.name}"] = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    return made


def execute(notebook: dict, name: str) -> None:
    """Run the cells in order, as Jupyter does: what is printed is shown, and the value of a last expression."""
    names = {"__name__": "__main__"}
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    for number, cell in enumerate(cells, 1):
        place = f"{name}[{number}]"
        tree = ast.parse("".join(cell["source"]), place)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(tree, place, "exec"), names)
            value = eval(compile(ast.Expression(last.value), place, "eval"), names) if last else None
        cell["execution_count"], cell["outputs"] = number, []
        if printed.getvalue():
            cell["outputs"].append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
        if value is not None:
            shown = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data(value)}
            cell["outputs"].append(shown)


def data(value: object) -> dict[str, list[str]]:
    """A value in the forms that it can show itself in."""
    for form, method in {"image/svg+xml": "_repr_svg_", "text/html": "_repr_html_"}.items():
        if hasattr(value, method):
            return {form: lines(getattr(value, method)())}
    return {"text/plain": lines(repr(value))}


def lines(text: str) -> list[str]:
    """As notebooks keep text."""
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    main()
