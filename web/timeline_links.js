// SPDX-License-Identifier: Apache-2.0
// What belongs to a bar of the timeline on this and other ranks: the start and the wait of a transfer, both ends of a message
// between stages, all members of a collective. Simulated lanes stand for a class of ranks each, measured ones for a rank.

import { whole } from "./format.js";
import { ranks_text } from "./held_pieces.js";

/** @typedef {import("./timeline_data.js").Timeline} Timeline */
/**
 * `bars` are slices, the given one among them; an arrow leads from where a slice begins to where another ends.
 * @typedef {{bars: number[], arrows: [number, number][], sentence: string}} Links
 */

const OTHER_END = /** @type {Record<string, {routine: string, way: number}>} */ ({
  stream_out: { routine: "stream_in", way: 1 }, stream_in: { routine: "stream_out", way: -1 },
  gradient_out: { routine: "gradient_in", way: -1 }, gradient_in: { routine: "gradient_out", way: 1 },
});

/** @param {Timeline} timeline @param {number} slice */
const rank_of = (timeline, slice) => timeline.lanes[timeline.lane[slice]].rank;

/** @param {Timeline} timeline @param {number} slice */
export const instruction_of = (timeline, slice) => timeline.instructions[timeline.instruction[slice]];

/** @param {Timeline} timeline @param {number} slice */
export const rank_row = (timeline, slice) => timeline.ranks[timeline.lanes[timeline.lane[slice]]?.rank];

/** @param {string} routine */
export const is_between_stages = (routine) => routine in OTHER_END;

/** @param {Timeline} timeline @param {number} slice */
const is_measured = (timeline, slice) => Boolean(rank_row(timeline, slice).measured);

/**
 * The ranks of a group: those that differ from this one along the axes alone, in order.
 * @param {string} mesh "pp=4,fsdp=8,tp=2" @param {string} axes "fsdp+tp" @param {number} rank
 */
export function group_of(mesh, axes, rank) {
  const wanted = axes.match(/[a-z]+/g) ?? [];
  let ranks = [rank];
  let stride = 1;
  for (const [name, size] of mesh.split(",").map((part) => part.split("=")).reverse()) {
    const [count, step] = [Number(size), stride];
    if (wanted.includes(name)) ranks = ranks.flatMap((one) => Array.from({ length: count }, (_, index) => one + (index - (Math.floor(rank / step) % count)) * step));
    stride *= count;
  }
  return ranks.sort((a, b) => a - b);
}

/**
 * Whether two slices are of the same clock, and on ranks that differ along these axes alone where lanes are ranks.
 * @param {Timeline} timeline @param {number} a @param {number} b @param {string} axes
 */
function may_meet(timeline, a, b, axes) {
  if (is_measured(timeline, a) !== is_measured(timeline, b)) return false;
  const rank = (/** @type {number} */ slice) => rank_row(timeline, slice).rank;
  return !is_measured(timeline, a) || group_of(timeline.mesh, axes, rank(a)).includes(rank(b));
}

/**
 * Slices of instructions that a condition allows.
 * @param {Timeline} timeline @param {(instruction: any, index: number) => boolean} allows
 */
function slices_of(timeline, allows) {
  const allowed = Uint8Array.from(timeline.instructions, (one, index) => Number(allows(one, index)));
  const found = [];
  for (let i = 0; i < timeline.begin.length; ++i) if (allowed[timeline.instruction[i]]) found.push(i);
  return found;
}

/**
 * Of slices on the same rank and block those of the same microbatch, or else all.
 * @param {Timeline} timeline @param {number} slice @param {number[]} found
 */
function near(timeline, slice, found) {
  const own = found.filter((each) => rank_of(timeline, each) === rank_of(timeline, slice) && timeline.block?.[each] === timeline.block?.[slice]);
  const same = own.filter((each) => timeline.microbatch[each] === timeline.microbatch[slice]);
  return same.length > 0 ? same : own;
}

/**
 * The transfer that a wait ends; any other slice itself.
 * @param {Timeline} timeline @param {number} slice
 */
export function transfer_of(timeline, slice) {
  const { awaits } = instruction_of(timeline, slice);
  if (awaits === undefined) return slice;
  const end = timeline.begin[slice] + timeline.length[slice];
  const begun = near(timeline, slice, slices_of(timeline, (_, index) => index === awaits)).filter((each) => timeline.begin[each] <= end);
  return begun.reduce((last, each) => (last < 0 || timeline.begin[each] > timeline.begin[last] ? each : last), -1);
}

