# SPDX-License-Identifier: Apache-2.0
"""Training from Python: the bits of the command line, a callback for each step, and every way to stop."""
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import unittest
import weakref
from pathlib import Path

import tessera
from command_line import main, tessera_lines

SMALL = {
    "model.layers": 2, "model.width": 32, "model.heads": 2, "model.kv_heads": 1, "model.head_size": 16,
    "model.mlp_size": 64, "train.warmup_steps": 2, "train.eval_every": 4, "train.eval_batches": 2,
    "data.story_bytes": 100000, "run.peak_gflops": 100, "train.threads": 2
}
CLOCKED = ("seconds", "mfu", "hfu", "joules", "slowest_rank", "tokens_per_second")


def numbers(folder):
    """What metrics.jsonl says, without what depends on the clock."""
    lines = Path(folder, "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [{key: value for key, value in json.loads(line).items() if not any(word in key for word in CLOCKED)}
            for line in lines]


class Folder(unittest.TestCase):

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def train(self, name="run", **given):
        settings = {**SMALL, **given.pop("set", {})}
        return tessera.train(model="tiny", batch=4, seq=24, out=self.folder / name, set=settings, **given)


class Bits(Folder):

    def same_as_the_command_line(self, *words, **given):
        mine = self.train("python", steps=8, save_every=4, **given)
        settings = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
        tessera_lines("train", "--model", "tiny", "--batch", "4", "--seq", "24", "--steps", "8", "--save-every", "4",
                      "--out", self.folder / "cli", *settings, *words, "--json")
        self.assertEqual(numbers(self.folder / "python"), numbers(self.folder / "cli"))
        self.assertEqual(len(numbers(self.folder / "cli")), 8)
        ours, theirs = mine.checkpoint(), tessera.load_checkpoint(self.folder / "cli")
        self.assertEqual(list(ours), list(theirs))
        for name in ours:
            self.assertEqual(ours[name].tobytes(), theirs[name].tobytes(), name)
        return mine

    def test_one_rank_has_the_bits_of_the_command_line(self):
        run = self.same_as_the_command_line()
        self.assertEqual(run.losses.tolist(), [each["loss"] for each in numbers(self.folder / "cli")])
        self.assertEqual(run.summary.loss, run.losses[-1])
        self.assertEqual((run.step, run.done, run.summary.steps), (8, True, 8))

    def test_a_mesh_and_bf16_have_the_bits_of_the_command_line(self):
        self.same_as_the_command_line("--mesh", "dp=2", "--precision", "bf16", mesh={"dp": 2}, precision="bf16")

    def test_a_run_that_stopped_and_went_on_has_the_bits_of_one_that_did_not(self):
        self.train("whole", steps=8)
        self.train("parts", steps=8, save_every=100, on_step=lambda step: step.step < 5)
        self.assertEqual(len(numbers(self.folder / "parts")), 5)
        self.train("parts", steps=8, save_every=100, resume=True)
        whole, parts = (numbers(self.folder / name) for name in ("whole", "parts"))
        for each in parts:
            each.pop("checkpoint_stall_seconds", None)
        self.assertEqual([(each["loss"], each["grad_norm"]) for each in parts],
                         [(each["loss"], each["grad_norm"]) for each in whole])

    def test_weights_of_another_run_begin_a_new_one(self):
        first = self.train("first", steps=8, save_every=8)
        second = self.train("second", steps=4, init_from=self.folder / "first")
        self.assertLess(second.losses[0], first.losses[0])

    def test_islands_are_trained_and_one_of_them_calls(self):
        seen = []
        run = self.train(mesh="island=2", steps=4, on_step=lambda step: seen.append(step.step),
                         set={"islands.every": 2, "islands.delay": 0, "islands.fragments": 1})
        self.assertEqual(seen, [1, 2, 3, 4])
        self.assertEqual(len(run.losses), 4)


