#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/several_gpus.py makes of a machine, without one: links, plans, meshes and command lines."""
import pathlib
import tempfile
import types
import unittest

import several_gpus

# Four GPUs, two of them in each half of the machine, as nvidia-smi prints them, with a card and colours.
TOPOLOGY = """\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m
GPU0\t X \tNV18\tSYS\tSYS\tPIX\t0-31\t0
GPU1\tNV18\t X \tSYS\tSYS\tPIX\t0-31\t0
GPU2\tSYS\tSYS\t X \tNV18\tSYS\t32-63\t1
GPU3\tSYS\tSYS\tNV18\t X \tSYS\t32-63\t1
NIC0\tPIX\tPIX\tSYS\tSYS\t X
"""


def machine(**more):
    arguments = types.SimpleNamespace(device="cpu", ranks=2, ranks_share_gpu=False, mpirun="mpirun --hostfile hosts",
                                      binary=pathlib.Path("tessera"), **more)
    made = several_gpus.Machine(arguments)
    return made, arguments


class SeveralGpus(unittest.TestCase):
    def test_every_pair_of_gpus_is_counted_once(self):
        self.assertEqual(several_gpus.links_between_gpus(TOPOLOGY.splitlines(), 4), {"NV18": 2, "SYS": 4})
        self.assertEqual(several_gpus.links_between_gpus(["no GPU"], 2), {})

    def test_plans_have_no_more_ranks_than_there_are(self):
        for ranks in (2, 4, 8):
            found = [several_gpus.ranks_of(mesh) for mesh in several_gpus.plans_for(ranks)]
            self.assertTrue(all(1 < each <= ranks for each in found))
            self.assertIn(ranks, found)

    def test_scaling_begins_with_one_rank_and_cuts_no_head(self):
        meshes = [mesh for mesh, _ in several_gpus.scaled_meshes("gpt2-124m", 8)]
        self.assertEqual(meshes[0], "dp=1")
        self.assertIn("tp=4", meshes)
        self.assertNotIn("tp=8", meshes)
        self.assertEqual([mesh for mesh in meshes if mesh.startswith("dp")], ["dp=1", "dp=2", "dp=4", "dp=8"])
        self.assertIn("dp=6", [mesh for mesh, _ in several_gpus.scaled_meshes("llama3-1b", 6)])

    def test_ranks_that_share_a_gpu_are_machines_of_their_own(self):
        made, arguments = machine()
        self.assertIn("-np 2 tessera train", " ".join(made.job(2, ["train"])))
        self.assertIn("--hostfile hosts", " ".join(made.job(2, ["train"])))
        arguments.device, arguments.ranks_share_gpu = "cuda", True
        words = made.job(3, ["train"])
        self.assertEqual(words.count(":"), 2)
        self.assertEqual([word for word in words if word.startswith("NCCL_HOSTID")], [f"NCCL_HOSTID=machine{i}" for i in range(3)])

    def test_a_command_that_is_not_there_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            made, arguments = machine(out=pathlib.Path(folder), seconds=5)
            self.assertIsNone(made.run("missing", [str(arguments.binary) + "-that-is-not-there"]))


if __name__ == "__main__":
    unittest.main()
