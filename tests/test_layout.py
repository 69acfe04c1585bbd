"""The modules of the package import each other without circles, and each room imports only those below it.

Imports inside functions count, and those for type checkers, too: a reader of one module has to know the other.
A module that a string of the package names (`_HOME` in an `__init__.py`) is imported by it. That Python runs the
`__init__.py` of a room before its modules does not count: it holds names, and nothing of a room needs them.
Claims of reports are loaded by name (`importlib`), each by `published` and from its own folder.
"""

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "python" / "schedlab"
#: What each room and each module that a person imports may import, besides itself.
BASE = {"_core", "errors", "units", "system"}
ASKED = BASE | {"specification"}
KNOWN = ASKED | {"stats", "results"}
MAY: dict[str, set[str]] = {
    "errors": set(),
    "units": set(),
    "system": {"errors"},
    "stats": set(),
    "tables": {"system"},
    "pictures": BASE,
    "specification": BASE,
    "results": ASKED | {"stats", "tables", "pictures"},
    "executors": KNOWN,
    "targets": KNOWN | {"executors"},
    "run": KNOWN | {"targets", "pictures"},
    "tune": KNOWN | {"targets", "run", "tables", "pictures"},
    "experiment": KNOWN | {"tables", "executors", "targets", "run", "tune"},
    "caches": BASE | {"stats"},
    "traces": KNOWN | {"tables"},
    "whatif": ASKED | {"stats", "tables", "traces"},
    "matrix": KNOWN | {"experiment"},
    "parity": KNOWN | {"targets", "experiment"},
    "published": KNOWN | {"targets", "experiment"},
    "observe": BASE | {"stats", "targets"},
    "memory": BASE | {"stats", "tables", "targets"},
    "direct": BASE | {"stats", "tables", "targets", "observe", "experiment", "report"},
    "report": KNOWN | {"caches", "matrix", "published", "tables", "pictures", "traces", "tune", "lab"},
    "lab": KNOWN | {"pictures", "published"},
    "gallery": BASE | {"specification", "pictures", "lab"},
    "serve": KNOWN | {"lab", "report", "run", "targets"},
    "cli": KNOWN
    | {"tables", "targets", "run", "experiment", "caches", "matrix", "parity", "published", "observe", "report"}
    | {"direct", "tune", "executors", "traces", "whatif", "memory", "lab", "serve"},
    "__main__": {"system", "cli", "direct"},
    "": {"experiment", "results", "errors", "_core"},
}
#: The same within targets: each kind may import what all share, and no other kind.
SHARED = {"target", "rows", "names", "linux", "agent", "ignored"}
OF_TARGETS = {
    "target": set(),
    "rows": set(),
    "names": set(),
    "linux": set(),
    "agent": set(),
    "ignored": set(),
    "translate": {"linux"},
    "simulator": {"target", "names"},
    "host": SHARED,
    "guest": SHARED,
    "factory": SHARED | {"translate", "simulator", "host", "guest"},
}


def sources() -> dict[str, str]:
    """The text of each module, by its name without `schedlab.`."""
    paths = {path.relative_to(PACKAGE).with_suffix(""): path for path in sorted(PACKAGE.rglob("*.py"))}
    named = {".".join(path.parts).removesuffix("__init__").rstrip("."): file for path, file in paths.items()}
    return {name: file.read_text() for name, file in named.items()}


def imports(text: str, modules: Mapping[str, object]) -> set[str]:
    """The modules of the package that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "an import names the module from the root of the package"
            whole = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {path if inner(path) in modules else node.module for path in whole.values()}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            found |= {node.value} if inner(node.value) in modules else set()
    return {inner(name) for name in found if name.partition(".")[0] == "schedlab"}


def inner(name: str) -> str | None:
    """A module's name without `schedlab.`; the extension is one of the package's, too."""
    root, _, rest = name.partition(".")
    return rest if root == "schedlab" else None


def graph(texts: Mapping[str, str]) -> dict[str, set[str]]:
    return {name: imports(text, {**texts, "_core": ""}) for name, text in texts.items()}


def circle(edges: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, the first that is found; none if there is none."""
    over: set[str] = set()

    def search(name: str, path: list[str]) -> list[str]:
        if name in path:
            return path[path.index(name) :]
        if name in over:
            return []
        found = next(filter(None, (search(to, [*path, name]) for to in sorted(edges.get(name, ())))), [])
        over.add(name)
        return found

    return next(filter(None, (search(name, []) for name in edges)), [])


def outside(edges: Mapping[str, set[str]]) -> list[str]:
    """Imports from a room that may not be imported, as `module -> module`."""
    found = []
    for name, others in edges.items():
        for other in others:
            of, to = name.partition(".")[0], other.partition(".")[0]
            kinds = [name.split(".")[1:2], other.split(".")[1:2]]
            if of == to == "targets" and all(kinds):
                of, to = (kind[0] for kind in kinds)
                allowed = OF_TARGETS[of]
            else:
                allowed = MAY[of]
            if of != to and to not in allowed:
                found.append(f"{name} -> {other}")
    return sorted(found)


def test_no_modules_import_each_other_in_a_circle():
    assert circle(graph(sources())) == []


def test_each_room_imports_only_rooms_that_it_may():
    assert outside(graph(sources())) == []


def test_rooms_form_no_circle():
    assert circle(MAY) == []
    assert circle(OF_TARGETS) == []


def test_every_room_is_in_the_table():
    assert {name.partition(".")[0] for name in sources()} == MAY.keys()


@pytest.mark.parametrize(
    ("module", "line", "found"),
    [
        (
            "targets.host.seal",
            "from schedlab.targets.host import blinded",
            ["targets.host.blinded", "targets.host.seal"],
        ),
        ("targets.target", "from schedlab.run.runner import run", ["run.runner", "targets.target"]),
        ("specification", "import schedlab.experiment", ["experiment", "specification"]),
    ],
)
@pytest.mark.parametrize("where", ["{}", "def later():\n    {}", "if TYPE_CHECKING:\n    {}"])
def test_a_circle_is_found_wherever_the_import_is(module, line, found, where):
    texts = sources()
    texts[module] += f"\n{where.format(line)}\n"
    assert set(found) <= set(circle(graph(texts)))


@pytest.mark.parametrize(
    ("module", "line", "found"),
    [
        ("stats", "from schedlab.targets import agent", "stats -> targets.agent"),
        (
            "targets.guest.snapshots",
            "from schedlab.targets.host import seal",
            "targets.guest.snapshots -> targets.host.seal",
        ),
        ("targets.agent", "from schedlab.cli.output import print_json", "targets.agent -> cli.output"),
        ("report.page", "from schedlab.targets.names import split", "report.page -> targets.names"),
    ],
)
def test_an_import_from_a_room_above_is_found(module, line, found):
    texts = sources()
    texts[module] += f"\ndef later():\n    {line}\n"
    assert outside(graph(texts)) == [found]
