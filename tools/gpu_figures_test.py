#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the scripts that measure a GPU make of times and results, without a GPU: gpu_figures.py, bench/gpu.py and
bench/gpu_kernels.py."""
import contextlib
import io
import pathlib
import re
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

import gpu_figures
import gpu_run
import muon_steps

sys.path.insert(0, str(gpu_figures.ROOT / "bench"))
import gpu  # noqa: E402
import gpu_generate  # noqa: E402
import gpu_kernels  # noqa: E402
import gpu_rows  # noqa: E402
import offload  # noqa: E402

SCRIPTS = {"bench/gpu.py": gpu, "bench/gpu_kernels.py": gpu_kernels, "tools/gpu_run.py": gpu_run,
           "bench/offload.py": offload, "bench/gpu_generate.py": gpu_generate, "tools/muon_steps.py": muon_steps}


def parsed(module, words):
    with mock.patch.object(sys, "argv", ["script", *words]):
        return module.parse_arguments()


def quietly(work, *arguments):
    with contextlib.redirect_stderr(io.StringIO()):
        return work(*arguments)


def measured(*rates):
    return [{"tokens_per_second": rate} for rate in rates]


class Parts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.arguments = types.SimpleNamespace(bin=pathlib.Path("build"), out=pathlib.Path(self.folder.name))

    def run_part(self, command, left, seconds=1):
        return quietly(gpu_figures.run, "made", gpu_figures.Part("made", seconds, command), self.arguments, left)

    def test_every_command_is_one_that_its_script_takes(self):
        for part in gpu_figures.PARTS.values():
            words = [word.format(bin="build", out="out", left=100) for word in part.command]
            self.assertTrue(words[0] == "build/tessera" or (gpu_figures.ROOT / words[1]).exists(), words[:2])
            if words[1] in SCRIPTS:
                parsed(SCRIPTS[words[1]], words[2:])

    def test_checks_of_the_sanitizer_exist(self):
        checks = re.findall(r'check "?([\w${}]+)', (gpu_figures.ROOT / "tools" / "gpu_check.sh").read_text(encoding="utf-8"))
        wanted = gpu_figures.PARTS["sanitizer"].command[-2]
        self.assertEqual([check for check in checks if re.search(wanted, check)], ["sanitizer_${tool}_attention"])

    def test_four_calls_have_time_for_all_of_them(self):
        seconds = {name: part.seconds for name, part in gpu_figures.PARTS.items()}
        names = list(seconds)
        second, third, fourth = names.index("free_long"), names.index("offload"), names.index("muon")
        for call in (names[:second], names[second:third], names[third:fourth], names[fourth:]):
            self.assertLessEqual(sum(seconds[name] for name in call), 590 - gpu_figures.MARGIN)

    def test_a_part_is_left_out_where_its_time_is_too_short(self):
        self.assertIsNone(self.run_part(["echo", "done"], left=4, seconds=5))
        self.assertEqual(list(self.arguments.out.iterdir()), [])

    def test_a_part_that_fails_says_so_last(self):
        self.assertEqual(self.run_part(["echo", "whole"], left=20), ("whole\n", True))
        self.assertEqual(self.run_part(["bash", "-c", "echo half; exit 3"], left=20), ("half\nmade failed with 3\n", False))
        self.assertIn("no-such-command", self.run_part(["no-such-command"], left=20)[0])

    def test_what_a_stopped_part_has_started_ends_with_it(self):
        file = self.arguments.out / "lives"
        output = self.run_part(["bash", "-c", f"(sleep 2; touch {file}) & echo half; wait"], left=1)
        self.assertEqual(output, ("half\nmade was stopped after 1 s\n", False))
        time.sleep(1.5)
        self.assertFalse(file.exists())


class Steps(unittest.TestCase):
    def test_what_is_measured_of_a_run(self):
        arguments = parsed(gpu, [])
        self.assertEqual(gpu.kinds_of(arguments, "1b"), ["simulated", "ours", "peer", "free"])
        self.assertEqual(gpu.kinds_of(arguments, "1b-32k")[-1], "peer_repeats")
        self.assertEqual(gpu.kinds_of(arguments, "8b-fp8"), ["simulated", "ours", "free"])
        self.assertEqual(gpu.kinds_of(arguments, "8b-1k"), ["simulated", "ours"])
        self.assertEqual(gpu.kinds_of(parsed(gpu, ["--only", "free", "ours"]), "1b-32k"), ["ours", "free"])

    def test_rounds_go_over_all_runs(self):
        seen = []
        words = ["--binary", __file__, "--runs", "8b", "8b-fp8", "--rounds", "2"]
        with mock.patch.object(sys, "argv", ["gpu.py", *words]), mock.patch.object(gpu, "library_bytes", lambda _: 0), \
                mock.patch.object(gpu, "measure", lambda _, run, result: seen.append(run)), \
                contextlib.redirect_stdout(io.StringIO()):
            quietly(gpu.main)
        self.assertEqual(seen, ["8b", "8b-fp8"] * 2)

    def test_fp8_is_compared_with_own_bf16_both_ways(self):
        none = {kind: [] for kind in gpu.KINDS}
        results = {"8b": {**none, "ours": measured(100, 110, 120), "free": measured(125), "peer": measured(55)},
                   "8b-fp8": {**none, "ours": measured(154), "free": measured(150)}}
        row = dict(zip(gpu_rows.RATIOS, gpu_rows.ratio_row("8b-fp8", results)))
        self.assertEqual((row["ratio"], row["bits differ"]), ("1.400", "1.200"))
        row = dict(zip(gpu_rows.RATIOS, gpu_rows.ratio_row("8b", results)))
        self.assertEqual((row["ratio"], row["bits differ"]), ("2.000", "2.273"))


class Offload(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.given = parsed(offload, ["--out", self.folder.name, "--bin", "no-such-folder"])
        self.measured = offload.Measured(self.given)

    def measure(self, name, script, least=0):
        quietly(self.measured.measure, name, ["bash", "-c", script], least)

    def test_one_call_has_time_for_what_must_be_measured(self):
        must = {run.base for run in offload.RUNS if run.must} | {run.name for run in offload.RUNS if run.must}
        self.assertLessEqual(30 + sum(run.seconds for run in offload.RUNS if run.name in must), 590 - offload.MARGIN)

    def test_a_run_that_fails_is_told_and_the_rest_goes_on(self):
        self.measure("8B pure_bf16", "echo 'error: no room' >&2; exit 2")
        self.measure("8B states", "echo '{\"tokens_per_second\": 80, \"step_seconds\": 2}'")
        self.measure("8B moments", "true", least=10_000)
        lines, figures = offload.table(self.measured, self.given)
        rows = {run.name: line for run, line in zip(offload.RUNS, lines[1:])}
        self.assertIn("failed with 2: error: no room", rows["8B pure_bf16"])
        self.assertIn("too few", rows["8B moments"])
        self.assertEqual(figures["8B states"]["tokens_per_second"], 80)
        self.assertNotIn("ratio", figures["8B states"])

    def test_ratios_are_judged_by_what_they_must_be_and_by_the_simulator(self):
        self.measure("8B pure_bf16", "echo '{\"tokens_per_second\": 100, \"step_seconds\": 1}'")
        self.measure("8B states", "echo '{\"tokens_per_second\": 70, \"step_seconds\": 1}'")
        self.measure("8B moments", "echo '{\"tokens_per_second\": 90, \"step_seconds\": 1}'")
        simulated = {"tokens_per_second": 1000, "step_seconds": 1, "peak_bytes": 1e9, "host_bytes": 2e9}
        with mock.patch.object(offload, "predicted", lambda _, arguments: simulated):
            lines, figures = offload.table(self.measured, self.given)
        self.assertTrue(lines[2].endswith("too slow; not as predicted"), lines[2])
        self.assertTrue(lines[3].endswith("ok"), lines[3])
        self.assertAlmostEqual(figures["8B states"]["apart"], -0.3)

    def test_what_the_folder_holds_is_not_measured_again(self):
        self.measure("8B states", "echo '{}'")
        self.measure("8B states", "echo '{\"tokens_per_second\": 1}'")
        self.measure("8B states", "exit 1")
        self.assertEqual(self.measured.find("8B states"), {"tokens_per_second": 1})


class MuonSteps(unittest.TestCase):
    def test_a_loss_is_reached_between_two_evaluations(self):
        curve = [(10, 5.0), (20, 4.0), (30, 3.0)]
        self.assertEqual(muon_steps.steps_to(curve, 4.5), 15)
        self.assertEqual(muon_steps.steps_to(curve, 3.0), 30)
        self.assertEqual(muon_steps.steps_to(curve, 6.0), 10)
        self.assertIsNone(muon_steps.steps_to(curve, 2.9))


class Kernels(unittest.TestCase):
    def test_ops_are_added_up_by_kind(self):
        self.assertEqual(gpu_kernels.kind_of("attention_grad"), "attention, backward")
        self.assertEqual(gpu_kernels.kind_of("attention"), "attention, forward")
        self.assertEqual(gpu_kernels.kind_of("matmul_fp8"), "matmuls of the layers")
        self.assertEqual(gpu_kernels.kind_of("rms_norm_grad"), "norms and their gradients")
        self.assertEqual(gpu_kernels.kind_of("rope"), "all others")

    def test_a_kernel_that_did_not_fit_is_counted_apart(self):
        def kernel(op, seconds, floor):
            return {"op": op, "calls": 2, "seconds": seconds, "floor_seconds": floor}

        kernels = [kernel("matmul", 0.004, 0.003), kernel("matmul_epilogue", 0.001, 0.001), kernel("rope", 0, 0.5)]
        columns = gpu_kernels.columns_of("1b", kernels, {"step_seconds": 0.0123, "joules_per_step": None})
        rows = {row[0]: row[1:] for row in gpu_kernels.table([columns])}
        self.assertEqual(rows["matmuls of the layers"], ["10.0", "8.0", "0.80"])
        self.assertEqual(rows["all"], ["10.0", "8.0", "0.80"])
        self.assertEqual(rows["all others"], ["-", "-", "-"])
        self.assertEqual([rows[name][0] for name in ("the step", "its joules", "kernels that did not fit")], ["12.3", "-", "1"])


if __name__ == "__main__":
    unittest.main()
