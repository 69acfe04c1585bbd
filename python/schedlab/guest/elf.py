"""What a program's headers tell (ELF, 64 bits): whether it runs where there is nothing else, and on which machine."""

import struct

MAGIC = b"\x7fELF\x02"
#: Kind of the program header that names the dynamic linker.
PT_INTERP = 3
#: Place of the program headers' offset, and of their size and number, in the file's header.
OFFSET_AT, SIZES_AT = 32, 54
#: Place of the machine's number, and that of the kernel's own machine, for programs that are loaded into it.
MACHINE_AT, EM_BPF = 18, 247


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
