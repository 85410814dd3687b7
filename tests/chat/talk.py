#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tessera chat` and `generate`: a pipe gets answers and nothing else, only new tokens are computed, two ranks write what one does, characters
come whole, what does not fit the window is left out and said, commands change the conversation, and in a terminal Ctrl-C stops an
answer and not the chat."""
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import run_checks  # noqa: E402

SECONDS = 240
SMALL = ("--batch 4 --set model.layers=1 --set model.width=32 --set model.heads=2 --set model.kv_heads=2 --set model.head_size=16 "
         "--set model.mlp_size=64 --set train.seq=128 --set train.eval_every=0 --set run.peak_gflops=1 --json").split()
# What a model that is small learns at once: one letter after the other, of two bytes and of four.
LETTERS = "äöüßéñ\U0001f642\U0001f600"
TEMPLATE = ("{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ '\\n' if m.role != 'assistant' else '' }}{% endfor %}"
            "{% if add_generation_prompt %}<assistant>{% endif %}")


def tessera(binary, *words, stdin="", code=0, cwd=None):
    done = subprocess.run([binary, *map(str, words)], input=stdin, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=cwd)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done


def model(binary, folder):
    """A run that the checks share; it writes letters of several bytes."""
    run = folder / "run"
    if not run.exists():
        (folder / "letters.txt").write_text(LETTERS * 2000)
        tessera(binary, "train", "--steps", 40, "--save-every", 40, "--out", run, *SMALL, "--set", f"data.path={folder / 'letters.txt'}",
                "--set", "train.learning_rate=1e-2", "--set", "train.warmup_steps=5")
    return run


def chat(binary, run, questions, *more, **options):
    choice = () if "--temperature" in more else ("--temperature", 0)
    return tessera(binary, "chat", run, "--max-tokens", 24, *choice, *more, stdin="".join(f"{question}\n" for question in questions), **options)


def turns(binary, run, questions, *more):
    return [json.loads(line) for line in chat(binary, run, questions, "--json", *more).stdout.splitlines()]


def a_pipe_gets_answers_alone(binary, folder):
    run = model(binary, folder)
    told = turns(binary, run, ["ä", "", "öü"])
    assert [turn["question"] for turn in told] == ["ä", "öü"], "an empty line is no question"
    assert all(len(turn["text"]) > 3 and turn["end"] == "max_tokens" for turn in told), told
    done = chat(binary, run, ["ä", "", "öü"])
    assert done.stdout == "".join(turn["text"] + "\n" for turn in told), (done.stdout, told)
    assert "no chat template" in done.stderr and "--max-tokens" in done.stderr, done.stderr
    assert chat(binary, run, [], "--system", "s").stdout == ""


def new_tokens_alone_are_computed(binary, folder):
    told = turns(binary, model(binary, folder), ["ä" * 8, "ö", "é"], "--window", 1024)
    assert told[0]["computed_tokens"] == told[0]["prompt_tokens"]
    for before, turn in zip(told, told[1:]):
        assert turn["computed_tokens"] < 40 and turn["prompt_tokens"] - turn["computed_tokens"] >= before["prompt_tokens"] + 20, (before, turn)


def two_ranks_write_what_one_does(binary, folder):
    run = model(binary, folder)
    for more in ([], ["--temperature", 1, "--top-p", 0.9, "--seed", 3]):
        assert [turn["tokens"] for turn in turns(binary, run, ["ä", "ö"], *more, "--mesh", "tp=2")] == [turn["tokens"] for turn in turns(binary, run, ["ä", "ö"], *more)]


def a_template_beside_the_model_is_used(binary, folder):
    run = model(binary, folder)
    (folder / "own.jinja").write_text(TEMPLATE)
    done = chat(binary, run, ["ä"], "--template", folder / "own.jinja", "--json")
    assert json.loads(done.stdout)["prompt_tokens"] == len("<user>ä\n<assistant>".encode()) and not done.stderr
    (run / "chat_template.jinja").write_text(TEMPLATE)
    try:
        beside = chat(binary, run, ["ä"], "--json")
        assert json.loads(beside.stdout)["tokens"] == json.loads(done.stdout)["tokens"] and not beside.stderr
    finally:
        (run / "chat_template.jinja").unlink()


def every_stored_model_talks(binary, folder):
    run = model(binary, folder)
    tokens = [turn["tokens"] for turn in turns(binary, run, ["ä", "ö"])]
    tessera(binary, "export", run, "--out", folder / "exported")
    for stored in (folder / "exported", run / "checkpoints" / "step-00000040"):
        assert [turn["tokens"] for turn in turns(binary, stored, ["ä", "ö"], "--window", 128)] == tokens, stored
    tessera(binary, "train", "--init-from", run, "--set", "lora.rank=2", "--steps", 2, "--save-every", 2, "--out", folder / "adapted", "--batch", 2, "--set", "train.seq=128",
            "--set", f"data.path={folder / 'letters.txt'}", "--set", "train.learning_rate=0.1", "--set", "train.warmup_steps=0", "--set", "train.eval_every=0", "--set", "run.peak_gflops=1", "--json")
    adapted = [turn["tokens"] for turn in turns(binary, folder / "adapted", ["ä", "ö"])]
    tessera(binary, "export", folder / "adapted", "--out", folder / "peft")
    assert adapted != tokens and [turn["tokens"] for turn in turns(binary, folder / "peft", ["ä", "ö"], "--base", run, "--window", 128)] == adapted


def what_does_not_fit_is_left_out_and_said(binary, folder):
    run = model(binary, folder)
    questions = [f"{letter * 8}" for letter in LETTERS]
    told = turns(binary, run, questions)
    assert told[0]["left_out"] == 0 and told[-1]["left_out"] >= 4 and all(turn["prompt_tokens"] + len(turn["tokens"]) <= 128 for turn in told), told
    done = chat(binary, run, questions)
    assert "window of 128 tokens: its first" in done.stderr, done.stderr
    refused = chat(binary, run, ["ä", "x" * 200, "ö"], code=2)
    assert refused.stdout.count("\n") == 1 and "of a window of 128" in refused.stderr
    assert len(turns(binary, run, ["x" * 200], "--window", 512)) == 1


def commands_change_the_conversation(binary, folder):
    run = model(binary, folder)
    first = turns(binary, run, ["ä"])[0]
    for line in ("/undo", "/reset"):
        again = turns(binary, run, ["ä", line, "ä"])
        assert again[1]["tokens"] == first["tokens"] and again[1]["prompt_tokens"] == first["prompt_tokens"], again
        assert again[1]["computed_tokens"] == 1, "the last token says what follows"
    assert turns(binary, run, ["/system öö", '/system ""', "ä"])[0]["prompt_tokens"] == first["prompt_tokens"]
    system = turns(binary, run, ["/system öö", "ä"])[0]
    assert system["tokens"] == turns(binary, run, ["ä"], "--system", "öö")[0]["tokens"] and system["prompt_tokens"] > first["prompt_tokens"]
    assert turns(binary, run, ["//reset"])[0]["prompt_tokens"] == first["prompt_tokens"] + len("/reset") - len("ä".encode())
    assert len(turns(binary, run, ["ä", "/quit", "ö"])) == 1
    saved = folder / "saved.jsonl"
    chat(binary, run, ["ä", f"/save {saved}", "ö", f"/save {saved}"], "--system", "s")
    messages = json.loads(saved.read_text())["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user", "assistant"], messages
    kept = saved.read_bytes()
    assert "is there already" in chat(binary, run, [f"/save {saved}"], code=2).stderr and saved.read_bytes() == kept
    assert "/help" in chat(binary, run, ["/sing"], code=2).stderr
    assert all(f"/{name}" in chat(binary, run, ["/help"]).stderr for name in ("reset", "system", "undo", "save", "quit"))


def generate_writes_together_what_it_writes_alone(binary, folder):
    run = model(binary, folder)
    prompts = ["ä", "öüß" * 3, LETTERS]

    def texts(words, *more):
        asked = [word for prompt in words for word in ("--prompt", prompt)]
        told = json.loads(tessera(binary, "generate", run, *asked, "--tokens", 40, "--json", *more).stdout)
        return [text["tokens"] for text in told.get("texts", [told])]

    alone = [texts([prompt], "--temperature", 0)[0] for prompt in prompts]
    asked = ("--prompt", prompts[0], "--stop", "no such text", run, "--tokens", 40, "--temperature", 0, "--json")
    assert json.loads(tessera(binary, "generate", *asked).stdout)["tokens"] == alone[0], "the model may come last"
    assert texts(prompts, "--temperature", 0) == alone == texts(prompts, "--temperature", 0, "--mesh", "tp=2")
    drawn = texts(prompts, "--temperature", 1, "--top-p", 0.8, "--top-k", 40)
    assert drawn == texts(prompts, "--temperature", 1, "--top-p", 0.8, "--top-k", 40, "--mesh", "tp=2") and drawn != alone
    whole = bytes(alone[2]).decode(errors="replace")
    stop = whole[2:5]  # of several tokens
    ended = json.loads(tessera(binary, "generate", run, "--prompt", LETTERS, "--tokens", 40, "--temperature", 0, "--stop", stop, "--json").stdout)
    assert ended["text"] == whole[:whole.index(stop)] and len(ended["tokens"]) < 40, (ended, whole, stop)


def a_model_that_diverged_says_so(binary, folder):
    run, diverged = model(binary, folder), folder / "diverged"
    tessera(binary, "export", run, "--out", diverged)
    weights = bytearray((diverged / "model.safetensors").read_bytes())
    begin = 8 + int.from_bytes(weights[:8], "little")
    weights[begin:] = b"\xff" * (len(weights) - begin)  # NaN
    (diverged / "model.safetensors").write_bytes(weights)
    (folder / "asked.jsonl").write_text('{"context": "2 + 3 =", "choices": [" 5", " 6"], "answer": 0}\n')
    for words in (("generate", diverged, "--prompt", "ä"), ("chat", diverged), ("evaluate", diverged, folder / "asked.jsonl", "--choices")):
        done = tessera(binary, *words, stdin="ä\n", code=2)
        assert "the model computes NaN" in done.stderr and "earlier checkpoint" in done.stderr, done.stderr


class Terminal:
    """A chat in a terminal of its own."""

    def __init__(self, *words):
        self.process, self.file = pty.fork()
        if self.process == 0:
            os.execv(words[0], [str(word) for word in words])
        self.pieces = []

    def wait(self, pattern):
        """What came, once it matches; then it is forgotten."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            text = b"".join(self.pieces).decode(errors="replace")  # a terminal may cut a character
            if re.search(pattern, text):
                self.pieces.clear()
                return text
            if select.select([self.file], [], [], 1)[0]:
                self.pieces.append(os.read(self.file, 1 << 16))
        raise AssertionError(f"waited for {pattern}: {b''.join(self.pieces)!r}")

    def type(self, text):
        os.write(self.file, text.encode())

    def status(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def ctrl_c_stops_an_answer_and_not_the_chat(binary, folder):
    terminal = Terminal(binary, "chat", model(binary, folder), "--window", 100000, "--max-tokens", 90000)
    terminal.wait(r"/help(.|\n)*\n> $")
    terminal.type("ä\n")
    terminal.wait("öü")
    terminal.type("\x03")
    terminal.wait(r"\(stopped\)\r\n\r\n> $")
    terminal.type("\x03")
    terminal.wait("Ctrl-D or /quit(.|\n)*> $")
    terminal.type("/nothing\n")
    terminal.wait("there is no command(.|\n)*> $")
    terminal.type("/undo\n")
    terminal.wait("0 turns are left(.|\n)*> $")
    terminal.type("\x04")
    assert terminal.status() == 0


def characters_come_whole(binary, folder):
    process = subprocess.Popen([binary, "chat", model(binary, folder), "--temperature", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdin.write("ä\n".encode())
    process.stdin.close()
    pieces = []
    while piece := os.read(process.stdout.fileno(), 1 << 16):
        pieces.append(piece.decode())  # throws in the middle of a character
    assert process.wait() == 0
    assert set("".join(pieces)) & set(LETTERS), pieces


CHECKS = [a_pipe_gets_answers_alone, new_tokens_alone_are_computed, two_ranks_write_what_one_does, a_template_beside_the_model_is_used, every_stored_model_talks,
          what_does_not_fit_is_left_out_and_said, a_model_that_diverged_says_so, generate_writes_together_what_it_writes_alone, commands_change_the_conversation, ctrl_c_stops_an_answer_and_not_the_chat, characters_come_whole]

if __name__ == "__main__":
    run_checks(__doc__, CHECKS)