/**
 * The wait that ends a transfer, or -1: of those that come later the first.
 * @param {Timeline} timeline @param {number} transfer
 */
export function wait_of(timeline, transfer) {
  const waits = near(timeline, transfer, slices_of(timeline, (one) => one.awaits === timeline.instruction[transfer]));
  const later = waits.filter((each) => timeline.begin[each] + timeline.length[each] >= timeline.begin[transfer]);
  return later.reduce((first, each) => (first < 0 || timeline.begin[each] < timeline.begin[first] ? each : first), -1);
}

/**
 * Where a message between stages goes to or comes from, or -1.
 * @param {Timeline} timeline @param {number} transfer
 */
export function other_end(timeline, transfer) {
  const other = OTHER_END[instruction_of(timeline, transfer).routine];
  if (!other || !timeline.block) return -1;
  const block = timeline.chain[timeline.chain.indexOf(timeline.blocks[timeline.block[transfer]]) + other.way];
  return slices_of(timeline, (one) => one.routine === other.routine && one.kind === "transfer")
    .find((each) => timeline.microbatch[each] === timeline.microbatch[transfer] && timeline.blocks[/** @type {any} */ (timeline.block)[each]] === block && may_meet(timeline, transfer, each, "pp")) ?? -1;
}

/**
 * The same collective on all lanes that take part: ranks of a group begin theirs in the same order.
 * @param {Timeline} timeline @param {number} transfer
 */
export function members_of(timeline, transfer) {
  const { axes, crosses } = instruction_of(timeline, transfer);
  if (!axes || !(crosses || is_measured(timeline, transfer))) return [transfer];
  const own = timeline.instruction[transfer];
  const all = slices_of(timeline, (one, index) => (crosses ? one.axes === axes && one.crosses : index === own)).filter((each) => may_meet(timeline, transfer, each, axes));
  const place = all.filter((each) => rank_of(timeline, each) === rank_of(timeline, transfer)).indexOf(transfer);
  return timeline.ranks.map((_, rank) => all.filter((each) => rank_of(timeline, each) === rank)[place]).filter((each) => each !== undefined);
}

/**
 * @param {Timeline} timeline @param {number} transfer @param {number[]} members @param {number} other
 */
function sentence_of(timeline, transfer, members, other) {
  const { op, axes, members: size } = instruction_of(timeline, transfer);
  const rank = (/** @type {number} */ slice) => whole(rank_row(timeline, slice).rank);
  if (other >= 0) return op === "send" ? `sent by rank ${rank(transfer)} to rank ${rank(other)}` : `received by rank ${rank(transfer)} from rank ${rank(other)}`;
  if (op === "shift") return `each of ${whole(size)} ranks along ${axes} sends to the next and receives from the one before, at the same time`;
  if (!axes) return "";
  const ranks = ranks_text(group_of(timeline.mesh, axes, rank_row(timeline, transfer).rank));
  return `${whole(size)} ranks along ${axes} take part (${ranks}), ${members.length > 1 ? `in ${members.length} lanes` : "all identical: in this lane"}`;
}

/**
 * Everything that belongs to a bar; nothing for a kernel.
 * @param {Timeline} timeline @param {number} slice
 * @returns {Links}
 */
export function links_of(timeline, slice) {
  const none = { bars: [], arrows: [], sentence: "" };
  if (slice < 0) return none;
  const transfer = transfer_of(timeline, slice);
  if (transfer < 0 || instruction_of(timeline, transfer).kind !== "transfer") return none;
  const other = other_end(timeline, transfer);
  const members = other >= 0 ? [transfer, other] : members_of(timeline, transfer);
  /** @type {[number, number][]} */
  const arrows = [];
  const waits = members.map((each) => wait_of(timeline, each));
  const bars = members.flatMap((each, index) => (waits[index] >= 0 ? [each, waits[index]] : [each]));
  // What a rank of a ring begins to send arrives at the next one.
  const next = instruction_of(timeline, transfer).op === "shift" ? 1 : 0;
  members.forEach((each, index) => {
    const wait = waits[(index + next) % members.length];
    if (wait >= 0 && other < 0) arrows.push([each, wait]);
  });
  if (other >= 0) {
    const sends = instruction_of(timeline, transfer).op === "send";
    const [from, to] = sends ? [transfer, other] : [other, transfer];
    const wait = wait_of(timeline, to);
    arrows.push([from, wait >= 0 ? wait : to]);
  }
  return { bars, arrows, sentence: sentence_of(timeline, transfer, members, other) };
}
