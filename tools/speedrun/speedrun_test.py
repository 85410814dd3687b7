#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/speedrun does beside tessera, with a program in its place that writes the files that a step should make."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import answers
import cost
import linux_doc
import report

RUN = pathlib.Path(__file__).resolve().parent / "run.py"
# Notes each command; where STOP names a word of one, that one fails, a training after its first checkpoint.
STAND_IN = '''#!/usr/bin/env python3
import json, os, pathlib, re, sys
words = sys.argv[1:]
folder = pathlib.Path(sys.argv[0]).parent
with open(folder / "commands.txt", "a") as file:
    file.write(" ".join(words) + "\\n")
stops = os.environ.get("STOP") in words
if words[0] == "train":
    out = pathlib.Path(re.search('out = "(.*)"', pathlib.Path(words[1]).read_text())[1])
    (out / "checkpoints" / "step-00000001").mkdir(parents=True, exist_ok=True)
    (out / "config.toml").write_text("steps = 2\\n" if os.environ.get("STOP") == "early" else "steps = 1\\n")
    (out / "metrics.jsonl").write_text('{"step":1,"loss":3.0}\\n{"step":2,"loss":2.0,"held_out_loss":2.5}\\n')
elif words[0] == "stories":
    message = {"messages": [{"role": "user", "content": "What is 1 + 1?"}, {"role": "assistant", "content": "1 + 1 = 2."}],
               "topic": "sums", "choices": ["a", "b"]}
    pathlib.Path(words[words.index("--out") + 1]).write_text(json.dumps(message) + "\\n")
elif words[0] == "tokenizer":
    pathlib.Path(words[words.index("--out") + 1]).write_text("{}")
elif words[0] == "tokenize":
    out = pathlib.Path(words[words.index("--out") + 1])
    out.mkdir(parents=True, exist_ok=True)
    (out / "complete.json").write_text("{}")
elif words[0] == "evaluate":
    print(json.dumps({"acc": 1.0}))
elif words[0] == "chat":
    for line in sys.stdin:
        if not line.startswith("/"):
            print(json.dumps({"question": line.strip(), "text": "1 + 1 = 2."}))
sys.exit(1 if stops else 7 if words[0] == "train" and os.environ.get("STOP") == "early" else 0)
'''


class Speedrun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.program = self.path / "tessera"
        self.program.write_text(STAND_IN, encoding="utf-8")
        self.program.chmod(0o755)

    def tearDown(self):
        self.folder.cleanup()

    def run_once(self, *flags, stop=""):
        """The commands that were run."""
        noted = self.path / "commands.txt"
        noted.unlink(missing_ok=True)
        self.told = subprocess.run([sys.executable, RUN, "--quick", "--out", self.path / "out", "--binary", self.program, *flags],
                                   env=os.environ | {"STOP": stop}, capture_output=True, text=True, check=False)
        return noted.read_text(encoding="utf-8").splitlines() if noted.exists() else []

    def test_finished_steps_are_kept(self):
        self.assertEqual(len(self.run_once()), 15)
        self.assertEqual(self.run_once(), [])
        self.assertIn("talk to it", self.told.stdout)

    def test_a_training_continues_from_its_checkpoint(self):
        self.run_once(stop="--init-from")
        self.assertIn("exit code 1", self.told.stderr)
        again = self.run_once()
        self.assertTrue(again[0].endswith("--resume"), again[0])
        self.assertNotIn("--init-from", again[0])
        self.assertNotIn("--overwrite", again[0])

    def test_a_training_that_was_asked_to_stop_is_not_finished(self):
        self.run_once(stop="early")
        self.assertIn("was stopped; run this again", self.told.stderr)
        self.assertTrue(self.run_once()[0].endswith("--resume"))

    def test_what_follows_a_step_that_runs_again_runs_again(self):
        self.run_once()
        (self.path / "out" / "tokens" / "complete.json").unlink()
        again = self.run_once()
        self.assertEqual([words.split()[0] for words in again[:2]], ["tokenize", "train"])
        self.assertTrue(again[1].endswith("--overwrite"), again[1])

    def test_the_page_names_what_was_right_and_what_it_cost(self):
        self.run_once()
        page = (self.path / "out" / "report.html").read_text(encoding="utf-8")
        for words in ("1 of 1 (100 %)", "CPU-hours", "held out", "chat.toml --init-from"):
            self.assertIn(words, page)

    def test_paths_are_of_the_folder_where_it_is_called(self):
        subprocess.run([sys.executable, RUN, "--quick", "--out", "there", "--binary", "tessera"], cwd=self.path, env=os.environ | {"STOP": ""},
                       capture_output=True, check=True)
        self.assertTrue((self.path / "there" / "report.html").exists())

    def test_what_it_runs_in_another_folder_is_in_that_folder(self):
        self.run_once()
        config = (self.path / "out" / "pretrain.toml").read_text(encoding="utf-8")
        self.assertIn(f"{self.path}/out/tokens/*.bin", config)
        self.assertNotIn("out/speedrun/", config)


