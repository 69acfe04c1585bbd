"""The editor of the lab's page lists what may be written at the cursor, by the JSON Schema of experiment files."""

# Fixtures are imported, and named by arguments.
# ruff: noqa: F401, F811

import json

import pytest
from labpage import SHORT, in_browser, page, short
from test_lab_page import FAINT, OUTSIDE

from schedlab import _core
from schedlab._core import ScenarioError
from schedlab.specification import Specification

CURSOR = "|"


@pytest.fixture(scope="module")
def editor(page, short):
    page.open(short)
    page.until("lab.editor.completion")
    return page


def place(page, text: str):
    """Put a text into the editor, the cursor at its bar."""
    page.value(
        """((text, at) => {
            const area = document.getElementById("text");
            area.value = text;
            area.focus();
            area.setSelectionRange(at, at);
            lab.editor.completion.close();
        })(%s, %d)"""  # noqa: UP031
        % (json.dumps(text.replace(CURSOR, "", 1)), text.index(CURSOR))
    )


def listed(page, text: str) -> list[str]:
    """What Ctrl+Space lists there."""
    place(page, text)
    page.browser.press(" ", modifiers=2, text="")
    return shown(page)


def shown(page) -> list[str]:
    return page.value(
        """document.getElementById("completions").hidden ? []
            : [...document.querySelectorAll("#completions b")].map(one => one.textContent)"""
    )


def written(page) -> str:
    """The text, with a bar at the cursor."""
    return page.value(
        """(area => area.value.slice(0, area.selectionStart) + "|" + area.value.slice(area.selectionEnd))(
            document.getElementById("text"))"""
    )


SCHEMA = json.loads(_core.schema())


