// SPDX-License-Identifier: Apache-2.0
// What colours and letters of the timeline mean: by phase of the pipeline, by kind of work, by block.

/** @typedef {import("./timeline_data.js").Timeline} Timeline */
/** @typedef {import("./timeline_data.js").View} View */
/** @typedef {{code: number, letter: string, name: string, colour: string}} Meaning */

const WAIT = { code: 6, letter: "", name: "wait", colour: "wait" };
const TRANSFER = { code: 7, letter: "", name: "transfer", colour: "grey" };

/**
 * Code 0 is nothing.
 * @type {Record<string, Meaning[]>}
 */
export const MEANINGS = {
  pipeline: [
    { code: 1, letter: "F", name: "forward", colour: "sky" },
    { code: 2, letter: "B", name: "backward", colour: "green" },
    { code: 3, letter: "I", name: "input gradient", colour: "orange" },
    { code: 4, letter: "W", name: "weight gradient", colour: "purple" },
    { code: 5, letter: "U", name: "update", colour: "yellow" },
    WAIT,
    TRANSFER,
    { code: 8, letter: "", name: "other kernels", colour: "muted" },
  ],
  kind: [
    { code: 1, letter: "M", name: "matmul", colour: "sky" },
    { code: 2, letter: "A", name: "attention", colour: "green" },
    { code: 3, letter: "N", name: "norm, activation", colour: "yellow" },
    { code: 4, letter: "O", name: "optimizer", colour: "purple" },
    { code: 5, letter: "K", name: "other kernels", colour: "grey" },
    WAIT,
    { code: 7, letter: "G", name: "gather, reduce_scatter", colour: "orange" },
    { code: 8, letter: "R", name: "all_reduce, all_to_all", colour: "vermillion" },
    { code: 9, letter: "S", name: "send, receive, shift", colour: "blue" },
  ],
  block: [
    { code: 1, letter: "", name: "embedding", colour: "orange" },
    { code: 2, letter: "", name: "even layers", colour: "sky" },
    { code: 3, letter: "", name: "odd layers", colour: "blue" },
    { code: 4, letter: "", name: "head", colour: "purple" },
    { code: 5, letter: "", name: "others", colour: "grey" },
    WAIT,
  ],
  bound: [
    { code: 1, letter: "F", name: "bound by flops", colour: "sky" },
    { code: 2, letter: "M", name: "by bytes of memory", colour: "orange" },
    { code: 3, letter: "L", name: "by launches", colour: "purple" },
    WAIT,
    TRANSFER,
  ],
};

const PHASES = /** @type {Record<string, number>} */ ({ forward: 1, backward: 2, recompute: 2, input_grad: 3, weight_grad: 4, update: 5, norm: 5 });

/** @param {any} instruction */
function phase_code(instruction) {
  if (instruction.kind === "wait") return 6;
  if (instruction.kind === "transfer") return 7;
  return PHASES[instruction.routine] ?? 8;
}

/** @param {any} instruction */
function kind_code(instruction) {
  const op = instruction.op;
  if (instruction.kind === "wait") return 6;
  if (/all_gather|reduce_scatter/.test(op)) return 7;
  if (/send|recv|shift/.test(op)) return 9;
  if (instruction.kind === "transfer") return 8;
  if (/matmul|output_loss|output_stats|sharded_loss/.test(op)) return 1;
  if (/attention/.test(op)) return 2;
  if (/norm|gelu|relu|swiglu|silu|add|rope|mul/.test(op)) return 3;
  return instruction.routine === "update" || instruction.routine === "norm" ? 4 : 5;
}

/**
 * Which side of the roofline a kernel is on; most of a short one is its launch.
 * @param {any} instruction @param {import("./timeline_data.js").Device | null} device
 */
function bound_code(instruction, device) {
  if (instruction.kind === "wait") return 6;
  if (instruction.kind === "transfer") return 7;
  if (!device) return 1;
  if (device.launch > instruction.seconds / 2) return 3;
  return instruction.flops / device.flops >= instruction.bytes / device.bandwidth ? 1 : 2;
}

/**
 * layer.7 is an odd layer.
 * @param {string} block
 */
function block_code(block) {
  const layer = /\.(\d+)$/.exec(block);
  if (layer) return Number(layer[1]) % 2 === 0 ? 2 : 3;
  return block.startsWith("embedding") ? 1 : block.startsWith("head") ? 4 : 5;
}

/**
 * @param {Timeline} timeline @param {string} name
 * @returns {View}
 */
export function make_view(timeline, name) {
  const { instruction, microbatch, block, instructions, blocks } = timeline;
  const letters = MEANINGS[name].map(({ letter }) => letter);
  if (name === "block") {
    const of_block = blocks.map(block_code);
    const code = (/** @type {number} */ slice) => {
      if (instructions[instruction[slice]].kind === "wait") return 6;
      return block ? of_block[block[slice]] : block_code(instructions[instruction[slice]].class);
    };
    return { name, code, label: (slice) => (block ? block[slice] : 0), text: (slice) => (block ? blocks[block[slice]].replace("layer.", "") : "") };
  }
  const code_of = name === "pipeline" ? phase_code : name === "bound" ? (/** @type {any} */ one) => bound_code(one, timeline.device) : kind_code;
  const codes = Uint8Array.from(instructions, (one) => code_of(one));
  const code = (/** @type {number} */ slice) => codes[instruction[slice]];
  if (name === "pipeline") {
    const text = (/** @type {number} */ slice) => (code(slice) < 5 ? letters[code(slice) - 1] + microbatch[slice] : letters[code(slice) - 1]);
    return { name, code, label: (slice) => (code(slice) < 5 ? microbatch[slice] : 0), text };
  }
  return { name, code, label: (slice) => (code(slice) === 6 ? 0 : instruction[slice]), text: (slice) => instructions[instruction[slice]].op };
}
