"""What verdicts are judged by was stated before the numbers were seen, or is marked as set afterwards.

`tests/judged.json` holds a digest of every tolerance and claim as it was when it was first judged. A later
change is marked with what was changed: `afterwards` in rows.toml, `@set_afterwards` in claims.py. Where a change
of the code decides nothing, renew the digests: python tests/test_judged.py
"""

import ast
import hashlib
import json
import tomllib
from pathlib import Path

import pytest

REPORTS = Path(__file__).parent.parent / "python" / "schedlab" / "published" / "reproductions"
RECORD = Path(__file__).with_name("judged.json")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def tolerances() -> dict[str, tuple[str, bool]]:
    """Digest, and whether it is marked, of each tolerance."""
    found = {}
    for path in sorted(REPORTS.glob("*/rows.toml")):
        for name, given in tomllib.loads(path.read_text())["tolerance"].items():
            bound = {key: given[key] for key in ("relative", "absolute") if key in given}
            found[f"{path.parent.name}: tolerance {name}"] = digest(json.dumps(bound)), "afterwards" in given
    return found


def parts(tree: ast.Module) -> dict[str, ast.stmt]:
    """Functions, classes and constants of a module by name."""
    named: dict[str, ast.stmt] = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            named[statement.name] = statement
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
            named |= dict.fromkeys(names, statement)
    return named


def judged_by(name: str, named: dict[str, ast.stmt], seen: set[str]) -> str:
    """What a function says and all of its module that it uses, without texts that are only shown."""
    if name in seen or name not in named:
        return ""
    seen.add(name)
    used = sorted({node.id for node in ast.walk(named[name]) if isinstance(node, ast.Name)})
    return ast.unparse(WithoutText().visit(named[name])) + "".join(judged_by(other, named, seen) for other in used)


class WithoutText(ast.NodeTransformer):
    """Leaves out docstrings and texts with numbers in them: evidence for people."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
        node.decorator_list = []
        return self.generic_visit(node)


def is_claim(statement: ast.stmt) -> bool:
    """A public function that returns a Finding, or a rule of rows.toml."""
    return isinstance(statement, ast.FunctionDef) and not statement.name.startswith("_")


def is_marked(statement: ast.FunctionDef) -> bool:
    return any("set_afterwards" in ast.unparse(decorator) for decorator in statement.decorator_list)


def claims() -> dict[str, tuple[str, bool]]:
    """Digest, and whether it is marked, of each claim and rule."""
    found = {}
    for path in sorted(
        [*REPORTS.glob("*/claims.py"), *REPORTS.glob("*/*/claims.py"), *REPORTS.glob("*/kernel_claims.py")]
    ):
        names = [name for name, part in parts(ast.parse(path.read_text())).items() if is_claim(part)]
        for name in names:
            named = parts(ast.parse(path.read_text()))
            marked = is_marked(named[name])
            found[f"{path.relative_to(REPORTS)}: {name}"] = digest(judged_by(name, named, set())), marked
    return found


def everything() -> dict[str, tuple[str, bool]]:
    return tolerances() | claims()


def changed(now: dict[str, tuple[str, bool]], record: dict[str, str]) -> list[str]:
    """What is judged by other bounds than at first, and does not say so."""
    return [name for name, (digest, marked) in now.items() if not marked and record.get(name) != digest]


def test_what_was_set_after_the_numbers_were_seen_is_marked():
    unmarked = changed(everything(), json.loads(RECORD.read_text()))
    assert not unmarked, f"changed since it was first judged, and not marked as set afterwards: {unmarked}"


@pytest.mark.parametrize("change", ["NEAR = 0.05", "bound = 3"])
def test_a_changed_bound_is_noticed_unless_it_is_marked(change):
    before = "NEAR = 0.02\ndef claim(rows):\n    bound = 2\n    return rows < NEAR * bound\n"
    after = "\n".join(change if line.strip().startswith(change[:4]) else line for line in before.split("\n"))
    after = after.replace("bound = 3", "    bound = 3") if change.startswith("bound") else after
    assert after != before
    first, second = (digest(judged_by("claim", parts(ast.parse(text)), set())) for text in (before, after))
    assert changed({"claim": (second, False)}, {"claim": first}) == ["claim"]
    assert changed({"claim": (second, True)}, {"claim": first}) == []


def test_words_about_a_claim_may_change():
    texts = (
        'def claim(rows):\n    """One."""\n    return rows, f"{rows} s"\n',
        'def claim(rows):\n    return rows, f"{rows} seconds"\n',
    )
    one, other = (digest(judged_by("claim", parts(ast.parse(text)), set())) for text in texts)
    assert one == other


if __name__ == "__main__":
    record = {name: digest for name, (digest, marked) in everything().items() if not marked}
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
