// SPDX-License-Identifier: Apache-2.0
// The slices of a step by lane, in order of time, and the bars of a view: neighbours that look the same are one bar.

/** @typedef {import("./ask.js").Table} Table */
/** @typedef {import("./ask.js").Json} Json */
/** @typedef {{rank: number, name: string, number: number}} Lane */
/** @typedef {{flops: number, bandwidth: number, launch: number}} Device Peak per second, bytes per second, seconds. */
/**
 * Slice i has begin[i], length[i] and so on; lane l has the slices order[lane_start[l]] to order[lane_start[l + 1] - 1].
 * @typedef {{begin: ArrayLike<number>, length: ArrayLike<number>, instruction: ArrayLike<number>, lane: ArrayLike<number>,
 *   microbatch: ArrayLike<number>, block: ArrayLike<number> | null, lanes: Lane[], ranks: Json[], instructions: Json[],
 *   blocks: string[], chain: string[], mesh: string, seconds: number, order: Uint32Array, lane_start: Uint32Array, bytes: number, device: Device | null}} Timeline
 */
/**
 * Bars of one lane, in order and without overlaps. `first` is the place of a bar's first slice in `order`.
 * @typedef {{begin: Float64Array, end: Float64Array, code: Uint8Array, first: Uint32Array, count: number}} Bars
 */
/**
 * How slices are coloured and joined: slices in a row with the same code and the same label are one bar.
 * @typedef {{name: string, code: (slice: number) => number, label: (slice: number) => number, text: (slice: number) => string}} View
 */

/**
 * Lanes are sorted by counting, slices in a lane by time.
 * @param {Table} table
 * @returns {Timeline}
 */
export function make_timeline({ head, columns, bytes }) {
  const { begin, length, instruction, lane, microbatch } = columns;
  const lanes = head.lanes ?? head.ranks.map((/** @type {Json} */ _, /** @type {number} */ rank) => ({ rank, name: "kernels", number: 0 }));
  const lane_start = new Uint32Array(lanes.length + 1);
  for (let i = 0; i < lane.length; ++i) lane_start[lane[i] + 1] += 1;
  for (let i = 0; i < lanes.length; ++i) lane_start[i + 1] += lane_start[i];
  const next = lane_start.slice();
  const order = new Uint32Array(lane.length);
  for (let i = 0; i < lane.length; ++i) order[next[lane[i]]++] = i;
  for (let l = 0; l < lanes.length; ++l) {
    const part = order.subarray(lane_start[l], lane_start[l + 1]);
    for (let i = 1; i < part.length; ++i) {
      if (begin[part[i - 1]] <= begin[part[i]]) continue;
      part.sort((a, b) => begin[a] - begin[b] || a - b);
      break;
    }
  }
  return { begin, length, instruction, lane, microbatch, block: columns.block ?? null, lanes, ranks: head.ranks,
    instructions: head.instructions, blocks: head.blocks ?? [], chain: head.chain ?? [], mesh: head.mesh ?? "", seconds: head.step_seconds, order, lane_start, bytes, device: null };
}

/**
 * Slices that follow each other within this share of the step are joined where they look the same.
 */
const GAP = 1e-5;
const RUN_GAP = 5e-3;

/** Waits have this code in every view. */
export const WAIT = 6;

/**
 * Bars of a lane. Runs are the same without waits, so that a forward that waits for a collective is one run with one text.
 * @param {Timeline} timeline @param {number} lane @param {View} view @param {boolean} [runs]
 * @returns {Bars}
 */
export function make_bars(timeline, lane, view, runs = false) {
  const from = timeline.lane_start[lane];
  const slices = timeline.lane_start[lane + 1] - from;
  const bars = { begin: new Float64Array(slices), end: new Float64Array(slices), code: new Uint8Array(slices), first: new Uint32Array(slices), count: 0 };
  const gap = timeline.seconds * (runs ? RUN_GAP : GAP);
  let label = -1;
  for (let i = 0; i < slices; ++i) {
    const slice = timeline.order[from + i];
    const begin = timeline.begin[slice];
    const end = begin + timeline.length[slice];
    const code = view.code(slice);
    if (runs && code === WAIT) continue;
    if (runs && view.name === "pipeline" && code > WAIT) continue;
    const last = bars.count - 1;
    const own = view.label(slice);
    if (last >= 0 && bars.code[last] === code && label === own && begin <= bars.end[last] + gap) {
      bars.end[last] = Math.max(end, bars.end[last]);
      continue;
    }
    if (timeline.length[slice] === 0) continue;
    label = own;
    bars.begin[bars.count] = last >= 0 ? Math.max(begin, bars.end[last]) : begin;
    bars.end[bars.count] = Math.max(end, bars.begin[bars.count]);
    bars.code[bars.count] = code;
    bars.first[bars.count] = from + i;
    bars.count += 1;
  }
  return bars;
}

/**
 * The first bar that ends after a time.
 * @param {Bars} bars @param {number} time
 */
export function first_bar(bars, time) {
  let low = 0;
  let high = bars.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bars.end[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The slice of a lane that runs at a time, or -1.
 * @param {Timeline} timeline @param {number} lane @param {number} time
 */
export function slice_at(timeline, lane, time) {
  let low = timeline.lane_start[lane];
  let high = timeline.lane_start[lane + 1];
  const start = low;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeline.begin[timeline.order[middle]] > time) high = middle;
    else low = middle + 1;
  }
  for (let i = low - 1; i >= start && i > low - 4; --i) {
    const slice = timeline.order[i];
    if (timeline.begin[slice] + timeline.length[slice] >= time) return slice;
  }
  return -1;
}

/**
 * The length of a slice; of a transfer without its wait for links and for other ranks, which a measured one does not tell.
 * @param {Timeline} timeline @param {number} slice
 */
export function seconds_moving({ instructions, instruction, length, ranks, lanes, lane }, slice) {
  const { kind, seconds } = instructions[instruction[slice]];
  return kind === "transfer" && !ranks[lanes[lane[slice]].rank].measured ? Math.min(length[slice], seconds) : length[slice];
}

/**
 * Seconds and number of slices of each instruction on one class of ranks: of a transfer while its bytes move.
 * @param {Timeline} timeline @param {number} rank
 * @returns {{instruction: number, seconds: number, slices: number}[]}
 */
export function seconds_by_instruction(timeline, rank) {
  const seconds = new Float64Array(timeline.instructions.length);
  const slices = new Uint32Array(timeline.instructions.length);
  for (let i = 0; i < timeline.begin.length; ++i) {
    if (timeline.lanes[timeline.lane[i]].rank !== rank) continue;
    seconds[timeline.instruction[i]] += seconds_moving(timeline, i);
    slices[timeline.instruction[i]] += 1;
  }
  return [...seconds.keys()].filter((i) => slices[i] > 0).map((i) => ({ instruction: i, seconds: seconds[i], slices: slices[i] }))
    .sort((a, b) => b.seconds - a.seconds);
}
