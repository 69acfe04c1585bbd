"""The constants of a scheduler's object that the program which loads it is meant to fill: `const volatile` variables.

Schedulers for sched_ext are usually loaded by a program of their own, which fills such constants first: the number
of processors, a slice, and values of the kernel's enumerations (`__SCX_SLICE_DFL` is `SCX_SLICE_DFL` of the running
kernel). Loaded without it they keep what was compiled in, mostly 0, and the scheduler runs wrong without an error.

    __SCX_NAME            SCX_NAME of the guest's kernel; 0, if it has no such name
    given by the user     tunables.sched_ext = "weighted.bpf.o slice_ns=20000000 fifo=false"; NAME=default keeps it
    compiled as not 0     kept
    any other             refused, with its name
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from schedlab.errors import UsageError, nearest
from schedlab.targets.guest import elf

#: Where the compiler puts them.
SECTION = ".rodata"
#: What the names of those begin with that are values of the kernel's enumerations: the kernel's name follows.
OF_THE_KERNEL = "__"
KERNEL_NAMES = re.compile(r"__SCX_\w+")
#: An enumerator in the types of a kernel, as C.
ENUMERATOR = re.compile(r"\b(SCX_\w+) = (-?(?:0x)?[0-9a-fA-F]+)U?L*\b")
#: Qualifiers and names of types, which lead on to another type.
LEADING = ("CONST", "VOLATILE", "TYPEDEF", "TYPE_TAG")
#: Keeps what was compiled in.
DEFAULT = "default"
WORDS = {"true": 1, "false": 0}


@dataclass(frozen=True)
class Constant:
    """A constant of an object.

    `kind` is that of its type: INT, ENUM, or another one, which takes no number. `encoding` of an INT or ENUM is
    SIGNED, UNSIGNED, BOOL or another one, which is taken for unsigned.
    """

    name: str
    at: int
    size: int
    kind: str
    encoding: str

    def compiled(self, program: bytes) -> bytes:
        """What was compiled in."""
        return program[self.at : self.at + self.size]

    @property
    def is_number(self) -> bool:
        """Whether it takes a number."""
        return self.kind in ("INT", "ENUM", "ENUM64")

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest number that it holds."""
        if self.encoding == "BOOL":
            return 0, 1
        bits = 8 * self.size
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if self.signed else (0, (1 << bits) - 1)

    @property
    def signed(self) -> bool:
        """Whether it may be below zero."""
        return self.encoding == "SIGNED"


def found(program: bytes, types: list[dict[str, Any]]) -> list[Constant]:
    """The constants of an object, by its symbols and its types (BTF, as bpftool lists it)."""
    by_id = {one["id"]: one for one in types}
    variables = {one["name"]: one["type_id"] for one in types if one["kind"] == "VAR"}
    constants = []
    for symbol in elf.symbols(program, SECTION):
        qualifiers, of = _resolved(variables.get(symbol.name, 0), by_id)
        if {"CONST", "VOLATILE"} <= qualifiers:
            kind, encoding = of.get("kind", ""), of.get("encoding", "")
            constants.append(Constant(symbol.name, symbol.at, symbol.size, kind, encoding))
    return constants


def _resolved(type_id: int, by_id: Mapping[int, dict]) -> tuple[set[str], dict]:
    """The qualifiers of a type, and what it is without them and other names."""
    seen: set[str] = set()
    of = by_id.get(type_id, {})
    for _ in range(len(by_id)):
        if of.get("kind") not in (*LEADING, "ARRAY"):
            break
        seen.add(of["kind"])
        if of["kind"] == "ARRAY":
            # The elements carry the qualifiers.
            return seen | _resolved(of["type_id"], by_id)[0], of
        of = by_id.get(of["type_id"], {})
    return seen, of


def read_types(text: str) -> list[dict[str, Any]]:
    """What bpftool lists of an object's types, as JSON."""
    try:
        return json.loads(text)["types"]
    except (ValueError, KeyError, TypeError):
        raise UsageError("bpftool does not list the types of the object: was it compiled without -g?") from None


def enumerators(header: str) -> dict[str, int]:
    """The kernel's values that schedulers ask for, from its types as C."""
    return {name: int(value, 0) for name, value in ENUMERATOR.findall(header)}


def given(words: Iterable[str], label: str) -> dict[str, str]:
    """What the user gives, from words of the form NAME=VALUE."""
    values = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value) or name in values:
            what = "is given twice" if name in values else "is not of the form NAME=VALUE"
            raise UsageError(f"{label}: {word!r} {what}; constants follow the object's path, as in slice_ns=20000000")
        values[name] = value
    return values


def filled(
    program: bytes,
    constants: list[Constant],
    values: Mapping[str, str],
    kernel: Callable[[], Mapping[str, int]],
    label: str,
) -> bytes:
    """The object with its constants filled in; `kernel` gives the kernel's enumerators, asked only if need be."""
    names = [constant.name for constant in constants]
    for name in values:
        if name not in names:
            known = f"; {nearest(name, names)}" if names else ": it has none that a loader fills"
            raise UsageError(f"{label} has no constant {name!r}{known}")
    of_kernel = kernel() if any(KERNEL_NAMES.fullmatch(name) for name in names) else {}
    patched, missing = bytearray(program), []
    for constant in constants:
        if constant.name in values:
            new = _bytes(constant, values[constant.name], program, label)
        elif KERNEL_NAMES.fullmatch(constant.name):
            value = of_kernel.get(constant.name.removeprefix(OF_THE_KERNEL), 0)
            new = (value % (1 << 8 * constant.size)).to_bytes(constant.size, "little")
        elif any(constant.compiled(program)):
            continue
        else:
            missing.append(constant.name)
            continue
        patched[constant.at : constant.at + constant.size] = new
    if missing:
        example = " ".join(f"{name}={DEFAULT}" for name in missing)
        raise UsageError(
            f"{label}: its loader would fill {', '.join(missing)}, here 0: the scheduler would run with wrong values. "
            f'Give each a value behind the path, as NAME=1000, or keep the 0: "{example}"'
        )
    return bytes(patched)


def _bytes(constant: Constant, value: str, program: bytes, label: str) -> bytes:
    """A given value as it is encoded in the object."""
    if value == DEFAULT:
        return constant.compiled(program)
    if not constant.is_number:
        raise UsageError(f"{label}: {constant.name} is no number; only {constant.name}={DEFAULT} can be given")
    low, high = constant.bounds
    try:
        number = WORDS.get(value)
        number = int(value, 0) if number is None else number
    except ValueError:
        number = high + 1
    if not low <= number <= high:
        raise UsageError(f"{label}: {constant.name}={value}: a whole number from {low} to {high}, true or false")
    return number.to_bytes(constant.size, "little", signed=constant.signed)
