#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the TensorBoard event files of a run that was stopped and resumed, with a reader written for this test (records,
checksums, protobuf), and compares every number with metrics.jsonl."""
import argparse
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

SMALL = ("--set model.layers=1 --set model.width=16 --set model.heads=1 --set model.kv_heads=1 --set model.head_size=16 "
         "--set model.mlp_size=16 --set train.batch=2 --set train.seq=8 --set data.story_bytes=65536 --set run.peak_gflops=1 "
         "--set train.eval_every=2 --set train.eval_batches=1").split()


def crc32c(data):
    """Bit by bit, from the definition."""
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82F63B78 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        length, = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8]), "checksum of a length"
        content = data[12:12 + length]
        assert struct.unpack("<I", data[12 + length:16 + length])[0] == masked(content), "checksum of a record"
        yield content
        data = data[16 + length:]


def varint(data):
    value = shift = at = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, data[at:]


def fields(data):
    """Number and value of each field of a protobuf message."""
    while data:
        key, data = varint(data)
        kind = key & 7
        if kind == 0:
            value, data = varint(data)
        elif kind == 2:
            length, data = varint(data)
            value, data = data[:length], data[length:]
        else:
            size = {1: 8, 5: 4}[kind]
            value, data = struct.unpack("<d" if kind == 1 else "<f", data[:size])[0], data[size:]
        yield key >> 3, value


def read_events(path):
    """(step, scalars, starts): scalars by tag; starts: readers drop what is known of this step and later ones."""
    events = []
    for number, record in enumerate(records(path.read_bytes())):
        event = dict(fields(record))
        assert 1e9 < event[1] < 1e11, "seconds since 1970"
        if number == 0:
            assert event[3] == b"brain.Event:2", event
            continue
        scalars = {}
        for _, value in fields(event.get(5, b"")):
            parts = dict(fields(value))
            scalars[parts[1].decode()] = parts[2]
        events.append((event[2], scalars, dict(fields(event.get(7, b""))).get(1) == 1))
    return events


def check(binary, folder):
    run = pathlib.Path(folder) / "run"
    train = [binary, "train", *SMALL, "--save-every", "2", "--out", run, "--json", "--set"]
    subprocess.run([*train, "train.steps=3"], check=True, stdout=subprocess.DEVNULL)
    # As if killed after step 3: the newest checkpoint is that of step 2.
    subprocess.run(["rm", "-r", run / "checkpoints" / "step-00000003"], check=True)
    subprocess.run([*train, "train.steps=5", "--resume"], check=True, stdout=subprocess.DEVNULL)
    files = sorted((run / "tensorboard").glob("*tfevents*"))
    assert len(files) == 2, files
    first, second = map(read_events, files)
    assert [(step, starts) for step, _, starts in first] == [(1, False), (2, False), (3, False)], first
    assert [(step, starts) for step, _, starts in second] == [(3, True), (3, False), (4, False), (5, False)], second
    shown = {step: scalars for step, scalars, starts in first[:2] + second if not starts}
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5]
    compared = 0
    for line in lines:
        scalars = shown[line.pop("step")]
        assert scalars.keys() == line.keys(), (scalars.keys(), line.keys())
        for key, value in line.items():
            assert math.isclose(scalars[key], value, rel_tol=1e-6), (key, scalars[key], value)  # a float has 24 bits
            compared += 1
    assert "held_out_loss" in shown[2] and "held_out_loss" not in shown[1]
    subprocess.run([*train, "train.steps=1", "--overwrite"], check=True, stdout=subprocess.DEVNULL)
    assert len(list((run / "tensorboard").iterdir())) == 1, "--overwrite removes older files"
    subprocess.run([*train, "run.tensorboard=false", "--steps", "1", "--overwrite"], check=True, stdout=subprocess.DEVNULL)
    assert not (run / "tensorboard").exists(), "none is asked for"
    return compared


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    binary = os.path.abspath(parser.parse_args().binary)
    with tempfile.TemporaryDirectory() as folder:
        print(f"{check(binary, folder)} numbers are those of metrics.jsonl")
    return 0


if __name__ == "__main__":
    sys.exit(main())
