"""Records are to their users what frozen dataclasses are."""

import dataclasses

import pytest

from schedlab.system.record import Record


class Point(Record):
    """Two fields, of which one may be left out."""

    x: int
    y: float = 0.5

    @property
    def sum(self) -> float:
        """Both."""
        return self.x + self.y


class Named(Point):
    """More fields, and another record in one."""

    name: str = ""
    others: tuple[Point, ...] = ()


@dataclasses.dataclass(frozen=True)
class Frozen:
    """The same as a dataclass."""

    x: int
    y: float = 0.5


def test_fields_are_given_by_place_or_name():
    assert (Point(1).y, Point(1, 2).y, Point(y=3, x=1).x, Point(1).sum) == (0.5, 2, 1, 1.5)
    assert repr(Point(1, y=2)) == repr(Frozen(1, y=2)).replace("Frozen", "Point")
    assert Named(1, 2, "a").name == "a"


@pytest.mark.parametrize(("values", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"z": 2})])
def test_what_a_dataclass_refuses_is_refused(values, named):
    for kind in (Point, Frozen):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_a_record_does_not_change():
    point = Point(1)
    with pytest.raises(AttributeError, match=r"Point\.x does not change"):
        point.x = 2
    with pytest.raises(AttributeError, match=r"Point\.x does not change"):
        del point.x
    assert (point.but(x=2), point) == (Point(2), Point(1))
    with pytest.raises(TypeError):
        point.but(z=1)


def test_equal_records_are_of_one_class_and_have_equal_values():
    assert Point(1) == Point(1, 0.5)
    assert len({Point(1), Point(1, 0.5), Point(2)}) == 2
    assert Point(1) != Named(1)
    assert Point(1) != Frozen(1)


def test_a_record_is_plain_with_all_that_is_in_it():
    found = Named(1, others=(Point(2), Point(3))).as_dict()
    assert found == {"x": 1, "y": 0.5, "name": "", "others": ({"x": 2, "y": 0.5}, {"x": 3, "y": 0.5})}