class Answers(unittest.TestCase):
    def test_an_answer_is_right_word_for_word(self):
        line = {"messages": [{"content": "2 - 1"}, {"content": "2 - 1 = 1."}], "topic": "sums"}
        self.assertTrue(answers.is_right(line, " 2 - 1 = 1.\n"))
        self.assertFalse(answers.is_right(line, "2 - 1 = 11."))

    def test_a_story_is_right_with_what_was_asked_for_and_an_end(self):
        line = {"messages": [], "needs": ["pony", "Mia"], "topic": "stories"}
        self.assertTrue(answers.is_right(line, "Mia saw a pony."))
        self.assertFalse(answers.is_right(line, "Mia saw a dog."))
        self.assertFalse(answers.is_right(line, "Mia saw a pony and"))

    def test_the_last_answer_of_each_conversation_counts(self):
        talk = [{"role": "user", "content": "I am Mia."}, {"role": "assistant", "content": "Hello!"}]
        asked = [{"messages": talk + [{"role": "user", "content": "Who am I?"}, {"role": "assistant", "content": "Mia."}],
                  "topic": "names"}, {"messages": talk, "topic": "hello"}]
        by_topic, wrong = answers.scores(asked, ["Hello!", "Tom.", "Hello!"])
        self.assertEqual(by_topic["all"], {"right": 1, "questions": 2})
        self.assertEqual([each["answer"] for each in wrong], ["Tom."])


class Cost(unittest.TestCase):
    def test_an_unknown_energy_stays_unknown(self):
        known = {"seconds": 1, "cpu_seconds": 1, "cpu_joules": 3.6e6, "gpu_joules": None}
        unknown = known | {"cpu_joules": None}
        self.assertEqual(cost.kwh([known, known], "cpu_joules"), 2)
        self.assertIsNone(cost.kwh([known, unknown], "cpu_joules"))
        self.assertEqual(cost.added(known, unknown)["seconds"], 2)
        self.assertIsNone(cost.added(known, unknown)["cpu_joules"])
        self.assertIn("energy unknown", report.cost_words([unknown]))


class LinuxDoc(unittest.TestCase):
    def test_headings_are_asked_about_and_translations_left_out(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "translations").mkdir()
            (folder / "translations" / "a.rst").write_text("left out", encoding="utf-8")
            text = ("=======\nMutexes\n=======\n\nA :c:func:`mutex <lock>` is a lock that\none task at a time may hold, "
                    "and others sleep.\n\nUsage\n-----\n\nshort\n")
            with gzip.open(folder / "mutex.rst.gz", "wt", encoding="utf-8") as file:
                file.write(text)
            count = linux_doc.write(folder, folder / "text.jsonl", folder / "chats.jsonl")
            self.assertEqual((count["documents"], count["conversations"]), (1, 1))
            line = json.loads((folder / "chats.jsonl").read_text(encoding="utf-8"))
            self.assertIn("Mutexes", line["messages"][0]["content"])
            self.assertEqual(line["messages"][1]["content"],
                             "A mutex is a lock that one task at a time may hold, and others sleep.")


if __name__ == "__main__":
    unittest.main()