def alternatives(schema: dict) -> list[dict]:
    if "$ref" in schema:
        return alternatives(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    several = schema.get("oneOf") or schema.get("anyOf")
    return [one for of in several for one in alternatives(of)] if several else [schema]


def keys(schema: dict) -> set[str]:
    return {key for one in alternatives(schema) for key in one.get("properties", {})}


def undecided(schema: dict) -> set[str]:
    """The keys of a table that has none yet: those of every alternative, and those by which one is chosen."""
    tables = [one for one in alternatives(schema) if "properties" in one]
    common = set.intersection(*[set(one["properties"]) for one in tables])
    if len(tables) == 1:
        return common
    for one in tables:
        required = set(one["required"])
        common |= {key for key in required if "const" in one["properties"][key]} or required
    return common


@in_browser
def test_the_keys_of_each_table_are_those_of_the_schema(editor):
    assert set(listed(editor, "|")) == keys(SCHEMA)
    tables = {name: schema for name, schema in SCHEMA["properties"].items() if keys(schema)}
    assert {"scheduler", "machine", "goal", "attention"} <= set(tables)
    for name, schema in tables.items():
        assert set(listed(editor, f"[{name}]\n|")) == undecided(schema), name
        assert set(listed(editor, f"{name} = {{ |")) == undecided(schema), name
        assert set(listed(editor, f"{name}.|")) == undecided(schema), name
    for name, schema in SCHEMA["properties"].items():
        if isinstance(inner := schema.get("additionalProperties"), dict) and keys(inner):
            assert set(listed(editor, f"[{name}.x]\n|")) == undecided(inner), name


@in_browser
@pytest.mark.parametrize("family", ["scheduler", "elevator", "cache", "reclaim"])
def test_parameters_are_listed_once_the_policy_has_a_name(editor, family):
    named = {one["title"]: keys(one) for one in alternatives(SCHEMA["properties"][family])}
    assert len(named) > 1
    assert undecided(SCHEMA["properties"][family]) == {"name"}
    assert listed(editor, f"[{family}]\n|") == ["name"]
    for policy, own in named.items():
        assert set(listed(editor, f'[{family}]\nname = "{policy}"\n|')) == own - {"name"}


#: All that an experiment needs but jobs.
BARE = "machine = 'uniform'\nscheduler.name = 'fifo'\nduration = '1s'\n"


def refusal(text: str) -> str:
    """What the engine says against an experiment; nothing if it takes it."""
    try:
        Specification.from_text(text, "x.toml")
    except ScenarioError as why:
        return str(why)
    return ""


@in_browser
def test_no_key_of_a_job_is_listed_that_the_engine_does_not_know(editor):
    loads = {one["title"]: one for one in alternatives(SCHEMA["properties"]["workload"]["additionalProperties"])}
    assert not refusal(f"{BARE}[workload.x]\nload = 'spin'")
    assert "unknown field" in refusal(f"{BARE}[workload.x]\nperiod = true")
    work = {"load", "steps", "replay"}
    begun = {"": "", "steps": "steps = []\n", "replay": 'replay = "x"\n'}
    begun |= {name: f'load = "{name}"\n' for name in loads.keys() - work}
    assert len(begun) > 12
    common = set.intersection(*map(keys, loads.values())) - work
    assert {"nice", "count", "arrivals"} <= common
    for what, lines in begun.items():
        found = set(listed(editor, f"[workload.x]\n{lines}|"))
        own = keys(loads[what]) - work if what in loads else common
        assert found == (own if lines else common | work), what
        for key in found:
            said = refusal(f"{BARE}[workload.x]\n{lines}{key} = true")
            assert "unknown field" not in said, (what, key)
            assert not lines or "a job has one of them" not in said, (what, key)


@in_browser
@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        ('[scheduler]\nname = "|"', {"eevdf", "round_robin"}, {"slice"}),
        ('[scheduler]\nname = "round_|', {"round_robin"}, {"eevdf"}),
        ("scheduler.name = |", {"eevdf"}, set()),
        ('scheduler = { name = "round_robin", |', {"slice"}, {"name", "base_slice"}),
        ("scheduler = |", {"eevdf"}, set()),
        ("machine = |", {"uniform", "pc_1994"}, set()),
        ('[workload.x]\nload = "|', {"spin"}, set()),
        ("[workload]\nx = { |", {"load", "steps", "nice"}, set()),
        ("[workload.x]\nsteps = [{ |", {"compute", "sleep"}, {"nice"}),
        ('[workload.x]\nsteps = [\n  { compute = "1ms" }, # work\n  { sl|', {"sleep"}, {"compute"}),
        ("[workload]\nx = { |", {"load", "steps", "replay"}, {"period", "run", "rounds"}),
        ("[workload]\nx = { replay = 'y', |", {"nice", "count"}, {"load", "steps", "replay"}),
        ("[workload.x]\n|\nreplay = 'y'", {"nice"}, {"load", "steps"}),
        ("[workload.x]\nload = 'spin'\n|", {"nice"}, {"replay", "steps", "load"}),
        ("[scheduler]\nname = 'none_such'\n|", set(), {"slice", "base_slice"}),
        ("[elevator]\n|\nname = 'kyber'", {"read_lat"}, {"fifo_batch"}),
        ('[sweep]\n"scheduler.name" = ["cfs", "eevdf"]\n"scheduler.|', {"scheduler.base_slice"}, set()),
        ("[workload.x]\nload = 'spin'\nni|", {"nice"}, {"load", "steps"}),
        ("[sch|", {"scheduler"}, {"question", "seeds"}),
        ('[goal]\nminimize = ["context|"]', {"context_switches"}, set()),
        ('steps = [ "a",\n[scheduler]\nna|', {"name"}, set()),
        ("# [workload]\nquest|", {"question"}, set()),
        ('[sweep]\n"|"', {"scheduler", "workload", "duration"}, {"question", "seeds"}),
        ('scheduler = { name = "round_robin" }\n[sweep]\n"scheduler.|', {"scheduler.slice"}, {"scheduler.base_slice"}),
        ('[workload.hog]\nload = "spin"\n[sweep]\n"workload.h|', {"workload.hog"}, set()),
        ('workload.hog.load = "spin"\nsweep = { "workload.hog.|', {"workload.hog.nice"}, {"workload.hog.steps"}),
    ],
)
def test_what_is_listed_fits_its_place(editor, text, some, none):
    found = set(listed(editor, text))
    assert some <= found
    assert not none & found


@in_browser
@pytest.mark.parametrize(
    "text",
    [
        "# na|",
        'question = "Which sch|"',
        "question = '''\nscheduler = |\n'''",
        'question = "Why?" |',
        'question = "Why?" # sch|',
        "[scheduler] |",
        'duration = "|',
        "[scheduler|]",
        "seeds = 1|",
        "workload |",
    ],
)
def test_nothing_is_listed_where_nothing_is_known(editor, text):
    found = listed(editor, text)
    assert found == [] or (text == "[scheduler|]" and found == ["scheduler"])


