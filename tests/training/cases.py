# SPDX-License-Identifier: Apache-2.0
"""The runs that `tessera train` and PyTorch both make: a model in a folder of Hugging Face's, token shards, and settings.
Numbers come from a seeded generator and are the same everywhere."""
import json
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "huggingface"))
import folders  # noqa: E402

STEPS, BATCH, MICROBATCHES, SEQ = 30, 8, 2, 16
DOCUMENT_END = 3

LLAMA = dict(folders.LLAMA, hidden_size=16, intermediate_size=24, vocab_size=40, rope_theta=10000.0,
             tie_word_embeddings=False)
GPT2 = dict(folders.GPT2, n_embd=16, n_head=2, n_layer=3, vocab_size=40)
MODELS = {"llama": LLAMA, "gpt2": GPT2}

COMMON = {
    "train.steps": STEPS, "train.batch": BATCH, "train.microbatches": MICROBATCHES, "train.seq": SEQ, "train.seed": 4,
    "data.seed": 11, "data.document_end": DOCUMENT_END, "data.held_out": 0.1, "train.eval_every": 10,
    "train.eval_batches": 2, "train.precision": "fp64", "train.learning_rate": 0.01, "train.min_learning_rate": 0.05,
    "train.warmup_steps": 4, "train.beta1": 0.8, "train.beta2": 0.9, "train.epsilon": 1e-6, "train.weight_decay": 0.2,
    "train.clip_norm": 0.7,
}
MESHES = {"": {}, "dp=2": {}, "tp=2": {}, "pp=2": {}, "cp=2": {}, "fsdp=2": {"plan.zero": 3},
          "fsdp=2,cp=2": {"plan.zero": 3, "plan.shard_axes": "fsdp,cp"}}

# name -> (model, settings, meshes)
CASES = {
    "cosine": ("llama", {"train.schedule": "cosine", "data.path": "a*.bin", "data.document_mask": "true"},
               ["", "dp=2", "tp=2", "pp=2", "cp=2", "fsdp=2"]),
    "linear": ("gpt2", {"train.schedule": "linear", "data.path": "a*.bin", "data.document_mask": "true",
                        "data.packing": "best_fit"}, ["", "pp=2"]),
    "wsd": ("llama", {"train.schedule": "wsd", "train.warmup_steps": 25, "train.decay_fraction": 0.4,
                      "data.path": "b.bin", "train.clip_norm": 0, "train.ema_decay": 0.7}, ["", "fsdp=2"]),
    "constant": ("gpt2", {"train.schedule": "constant", "train.warmup_steps": 0, "data.document_mask": "true",
                          "data.mixture": {"a*.bin": 3, "b.bin": 1}}, ["", "dp=2"]),
    "sgd": ("llama", {"train.optimizer": "sgd", "train.momentum": 0.85, "train.learning_rate": 0.1, "train.schedule": "cosine",
                      "data.path": "b.bin"}, ["", "fsdp=2"]),
    "lion": ("llama", {"train.optimizer": "lion", "train.beta2": 0.97, "train.learning_rate": 0.002, "train.schedule": "linear",
                       "data.path": "b.bin"}, ["", "fsdp=2,cp=2"]),
    "muon": ("llama", {"train.optimizer": "muon", "train.momentum": 0.9, "train.matched_rms": 0.3,
                       "train.learning_rate": 0.02, "train.schedule": "linear", "data.path": "b.bin"},
             ["", "tp=2", "fsdp=2"]),
}


def settings_of(case):
    return {**COMMON, **CASES[case][1]}


def documents(name, count, longest):
    """Tokens of which each depends on the one before, so that there is something to learn."""
    generator = random.Random(name)
    tokens = []
    for _ in range(count):
        token = generator.randrange(4, 40)
        for _ in range(generator.randrange(0, longest)):
            tokens.append(token)
            token = 4 + (token * 7 + generator.randrange(3)) % 36
        tokens.append(DOCUMENT_END)
    return tokens


def write_shard(path, tokens, wide):
    """llm.c's layout: 256 int32 words, of which the first three are magic, version and count."""
    header = [20240520, 2 if wide else 1, len(tokens)] + [0] * 253
    path.write_bytes(struct.pack("<256i", *header) + struct.pack(f"<{len(tokens)}{'I' if wide else 'H'}", *tokens))


def write_model(folder, config):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {}
    for key, shape in folders.shapes_of(config).items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        tensors[key] = ("F32", shape, folders.encode(folders.values(key, count), "F32"))
    folders.write_safetensors(folder / "model.safetensors", tensors)


def write_inputs(folder):
    for name, config in MODELS.items():
        write_model(folder / name, config)
    write_shard(folder / "a0.bin", documents("a0", 40, 24), False)
    write_shard(folder / "a1.bin", documents("a1", 30, 40), True)
    write_shard(folder / "b.bin", documents("b", 60, 12), False)
