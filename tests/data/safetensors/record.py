"""Writes the small files beside it with the safetensors package, for tests/core/io/safetensors_test.cpp.

Recorded with safetensors 0.8.0 and numpy 2.4.6:  pip install safetensors numpy && python record.py
With an argument it reads that file instead and prints what it holds, to check a file of our own writing.
"""
import pathlib
import sys

import numpy as np
from safetensors import TensorSpec, safe_open, serialize_file
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent


def show(path):
    with safe_open(path, framework="np") as file:
        print("metadata", sorted((file.metadata() or {}).items()))
        for name in file.keys():
            part = file.get_slice(name)
            line = f"{name} {part.get_dtype()} {part.get_shape()}"
            # numpy has no bfloat16: its shape and dtype are all that can be shown
            print(line if part.get_dtype() == "BF16" else f"{line} {file.get_tensor(name).ravel().tolist()}")


def record():
    mixed = {
        "layer/0/weight": np.array([[0.5, -1.25, 3.0], [1e-30, 2.0**-149, np.inf]], np.float32),
        "layer/0/bias": np.array([1.5, -65504.0], np.float16),
        "steps": np.array([2**63 - 1, -(2**63)], np.int64),
        "counter": np.array([2**64 - 1], np.uint64),
        "index": np.array([-7, 2147483647], np.int32),
        "seed": np.array([4294967295], np.uint32),
        "pixels": np.array([[0, 127, 255]], np.uint8),
        "mask": np.array([True, False, True], np.bool_),
        "mean": np.array(0.1, np.float64),
        "nothing": np.zeros((0, 3), np.float32),
    }
    save_file(mixed, HERE / "mixed.safetensors", metadata={"framework": "none", "näme": "grün \"quoted\"\n"})
    save_file({}, HERE / "empty.safetensors")
    save_file({"x": np.array([1.0, 2.0], np.float32)}, HERE / "plain.safetensors")
    # numpy has no bfloat16, so this one goes through the package's serialiser of raw memory: 1.0, -2.0, 3.140625.
    raw = np.array([0x3F80, 0xC000, 0x4049], np.uint16)
    half = TensorSpec(dtype="bfloat16", shape=[3], data_ptr=raw.ctypes.data, data_len=raw.nbytes)
    serialize_file({"half": half}, HERE / "bf16.safetensors")
    for path in HERE.glob("*.safetensors"):
        path.chmod(0o644)



if len(sys.argv) > 1:
    show(sys.argv[1])
else:
    record()
