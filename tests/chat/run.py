#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conversations from end to end: `tessera evaluate` has the loss of the tokens and labels that this test writes by itself, and
tokenizer and chat template go from a folder into a run, from a run into another run, and out again."""
import json
import math
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import run_checks  # noqa: E402

SMALL = ("--steps 2 --save-every 2 --set model.layers=1 --set model.width=16 --set model.heads=1 --set model.kv_heads=1 "
         "--set model.head_size=16 --set model.mlp_size=16 --set train.batch=2 --set train.eval_every=0 --set train.seq=64 "
         "--set run.peak_gflops=1 --set data.source=chat --set data.path=chats.jsonl --json").split()
CHATS = [[("user", "Is it late?"), ("assistant", "No.")],
         [("system", "Be brief."), ("user", "Is it?"), ("assistant", "It is."), ("user", "Really?"), ("assistant", "Yes.")],
         [("user", "Where?"), ("assistant", "Hier: où le chat dort.")]]
MARKS = ["<|im_start|>", "<|im_end|>"]
TEMPLATE = ("{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
BOS = "<|begin|>"


def alphabet():
    """GPT-2's: a printable character for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def write_tokenizer(folder):
    added = [{"id": 256 + i, "content": text, "special": True} for i, text in enumerate([*MARKS, BOS])]
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": added, "normalizer": None, "post_processor": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {letter: byte for byte, letter in alphabet().items()}, "merges": []}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": BOS, "chat_template": TEMPLATE}))


def plain_row(chat, learned):
    """As `plain` writes bytes: the name of who speaks is given, what follows it is learned."""
    tokens, learns = [], []
    for role, content in chat:
        name, said = f"{role.capitalize()}:".encode(), f" {content}\x03\n".encode()
        tokens += [*name, *said]
        # A prompt names the assistant alone: all of another's turn is learned.
        learns += [role in learned and role != "assistant"] * len(name) + [role in learned] * len(said)
    return tokens, learns


def marked_row(chat, learned):
    tokens, learns = [258], [False]
    for role, content in chat:
        parts = [(256, False)] + [(byte, False) for byte in f"{role}\n".encode()]
        parts += [(byte, role in learned) for byte in content.encode()] + [(257, role in learned), (10, False)]
        tokens += [token for token, _ in parts]
        learns += [learn for _, learn in parts]
    return tokens, learns


def rows_of(row, learned=("assistant",)):
    rows = {"tokens": [], "labels": []}
    for chat in CHATS:
        tokens, learns = row(chat, learned)
        rows["tokens"].append(tokens)
        rows["labels"].append([token if learn else -1 for token, learn in zip(tokens[1:], learns[1:])] + [-1])
    return rows


class Check:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        lines = [{"messages": [{"role": role, "content": content} for role, content in chat]} for chat in CHATS]
        (folder / "chats.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def tessera(self, *words):
        done = subprocess.run([self.binary, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"tessera {' '.join(map(str, words))}: {done.returncode}\n{done.stderr}"
        return done

    def evaluate(self, *words):
        return json.loads(self.tessera("evaluate", *words, "--json").stdout)

    def same(self, model, rows, *more):
        (self.folder / "rows.json").write_text(json.dumps(rows))
        found, expected = self.evaluate(model, "chats.jsonl", *more), self.evaluate(model, "rows.json")
        labels = sum(label >= 0 for row in rows["labels"] for label in row)
        assert found["labels"] == expected["labels"] == labels, (found, expected, labels)
        assert math.isclose(found["loss"], expected["loss"], rel_tol=1e-6), (found, expected)
        return found

    def holds(self, folder, template):
        found = (self.folder / folder / "chat_template.jinja").read_text()
        assert found == template, (folder, found)


def as_bytes(binary, folder):
    check = Check(binary, folder)
    check.tessera("train", *SMALL, "--out", "bytes")
    packed = check.same("bytes", rows_of(plain_row), "--seq", 160)
    assert packed["samples"] < len(CHATS), f"nothing was packed: {packed}"
    check.same("bytes", rows_of(plain_row), "--seq", 160, "--mesh", "dp=2")
    check.same("bytes", rows_of(plain_row, ("user", "assistant")), "--seq", 160, "--set", "data.chat_roles=user,assistant")


def with_a_tokenizer_and_its_template(binary, folder):
    check = Check(binary, folder)
    (folder / "given").mkdir()
    write_tokenizer(folder / "given")
    rows = rows_of(marked_row)
    # The template of the run is that of the tokenizer's folder, and goes wherever the model goes.
    check.tessera("train", *SMALL, "--out", "run", "--set", "data.tokenizer=given/tokenizer.json", "--set", "model.vocabulary=259")
    check.same("run", rows, "--seq", 160)
    check.tessera("train", *SMALL, "--init-from", "run", "--set", "lora.rank=2", "--out", "adapted")
    check.tessera("export", "adapted", "--merge", "--out", "merged")
    check.tessera("train", *SMALL, "--init-from", "merged", "--out", "again")
    for model in ("run", "adapted", "merged", "again"):
        check.holds(model, TEMPLATE)
        config = json.loads((folder / model / "tokenizer_config.json").read_text())
        assert config["bos_token"] == BOS, (model, config)
        assert (folder / model / "tokenizer.json").exists(), model
    check.same("again", rows, "--seq", 160)
    # Adapters whose folder has no tokenizer are asked with that of their base.
    check.tessera("export", "run", "--out", "base")
    check.tessera("train", *SMALL, "--init-from", "base", "--set", "lora.rank=2", "--out", "beside")
    check.tessera("export", "beside", "--out", "peft")
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        (folder / "peft" / name).unlink()
    check.same("peft", rows, "--seq", 160)
    # A template of one's own stays with the run that used it.
    (folder / "own.jinja").write_text("{% for m in messages %}{{ m.role }}: {{ m.content }}<|im_end|>\n{% endfor %}"
                                      "{% if add_generation_prompt %}assistant:{% endif %}")
    check.tessera("train", *SMALL, "--init-from", "run", "--set", "data.chat_template=own.jinja", "--out", "own")
    check.holds("own", (folder / "own.jinja").read_text())


if __name__ == "__main__":
    run_checks(__doc__, [as_bytes, with_a_tokenizer_and_its_template])
