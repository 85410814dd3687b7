# SPDX-License-Identifier: Apache-2.0
"""The steps of a speedrun, from nothing to a model that answers: each is a few commands that a person can type."""
from dataclasses import dataclass, field

CONFIGS = "examples/speedrun"
SPECIAL = ["--special", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
OPENING = "One sunny day"
# Typed at the end, and before: what a first visitor may ask. `/reset` begins a new conversation.
SHOWN = ["Hello, my name is Mia.", "What is my name?", "/reset", "What is 3 + 4?", "Ben has 12 apples. Lily gives him 5 more. How many "
         "apples does Ben have now?", "What does a pony eat?", "Tell me a story about a pony.", "Good night!"]


@dataclass
class Step:
    name: str                          # a key of steps.json
    title: str
    commands: list                     # each the words after `tessera`, or of another program with its name first
    makes: list = field(default_factory=list)  # files that are there afterwards
    trains: str = ""                   # the run's folder, where the command trains
    keeps_output: bool = False         # for the report
    input: str = ""                    # a file that the command reads as its standard input
    asks: str = ""                     # conversations whose questions that file is to hold


@dataclass
class Size:
    """How much of everything."""
    text_lines: int = 40_000
    chat_lines: int = 60_000
    questions: int = 400
    asked: int = 300
    vocabulary: int = 1024
    configs: tuple = ("pretrain.toml", "chat.toml", "practice.toml")
    flags: tuple = ((), (), ())  # of each training, beside its config


FULL = Size()
# A minute on two cores: fewer steps of a smaller model, which learns to write and little else.
SMALL = ("--set", "model.layers=2", "--set", "model.width=96", "--set", "model.heads=3", "--set", "model.kv_heads=1",
         "--set", "model.mlp_size=256", "--set", "model.vocabulary=640")
QUICK = Size(text_lines=4000, chat_lines=8000, questions=200, asked=40, vocabulary=640,
             flags=tuple((*SMALL, "--steps", steps, "--save-every", "100", "--set", "train.eval_every=100")
                         for steps in ("300", "400", "100")))
# GPT-2 124M, which also reads the documentation of the Linux kernel.
CUDA = Size(text_lines=400_000, chat_lines=100_000, vocabulary=50257, configs=("pretrain_cuda.toml", "chat_cuda.toml"), flags=((), ()))
LINUX = ["Tell me about Scheduler Domains.", "What is eBPF?"]


def config_path(name, out, folder):
    """The config of the examples; where the run is in another folder than it names, a copy that names that one."""
    if str(out) == folder:
        return f"{CONFIGS}/{name}"
    with open(f"{CONFIGS}/{name}", encoding="utf-8") as file:
        text = file.read().replace(folder + "/", f"{out}/")
    with open(f"{out}/{name}", "w", encoding="utf-8") as file:
        file.write(text)
    return f"{out}/{name}"


def world_step(out, size, text, chats):
    return Step("world", "write the text, the conversations and the held-out questions", [
        ["stories", "text", "--lines", str(size.text_lines), "--out", text],
        ["stories", "chats", "--lines", str(size.chat_lines), "--out", chats],
        ["stories", "choices", "--lines", str(size.questions), "--seed", "2", "--out", f"{out}/choices.jsonl"],
        ["stories", "chats", "--held-out", "--lines", str(size.asked), "--seed", "2", "--out", f"{out}/asked.jsonl"],
    ], makes=[text, chats, f"{out}/choices.jsonl", f"{out}/asked.jsonl"])


def tokenizer_step(out, size, texts):
    tokenizer = f"{out}/tokenizer/tokenizer.json"
    return Step("tokenizer", "learn a tokenizer from the text", [
        ["tokenizer", "train", *texts, "--vocab", str(size.vocabulary), "--like", "qwen", *SPECIAL, "--out", tokenizer],
    ], makes=[tokenizer])


def tokenize(out, text, folder, *more):
    return ["tokenize", text, "--tokenizer", f"{out}/tokenizer/tokenizer.json", "--shuffle", *more, "--out", folder]


def text_steps(out, size):
    """The built-in world as files, and tokens of its text."""
    text = f"{out}/text.jsonl"
    return [world_step(out, size, text, f"{out}/chats.jsonl"), tokenizer_step(out, size, [text]),
            Step("tokens", "turn the text into tokens", [tokenize(out, text, f"{out}/tokens", "--held-out", "0.01")],
                 makes=[f"{out}/tokens/complete.json"])]


def linux_steps(out, size):
    """The same with the documentation of the Linux kernel beside it."""
    text, linux, chats = f"{out}/text.jsonl", f"{out}/linux/text.jsonl", f"{out}/chats"
    return [
        world_step(out, size, text, f"{chats}/stories.jsonl"),
        Step("linux", "fetch the documentation of the Linux kernel, and ask about its headings", [
            ["python3", "tools/speedrun/linux_doc.py", "--out", f"{out}/linux", "--chats", f"{chats}/linux.jsonl"],
        ], makes=[linux, f"{chats}/linux.jsonl"]),
        tokenizer_step(out, size, [linux, text]),
        Step("tokens", "turn both into tokens",
             [tokenize(out, text, f"{out}/tokens/stories"), tokenize(out, linux, f"{out}/tokens/linux")],
             makes=[f"{out}/tokens/stories/complete.json", f"{out}/tokens/linux/complete.json"]),
    ]


def model_steps(out, size, configs, device):
    """Trainings, what the model is asked, and how it does."""
    base, lessons, chat = f"{out}/base", f"{out}/lessons", f"{out}/chat"
    practises = len(configs) > 2
    on = ["--device", device] if device != "cpu" else []
    answers = ["--temperature", "0", "--json", *on]
    return [
        Step("pretraining", "pretraining: the model reads the text", [["train", configs[0], *size.flags[0]]], trains=base),
        Step("writes", "what it writes now, from an opening",
             [["generate", base, "--prompt", OPENING, "--tokens", "200", "--stop", "<|endoftext|>", "--temperature", "0.4", *on]],
             keeps_output=True),
        Step("before", "what it answers now", [["chat", base, "--max-tokens", "40", *answers]], keeps_output=True,
             input=f"{out}/shown.txt"),
        Step("fine_tuning", "fine-tuning: it learns to answer",
             [["train", configs[1], "--init-from", base, *size.flags[1]]], trains=lessons if practises else chat),
        *([Step("practice", "practice: more conversations, of which every turn is learned",
                [["train", configs[2], "--init-from", lessons, *size.flags[2]]], trains=chat)] if practises else []),
        Step("choices_before", "held-out questions with choices, before the fine-tuning",
             [["evaluate", base, f"{out}/choices.jsonl", "--choices", "--json", *on]], keeps_output=True),
        Step("choices", "the same questions after it",
             [["evaluate", chat, f"{out}/choices.jsonl", "--choices", "--json", *on]], keeps_output=True),
        Step("asked", "held-out questions that it answers in its own words",
             [["chat", chat, "--max-tokens", "300", *answers]], keeps_output=True,
             input=f"{out}/asked.txt", asks=f"{out}/asked.jsonl"),
        Step("after", "what it answers now", [["chat", chat, *answers]], keeps_output=True, input=f"{out}/shown.txt"),
    ]


def shown(device):
    """What it is asked before and after: a first visitor's questions, and those about Linux where it read about it."""
    return SHOWN if device == "cpu" else [*SHOWN, "/reset", *LINUX]


def steps_of(options):
    out, cuda = options.out, options.device == "cuda"
    size = CUDA if cuda else QUICK if options.quick else FULL
    folder = default_folder(options.device)
    configs = [config_path(name, out, folder) for name in size.configs]
    return [*(linux_steps if cuda else text_steps)(out, size), *model_steps(out, size, configs, options.device)]


def default_folder(device):
    return "out/speedrun-cuda" if device == "cuda" else "out/speedrun"
