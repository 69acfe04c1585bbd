"""Records: named values that do not change, for verbs that start at once.

They are what frozen dataclasses are. The library of these takes as long to be imported as an interpreter to start.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_):
        """Only type checkers know what it means."""
        return lambda one: one


@dataclass_transform(frozen_default=True)
class Record:
    """The fields are what a class annotates, in order; a value given there is the default."""

    _fields: tuple[str, ...] = ()

    def __init_subclass__(cls):
        """Take up the fields."""
        cls._fields = (*cls._fields, *cls.__annotations__)

    def __init__(self, *values: Any, **named: Any):
        """Take the values in the order of the fields, or by name."""
        own = self.__dict__
        own.update(zip(self._fields, values, strict=False))
        if len(values) > len(self._fields) or own.keys() & named.keys() or not named.keys() <= {*self._fields}:
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self._fields)}")
        own.update(named)
        if len(own) < len(self._fields):
            for name in self._fields:
                if name not in own:
                    own[name] = self._default(name)

    def _default(self, name: str) -> Any:
        try:
            return getattr(type(self), name)
        except AttributeError:
            raise TypeError(f"{type(self).__name__} needs {name}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse: it does not change."""
        raise AttributeError(f"{type(self).__name__}.{name} does not change")

    def __delattr__(self, name: str) -> None:
        """Refuse: it does not change."""
        raise AttributeError(f"{type(self).__name__}.{name} does not change")

    def __eq__(self, other: object) -> bool:
        """Whether it is of the same class and has the same values."""
        return self.__dict__ == other.__dict__ if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        """Of the values."""
        return hash(tuple(self.__dict__[name] for name in self._fields))

    def __repr__(self) -> str:
        """As it is made."""
        return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self._fields)})"

    def but(self, **changes: Any) -> Self:
        """The same with other values."""
        return type(self)(**self.__dict__ | changes)

    def as_dict(self) -> dict[str, Any]:
        """The values by name, those of records in it too."""
        return {name: _plain(self.__dict__[name]) for name in self._fields}


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.as_dict()
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    return {name: _plain(one) for name, one in value.items()} if isinstance(value, dict) else value
