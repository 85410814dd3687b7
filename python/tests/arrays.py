# SPDX-License-Identifier: Apache-2.0
"""Checkpoints and metrics as arrays: the numbers of the files, and no copy where one file holds a tensor."""
import gc
import json
import struct
import tempfile
import threading
import unittest
from pathlib import Path

import numpy
import tessera
from command_line import main, tessera_lines

SMALL = {"model.layers": 2, "data.story_bytes": 100000, "train.eval_every": 2, "run.peak_gflops": 100, "train.threads": 2}


def stored(path):
    """(name: (dtype, shape, bytes)) of a safetensors file, read without the library."""
    data = Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    return {name: (each["dtype"], tuple(each["shape"]), data[8 + length + each["data_offsets"][0]:8 + length + each["data_offsets"][1]])
            for name, each in header.items() if name != "__metadata__"}


def mapped_files():
    """Paths that this process has mapped."""
    return {line.split()[-1] for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()}


class Arrays(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = Path(cls.holder.name)
        for name, mesh, precision in (("one", "dp=1", "fp32"), ("mesh", "fsdp=2", "fp32"), ("bf16", "dp=1", "bf16")):
            tessera.train(model="tiny", batch=4, seq=16, steps=4, save_every=4, mesh=mesh, precision=precision,
                          out=cls.folder / name, set=SMALL)

    def shard(self, run, rank=0):
        return self.folder / run / "checkpoints/step-00000004" / f"rank-{rank:05}.safetensors"

    def test_one_rank_has_views_of_its_file(self):
        checkpoint = tessera.load_checkpoint(self.folder / "one")
        self.assertEqual((checkpoint.step, checkpoint.mesh, len(checkpoint)), (4, "1", len(list(checkpoint))))
        files = stored(self.shard("one"))
        for name, array in checkpoint.items():
            dtype, shape, data = files[name]
            self.assertTrue(checkpoint.is_mapped(name), name)
            self.assertEqual((array.dtype, array.shape, array.tobytes()), ("<f4" if dtype == "F32" else "<i4", shape, data))
            self.assertFalse(array.flags.writeable or array.flags.owndata)
        with self.assertRaises(ValueError):
            checkpoint["layer.0.wq"][...] = 0

    def test_threads_read_a_hugging_face_folder_at_once(self):
        folder = self.folder / "hugging_face"
        tessera_lines("export", self.folder / "one", "--out", folder)
        checkpoint = tessera.load_checkpoint(folder)
        expected = {name: array.tobytes() for name, array in checkpoint.items()}
        wrong = []

        def read(turn):
            for step in range(300):
                name = list(expected)[(7 * turn + step * (turn + 1)) % len(expected)]
                if checkpoint[name].tobytes() != expected[name]:
                    wrong.append(name)

        threads = [threading.Thread(target=read, args=(turn,)) for turn in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_threads_draw_one_simulation_at_once(self):
        simulation = tessera.simulate(cluster="dgx-h100", model="tiny", mesh="dp=2", batch=8)
        drawn = []
        threads = [threading.Thread(target=lambda: drawn.append(simulation.picture("step").svg)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(drawn, 8 * [simulation.picture("step").svg])

    def test_a_view_keeps_its_file_when_the_checkpoint_is_gone(self):
        checkpoint = tessera.load_checkpoint(self.folder / "one", verify=False)
        array = checkpoint["layer.0.wq"]
        before = array.copy()
        self.assertIn(str(self.shard("one")), mapped_files())
        del checkpoint
        gc.collect()
        self.assertTrue((array == before).all())
        del array
        gc.collect()
        self.assertNotIn(str(self.shard("one")), mapped_files())

    def test_shards_of_two_ranks_make_the_tensors_of_the_converted_file(self):
        tessera_lines("checkpoint", "convert", self.folder / "mesh", self.folder / "mesh.safetensors")
        sharded, whole = tessera.load_checkpoint(self.folder / "mesh"), stored(self.folder / "mesh.safetensors")
        self.assertEqual(set(sharded), set(whole))
        copied = 0
        for name, array in sharded.items():
            self.assertEqual((array.shape, array.tobytes()), whole[name][1:], name)
            copied += not sharded.is_mapped(name)
            self.assertEqual(sum(shard.array.size for shard in sharded.shards(name)), array.size)
            self.assertFalse(any(shard.array.flags.owndata for shard in sharded.shards(name)))
        self.assertGreater(copied, 0)
        one_file = tessera.load_checkpoint(self.folder / "mesh.safetensors")
        self.assertTrue(all(one_file.is_mapped(name) for name in one_file))

    def test_shards_say_where_they_lie(self):
        checkpoint = tessera.load_checkpoint(self.folder / "mesh")
        name = "layer.0.wq"
        whole = numpy.full(checkpoint.shape(name), numpy.nan, numpy.float32)
        for shard in checkpoint.shards(name):
            box = tuple(slice(first, first + count) for first, count in zip(shard.first, shard.count))
            flat = whole[box].reshape(-1)
            flat[shard.begin:shard.end] = shard.array.reshape(-1)
            whole[box] = flat.reshape(shard.count)
        self.assertTrue((whole == checkpoint[name]).all())

    def test_bf16_keeps_its_bits_and_is_no_number_by_mistake(self):
        checkpoint = tessera.load_checkpoint(self.folder / "bf16")
        self.assertEqual(checkpoint.dtype("layer.0.wq"), "bf16")
        array, master = checkpoint["layer.0.wq"], checkpoint["layer.0.wq.master"]
        self.assertEqual((array.dtype, master.dtype), (tessera.bfloat16, numpy.float32))
        self.assertEqual(array.tobytes(), stored(self.shard("bf16"))["layer.0.wq"][2])
        with self.assertRaises(TypeError):
            array + 1
        numpy.testing.assert_allclose(tessera.to_float32(array), master, rtol=2**-8)
        numpy.testing.assert_array_equal(tessera.to_float32(array).view(numpy.uint32) & 0xFFFF, 0)

    def test_metrics_are_the_numbers_of_the_record(self):
        lines = [json.loads(line) for line in Path(self.folder, "mesh/metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        metrics = tessera.metrics(self.folder / "mesh")
        self.assertEqual(metrics.step.dtype, numpy.int64)
        for name, column in metrics.items():
            told = [line.get(name) for line in lines]
            self.assertEqual([None if numpy.isnan(value) else value for value in column.tolist()], told, name)
        self.assertEqual({name for line in lines for name in line} - set(metrics), set())
        self.assertIs(metrics.loss, metrics["loss"])
        self.assertEqual(metrics.structured()["loss"].tolist(), metrics.loss.tolist())
        self.assertEqual(metrics.facts.mesh, "fsdp=2")
        self.assertEqual([each["event"] for each in metrics.events if each["event"] == "end"], ["end"])
        self.assertIn("<svg", metrics._repr_svg_())

    def test_safetensors_files_of_others_are_mapped(self):
        tessera_lines("export", self.folder / "one", "--out", self.folder / "model")
        path = self.folder / "model/model.safetensors"
        arrays = tessera.load_safetensors(path)
        for name, (dtype, shape, data) in stored(path).items():
            self.assertEqual((arrays[name].shape, arrays[name].tobytes()), (shape, data), dtype)
            self.assertFalse(arrays[name].flags.owndata)
        model, run = tessera.load_checkpoint(self.folder / "model"), tessera.load_checkpoint(self.folder / "one")
        self.assertEqual(model["layer.0.wq"].tobytes(), run["layer.0.wq"].tobytes())

    def test_what_is_not_there_is_an_error_with_help(self):
        with self.assertRaises(KeyError):
            tessera.load_checkpoint(self.folder / "one")["layer.9.wq"]
        with self.assertRaises(tessera.UserError):
            tessera.load_checkpoint(self.folder / "nothing")
        with self.assertRaises(tessera.UserError):
            tessera.metrics(self.folder)
        broken = self.folder / "broken"
        data = bytearray(self.shard("one").read_bytes())
        data[-1] ^= 1
        broken.mkdir()
        (broken / "rank-00000.safetensors").write_bytes(data)
        (broken / "manifest.json").write_bytes((self.shard("one").parent / "manifest.json").read_bytes())
        with self.assertRaises(tessera.UserError) as caught:
            tessera.load_checkpoint(broken)
        self.assertIn("rank-00000", str(caught.exception))


if __name__ == "__main__":
    main()
