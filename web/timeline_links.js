// SPDX-License-Identifier: Apache-2.0
// What belongs to a bar of the timeline on this and other ranks: the start and the wait of a transfer, both ends of a message
// between stages, all members of a collective.

import { whole } from "./format.js";

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

/**
 * Whether two slices can meet: on one clock, and of measured ranks at equal places among those of their stage.
 * @param {Timeline} timeline @param {number} one @param {number} other
 */
function can_meet(timeline, one, other) {
  const [a, b] = [one, other].map((slice) => timeline.ranks[rank_of(timeline, slice)]);
  const place = (/** @type {any} */ rank) => timeline.ranks.filter((each) => each.measured && each.pp === rank.pp).indexOf(rank);
  return a.measured === b.measured && (!a.measured || place(a) === place(b));
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
  const { awaits } = timeline.instructions[timeline.instruction[slice]];
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
  const other = OTHER_END[timeline.instructions[timeline.instruction[transfer]].routine];
  if (!other || !timeline.block) return -1;
  const block = timeline.chain[timeline.chain.indexOf(timeline.blocks[timeline.block[transfer]]) + other.way];
  return slices_of(timeline, (one) => one.routine === other.routine && one.kind === "transfer")
    .find((each) => can_meet(timeline, transfer, each) && timeline.microbatch[each] === timeline.microbatch[transfer] && timeline.blocks[/** @type {any} */ (timeline.block)[each]] === block) ?? -1;
}

/**
 * The same collective on all classes of ranks that take part: those of a group begin it in the same order.
 * @param {Timeline} timeline @param {number} transfer
 */
export function members_of(timeline, transfer) {
  const { axes, crosses, members: size } = timeline.instructions[timeline.instruction[transfer]];
  if (!axes || !crosses) return [transfer];
  const all = slices_of(timeline, (one) => one.axes === axes && one.crosses);
  const place = all.filter((each) => rank_of(timeline, each) === rank_of(timeline, transfer)).indexOf(transfer);
  const { measured } = timeline.ranks[rank_of(timeline, transfer)];
  const everyone = timeline.ranks.filter((rank) => rank.measured).length <= size;
  return timeline.ranks.map((_, rank) => all.filter((each) => rank_of(timeline, each) === rank)[place])
    .filter((each) => each !== undefined && (measured && everyone ? timeline.ranks[rank_of(timeline, each)].measured : can_meet(timeline, transfer, each)));
}

/**
 * @param {Timeline} timeline @param {number} transfer @param {number[]} members @param {number} other
 */
function sentence_of(timeline, transfer, members, other) {
  const { op, axes, members: size, crosses } = timeline.instructions[timeline.instruction[transfer]];
  const rank = (/** @type {number} */ slice) => whole(timeline.ranks[rank_of(timeline, slice)].rank);
  if (other >= 0) return op === "send" ? `sent by rank ${rank(transfer)} to rank ${rank(other)}` : `received by rank ${rank(transfer)} from rank ${rank(other)}`;
  if (op === "shift") return `each of ${whole(size)} ranks along ${axes} sends to the next and receives from the one before, at the same time`;
  if (!axes) return "";
  return crosses ? `${whole(size)} ranks along ${axes} take part, in ${members.length} lanes` : `${whole(size)} ranks along ${axes} take part${timeline.ranks[rank_of(timeline, transfer)].measured ? "" : ", all identical: in this lane"}`;
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
  if (transfer < 0 || timeline.instructions[timeline.instruction[transfer]].kind !== "transfer") return none;
  const other = other_end(timeline, transfer);
  const members = other >= 0 ? [transfer, other] : members_of(timeline, transfer);
  /** @type {[number, number][]} */
  const arrows = [];
  const bars = members.flatMap((each) => {
    const wait = wait_of(timeline, each);
    if (wait >= 0 && other < 0) arrows.push([each, wait]);
    return wait >= 0 ? [each, wait] : [each];
  });
  if (other >= 0) {
    const sends = timeline.instructions[timeline.instruction[transfer]].op === "send";
    const [from, to] = sends ? [transfer, other] : [other, transfer];
    const wait = wait_of(timeline, to);
    arrows.push([from, wait >= 0 ? wait : to]);
  }
  return { bars, arrows, sentence: sentence_of(timeline, transfer, members, other) };
}
