"""The planted faults of scripts/faults fit the sources: each replaces a text that its file has exactly once."""

import runpy

import pytest
from conftest import ROOT

MUTANTS = runpy.run_path(str(ROOT / "scripts" / "mutants"))
FAULTS = MUTANTS["every_fault"]()


def test_every_fault_fits_the_sources():
    misfits = [problem for fault in FAULTS if (problem := MUTANTS["misfit"](ROOT, fault))]
    assert not misfits, "\n".join(misfits)


def test_every_fault_changes_its_file_and_has_a_description_of_its_own():
    assert not [fault["fault"] for fault in FAULTS if fault["find"] == fault["replace"]]
    descriptions = [fault["fault"] for fault in FAULTS]
    assert len(descriptions) == len(set(descriptions)) > 0


@pytest.mark.parametrize(("text", "found"), [("", 0), ("a = 1;", 1), ("a = 1; a = 1;", 2), (None, 0)])
def test_a_fault_fits_where_its_text_is_exactly_once(tmp_path, text, found):
    if text is not None:
        (tmp_path / "lib.rs").write_text(text)
    fault = {"fault": "a is 2", "file": "lib.rs", "find": "a = 1", "replace": "a = 2"}
    problem = None if found == 1 else f"lib.rs has {found} places for: a is 2"
    assert MUTANTS["misfit"](tmp_path, fault) == problem