def press(page, *names):
    codes = {"ArrowDown": 40, "ArrowUp": 38, "Escape": 27, "Enter": 13, "Tab": 9}
    for name in names:
        page.browser.press(name, windowsVirtualKeyCode=codes[name])


def type_in(page, text: str):
    for letter in text:
        page.browser.ask("Input.insertText", text=letter)


@in_browser
def test_the_keyboard_chooses_takes_and_closes_and_a_closed_list_takes_no_key(editor):
    place(editor, "[scheduler]\n|")
    type_in(editor, "na")
    assert shown(editor)[0] == "name"
    area = "document.getElementById('text').getAttribute('%s')"
    assert editor.value(area % "aria-controls") == "completions"
    assert editor.value(area % "aria-activedescendant") == "completion-0"
    assert editor.value("document.querySelector('#completions [aria-selected=true] b').textContent") == "name"
    press(editor, "Enter")
    # The names follow at once.
    assert written(editor) == "[scheduler]\nname = |"
    first, second = shown(editor)[:2]
    press(editor, "ArrowDown")
    assert editor.value("document.querySelector('#completions [aria-selected=true] b').textContent") == second
    press(editor, "ArrowUp", "ArrowUp", "ArrowDown", "Tab")
    assert written(editor) == f'[scheduler]\nname = "{first}"|'
    assert shown(editor) == []
    # It is one step of the text's own history.
    editor.value("document.execCommand('undo')")
    assert written(editor).startswith("[scheduler]\nname = ")
    place(editor, "|")
    type_in(editor, "s")
    assert shown(editor)
    press(editor, "Escape")
    assert shown(editor) == []
    assert editor.value(area % "aria-activedescendant") is None
    assert written(editor) == "s|"
    press(editor, "Tab")
    assert editor.value("document.activeElement.id") != "text"


@in_browser
def test_the_mouse_takes_and_what_is_there_is_replaced(editor):
    assert "eevdf" in listed(editor, '[scheduler]\nname = "|round_robin"\nslice = "5ms"')
    editor.value("[...document.querySelectorAll('#completions b')].find(one => one.textContent === 'eevdf').click()")
    assert written(editor) == '[scheduler]\nname = "eevdf"|\nslice = "5ms"'


@in_browser
def test_a_file_that_was_completed_is_one_that_the_engine_takes(editor):
    place(editor, "|")
    for typed, taken in (("mach", "machine"), ("uni", "uniform")):
        type_in(editor, typed)
        assert shown(editor)[0] == taken
        press(editor, "Enter")
    type_in(editor, "\nduration = '1s'\n[sch")
    assert shown(editor) == ["scheduler"]
    press(editor, "Tab")
    type_in(editor, "]\nna")
    press(editor, "Enter")
    type_in(editor, "round_r")
    press(editor, "Enter")
    type_in(editor, "\nsli")
    press(editor, "Enter")
    type_in(editor, '"7ms"\n[workload.x]\nste')
    press(editor, "Enter")
    type_in(editor, "[{ comp")
    press(editor, "Enter")
    type_in(editor, '"1ms" }]')
    text = editor.value("document.getElementById('text').value")
    assert text == (
        'machine = "uniform"\nduration = \'1s\'\n[scheduler]\nname = "round_robin"\nslice = "7ms"\n'
        '[workload.x]\nsteps = [{ compute = "1ms" }]'
    )
    editor.pause(400)
    editor.settle()
    assert not editor.shows("fault"), editor.text("fault")
    assert editor.value("lab.shown.pictures[0].scenario.scheduler.slice") == "7ms"


@in_browser
@pytest.mark.parametrize(("width", "dark"), [(360, False), (360, True), (1280, False)])
def test_the_list_lies_within_the_window(editor, width, dark, request):
    editor.browser.window(width, dark=dark)
    found = listed(editor, '[workload.some_long_name_of_a_job]\nsteps = [{ compute = "1ms" }, { sleep = "2ms" }, { |')
    assert "compute" in found
    box = editor.value(
        "(({ left, right, width }) => [left, right, width])("
        "document.getElementById('completions').getBoundingClientRect())"
    )
    assert box[0] >= 0
    assert box[1] <= width
    assert box[2] > 150
    assert editor.value("document.documentElement.scrollWidth") <= width
    assert editor.value(OUTSIDE) == []
    assert editor.value(FAINT) == []
    editor.browser.window(1280)
