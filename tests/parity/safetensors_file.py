# SPDX-License-Identifier: Apache-2.0
"""Reads a safetensors file: 8 bytes of header length, a JSON header, then the tensors' bytes."""
import json
import struct

import numpy

DTYPES = {"F64": numpy.float64, "F32": numpy.float32, "I32": numpy.int32, "BF16": numpy.uint16}


def read(path):
    """Returns ({name: array}, metadata); bf16 becomes fp32."""
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    data = content[8 + length:]
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = numpy.frombuffer(data[begin:end], dtype=DTYPES[entry["dtype"]])
        if entry["dtype"] == "BF16":  # the upper half of an fp32
            array = (array.astype(numpy.uint32) << 16).view(numpy.float32)
        tensors[name] = array.reshape(entry["shape"]).copy()
    return tensors, metadata
