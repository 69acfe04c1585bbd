"""Rebuilding a published report: the engine, on a small report made here, and the real reports' completeness.
Long, because what is rebuilt, judged, printed and drawn of a report is tested on the same small one.
"""

import json
import math
import re
import sys
import tomllib

import pytest

from schedlab import UsageError
from schedlab.published import reproductions
from schedlab.published.reproduction import Report, reproduce, tally
from schedlab.published.rows import Tolerance

PUBLISHED = """
title = "A report of this test"
source = "nobody"
[[row]]
job = "io"
quantum_s = 0.100
loaded = { real = 2.3 }
use = "fit"
[[row]]
job = "io"
quantum_s = 0.018
loaded = { real = 99.0, user = 0.0 }
[[claim]]
id = "shorter-is-quicker"
text = "a shorter quantum is quicker"
[[claim]]
id = "nobody-checks"
text = "nobody checks this"
"""

ROWS = """
[tolerance.real]
relative = 0.2
reason = "a test"
[tolerance.user]
absolute = 0.5
reason = "a test"
[[row]]
each = { counter = ["real", "user"], slice = ["100ms", "18ms"] }
id = "io.loaded.{counter}@{slice}"
experiment = "loaded"
cell = { "scheduler.slice" = "{slice}" }
metric = "tasks.io.{counter}"
unit = "s"
tolerance = "{counter}"
published = { match = { job = "io", quantum_s = "{slice}" }, value = "loaded.{counter}" }
[[figure]]
title = "Real time"
x = ["100ms", "18ms"]
x_title = "quantum"
y_title = "seconds"
series = { "loaded" = "io.loaded.real@{x}" }
[[schedule]]
title = "The beginning"
experiment = "loaded"
cell = { "scheduler.slice" = "18ms" }
first = 0.5
"""

RULE = """
[[row]]
id = "the-worst"
experiment = "loaded"
rule = "worst"
unit = "s"
tolerance = "real"
"""

CLAIMS = """
from schedlab.published.reproduction import Finding

def shorter_is_quicker(rows, runner):
    slice = "scheduler.slice"
    once_more = runner.value("loaded", "tasks.io.real", cell={slice: "36ms"}, sweep={slice: ["36ms"]})
    short, long = rows["io.loaded.real@18ms"].predicted, rows["io.loaded.real@100ms"].predicted
    return Finding.that(short < once_more.mean < long, f"{short:.2f} < {once_more.mean:.2f} < {long:.2f}")

def worst(rows, runner):
    times = sorted(row.predicted for row in rows.values())
    return times[-1], times[0], times[-1]
"""


SUM = """
[[row]]
each.c = [{ name = "busy", metric = "tasks.io.real + tasks.io.real", scale = "60" }]
id = "{c[name]}"
experiment = "loaded"
cell = { "scheduler.slice" = "18ms" }
metric = "{c[metric]}"
unit = "ticks"
scale = "{c[scale]}"
tolerance = "real"
"""


@pytest.fixture
def report(small, tmp_path, monkeypatch):
    """A report of two published rows, in a folder of its own."""
    folder = tmp_path / "reports" / "test_2026"
    folder.mkdir(parents=True)
    (folder / "published.toml").write_text(PUBLISHED)
    (folder / "rows.toml").write_text(ROWS)
    (folder / "claims.py").write_text(CLAIMS)
    (folder / "__init__.py").write_text("")
    (folder / "loaded.toml").write_text(small.read_text())
    monkeypatch.setattr(reproductions, "_HERE", folder.parent)
    monkeypatch.setattr(reproductions, "__path__", [str(folder.parent)])
    return folder


def test_rows_find_their_published_numbers_and_use(report):
    rows = {row.id: (row.published, row.use) for row in Report.load("test-2026").rows}
    assert rows == {
        "io.loaded.real@100ms": (2.3, "fit"),
        "io.loaded.real@18ms": (99.0, "test"),
        "io.loaded.user@100ms": (None, "none"),
        "io.loaded.user@18ms": (0.0, "test"),
    }


def test_a_miss_is_shown_as_a_miss(report, tmp_path):
    outcome = reproduce("test-2026", {"out": tmp_path / "results"})
    assert [row.verdict for row in outcome.rows] == ["fitted", "missed", "not printed", "predicted"]
    row = outcome.rows[1]
    assert row.error == row.predicted - 99.0
    assert row.low <= row.predicted <= row.high


