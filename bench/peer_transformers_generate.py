#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generation by transformers with a static cache, on one GPU, in bf16, of random weights: seconds of the first token after a prompt
and of each later one, as JSON. bench/gpu_generate.py runs it beside ours."""
import argparse
import json
import statistics
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

# As our presets of these names.
MODELS = {
    "llama3-1b": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
                  "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256, "tie_word_embeddings": True},
    "llama3-8b": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
                  "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256, "tie_word_embeddings": False},
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="llama3-8b")
    parser.add_argument("--prompt-tokens", type=int, default=4096)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--texts", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def made(name):
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        return LlamaForCausalLM(LlamaConfig(**MODELS[name], rope_theta=500000.0, max_position_embeddings=131072)).eval()


def seconds_of(model, prompt, tokens):
    torch.cuda.synchronize()
    begin = time.monotonic()
    model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=tokens, min_new_tokens=tokens,
                   eos_token_id=None, pad_token_id=0, cache_implementation="static")
    torch.cuda.synchronize()
    return time.monotonic() - begin


def main():
    given = parse_arguments()
    model = made(given.model)
    prompt = torch.randint(0, MODELS[given.model]["vocab_size"], (given.texts, given.prompt_tokens), device="cuda")
    for tokens in (1, given.tokens, given.tokens):  # compiles
        seconds_of(model, prompt, tokens)
    first = statistics.median(seconds_of(model, prompt, 1) for _ in range(given.rounds))
    whole = statistics.median(seconds_of(model, prompt, given.tokens) for _ in range(given.rounds))
    print(json.dumps({"first_token_seconds": first, "later_token_seconds": (whole - first) / (given.tokens - 1)}))


if __name__ == "__main__":
    main()
