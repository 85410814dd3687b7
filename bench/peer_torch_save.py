#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of a checkpoint: as many bytes as a training state of fp32 weights and two moments, copied bare into memory that
is there already, and saved by torch.save with an fsync. Prints one JSON object. Run by the system's python3, which has torch."""
import argparse
import json
import os
import statistics
import time

import torch


def timed(act):
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, required=True, help="of the whole state")
    parser.add_argument("--tensors", type=int, default=444, help="that they lie in")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--file", required=True, help="written and removed")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    elements = arguments.bytes // 4 // arguments.tensors
    state = {f"tensor.{i}": torch.full((elements,), float(i)) for i in range(arguments.tensors)}
    copy = {name: torch.zeros_like(tensor) for name, tensor in state.items()}

    def copy_all():
        for name, tensor in state.items():
            copy[name].copy_(tensor)

    def save_all():
        with open(arguments.file, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())

    copies = [timed(copy_all) for _ in range(arguments.rounds)]
    saves = [timed(save_all) for _ in range(arguments.rounds)]
    os.remove(arguments.file)
    print(json.dumps({"torch": torch.__version__, "bytes": elements * 4 * arguments.tensors,
                      "copy_seconds": statistics.median(copies), "save_seconds": statistics.median(saves)}))


if __name__ == "__main__":
    main()
