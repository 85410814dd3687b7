#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tessera evaluate --choices`, from end to end. Log-likelihoods of four model families are those of the same maths in PyTorch
to 1e-6, in fp64 and in fp32, for every batch and mesh; golden (golden.json), and where PyTorch is installed computed again
(--update writes them). Questions are read in every form, and what is written is read again."""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import reference

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden.json"
TOLERANCE = {"fp64": 1e-9, "fp32": 1e-6}  # relative; single precision has 6e-8


class Check:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.failed = binary, folder, 0

    def claim(self, holds, text):
        if not holds:
            self.failed += 1
            print("FAILED " + text)

    def tessera(self, *words):
        done = subprocess.run([self.binary, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tessera {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def write(self, name, lines):
        (self.folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))

    def scored(self, model, data, *more):
        """What is printed, and the lines that are written."""
        out = self.folder / "samples.jsonl"
        out.unlink(missing_ok=True)
        printed = json.loads(self.tessera("evaluate", model, data, "--choices", "--json", "--out", "samples.jsonl", *more))
        return printed, [json.loads(line) for line in out.read_text().splitlines()]

    def same_scores(self, samples, expected, tolerance, text):
        for sample, scores in zip(samples, expected):
            found = [(float(log), greedy == "True") for log, greedy in sample["filtered_resps"]]
            for (log, greedy), (want, greedily) in zip(found, scores):
                self.claim(math.isclose(log, want, rel_tol=tolerance), f"{text}: {sample['doc']}: {log}, want {want}")
                self.claim(greedy == greedily, f"{text}: {sample['doc']}: greedy is {greedy}")
        self.claim(len(samples) == len(expected), f"{text}: {len(samples)} lines")

    def model(self, name, expected):
        reference.write_folder(name, self.folder / name)
        runs = [("fp64", "1", 3), ("fp64", "1", 8), ("fp64", "tp=2", 3), ("fp64", "dp=2,tp=2", 8), ("fp32", "1", 3)]
        for precision, mesh, batch in runs:
            printed, samples = self.scored(name, "questions.jsonl", "--precision", precision, "--batch", batch,
                                           *(() if mesh == "1" else ("--mesh", mesh)))
            self.same_scores(samples, expected, TOLERANCE[precision], f"{name}, {precision}, {mesh}, {batch} at once")
            self.figures(printed, samples, f"{name}, {precision}, {mesh}")
        cut = reference.cut_choices(name)
        self.claim(printed["cut"] == cut and (cut > 0 or "gpt2" not in name), f"{name}: {printed['cut']} are cut, want {cut}")

    def figures(self, printed, samples, text):
        """From the lines alone, as the harness has them."""
        lengths = {"acc": lambda choice: 1, "acc_norm": len, "acc_bytes": lambda choice: len(choice.encode())}
        for metric, length in lengths.items():
            right = []
            for sample, (_, choices, answer) in zip(samples, reference.PAIRS):
                rates = [float(log) / length(choice) for (log, _), choice in zip(sample["filtered_resps"], choices)]
                right.append(float(rates.index(max(rates)) == answer))
                self.claim(sample[metric] == right[-1], f"{text}: {metric} of {sample['doc']}")
            mean = sum(right) / len(right)
            error = math.sqrt(sum((one - mean) ** 2 for one in right) / (len(right) - 1) / len(right))
            self.claim(math.isclose(printed[metric], mean), f"{text}: {metric} is {printed[metric]}, want {mean}")
            self.claim(math.isclose(printed[f"{metric}_stderr"], error, abs_tol=1e-12), f"{text}: {metric}_stderr, want {error}")

    def forms(self, name, expected):
        """The same questions as the harness stores them, now and in older files, and as ARC has them."""
        _, samples = self.scored(name, "questions.jsonl", "--precision", "fp64")
        self.write("stored.jsonl", samples)
        older = [dict(sample, arguments=[list(pair.values()) for pair in sample["arguments"].values()],
                      filtered_resps=[[float(log) + 0.25, greedy == "True"] for log, greedy in sample["filtered_resps"]])
                 for sample in samples]
        self.write("older.jsonl", older)
        for data, difference in (("stored.jsonl", 0), ("older.jsonl", 0.25)):
            printed, again = self.scored(name, data, "--precision", "fp64")
            self.same_scores(again, expected, 1e-9, f"{name}, {data}")
            stored = printed["stored"]
            self.claim(abs(stored["largest_difference"] - difference) < 1e-9, f"{data}: {stored}")
            self.claim(stored["same_choice"] == len(samples) and stored["same_greedy"] == printed["choices"], f"{data}: {stored}")
            self.claim(stored["acc"] == printed["acc"], f"{data}: {stored}")
        arc = {"question": "Where?", "choices": {"text": ["in the house", "out"], "label": ["1", "2"]}, "answerKey": "2"}
        plain = [{"context": "Question: Where?\nAnswer:", "choices": [" in the house", " out"], "answer": answer}
                 for answer in (1, "B", " out", "out", [1])]
        self.write("forms.jsonl", [arc, *plain])
        _, forms = self.scored(name, "forms.jsonl", "--precision", "fp64")
        for form in forms:
            self.claim(form["target"] == "1", f"the answer of {form['doc']} is {form['target']}")
            self.claim(form["filtered_resps"] == forms[0]["filtered_resps"], f"{form['doc']} has other scores")

    def prefix(self, name):
        """A special token before every context is one token."""
        self.write("with.jsonl", [{"context": "<|endoftext|>a", "choices": [" b", " c"], "answer": 0}])
        self.write("without.jsonl", [{"context": "a", "choices": [" b", " c"], "answer": 0}])
        _, given = self.scored(name, "with.jsonl")
        _, added = self.scored(name, "without.jsonl", "--prefix", "<|endoftext|>")
        _, plain = self.scored(name, "without.jsonl")
        self.claim(given[0]["resps"] == added[0]["resps"] != plain[0]["resps"], "--prefix")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--binary", type=pathlib.Path)
    options.add_argument("--update", action="store_true")
    given = options.parse_args()
    live = reference.live_scores()
    if given.update:
        if not live:
            sys.exit("PyTorch is not installed: it computes the scores (tools/setup.sh oracle)")
        GOLDEN.write_text(json.dumps(live, indent=1) + "\n")
        return 0
    golden = json.loads(GOLDEN.read_text())
    with tempfile.TemporaryDirectory() as folder:
        check = Check(given.binary.resolve(), pathlib.Path(folder))
        check.write("questions.jsonl", reference.questions())
        for name in reference.NAMES:
            if live:
                for stored, computed in zip(sum(golden[name], []), sum(live[name], [])):
                    check.claim(math.isclose(stored[0], computed[0], rel_tol=1e-12) and stored[1] == computed[1],
                                f"{name}: PyTorch says {computed}, golden.json {stored}")
            check.model(name, golden[name])
        check.forms(reference.NAMES[0], golden[reference.NAMES[0]])
        check.prefix(reference.NAMES[1])
    print("FAILED" if check.failed else f"{len(golden)} models score as PyTorch's{'' if live else ' (stored)'}")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