def test_a_fitted_row_that_is_missed_is_a_miss_too(report, tmp_path):
    (report / "published.toml").write_text(PUBLISHED.replace("2.3", "23.0"))
    assert reproduce("test-2026", {"out": tmp_path / "results"}).rows[0].verdict == "missed"


def test_claims_get_verdict_and_evidence_and_none_is_passed_over(report, tmp_path):
    claims = reproduce("test-2026", {"out": tmp_path / "results"}).claims
    assert claims["shorter-is-quicker"].verdict == "holds"
    assert " < " in claims["shorter-is-quicker"].evidence
    assert claims["nobody-checks"].verdict == "not checked"


def test_a_row_may_follow_from_the_rows_above_it(report, tmp_path):
    (report / "rows.toml").write_text(ROWS.replace("[[figure]]", RULE + "[[figure]]"))
    outcome = reproduce("test-2026", {"out": tmp_path / "results"})
    *above, row = outcome.rows
    times = sorted(other.predicted for other in above)
    assert (row.predicted, row.low, row.high, row.verdict) == (times[-1], times[0], times[-1], "not printed")
    assert outcome.as_json()["rows"][-1]["id"] == "the-worst"


def test_a_verdict_whose_bound_was_set_afterwards_says_so_wherever_it_is_shown(report, tmp_path, monkeypatch, capsys):
    from test_report import read

    from schedlab.cli import reproduce as command
    from schedlab.report.reproduced import write

    for module in ("schedlab.published.reproductions.test_2026", "schedlab.published.reproductions.test_2026.claims"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    marked = ROWS.replace("relative = 0.2", 'relative = 0.2\nafterwards = "10 % at first"')
    (report / "rows.toml").write_text(marked.replace("[[figure]]", RULE + "[[figure]]"))
    claims = CLAIMS.replace("import Finding", "import Finding, set_afterwards")
    claims = claims.replace("def shorter", '@set_afterwards("the middle was added")\ndef shorter')
    (report / "claims.py").write_text(claims.replace("def worst", '@set_afterwards("the worst one")\ndef worst'))
    outcome = reproduce("test-2026", {"out": tmp_path / "results"})

    document = outcome.as_json()
    rows = {row["id"]: row["set_afterwards"] for row in document["rows"]}
    assert rows["io.loaded.real@18ms"] == "10 % at first"
    # A row that nothing was printed for is judged by no tolerance.
    assert rows["io.loaded.user@18ms"] is None
    assert rows["the-worst"] == "the worst one"
    assert [claim["set_afterwards"] for claim in document["claims"]] == ["the middle was added", None]

    command._print(outcome)
    write([outcome], tmp_path / "page.html")
    for text in (capsys.readouterr().out, " ".join(read(tmp_path / "page.html").text)):
        assert "missed †" in text
        assert "holds †" in text
        assert "not checked †" not in text
        for words in ("10 % at first", "the middle was added", "the worst one"):
            assert f"† set after the numbers had been seen: {words}" in " ".join(text.split())


def test_a_report_answers_to_the_name_of_its_folder_too(report):
    assert Report.load("test_2026") == Report.load("test-2026")
    assert Report.load("test_2026").name == "test-2026"
    with pytest.raises(UsageError, match="test-2026"):
        reproductions.folder("test_2027")


def test_a_rule_that_finds_no_value_says_null(report, tmp_path, monkeypatch):
    for module in ("schedlab.published.reproductions.test_2026", "schedlab.published.reproductions.test_2026.claims"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    from schedlab.report.reproduced import write

    known = 'published = { match = { job = "io", quantum_s = "18ms" }, value = "loaded.real" }\n'
    (report / "rows.toml").write_text(ROWS.replace("[[figure]]", RULE + known + "[[figure]]"))
    (report / "claims.py").write_text(CLAIMS.replace("times[-1], times[0], times[-1]", '(float("nan"),) * 3'))
    outcome = reproduce("test-2026", {"out": tmp_path / "results"})
    row = outcome.as_json()["rows"][-1]
    assert (row["id"], row["predicted"], row["low"], row["high"]) == ("the-worst", None, None, None)
    write([outcome], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert not re.search(r'="(nan|[^"]* nan)', text)
    assert "the-worst: predicted none" in text


def test_a_row_may_be_a_sum_of_metrics_in_a_unit_of_the_reports_own(report, tmp_path):
    (report / "rows.toml").write_text(ROWS.replace("[[figure]]", SUM + "[[figure]]"))
    rows = {row.spec.id: row for row in reproduce("test-2026", {"out": tmp_path / "results"}).rows}
    alone, doubled = rows["io.loaded.real@18ms"], rows["busy"]
    assert doubled.spec.unit == "ticks"
    assert doubled.predicted == pytest.approx(2 * 60 * alone.predicted)
    assert doubled.high - doubled.low == pytest.approx(2 * 60 * (alone.high - alone.low))


def test_seeds_can_be_more_than_the_files_say(report, tmp_path):
    outcome = reproduce("test-2026", {"out": tmp_path / "results", "seeds": 5})
    assert {row.seeds for row in outcome.rows} == {5}


def test_the_page_of_a_report_holds_rows_pictures_claims_and_sources(report, tmp_path):
    from test_report import read

    from schedlab.report.reproduced import write

    write([reproduce("test-2026", {"out": tmp_path / "results"})], tmp_path / "page.html")
    page = read(tmp_path / "page.html")
    text = " ".join(page.text)
    assert page.tags.count("svg") == 3, "the figure, the values on the first screen, and the schedule"
    for words in ("missed", "not checked", "a shorter quantum is quicker", "published", "Minix 1.5 HZ"):
        assert words in text


def test_a_page_of_claims_alone_says_that_no_value_is_known(report, tmp_path):
    from test_report import read

    from schedlab.report.reproduced import write

    (report / "rows.toml").write_text(re.sub(r"^published = .*\n", "", ROWS, flags=re.MULTILINE))
    write([reproduce("test-2026", {"out": tmp_path / "results"})], tmp_path / "page.html")
    text = " ".join(read(tmp_path / "page.html").text)
    assert "No published value is known here: only claims are judged." in text
    assert "published values that no model was fitted to" not in text


def test_a_wrong_metric_or_cell_names_what_there_is(report, tmp_path):
    (report / "rows.toml").write_text(ROWS.replace('"tasks.io.{counter}"', '"tasks.oi.{counter}"'))
    with pytest.raises(UsageError, match=r"tasks\.io\.real"):
        reproduce("test-2026", {"out": tmp_path / "results"})


def test_rows_kept_back_are_counted_apart_from_those_fitted_to(report, tmp_path, capsys):
    from test_report import read

    from schedlab.cli import reproduce as command
    from schedlab.report.reproduced import score_texts, write

    (report / "rows.toml").write_text("[blind]\npredicted = 3\njudged = 4\n" + ROWS)
    outcome = reproduce("test-2026", {"out": tmp_path / "results"})
    assert (outcome.kept_back, outcome.fitted, outcome.report.blind) == ((1, 2), (1, 1), (3, 4))
    assert score_texts([outcome]) == [["test-2026", "1 of 2", "3 of 4", "1 of 1"]]
    assert score_texts([outcome, outcome])[-1] == ["all", "2 of 4", "6 of 8", "2 of 2"]
    document = outcome.as_json()
    assert document["kept_back"] == {"predicted": 1, "judged": 2}
    assert document["judged_blind"] == {"predicted": 3, "judged": 4}
    command._print_scores([outcome])
    write([outcome], tmp_path / "page.html")
    for text in (capsys.readouterr().out, " ".join(read(tmp_path / "page.html").text)):
        assert all(words in text for words in ("1 of 2", "3 of 4", "1 of 1"))


def test_of_a_published_range_the_nearest_value_counts(report, tmp_path):
    from schedlab.report.reproduced import row_texts

    (report / "rows.toml").write_text(ROWS.replace('"loaded.{counter}" }', '"loaded.{counter}", high = "until" }'))
    published = PUBLISHED.replace("quantum_s = 0.018", "quantum_s = 0.018\nuntil = 99.0").replace(
        "real = 99.0", "real = 0.5"
    )
    (report / "published.toml").write_text(
        published.replace("loaded = { real = 2.3 }", "loaded = { real = 7.0 }\nuntil = 9.0")
    )
    rows = reproduce("test-2026", {"out": tmp_path / "results"}).rows
    assert (rows[1].verdict, rows[1].error) == ("predicted", 0)
    assert row_texts(rows[1])[1:3] == ["s", "0.5 – 99"]
    assert rows[0].error == rows[0].predicted - 7.0
    assert rows[0].verdict == "missed"


def test_a_tolerance_is_relative_or_absolute():
    assert Tolerance("", relative=0.1).holds(89, 81)
    assert not Tolerance("", relative=0.1).holds(90, 81)
    assert Tolerance("", absolute=0.7).holds(8.9, 8.3)
    with pytest.raises(UsageError):
        Tolerance("both", relative=0.1, absolute=1)
    with pytest.raises(UsageError):
        Tolerance("neither")


def test_json_has_exactly_the_agreed_form(schedlab):
    document = schedlab.json("reproduce", "minix-1990", "--seeds", "2")
    assert list(document) == ["schema", "report", "rows", "claims", "kept_back", "judged_blind"]
    for row in document["rows"]:
        assert list(row) == [
            *[
                "id",
                "unit",
                "published",
                "use",
                "predicted",
                "low",
                "high",
                "verdict",
                "set_afterwards",
                "published_high",
            ],
        ]
        assert (row["published"] is None) == (row["use"] == "none") == (row["verdict"] == "not printed")
        assert row["low"] <= row["predicted"] <= row["high"]
    for claim in document["claims"]:
        assert list(claim) == ["id", "verdict", "evidence", "set_afterwards"]
    several = schedlab.json("reproduce", "minix-1990", "minix-1990", "--seeds", "2")
    assert list(several) == ["schema", "reports"]
    assert [entry["report"] for entry in several["reports"]] == ["minix-1990"] * 2
    # The version is that of the whole.
    assert json.dumps({"schema": several["schema"], **several["reports"][0]}) == json.dumps(document)


def test_the_table_and_the_page_of_a_reproduction_are_made(schedlab):
    done = schedlab("reproduce", "minix-1990", "--seeds", "2", "--html", "page.html")
    assert done.returncode == 0, done.stderr
    assert "published" in done.stdout
    assert "io.loaded.real@100ms" in done.stdout
    assert "<svg" in (schedlab.folder / "page.html").read_text()


@pytest.mark.parametrize("name", reproductions.names())
def test_a_report_is_complete(name):
    """At least 16 phases a row, no two rows of one id, every published row used (of a part, one number a row)."""
    report = Report.load(name)
    assert len({row.id for row in report.rows}) == len(report.rows)
    for row in report.rows:
        assert len(report.experiment(row.experiment).seeds) >= 16, row.id
    rows = tomllib.loads((report.folder / "rows.toml").read_text(encoding="utf-8"))["row"]
    settings = {key for row in rows for key in row.get("published", {}).get("match", {})}
    numbers = sum(len(_numbers(entry, settings)) for entry in report.published.get("row", []))
    numbers += sum(len(part["row"]) for part in report.published.values() if isinstance(part, dict) and "row" in part)
    assert sum(row.published is not None for row in report.rows) == numbers
    assert all(math.isfinite(row.published or 0) for row in report.rows)


def _numbers(entry, settings) -> list[float]:
    """The published values of a row: those in its tables, and its other numbers that are no settings."""
    inner = [value for part in entry.values() if isinstance(part, dict) for value in part.values()]
    numbers = {key for key, value in entry.items() if isinstance(value, (int, float))} - settings
    ends = {"high"} if "low" in numbers else set()  # a range is one value
    return inner + [entry[key] for key in sorted(numbers - ends)]


def test_an_nbuf_is_acceptable_in_the_better_third_or_if_the_difference_is_negligible():
    from schedlab.published.reproductions.irix_1999_nbuf.claims import COUNTERS, NBUF, SETS, recommended_nbuf
    from schedlab.published.rows import Row, RowSpec
    from schedlab.report.reproduced import row_texts

    def row(value: float, half: float) -> Row:
        spec = RowSpec("", "", {}, "", "%", Tolerance("", absolute=1), None, "none")
        return Row(spec, value, value - half, value + half, "", 16)

    def rows(half: float, base: float = 0) -> dict[str, Row]:
        # From one nbuf to the next a counter gets better by one, whatever better means; the eleven span ten.
        sign = {counter: 1 if counter == "rcache" else -1 for counter in COUNTERS}
        each = [(counter, files, i) for counter in COUNTERS for files in SETS for i in range(len(NBUF))]
        return {f"{c}@nbuf={NBUF[i]},files={files}": row(base + sign[c] * i, half) for c, files, i in each}

    assert recommended_nbuf(rows(0.1), None) == (NBUF[7], NBUF[7], NBUF[-1])
    assert recommended_nbuf(rows(2.5), None) == (NBUF[5], NBUF[5], NBUF[-1])
    # Of 310 and more, a difference of six is less than 2 %; of 205, one of four.
    assert recommended_nbuf(rows(0.1, base=320), None) == (NBUF[4], NBUF[4], NBUF[-1])
    assert recommended_nbuf(rows(0.1, base=215), None) == (NBUF[6], NBUF[6], NBUF[-1])
    # One counter of one set that is best at the small end leaves none.
    torn = rows(0.1) | {f"wio@nbuf={n},files={SETS[0]}": row(n, 0.1) for n in NBUF}
    assert all(math.isnan(value) for value in recommended_nbuf(torn, None))
    assert row_texts(row(math.nan, 0))[1:6] == ["%", "", "none", "", ""]


def test_the_first_screen_and_the_totals_of_the_page_are_those_of_the_rows(report, tmp_path):
    from schedlab.report.reproduced import totals, write

    (report / "rows.toml").write_text("[blind]\npredicted = 3\njudged = 4\n" + ROWS)
    outcome = reproduce("test-2026", {"out": tmp_path / "results"})
    write([outcome, outcome], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    first = " ".join(text[text.index("<h1>") : text.index("<nav")].split())
    assert "<b>8</b> rows were predicted blind" in first
    assert "<b>6</b> of them held" in first
    assert "<b>2</b> of <b>4</b> published values" in first
    assert first.count("<figure") == 1
    assert totals(outcome) == "4 rows: 1 fitted, 1 missed, 1 not printed, 1 predicted; 2 claims: 1 holds, 1 not checked"
    assert tally(["holds", "does not hold", "holds", "missed"]) == "2 hold, 1 does not hold, 1 missed"
    assert text.count(totals(outcome)) == 4, "in the contents and in the section of each"
    (section, _) = text.split('<section class="report"')[1:]
    for verdict in ("fitted", "missed", "not-printed", "predicted", "holds", "not-checked"):
        assert len(re.findall(rf'<td class="[^"]*verdict {verdict}"', section)) == 1
    footer = text[text.index("<footer>") :]
    assert "follows from others by a rule" in footer


def test_each_value_that_was_kept_back_is_a_point_and_each_miss_a_name(report, tmp_path):
    from schedlab.report.reproduced import _ratios, write

    outcome = reproduce("test-2026", {"out": tmp_path / "results"})
    found = _ratios(outcome)
    kept = {row.spec.id: row for row in outcome.rows if row.spec.use == "test"}
    # A published value of zero has no ratio.
    zero = [row for row in kept.values() if not row.spec.published]
    assert len(zero) == 1
    assert len(found) == outcome.kept_back.judged - len(zero)
    assert sum(value.met for value in found) == outcome.kept_back.predicted - len(zero)
    for value in found:
        row = kept[value.label]
        assert value.ratio == row.predicted / row.spec.published
        # The tolerance of the picture is the one that judges.
        assert value.met == (value.low <= value.ratio <= value.high)
    write([outcome], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "1 of zero left out" in text
    (picture,) = re.findall(r'aria-label="predicted / published, log scale">(.*?)</svg>', text)
    assert picture.count("<title>") >= len(found)
    for value in found:
        assert (f">{value.label}<" in picture) == (not value.met)


def test_every_report_says_what_it_asked_in_a_line():
    for name in reproductions.names():
        question = Report.load(name).question
        assert question.endswith("?")
        assert len(question) <= 80


def test_a_value_that_was_not_printed_is_apart_from_those_that_are_judged(report, tmp_path):
    from schedlab.report.reproduced import write

    write([reproduce("test-2026", {"out": tmp_path / "results"})], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    judged, others = text[text.index('id="test-2026-rows"') :].split('id="test-2026-others"')
    assert judged.count('class="k id"') == 3
    assert others.count(">not printed<") == 1
    assert "1 row without a published value" in others


def test_a_page_prints_its_first_screen_and_a_sheet_a_report(report, tmp_path):
    from test_report import CHROMIUM, browse

    from schedlab.report.reproduced import write

    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    outcome = reproduce("test-2026", {"out": tmp_path / "results"})
    write([outcome, outcome], tmp_path / "page.html")
    sheets = tmp_path / "page.pdf"
    browse(tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={sheets}", (tmp_path / "page.html").as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b[^s]", sheets.read_bytes())) == 3
