// SPDX-License-Identifier: Apache-2.0
// The line on top and the run that it stands for.

import { equal, random_numbers, refuses } from "./claims_test.js";
import { AXES, DEFAULT_LINE, long_key, parse_fragment, parse_line, PRECISIONS, print_fragment, print_line, print_toml, short_key } from "./state.js";

function random_run(/** @type {() => number} */ next) {
  const pick = (/** @type {any[]} */ list) => list[Math.floor(next() * list.length)];
  /** @type {Record<string, string>} */
  const set = {};
  if (next() < 0.8) set["train.batch"] = String(1 + Math.floor(next() * 999));
  if (next() < 0.8) set["train.seq"] = String(1 + Math.floor(next() * 9999));
  if (next() < 0.5) set["train.precision"] = pick(PRECISIONS);
  const axes = AXES.filter(() => next() < 0.5).map((axis) => `${axis}=${1 + Math.floor(next() * 9)}`);
  if (axes.length > 0) set.mesh = axes.join(",");
  for (const [key, value] of [["plan.zero", "3"], ["train.microbatches", "8"], ["plan.experts", "ep+tp"], ["train.schedule", "wsd"], ["plan.schedule", "zb_v"],
    ["model.layers", "7"], ["plan.dims.tp", "heads,mlp"], ["data.path", "a/b:c%20.bin"]]) if (next() < 0.4) set[key] = value;
  return { model: pick(["llama3-8b", "tiny"]), cluster: pick(["", "llama3-h100"]), set };
}

/** @type {Record<string, () => void>} */
export const claims = {
  "a line is the run that its words name"() {
    equal(parse_line("llama3-8b 512x8192 bf16 llama3-h100 pp=4,fsdp=8,tp=2 zero=3 microbatches=8"), { model: "llama3-8b", cluster: "llama3-h100",
      set: { "train.batch": "512", "train.seq": "8192", "train.precision": "bf16", mesh: "pp=4,fsdp=8,tp=2", "plan.zero": "3", "train.microbatches": "8" } });
  },
  "spaces around x and between words do not matter"() {
    equal(parse_line("  tiny   16 x 128  laptop "), parse_line("tiny 16x128 laptop"));
  },
  "print_line and parse_line are inverse"() {
    const next = random_numbers(7);
    for (let i = 0; i < 500; ++i) {
      const run = random_run(next);
      const again = parse_line(print_line(run));
      equal(Object.entries(again.set).sort(), Object.entries(run.set).sort(), print_line(run));
      equal([again.model, again.cluster], [run.model, run.cluster], print_line(run));
    }
    equal(print_line(parse_line(DEFAULT_LINE)), DEFAULT_LINE);
  },
  "a third bare word is refused with its name"() {
    refuses(() => parse_line("tiny laptop hello"), "hello");
    refuses(() => parse_line("tiny =3"), "no name");
  },
  "short names stand for one key each"() {
    for (const key of ["plan.zero", "train.batch", "train.schedule", "plan.schedule", "model.layers", "plan.dims.tp", "mesh", "train.seed", "plan.reduce_dtype"]) equal(long_key(short_key(key)), key);
  },
  "a fragment holds a screen and a line, and gives up its token"() {
    for (const line of [DEFAULT_LINE, "tiny experts=ep+tp", "x data.path=\u00e4/b%20&c"]) {
      for (const screen of ["plan", "time", "map"]) {
        const read = parse_fragment(print_fragment(screen, line));
        equal([read.line, read.screen || "plan", read.token], [line, screen, ""]);
      }
    }
    const token = "0123456789abcdef0123456789abcdef";
    equal(parse_fragment(`#token=${token}`), { token, screen: "", part: "", line: "" });
    equal(parse_fragment(`#token=${token}&time/tiny+16x128`), { token, screen: "time", part: "", line: "tiny 16x128" });
    equal(parse_fragment(print_fragment("learn", "tiny", "zero3")), { token: "", screen: "learn", part: "zero3", line: "tiny" });
    equal(parse_fragment("#%E0%A4%A").line, "");
  },
  "the config file has a section for each kind of key"() {
    equal(print_toml(parse_line("tiny 16x128 laptop dp=2,tp=2 zero=1 recompute=block sequence_parallel=true")),
      '[model]\npreset = "tiny"\n\n[mesh]\ndp = 2\ntp = 2\n\n[train]\nbatch = 16\nseq = 128\n\n[plan]\nzero = "1"\nrecompute = "block"\nsequence_parallel = true\n');
  },
};
