"""`make gallery`: every page is there, every link leads somewhere, and no page needs a script for its text."""

# Fixtures are imported, and named by arguments.
# ruff: noqa: F401, F811

import html
import json
import re
from itertools import pairwise

import pytest
from conftest import ROOT
from gallerysite import POLICIES, folder, site, with_engine, write

from schedlab import _core
from schedlab.gallery import drawing, links, live, markup, policies


@with_engine
def test_every_policy_has_a_page_and_every_link_of_the_site_leads_somewhere(site):
    catalogue = json.loads(_core.catalogue())
    known = {f"{family}/{entry['name']}.html" for family in policies.TITLES for entry in catalogue[family]}
    assert {path for path in site if path.partition("/")[0] in policies.TITLES} == known
    assert links.broken(site) == []


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ('<a href="b.html">', ""),
        ('<a href="b.html#here">', ""),
        ('<a href="#own">', ""),
        ('<a href="../a/b.html">', ""),
        ('<a href="https://kernel.org/">', ""),
        ('<a href="c.html">', "leads to no file"),
        ('<a href="">', ""),
        ('<a href="/b.html">', "leads to no file"),
        ('<a href="b.html#there">', "leads to no place"),
        ('<a href="../lab.html#aAAAA">', "is no setting of the lab"),
        ('<a href="../lab.html#z">', "is no setting of the lab"),
        ('<a href="javascript:x">', "would be loaded from elsewhere"),
        ('<script src="https://cdn.example/x.js">', "would be loaded from elsewhere"),
        ('<img src="//cdn.example/x.png">', "would be loaded from elsewhere"),
        ('<link href="style.css">', "leads to no file"),
        ('<p id="own">', "twice"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(link, said):
    files = {"a/a.html": f'<p id="own">{link}'.encode(), "a/b.html": b'<p id="here">', "lab.html": b""}
    found = links.broken(files)
    assert [said in line for line in found] == ([True] if said else []), found


def test_an_address_of_the_lab_holds_the_whole_setting_and_one_that_no_engine_takes_is_found():
    text = POLICIES["schedulers", "cfs"].block("toml")
    hash = live.address(text, [("scheduler.latency", "12ms")])
    assert live.setting(hash[1:]) == (text, [("scheduler.latency", "12ms")])
    files = {
        "a.html": f'<a href="lab.html{live.address(text, [("scheduler.latency", "soon")])}">'.encode(),
        "lab.html": b"",
    }
    (line,) = links.broken(files)
    assert "scheduler.latency" in line


@with_engine
def test_headings_of_every_page_are_in_order(site):
    for path, content in site.items():
        if not path.endswith(".html") or path == links.LAB:
            continue
        levels = [int(level) for level in re.findall(r"<h([1-6])\b", content.decode())]
        assert (levels[0], levels.count(1)) == (1, 1), path
        assert all(after <= before + 1 for before, after in pairwise(levels)), (path, levels)


@with_engine
@pytest.mark.parametrize("policy", POLICIES.values(), ids=lambda policy: f"{policy.family}-{policy.name}")
def test_a_page_has_its_whole_text_and_needs_no_script_for_it(site, policy):
    content = site[policy.path].decode().partition('<script type="application/json"')[0]
    shown = html.unescape(re.sub(r"<[^>]+>", " ", content))
    # Where links lead, and what kind a block is, are no text.
    plain = re.sub(r"\A<!--.*?-->|\]\([^)]*\)|^```\w*", " ", policy.text, flags=re.MULTILINE)
    known = set(re.findall(r"\w+", shown))
    assert [word for word in re.findall(r"\w+", plain) if word not in known] == []
    for block in (policy.block("text"), policy.block("toml")):
        assert html.escape(block) in content.replace("&#x27;", "'")
    # What only a script fills is hidden until it begins.
    hidden = re.findall('<(?:div id="stage"|figure id="list")[^>]*hidden>', content)
    assert len(hidden) == {"elevators": 2, "caches": 2}.get(policy.family, 1) - (
        "There is no experiment here: " in content
    )


def test_links_that_lead_nowhere_in_the_site_become_text():
    known = {"b.md": "b.html"}
    (part,) = markup.sections("# a\n[b](b.md) and [c](c.md), *so*.\n", known.get)
    assert part.html == '<p><a href="b.html">b</a> and c, <em>so</em>.</p>\n'


def test_markup_in_a_page_is_text():
    (part,) = markup.sections("# a\n<script>x</script> [y](javascript:y)\n", lambda link: link)
    assert part.html == "<p>&lt;script&gt;x&lt;/script&gt; [y](javascript:y)</p>\n"


@pytest.mark.parametrize(
    ("policy", "marks"),
    [
        (("schedulers", "cfs"), "c2 ready"),
        (("elevators", "sstf"), "polyline"),
        (("caches", "lru"), 'class="c4"'),
        (("elevators", "kyber"), "rect"),
    ],
)
def test_a_drawn_schedule_is_a_picture_too(policy, marks):
    assert marks in drawing.picture(POLICIES[policy].block("text")).svg


def test_the_picture_of_a_schedule_has_what_is_drawn():
    """A task has a bar for each stretch, as wide as its columns; a request of a cache a high one if it hits."""
    text = "        0ms\n        |\na#0     #..#\nb#1     .##\nidle 0\n        a column is 10ms\n"
    bars = re.findall(r'class="c(\d)" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawing.picture(text).svg)
    assert [(int(lane), float(x), float(wide)) for lane, x, wide in bars] == [(0, 0, 25), (0, 75, 25), (1, 25, 50)]
    cache = drawing.picture("slots 3\nask   1 2 1\nhit   . . *\nout   . . .\n").svg
    assert re.findall(r'class="(c\d)"', cache) == ["c4", "c4", "c0"]
    assert drawing.picture("a text of another form\n") is None


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    mine = tmp_path / "mine" / "thesis.txt"
    mine.parent.mkdir()
    mine.write_text("all of it")
    done = write(mine.parent, "--docs", ROOT / "docs")
    assert (done.returncode, done.stdout) == (2, "")
    assert "has other files" in done.stderr
    assert mine.read_text() == "all of it"


def test_a_page_that_is_missing_is_named(tmp_path):
    done = write(tmp_path / "gallery", "--docs", tmp_path)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "make docs writes it" in done.stderr
