# SPDX-License-Identifier: Apache-2.0
"""Python gives the answers of the command line, to the last digit, and its errors."""
import json
import tempfile
import unittest
import warnings
import xml.etree.ElementTree as xml
from pathlib import Path

import tessera
from command_line import main, tessera_lines

STEP = {"model": "tiny", "mesh": "dp=2,tp=2", "batch": 8, "seq": 32}
STEP_WORDS = ["--model", "tiny", "--mesh", "dp=2,tp=2", "--batch", "8", "--seq", "32"]


def is_picture(text):
    return xml.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


class Simulated(unittest.TestCase):

    def test_json_is_that_of_the_command_line(self):
        simulation = tessera.simulate(cluster="dgx-h100", **STEP)
        self.assertEqual(simulation.json(), tessera_lines("simulate", "--cluster", "dgx-h100", *STEP_WORDS, "--json"))
        self.assertEqual(simulation.step_seconds, simulation["step_seconds"])
        self.assertEqual(simulation.results[0].rank, 0)

    def test_options_reach_the_simulator(self):
        given = tessera.simulate(model="tiny", mesh={"pp": 2}, batch=4, seq=16, microbatches=4, unit_cost=(1, 1, 1))
        self.assertEqual(
            given.json(),
            tessera_lines("simulate", "--model", "tiny", "--mesh", "pp=2", "--batch", "4", "--seq", "16", "--microbatches",
                          "4", "--unit-cost", "1,1,1", "--json"))
        uneven = tessera.simulate(cluster="dgx-h100", model="tiny-moe", mesh="ep=2", batch=4, load="worst", cool=True)
        words = ["--model", "tiny-moe", "--mesh", "ep=2", "--batch", "4", "--load", "worst", "--cool"]
        self.assertEqual(uneven.json(), tessera_lines("simulate", "--cluster", "dgx-h100", *words, "--json"))

    def test_islands_are_simulated_as_on_the_command_line(self):
        words = ["--cluster", "three-sites", "--model", "tiny", "--mesh", "island=2,tp=2", "--batch", "4", "--seq", "16"]
        simulation = tessera.simulate(cluster="three-sites", model="tiny", mesh="island=2,tp=2", batch=4, seq=16,
                                      islands_every=[10])
        self.assertEqual(simulation.json(), tessera_lines("simulate", *words, "--islands-every", "10", "--json"))

    def test_every_picture_is_an_svg_and_a_notebook_finds_one(self):
        simulation = tessera.simulate(cluster="dgx-h100", **STEP)
        for name in ("step", "block", "memory", "mesh", "bytes"):
            self.assertTrue(is_picture(simulation.picture(name).svg), name)
        self.assertEqual(simulation._repr_svg_(), simulation.picture("step").svg)
        with tempfile.TemporaryDirectory() as folder:
            drawn = Path(folder, "step.svg")
            tessera_lines("simulate", "--cluster", "dgx-h100", *STEP_WORDS, "--svg", drawn)
            self.assertEqual(drawn.read_text(encoding="utf-8"), simulation.picture().svg)

    def test_what_is_likely_a_mistake_is_a_warning_at_the_callers_line(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            simulation = tessera.simulate(cluster="dgx-h100", model="tiny", mesh="tp=16,dp=1", batch=16, set={"model.kv_heads": 16, "model.heads": 16, "model.mlp_size": 256})
        self.assertTrue(simulation.warnings)
        self.assertEqual([str(each.message) for each in caught], simulation.warnings)
        self.assertEqual({each.category for each in caught}, {tessera.TesseraWarning})


class Planned(unittest.TestCase):
    GIVEN = {"cluster": "laptop", "model": "tiny", "ranks": 2, "batch": 4, "seq": 16, "trials": 4}
    WORDS = ["plan", "--model", "tiny", "--ranks", "2", "--batch", "4", "--seq", "16", "--cluster", "laptop", "--trials", "4"]

    def test_json_is_that_of_the_command_line(self):
        plan = tessera.plan(**self.GIVEN, why_not=["tp=2"])
        self.assertEqual(plan.json(), tessera_lines(*self.WORDS, "--why-not", "tp=2", "--json"))
        self.assertEqual(plan.why_not("tp=2").to_dict(), plan["why_not"][0].to_dict())

    def test_the_best_plan_is_a_config_that_simulates_to_the_same_step(self):
        plan = tessera.plan(**self.GIVEN)
        with tempfile.TemporaryDirectory() as folder:
            plan.save(Path(folder, "best.toml"))
            again = tessera.simulate(Path(folder, "best.toml"), cluster="laptop")
        self.assertEqual(plan.best.step_seconds, again.step_seconds)
        self.assertEqual(plan.simulate().step_seconds, again.step_seconds)

    def test_the_picture_names_every_plan(self):
        plan = tessera.plan(**self.GIVEN)
        self.assertTrue(is_picture(plan._repr_svg_()))
        for each in plan.results:
            self.assertIn(each.plan, plan.picture().svg)


class CompiledSteps(unittest.TestCase):

    def test_memory_is_that_of_the_command_line(self):
        compiled = tessera.compile(**STEP)
        told = json.loads(tessera_lines("compile", *STEP_WORDS, "--json"))
        mine = compiled.to_dict()
        for each in (*told["passes"], *mine["passes"]):
            each.pop("seconds")
        self.assertEqual(mine, told)
        self.assertEqual(compiled.bytes.to_dict(), told["bytes"])

    def test_ir_is_what_the_command_line_dumps(self):
        compiled = tessera.compile(model="tiny", batch=4, seq=16)
        told = tessera_lines("compile", "--model", "tiny", "--batch", "4", "--seq", "16", "--dump-after", "fuse")
        self.assertIn("fuse", compiled.pass_names())
        self.assertIn(compiled.ir(after="fuse").strip(), told)
        self.assertNotEqual(compiled.ir(after="fuse"), compiled.ir())
        self.assertEqual(compiled.ir(after=compiled.pass_names()[-1]), compiled.ir())

    def test_placements_cover_a_tensor(self):
        compiled = tessera.compile(**STEP)
        names = [each.name for each in compiled.placements().tensors]
        self.assertIn("layer.0.wq", names)
        held = compiled.placements("layer.0.wq")
        dims = [dim.size for dim in held.tensor.dims]
        boxes = {tuple(box.first): box.count for box in held.in_use.boxes}
        elements = 1
        for size in dims:
            elements *= size
        covered = 0
        for count in boxes.values():
            part = 1
            for size in count:
                part *= size
            covered += part
        self.assertEqual(covered, elements)
        self.assertEqual(len(held.in_use.of_rank), 4)

    def test_programs_are_text_by_stage(self):
        self.assertEqual(len(tessera.compile(model="tiny", mesh="pp=2", batch=4, seq=16, microbatches=2).programs()), 2)


class Verified(unittest.TestCase):

    def test_errors_are_those_of_the_command_line(self):
        verification = tessera.verify(model="tiny", mesh="dp=2", batch=4, seq=16, shrink=True, show_ranks=True)
        self.assertEqual(
            verification.json(),
            tessera_lines("verify", "--model", "tiny", "--mesh", "dp=2", "--batch", "4", "--seq", "16", "--shrink",
                          "--show-ranks", "--json"))
        self.assertTrue(verification)
        self.assertEqual(verification.verdict, "equal")

    def test_islands_are_verified(self):
        self.assertTrue(tessera.verify(model="tiny", mesh="island=2", batch=4, seq=16, shrink=True).equal)


class Errors(unittest.TestCase):

    def raised(self, call, *arguments, **given):
        with self.assertRaises(tessera.UserError) as caught:
            call(*arguments, **given)
        return caught.exception

    def test_an_error_names_the_keyword_and_helps(self):
        error = self.raised(tessera.compile, model="tiny", batch=0)
        self.assertEqual(error.where, "batch=0")
        self.assertTrue(error.help)
        self.assertIn(error.message, str(error))
        self.assertIn(f" help: {error.help}", str(error))

    def test_an_error_names_a_setting(self):
        self.assertEqual(self.raised(tessera.compile, set={"train.batch": -1}).where, "set={'train.batch': '-1'}")

    def test_a_plan_that_cannot_be_says_what_could(self):
        error = self.raised(tessera.simulate, model="gpt2-124m", mesh="tp=8", cluster="dgx-h100", batch=8)
        self.assertIn("use tp =", error.help)

    def test_unknown_names_are_refused_in_words(self):
        self.assertIn("dgx-h100", self.raised(tessera.simulate, cluster="nowhere").help)
        self.assertIn("uniform", str(self.raised(tessera.simulate, load="heavy")))
        self.assertIn("block", self.raised(tessera.simulate(cluster="laptop").picture, "cake").help)
        self.assertIn("fuse", self.raised(tessera.compile(batch=2, seq=8).ir, "bake").help)
        with self.assertRaisesRegex(TypeError, "batchsize.*batch"):
            tessera.simulate(batchsize=3)  # type: ignore[call-arg]

    def test_a_keyword_is_stronger_than_a_setting_and_none_is_nothing(self):
        self.assertEqual(
            tessera.compile(batch=4, seq=None, set={"train.batch": 8, "train.seq": 16}).json().split('"passes"')[0],
            tessera.compile(batch=4, seq=16).json().split('"passes"')[0])


class Questions(unittest.TestCase):

    def test_an_answer_has_its_columns_as_arrays(self):
        answer = tessera.ask("slices", run={"model": "tiny", "cluster": "laptop", "set": {"train.seq": "16"}})
        self.assertEqual({name: len(array) for name, array in answer.arrays.items()},
                         {each.name: each.count for each in answer["columns"]})
        self.assertFalse(next(iter(answer.arrays.values())).flags.writeable)

    def test_tables_are_there(self):
        self.assertIn("llama3-8b", [each.name for each in tessera.presets()])
        self.assertIn("dgx-h100", [each.name for each in tessera.clusters()])
        self.assertIn("try", tessera.questions())

    def test_schedules_and_clusters_are_drawn(self):
        self.assertTrue(is_picture(tessera.schedule_picture(["1f1b", "zb_h1"], stages=4, microbatches=8).svg))
        self.assertTrue(is_picture(tessera.cluster_picture("dgx-h100")._repr_svg_()))


if __name__ == "__main__":
    main()
