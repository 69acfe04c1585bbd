"""What the tests of the gallery share: the site, written once for each of their files."""

import subprocess
import sys

import pytest
from conftest import ROOT
from test_report import CHROMIUM

from schedlab.errors import UsageError
from schedlab.gallery import policies
from schedlab.lab import made

POLICIES = {(p.family, p.name): p for family in policies.read(ROOT / "docs").values() for p in family}


def is_made() -> bool:
    try:
        made.made(made.GALLERY)
    except UsageError:
        return False
    return True


with_engine = pytest.mark.skipif(not is_made(), reason="schedlab is installed without the gallery's script (make web)")
in_browser = pytest.mark.skipif(not is_made() or CHROMIUM is None, reason="no Chromium here, or no script (make web)")


def write(folder, *words):
    command = [sys.executable, "-m", "schedlab.gallery", folder, *words]
    return subprocess.run(command, cwd=folder.parent, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The gallery, written once."""
    folder = tmp_path_factory.mktemp("site") / "gallery"
    done = write(folder, "--docs", ROOT / "docs")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("wrote ")
    return folder


@pytest.fixture(scope="module")
def site(folder):
    """The files of the gallery, by their paths."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