class Callback(Folder):

    def test_it_gets_every_figure_that_the_record_has(self):
        steps = []
        self.train(steps=8, on_step=steps.append)
        lines = [json.loads(line) for line in Path(self.folder, "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual([json.loads(step.to_json()) for step in steps], lines)
        self.assertEqual([{key: value for key, value in dict(step).items()} for step in steps], lines)
        self.assertEqual(steps[2].loss, lines[2]["loss"])
        self.assertIsNone(steps[2].held_out_loss)
        self.assertEqual(steps[3]["held_out_loss"], lines[3]["held_out_loss"])
        with self.assertRaises(KeyError):
            steps[0]["temperature"]

    def test_what_it_raises_ends_the_run_and_is_raised(self):

        def stop_at_three(step):
            if step.step == 3:
                raise LookupError("that is enough")

        frames = []
        try:
            self.train(steps=50, save_every=50, on_step=stop_at_three)
        except LookupError as error:
            self.assertEqual(str(error), "that is enough")
            frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        self.assertIn("stop_at_three", frames)
        self.assertEqual(len(numbers(self.folder / "run")), 3)
        self.assertEqual(tessera.load_checkpoint(self.folder / "run").step, 3)

    def test_what_it_raises_is_raised_as_often_as_the_end_is_waited_for(self):

        def stop(step):
            raise LookupError("that is enough")

        run = self.train(steps=50, wait=False, on_step=stop)
        for _ in range(3):
            with self.assertRaisesRegex(LookupError, "that is enough"):
                run.wait()

    def test_it_cannot_wait_for_its_own_run(self):
        begun, held = threading.Event(), []

        def wait_for_itself(step):
            begun.wait(120)
            held[0].wait()

        held.append(self.train(steps=50, wait=False, on_step=wait_for_itself))
        begun.set()
        with self.assertRaisesRegex(tessera.UserError, "would wait for itself"):
            held[0].wait(120)
        self.assertEqual(held[0].step, 1)

    def test_it_is_released_at_the_end_of_the_run(self):

        class Callback:

            def __call__(self, step):
                pass

        callback = Callback()
        held = weakref.ref(callback)
        run = self.train(steps=2, on_step=callback)
        del callback
        self.assertIsNone(held())
        self.assertTrue(run.done)

    def test_what_cannot_be_called_is_refused_before_the_first_step(self):
        with self.assertRaisesRegex(TypeError, "on_step=5"):
            self.train(steps=2, on_step=5)
        self.assertFalse(Path(self.folder, "run").exists())

    def test_false_ends_the_run_and_anything_else_does_not(self):
        run = self.train(steps=50, on_step=lambda step: step.step < 5)
        self.assertEqual((run.step, run.summary.stopped_by), (5, "on_step"))
        self.assertEqual(self.train("zero", steps=5, on_step=lambda step: 0).step, 5)

    def test_it_runs_beside_the_caller(self):
        threads = set()
        self.train(steps=2, on_step=lambda step: threads.add(threading.get_ident()))
        self.assertEqual(len(threads), 1)
        self.assertNotIn(threading.get_ident(), threads)

    def test_steps_outlive_their_run(self):
        steps = []
        self.train(steps=2, on_step=steps.append)
        gc.collect()
        self.assertEqual([step.step for step in steps], [1, 2])


class Stopping(Folder):

    def test_the_caller_goes_on_and_stops_the_run(self):
        reached = threading.Event()
        run = self.train(steps=100000, wait=False, on_step=lambda step: reached.set() if step.step == 3 else None)
        self.assertTrue(reached.wait(120))
        self.assertFalse(run.wait(timeout=0.01))
        with self.assertRaises(tessera.UserError):
            run.summary
        run.stop()
        self.assertTrue(run.wait())
        self.assertEqual(run.summary.stopped_by, "stop()")
        self.assertEqual(len(numbers(self.folder / "run")), run.step)

    def test_a_dropped_run_goes_on(self):
        ended = threading.Event()
        self.train(steps=3, wait=False, on_step=lambda step: ended.set() if step.step == 3 else None)
        gc.collect()
        self.assertTrue(ended.wait(120))
        tessera._training._wait_for_all()  # it still writes its end
        self.assertEqual(len(numbers(self.folder / "run")), 3)

    def test_runs_that_threads_begin_at_once_all_go_on(self):
        ended = threading.Barrier(5)

        def begin(name):
            self.train(name, steps=2, wait=False, on_step=lambda step: ended.wait(120) if step.step == 2 else None)

        threads = [threading.Thread(target=begin, args=(f"run{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        ended.wait(120)  # each of the four has come to its last step
        tessera._training._wait_for_all()

    def test_another_run_in_the_folder_is_refused_with_help(self):
        self.train(steps=1)
        with self.assertRaises(tessera.UserError) as caught:
            self.train(steps=1)
        self.assertIn("overwrite", caught.exception.help)
        self.assertEqual(self.train(steps=2, overwrite=True).step, 2)

    def child(self, then):
        """A program that trains for very long, and is interrupted at its third step."""
        program = f"""
import os, signal, sys, tessera
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it runs in the background
def on_step(step):
    if step.step == 3:
        print("third", flush=True)
run = None
try:
    run = tessera.train(model="tiny", batch=4, seq=24, steps=1000000, save_every=1000000, out={str(self.folder / 'run')!r},
                        set={SMALL!r}, on_step=on_step, wait={'False' if then == 'exit' else 'True'})
    if {then == 'exit'!r}:
        sys.stdin.readline()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    signal.getsignal(signal.SIGINT) is signal.default_int_handler or sys.exit("another handler")
"""
        return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)

    def test_ctrl_c_ends_the_run_after_its_step_and_is_raised(self):
        with self.child("interrupt") as process:
            self.assertEqual(process.stdout.readline().strip(), "third")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.stdout.readline().strip(), "interrupted")
            process.stdin.close()
            self.assertEqual(process.wait(120), 0)
        saved = tessera.load_checkpoint(self.folder / "run").step
        self.assertEqual([each["step"] for each in numbers(self.folder / "run")], list(range(1, saved + 1)))

    def test_a_forked_process_ends_without_the_run(self):
        program = f"""
import os, sys, tessera, threading
reached = threading.Event()
run = tessera.train(model="tiny", batch=4, seq=24, steps=1000000, out={str(self.folder / 'run')!r}, set={SMALL!r},
                    on_step=lambda step: reached.set(), wait=False)
reached.wait()
child = os.fork()
if child == 0:
    try:
        run.wait()
    except tessera.UserError as error:
        sys.exit(5)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
        with subprocess.Popen([sys.executable, "-c", program], start_new_session=True) as process:
            try:
                self.assertEqual(process.wait(120), 5)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def test_the_end_of_the_interpreter_ends_a_run(self):
        with self.child("exit") as process:
            self.assertEqual(process.stdout.readline().strip(), "third")
            process.stdin.write("\n")
            process.stdin.close()
            self.assertEqual(process.wait(120), 0)
        self.assertGreaterEqual(tessera.load_checkpoint(self.folder / "run").step, 3)


if __name__ == "__main__":
    main()
