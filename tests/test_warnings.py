"""Warnings of a sweep are printed once each."""

from schedlab.report.warnings import gathered


def said(text, *seeds):
    return {"scenario": "any", "warning": text, "seeds": list(seeds)}


def test_warnings_that_differ_in_numbers_are_one_with_ranges():
    text = "the kernel did not record {} switches; it recorded {}"
    warnings = [said(text.format(3, 81), 1, 2), said(text.format(17, 9), 1), said("nothing was recorded", 4)]
    assert gathered(warnings) == {text.format("3 to 17", "9 to 81"): 3, "nothing was recorded": 1}


def test_numbers_inside_names_keep_warnings_apart():
    warnings = [said("loop0 is slow: 0.5 s", 1), said("loop1 is slow: 0.5 s", 1), said("a slice of 18ms, # 2", 1)]
    assert list(gathered(warnings)) == [one["warning"] for one in warnings]


def test_no_warnings_are_no_lines():
    assert gathered([]) == {}
