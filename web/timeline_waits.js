// SPDX-License-Identifier: Apache-2.0
// Why a rank stalls, in a sentence: what it waits for and from whom, and whether its pipeline fills or drains.

import { app, show_screen, value_of } from "./app.js";
import { element } from "./dom.js";
import { seconds_text } from "./format.js";
import { instruction_of, is_between_stages, other_end, rank_row, transfer_of } from "./timeline_links.js";

/** @typedef {import("./timeline_data.js").Timeline} Timeline */

const LESSONS = /** @type {Record<string, string>} */ ({ interleaved_1f1b: "interleaved", looped_bfs: "looped" });

/**
 * Slices of a lane whose instructions are so, in order of time.
 * @param {Timeline} timeline @param {number} lane @param {(one: any) => boolean} allows
 */
function slices_in(timeline, lane, allows) {
  return timeline.order.subarray(timeline.lane_start[lane], timeline.lane_start[lane + 1]).filter((slice) => timeline.length[slice] > 0 && allows(instruction_of(timeline, slice)));
}

/**
 * Where a stage waits for its first microbatch: of all stages the longest, or -1.
 * @param {Timeline} timeline
 */
export function find_fill(timeline) {
  const first = timeline.lanes.map((_, lane) => slices_in(timeline, lane, ({ awaits }) => timeline.instructions[awaits]?.routine === "stream_in")[0] ?? -1);
  return first.reduce((found, slice) => (slice >= 0 && !(timeline.length[slice] <= timeline.length[found]) ? slice : found), -1);
}

/** @param {Timeline} timeline @param {number} transfer */
function awaited_text(timeline, transfer) {
  const { op, axes, routine } = instruction_of(timeline, transfer);
  if (!is_between_stages(routine)) return `${op} along ${axes}, in ${routine}`;
  const other = other_end(timeline, transfer);
  return `the ${routine.startsWith("g") ? "gradient" : "activations"} of microbatch ${timeline.microbatch[transfer]} ${op === "send" ? "to reach" : "from"} stage ${rank_row(timeline, other)?.pp ?? "?"}`;
}

/**
 * A sentence for a wait, and the lesson of the schedule where a stage waits for another; nothing for other slices.
 * @param {Timeline} timeline @param {number} slice
 */
export function wait_view(timeline, slice) {
  const transfer = transfer_of(timeline, slice);
  if (instruction_of(timeline, slice).kind !== "wait" || transfer < 0) return [];
  const text = element("p", { class: "wait_text" }, `Idle ${seconds_text(timeline.length[slice])}: waits for ${awaited_text(timeline, transfer)}.`);
  if (!is_between_stages(instruction_of(timeline, transfer).routine)) return [text];
  const phase = (/** @type {RegExp} */ routines) => slices_in(timeline, timeline.lane[slice], (one) => one.kind === "kernel" && routines.test(one.routine));
  if (timeline.begin[slice] < timeline.begin[phase(/backward|_grad/)[0]]) text.append(" Pipeline fill: no backward has begun here yet.");
  else if (timeline.begin[slice] > timeline.begin[phase(/forward/).at(-1) ?? 0]) text.append(" Pipeline drain: no forward is left here.");
  const schedule = value_of("plan.schedule");
  const open = () => { app.parts.learn = LESSONS[schedule] ?? schedule; show_screen("learn"); };
  return [text, element("button", { class: "link", onclick: open }, `Lesson: schedule ${schedule}`)];
}
