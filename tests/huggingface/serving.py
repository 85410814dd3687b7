#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `tessera export` writes is what servers read: for every architecture the keys that vLLM and llama.cpp's converter take from config.json,
and the tokenizer, template and ends of a text where each of them looks. Read from their sources (vLLM a014e35f, llama.cpp b21e4de7, August 2026);
neither of them is run here."""
import json
import pathlib
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import folders  # noqa: E402
from checks import run_checks  # noqa: E402

VOCABULARY = 300
END, ANSWER_END = 256, 258
ADDED = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

# One key of each group; what every architecture needs, then what one of them does.
ANY = {
    "layers": "n_layer num_hidden_layers", "context": "n_positions max_position_embeddings", "width": "n_embd hidden_size",
    "heads": "n_head num_attention_heads", "norm": "layer_norm_epsilon rms_norm_eps", "dtype": "torch_dtype dtype",
    "vocabulary": "vocab_size", "tied": "tie_word_embeddings", "architecture": "architectures", "kind": "model_type",
}
ROTATES = "rope_theta rope_parameters num_key_value_heads head_dim intermediate_size hidden_act"
MIXTURE = "num_experts_per_tok norm_topk_prob"
DEEPSEEK = f"{MIXTURE} n_routed_experts n_shared_experts moe_intermediate_size first_k_dense_replace routed_scaling_factor n_group topk_group scoring_func topk_method moe_layer_freq"
NEEDED = {
    "GPT2LMHeadModel": "n_ctx n_inner activation_function",
    "LlamaForCausalLM": ROTATES,
    "Qwen3ForCausalLM": ROTATES,
    "MixtralForCausalLM": f"{ROTATES} num_local_experts num_experts_per_tok",
    "Qwen3MoeForCausalLM": f"{ROTATES} {MIXTURE} num_experts moe_intermediate_size decoder_sparse_step mlp_only_layers",
    "OlmoeForCausalLM": f"{ROTATES} {MIXTURE} num_experts",
    "Dots1ForCausalLM": f"{ROTATES} {DEEPSEEK}",
    "DeepseekV3ForCausalLM": f"{ROTATES} {DEEPSEEK} kv_lora_rank q_lora_rank qk_rope_head_dim qk_nope_head_dim v_head_dim",
}


def tessera(binary, *words):
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def read(folder, name):
    file = folder / name
    return json.loads(file.read_text()) if file.exists() else None


def write_tokenizer(folder):
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]  # as GPT-2 writes bytes
    others = [byte for byte in range(256) if byte not in plain]
    letters = {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    folder.joinpath("tokenizer.json").write_text(json.dumps({
        "version": "1.0", "normalizer": None, "post_processor": None, "decoder": {"type": "ByteLevel"},
        "added_tokens": [{"id": END + i, "content": text, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
                         for i, text in enumerate(ADDED)],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "model": {"type": "BPE", "vocab": {letters[byte]: byte for byte in range(256)}, "merges": []}}))


def imported(binary, folder, name):
    """A run with a model of this name, larger by its vocabulary, and a tokenizer."""
    wide = f"{name}_wide"
    config, dtype, files, bare = folders.MODELS[name]
    folders.MODELS[wide] = (dict(config, vocab_size=VOCABULARY), dtype, files, bare)
    run = folder / f"{wide}-run"
    if not run.exists():
        folders.write_folder(wide, folder / wide)
        write_tokenizer(folder / wide)
        tessera(binary, "import", folder / wide, "--out", run)
    del folders.MODELS[wide]
    return run


# Mixtures that no folder of folders.py has.
TRAINED = {"MixtralForCausalLM": "model.qk_norm=false", "Qwen3MoeForCausalLM": "model.qk_norm=true", "OlmoeForCausalLM": "model.qk_norm=true model.qk_norm_over_heads=true model.normalised_gates=false"}
SMALL = ("--model tiny-moe --steps 1 --save-every 1 --batch 2 --set train.seq=16 --set data.story_bytes=65536 --set train.eval_every=0 --set run.peak_gflops=1 "
         f"--set model.balance_rate=0 --set model.vocabulary={VOCABULARY} --json").split()


def trained(binary, folder, architecture):
    run = folder / f"{architecture}-run"
    settings = [word for setting in TRAINED[architecture].split() for word in ("--set", setting)]
    tessera(binary, "train", *SMALL, *settings, "--out", run)
    write_tokenizer(run)
    return run


def run_of_each_architecture(binary, folder):
    names = {}
    for name, (config, _, _, _) in folders.MODELS.items():
        names.setdefault(config["architectures"][0], name)
    names.pop("GPT2Model")
    return {name: imported(binary, folder, names[name]) for name in names} | {name: trained(binary, folder, name) for name in TRAINED}


def ends_as_llama_cpp_reads_them(folder):
    """gguf.SpecialVocab: names of tokenizer_config.json by the added tokens, else whole numbers of config.json; a list counts for nothing."""
    ids = {token["content"]: token["id"] for token in read(folder, "tokenizer.json")["added_tokens"]}
    names, config = read(folder, "tokenizer_config.json"), read(folder, "config.json")
    ends = {}
    for kind in ("bos", "eos"):
        named = names.get(f"{kind}_token")
        known = ids.get(named["content"] if isinstance(named, dict) else named)
        number = config.get(f"{kind}_token_id")
        ends[kind] = known if known is not None else number if isinstance(number, int) else None
    return ends


def every_architecture_has_the_keys_that_servers_read(binary, folder):
    found = run_of_each_architecture(binary, folder)
    assert found.keys() == NEEDED.keys(), found.keys() ^ NEEDED.keys()
    for architecture, run in found.items():
        out = folder / f"{architecture}-out"
        tessera(binary, "export", run, "--out", out)
        config = read(out, "config.json")
        assert config["architectures"] == [architecture]
        lacking = [group for group, keys in ANY.items() if not any(config.get(key) is not None for key in keys.split())]
        lacking += [key for key in NEEDED[architecture].split() if key not in config]
        assert not lacking, (architecture, lacking)
        with open(out / "model.safetensors", "rb") as file:
            head = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        dtypes = {tensor["dtype"] for tensor_name, tensor in head.items() if tensor_name != "__metadata__"}
        assert dtypes == {{"float32": "F32", "bfloat16": "BF16"}[config["torch_dtype"]]}, (architecture, dtypes)
        assert config["vocab_size"] >= 1 + max(token["id"] for token in read(out, "tokenizer.json")["added_tokens"])
        assert ends_as_llama_cpp_reads_them(out) == {"bos": END, "eos": END}, architecture
        assert config["eos_token_id"] == END and read(out, "generation_config.json")["eos_token_id"] == [END], architecture
        if "scoring_func" in config:
            assert (config["scoring_func"], config["topk_method"]) == ("sigmoid", "noaux_tc")


def a_template_is_in_both_places_and_its_end_ends_a_text(binary, folder):
    run = imported(binary, folder, "qwen3")
    (run / "chat_template.jinja").write_text(TEMPLATE)
    try:
        out = folder / "talks"
        tessera(binary, "export", run, "--out", out)
    finally:
        (run / "chat_template.jinja").unlink()
    names = read(out, "tokenizer_config.json")
    assert names["chat_template"] == (out / "chat_template.jinja").read_text() == TEMPLATE
    assert names["tokenizer_class"] == "PreTrainedTokenizerFast" and names["eos_token"] == ADDED[2] and names["model_max_length"] == 64, names
    assert read(out, "config.json")["eos_token_id"] == ANSWER_END == ends_as_llama_cpp_reads_them(out)["eos"]
    assert ANSWER_END in read(out, "generation_config.json")["eos_token_id"]


def a_template_is_written_where_it_is_asked_for(binary, folder):
    run = imported(binary, folder, "qwen3")
    tessera(binary, "export", run, "--out", folder / "silent")
    assert "chat_template" not in read(folder / "silent", "tokenizer_config.json") and not (folder / "silent" / "chat_template.jinja").exists()
    told = json.loads(tessera(binary, "export", run, "--out", folder / "marked", "--template", "marked", "--json"))
    assert "<|im_end|>" in read(folder / "marked", "tokenizer_config.json")["chat_template"]
    assert set(told["copied"]) == {file.name for file in (folder / "marked").iterdir()} - {"config.json", "model.safetensors"}, told


def files_that_are_there_are_kept_and_completed(binary, folder):
    run = imported(binary, folder, "llama_unscaled")
    (run / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "TheirOwn", "bos_token": {"content": ADDED[1]}, "eos_token": ADDED[0], "chat_template": "old"}))
    (run / "generation_config.json").write_text(json.dumps({"temperature": 0.6, "eos_token_id": END}))
    (run / "chat_template.jinja").write_text(TEMPLATE)
    out = folder / "completed"
    tessera(binary, "export", run, "--out", out)
    names, generation = read(out, "tokenizer_config.json"), read(out, "generation_config.json")
    assert names == {"tokenizer_class": "TheirOwn", "bos_token": {"content": ADDED[1]}, "eos_token": ADDED[0], "chat_template": TEMPLATE}, names
    assert generation == {"temperature": 0.6, "bos_token_id": END + 1, "eos_token_id": [END, ANSWER_END]}, generation
    assert ends_as_llama_cpp_reads_them(out) == {"bos": END + 1, "eos": END}


def a_model_of_bytes_gets_a_tokenizer(binary, folder):
    run, out = folder / "bytes", folder / "bytes-out"
    tessera(binary, "train", "--steps", 2, "--save-every", 2, "--out", run, "--batch", 2, "--seq", 32, "--set", "data.story_bytes=65536", "--set", "train.eval_every=0",
            "--set", "run.peak_gflops=1", "--json")
    tessera(binary, "export", run, "--out", out)
    words = read(out, "tokenizer.json")
    assert words["model"]["vocab"]["A"] == 65 and sorted(words["model"]["vocab"].values()) == list(range(256)) and words["model"]["merges"] == []
    question = ("--prompt", "Änderung: \x02 1", "--tokens", 15, "--temperature", 0, "--json")
    told = [json.loads(tessera(binary, "generate", model, *question)) for model in (run, out)]
    assert told[0]["tokens"] == told[1]["tokens"] and told[0]["text"] == told[1]["text"], told


CHECKS = [every_architecture_has_the_keys_that_servers_read, a_template_is_in_both_places_and_its_end_ends_a_text, a_template_is_written_where_it_is_asked_for,
          files_that_are_there_are_kept_and_completed, a_model_of_bytes_gets_a_tokenizer]

if __name__ == "__main__":
    run_checks(__doc__, CHECKS)
