#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tessera evaluate` on plain text, from end to end: the loss is that of the tokens and labels that this test works out by
itself from the text and a small tokenizer.json, and the bytes are the text's own. What takes longer shows how far it is."""
import json
import math
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import run_checks  # noqa: E402

SEQ = 8
SMALL = ("--steps 2 --save-every 2 --set model.layers=1 --set model.width=16 --set model.heads=1 --set model.kv_heads=1 "
         f"--set model.head_size=16 --set model.mlp_size=16 --set train.batch=2 --set train.seq={SEQ} --set train.eval_every=0 "
         "--set data.story_bytes=65536 --set run.peak_gflops=1 --json").split()
MERGES = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("c", "at")]  # the last one never applies: no merge makes "at"
TEXT = "the cat and the other cat: the naïve one, in the middle of the night.\n" * 3


def alphabet():
    """GPT-2's: a printable character for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def write_tokenizer(path):
    letters = alphabet()
    vocabulary = {letters[byte]: byte for byte in range(256)} | {"at": 260}
    vocabulary |= {first + second: 256 + i for i, (first, second) in enumerate(MERGES)}
    path.write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": [" ".join(merge) for merge in MERGES]}}))


def tokens_of(text):
    """The three merges that apply, in their order, written out on the bytes; a word begins with its space."""
    ids = list(text.encode())
    for pair, merged in (((ord("t"), ord("h")), 256), ((256, ord("e")), 257), ((ord(" "), 257), 258)):
        joined = []
        for token in ids:
            if joined and (joined[-1], token) == pair:
                joined[-1] = merged
            else:
                joined.append(token)
        ids = joined
    return ids


def rows_of(ids, seq=SEQ):
    """Every token but the first is a label once, in windows of `seq`."""
    windows = [ids[begin:begin + seq + 1] for begin in range(0, len(ids) - 1, seq)]
    return {"tokens": [window[:-1] for window in windows], "labels": [window[1:] for window in windows]}


class Check:
    """The checks share a text and two models: `run` has a tokenizer, `bytes` has none."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        if (folder / "text.txt").exists():
            return
        (folder / "text.txt").write_text(TEXT)
        self.tessera("train", *SMALL, "--out", "run", "--set", "model.vocabulary=261")
        write_tokenizer(folder / "run" / "tokenizer.json")
        self.tessera("train", *SMALL, "--out", "bytes")

    def tessera(self, *words):
        done = subprocess.run([self.binary, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"tessera {' '.join(map(str, words))}: {done.returncode}\n{done.stderr}"
        return done

    def evaluate(self, model, data, *more):
        return json.loads(self.tessera("evaluate", model, data, "--json", *more).stdout)

    def same(self, found, rows, label_bytes):
        (self.folder / "rows.json").write_text(json.dumps(rows))
        expected = self.evaluate("run", "rows.json")
        labels = sum(map(len, rows["labels"]))
        assert found["labels"] == expected["labels"] == labels, (found, expected, labels)
        assert math.isclose(found["loss"], expected["loss"], rel_tol=1e-6), (found, expected)
        assert found["bytes"] == label_bytes, (found, label_bytes)
        per_byte = expected["loss"] * labels / label_bytes
        assert math.isclose(found["loss_per_byte"], per_byte, rel_tol=1e-6), (found, per_byte)
        assert math.isclose(found["bits_per_byte"], per_byte / math.log(2), rel_tol=1e-6), found
        assert "bytes" not in expected, expected


def tokenizer_beside_the_model(binary, folder):
    check = Check(binary, folder)
    rows, first = rows_of(tokens_of(TEXT)), len("the")
    assert 258 in sum(rows["labels"], []), "nothing was merged"
    for model in ("run", "run/checkpoints/step-00000002"):
        check.same(check.evaluate(model, "text.txt"), rows, len(TEXT.encode()) - first)
    some = {key: values[:3] for key, values in rows.items()}
    spelt = sum({256: 2, 257: 3, 258: 4}.get(label, 1) for label in sum(some["labels"], []))
    check.same(check.evaluate("run", "text.txt", "--samples", 3), some, spelt)
    check.same(check.evaluate("run", "text.txt", "--mesh", "dp=2"), rows, len(TEXT.encode()) - first)
    (folder / "alone").mkdir()
    check.tessera("checkpoint", "convert", "run", "alone/all.safetensors")
    check.same(check.evaluate("alone/all.safetensors", "text.txt", "--tokenizer", "run/tokenizer.json"), rows,
               len(TEXT.encode()) - first)


def files_of_a_folder(binary, folder):
    check = Check(binary, folder)
    (folder / "texts").mkdir()
    for name, text in (("a.txt", "the other"), ("b.txt", "at night")):
        (folder / "texts" / name).write_text(text)
    rows = {key: rows_of(tokens_of("the other"))[key] + rows_of(tokens_of("at night"))[key] for key in ("tokens", "labels")}
    check.same(check.evaluate("run", "texts"), rows, len(" other") + len("t night"))


def bytes_without_a_tokenizer(binary, folder):
    check = Check(binary, folder)
    found = check.evaluate("bytes", "text.txt")
    assert found["labels"] == found["bytes"] == len(TEXT.encode()) - 1, found
    assert found["loss_per_byte"] == found["loss"], found


def windows_of_the_length_asked_for(binary, folder):
    """Of text, of rows and of shards: a shorter window is less context, so another loss."""
    check = Check(binary, folder)
    ids = tokens_of(TEXT)
    ids = ids[:1 + (len(ids) - 1) // 4 * 4]  # shards have no window that is not full
    (folder / "row.json").write_text(json.dumps({"tokens": [ids]}))
    (folder / "ids.bin").write_bytes(struct.pack("<256i", 20240520, 1, len(ids), *[0] * 253)
                                     + struct.pack(f"<{len(ids)}H", *ids))
    (folder / "windows.json").write_text(json.dumps(rows_of(ids, 4)))
    expected = check.evaluate("run", "windows.json")
    assert expected["seq"] == 4 and expected["labels"] == len(ids) - 1, expected
    text = check.evaluate("run", "text.txt", "--seq", 4)
    check.same(text, rows_of(tokens_of(TEXT), 4), len(TEXT.encode()) - len("the"))
    for data in ("row.json", "ids.bin"):
        for asked in (("--seq", 4), ("--set", "train.seq=4")):
            found = check.evaluate("run", data, *asked)
            for key in ("seq", "samples", "labels"):
                assert found[key] == expected[key], (data, asked, found, expected)
            assert math.isclose(found["loss"], expected["loss"], rel_tol=1e-6), (data, asked, found, expected)
        longer = check.evaluate("run", data, "--seq", 8)
        assert not math.isclose(longer["loss"], expected["loss"], rel_tol=1e-5), (data, longer, expected)


def models_whose_training_step_does_not_fit(binary, folder):
    """A step that has to fit into 1 KB is refused; the forward alone is none."""
    check = Check(binary, folder)
    tight = ("--mesh", "dp=2", "--set", "plan.recompute=fit", "--set", "plan.memory=1KB")
    unsaved = [word for i, word in enumerate(SMALL) if "--save-every" not in SMALL[max(0, i - 1):i + 1]]
    refused = subprocess.run([binary, "train", *unsaved, *tight, "--out", "tight"], cwd=folder, capture_output=True,
                             text=True, check=False)
    assert refused.returncode == 2 and "a rank needs" in refused.stderr, refused.stderr
    found, expected = check.evaluate("bytes", "text.txt", *tight), check.evaluate("bytes", "text.txt")
    assert math.isclose(found["loss"], expected["loss"], rel_tol=1e-6), (found, expected)


def progress_after_two_seconds(binary, folder):
    """On as many samples as take so long on this machine."""
    check = Check(binary, folder)
    seconds, samples = 0, 64
    while seconds < 2:
        samples *= 4
        (folder / "many.json").write_text(json.dumps({"tokens": [[1, 2, 3]] * samples}))
        done = check.tessera("evaluate", "run", "many.json", "--json", "--batch", 1)
        seconds = json.loads(done.stdout)["seconds"]  # nothing but JSON is there
        assert seconds >= 1.9 or not done.stderr, f"after {seconds} s: {done.stderr}"
    last = done.stderr.splitlines()[-1:]
    assert last and last[0].startswith("samples") and f"100%  {samples}  " in last[0], f"after {seconds} s: {done.stderr}"


if __name__ == "__main__":
    run_checks(__doc__, [tokenizer_beside_the_model, files_of_a_folder, bytes_without_a_tokenizer, windows_of_the_length_asked_for,
                         models_whose_training_step_does_not_fit, progress_after_two_seconds])
