#!/usr/bin/env python3
"""record.py FILE: writes the program file of docs/program_file.md by hand, from that page and ops.def alone.

program "scale": state w f32[2] -> repeat 3 times (w * y, y a constant {2, 0.5}), in a group, with a location.
"""
import struct
import sys
import zlib

NONE = 0xFFFFFFFF
F32, I32 = 1, 4
CONSTANT, MUL, REPEAT = 1, 42, 120


def value(dtype, *dims):
    return struct.pack("<II6qQ", dtype, len(dims), *(list(dims) + [0] * (6 - len(dims))), 0)


def op(kind, operands, results, attributes, subprogram=NONE, group=NONE, location=0):
    return struct.pack("<12I", kind, 1, *operands, *results, *attributes, subprogram, group, location, 0)


def padded(data):
    return data + bytes(-len(data) % 64)


def program(values, attributes, ops, slots, groups, operands, strings, constants, subprograms, name):
    head = struct.pack("<8IQQI12x", len(values), len(ops), len(slots), len(operands), len(attributes), len(groups),
                       len(subprograms), name, len(constants), len(strings), 1)
    arrays = b"".join(values) + struct.pack(f"<{len(attributes)}q", *attributes) + b"".join(ops) + b"".join(slots)
    arrays += b"".join(groups) + struct.pack(f"<{len(operands)}I", *operands) + strings
    return head + padded(arrays) + padded(constants) + b"".join(subprograms)


def main():
    body = program(
        values=[value(I32), value(F32, 2), value(F32, 2), value(F32, 2)], attributes=[],
        ops=[op(MUL, (0, 2), (3, 1), (0, 0))],
        slots=[struct.pack("<4I", 1, 0, NONE, 0), struct.pack("<4I", 3, 1, 3, 0), struct.pack("<4I", 5, 2, NONE, 0)],
        groups=[], operands=[1, 2], strings=b"\0i\0x\0y\0body\0", constants=b"", subprograms=[], name=7)
    whole = program(
        values=[value(F32, 2), value(F32, 2), value(F32, 2)], attributes=[0, 3, 1],
        ops=[op(CONSTANT, (0, 0), (1, 1), (0, 1)), op(REPEAT, (0, 2), (2, 1), (1, 2), 0, 0, 9)],
        slots=[struct.pack("<4I", 7, 0, 2, 0)], groups=[struct.pack("<2I", 14, NONE)], operands=[0, 1],
        strings=b"\0scale\0w\0loop\0powers/1\0", constants=struct.pack("<2f", 2.0, 0.5), subprograms=[body], name=1)
    head = b"THRTPROG" + struct.pack("<IIQ40x", 1, zlib.crc32(whole), 64 + len(whole))
    with open(sys.argv[1], "wb") as file:
        file.write(head + whole)


if __name__ == "__main__":
    main()
