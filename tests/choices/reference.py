# SPDX-License-Identifier: Apache-2.0
"""What lm-evaluation-harness would score, written from its rules in Python: how a context and a continuation become tokens,
what is cut, and the log-likelihoods, from the logits of ../huggingface/torch_losses.py in double. Four families in folders as
transformers writes them, with a small byte-level tokenizer."""
import importlib.util
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "huggingface"))
import folders  # noqa: E402


def load_tokenizer():
    """That of ../evaluate: bytes, and the merges of "th", "the" and " the"."""
    spec = importlib.util.spec_from_file_location("evaluated_text", HERE.parent / "evaluate" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOKENIZER = load_tokenizer()
VOCABULARY = 262
END_OF_TEXT = 261
FAMILIES = ("gpt2", "llama_newer_style", "qwen3", "llama_as_deepseek_v3")
for _family in FAMILIES:
    _config, *_rest = folders.MODELS[_family]
    _changes = {"vocab_size": VOCABULARY} | ({"n_head": 4} if _family == "gpt2" else {})  # heads that tp=2 splits
    folders.MODELS[f"{_family}_text"] = (_config | _changes, *_rest)
NAMES = tuple(f"{family}_text" for family in FAMILIES)

# Choices of one token and of several, of different lengths; a space that ends the context; a merge across the border of
# context and choice; letters of two bytes; no context at all; a context longer than GPT-2's 32 positions.
PAIRS = [
    ("2 + 3 =", [" 5", " 6", " 16"], 0),
    ("The cat sat on", [" the mat", " it", " at night"], 0),
    ("See ", ["the other", "that", "a"], 1),
    ("in wi", ["th the", "ll", "the"], 2),
    ("naïve", [" café", " coffee"], 0),
    ("", ["the end", "an end"], 1),
    ("It was in the middle of the night when the cat went out of the", [" house", " window into the garden"], 1),
    ("a\n\n \t", ["b", "c", "d", "e", "f"], 4),
]


def questions():
    return [{"context": context, "choices": choices, "answer": answer} for context, choices, answer in PAIRS]


def context_length(name):
    config = folders.MODELS[name][0]
    return config.get("n_positions", config.get("max_position_embeddings"))


def pair_tokens(context, continuation):
    """The harness's loglikelihood() and _encode_pair()."""
    encode = TOKENIZER.tokens_of
    spaces = len(context) - len(context.rstrip())
    if spaces > 0:
        continuation, context = context[-spaces:] + continuation, context[:-spaces]
    if not context:
        return [END_OF_TEXT], encode(continuation)
    alone = encode(context)
    return alone, encode(context + continuation)[len(alone):]


def cut_choices(name):
    """How many have a context that is too long. The last token is not read."""
    lengths = [sum(map(len, pair_tokens(context, choice))) - 1 for context, choices, _ in PAIRS for choice in choices]
    return sum(length > context_length(name) for length in lengths)


def write_folder(name, path):
    folders.write_folder(name, path)
    TOKENIZER.write_tokenizer(path / "tokenizer.json")
    tokenizer = json.loads((path / "tokenizer.json").read_text())
    tokenizer["added_tokens"] = [{"id": END_OF_TEXT, "content": "<|endoftext|>", "special": True, "single_word": False, "lstrip": False,
                                  "rstrip": False, "normalized": False}]
    (path / "tokenizer.json").write_text(json.dumps(tokenizer))


def live_scores():
    """By model, by question, by choice: [log-likelihood, whether it is greedy]. None without PyTorch."""
    try:
        import torch
        import torch_losses
    except ImportError:
        return None
    return {name: [[list(score(torch, torch_losses, name, context, choice)) for choice in choices] for context, choices, _ in PAIRS]
            for name in NAMES}


def score(torch, torch_losses, name, context, choice):
    config = folders.MODELS[name][0]
    logits_of = torch_losses.gpt2_logits if config["model_type"] == "gpt2" else torch_losses.llama_logits
    before, scored = pair_tokens(context, choice)
    read = (before + scored)[-(context_length(name) + 1):][:-1]
    weights = WEIGHTS.setdefault(name, None) or torch_losses.load(name)
    WEIGHTS[name] = weights
    logs = logits_of(config, weights, torch.tensor([read]))[0].log_softmax(-1)[-len(scored):]
    wanted = torch.tensor(scored)
    return logs.gather(1, wanted[:, None]).sum().item(), bool((logs.argmax(-1) == wanted).all())


WEIGHTS = {}
