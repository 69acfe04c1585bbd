"""A program's headers (ELF, 64 bits): whether it is static, its machine, and the locations of its variables."""

import struct
from dataclasses import dataclass

from schedlab.errors import UsageError

MAGIC = b"\x7fELF\x02"
#: Kind of the program header that names the dynamic linker.
PT_INTERP = 3
#: Place of the program headers' offset, and of their size and number, in the file's header.
OFFSET_AT, SIZES_AT = 32, 54
#: Place of the machine's number, and that of the kernel's own machine, for programs that are loaded into it.
MACHINE_AT, EM_BPF = 18, 247
#: Place of the section headers' offset, and of their size, their number and the index of the one with their names.
SECTIONS_AT, SECTION_SIZES_AT = 40, 58
#: Of a section's header: name, kind, flags, address, offset, size, link; and its least size.
SECTION_FIELDS = struct.Struct("<IIQQQQI")
#: The kind of section that holds symbols, and a symbol: name, kind, visibility, section, value, size.
SHT_SYMTAB, SYMBOL = 2, struct.Struct("<IBBHQQ")
#: The kind of symbol that is a variable: the low half of its byte.
STT_OBJECT = 1


@dataclass(frozen=True)
class Symbol:
    """A variable: its name, its place in the file, and its size in bytes."""

    name: str
    at: int
    size: int


def is_static(program: bytes) -> bool:
    """Say whether the program needs no dynamic linker; a file of another kind is no such program."""
    if not program.startswith(MAGIC) or len(program) < SIZES_AT + 4:
        return False
    (offset,) = struct.unpack_from("<Q", program, OFFSET_AT)
    size, count = struct.unpack_from("<HH", program, SIZES_AT)
    ends = [offset + size * number + 4 for number in range(count)]
    if any(end > len(program) for end in ends):
        return False
    return all(struct.unpack_from("<I", program, end - 4) != (PT_INTERP,) for end in ends)


def is_bpf(program: bytes) -> bool:
    """Say whether it is for the machine in the kernel."""
    return program.startswith(MAGIC) and program[MACHINE_AT : MACHINE_AT + 2] == EM_BPF.to_bytes(2, "little")


def symbols(program: bytes, section: str) -> list[Symbol]:
    """The variables of a section. Raises `UsageError` where the headers lead out of the file."""
    try:
        return _symbols(program, section)
    except (struct.error, IndexError, ValueError):
        raise UsageError("the headers of the object are damaged: they lead out of the file") from None


def _symbols(program: bytes, section: str) -> list[Symbol]:
    (offset,) = struct.unpack_from("<Q", program, SECTIONS_AT)
    size, count, names = struct.unpack_from("<HHH", program, SECTION_SIZES_AT)
    headers = [SECTION_FIELDS.unpack_from(program, offset + size * number) for number in range(count)]
    texts = headers[names][4] if count else 0
    found = []
    for _, kind, _, _, at, length, link in headers:
        if kind != SHT_SYMTAB:
            continue
        for place in range(at, at + length - length % SYMBOL.size, SYMBOL.size):
            name, info, _, index, value, bytes_ = SYMBOL.unpack_from(program, place)
            if info & 0xF != STT_OBJECT or not 0 < index < count:
                continue
            if _text(program, texts + headers[index][0]) != section or value + bytes_ > headers[index][5]:
                continue
            start = headers[index][4] + value
            if start + bytes_ > len(program):
                raise ValueError
            found.append(Symbol(_text(program, headers[link][4] + name), start, bytes_))
    return found


def _text(program: bytes, at: int) -> str:
    """A name of a table of names."""
    return program[at : program.index(b"\0", at)].decode("utf-8", "replace")
