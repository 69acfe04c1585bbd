"""What users of the project look for: license, citation, security, and that they agree with the manifests."""

import re
import tomllib

import pytest
from conftest import ROOT

WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_license_is_that_of_both_manifests():
    text = (ROOT / "LICENSE").read_text()
    assert text.startswith(f"{WORKSPACE['license']} License\n")
    assert PROJECT["license"] == WORKSPACE["license"]


def test_the_citation_has_the_version_and_the_license_of_the_manifest():
    fields = dict(re.findall(r"^([a-z-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert fields["version"] == WORKSPACE["version"]
    assert fields["license"] == WORKSPACE["license"]
    assert fields["title"] == PROJECT["name"]


@pytest.mark.parametrize("page", ["SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "README.md"])
def test_links_of_a_page_lead_to_files_and_headings_that_exist(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (ROOT / path) if path else ROOT / page
        assert file.exists(), f"{page}: {target}"
        if heading:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            anchors = [re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings]
            assert heading in anchors, f"{page}: {target}; headings: {anchors}"


def test_a_guest_has_no_network_device():
    """As SECURITY.md promises."""
    options = (ROOT / "python/schedlab/targets/guest/qemu.py").read_text()
    assert "-nodefaults" in options
    # A hub that nothing is on, neither a device of the guest nor anything of the host: its timer ends turns.
    assert not re.search(r"-(nic|netdev|net|virtfs|fsdev)\b", options.replace("-netdev hubport,id=turns,hubid=0", ""))
