// SPDX-License-Identifier: Apache-2.0
// The program of a rank as text: the calls of its script, the routine that runs spread out, and a pointer.

import { element, fill } from "./dom.js";
import { whole } from "./format.js";

/** @typedef {import("./ask.js").Json} Json */
/** @typedef {import("./lesson_walk.js").LessonWalk} LessonWalk */

const AROUND = 5;

/** @param {Json} program @param {number} index @param {Json} lesson */
function call_text(program, index, lesson) {
  const call = program.calls[index];
  return `${call.routine} ${program.blocks[call.block].name}${lesson.microbatches > 1 ? ` microbatch ${call.microbatch}` : ""}`;
}

/** @param {LessonWalk} walk @param {number} program */
function routine_rows(walk, program) {
  const place = walk.place(program);
  if (!place) return [];
  const told = walk.lesson.programs[program];
  const { instructions } = walk.routine(told, place.call);
  const at_home = place.call.channel?.from === place.call.channel?.to && place.call.channel;
  const names = (/** @type {number[]} */ list) => list.map((index) => place.buffers[index].name).join(", ");
  return instructions.map((instruction, index) => element("li", { class: `step ${index === place.index ? "is_here" : ""} ${index < place.index ? "is_done" : ""}`,
    "aria-current": index === place.index ? "step" : null },
    element("i", { "aria-hidden": true }, index === place.index ? "\u25b6" : ""),
    element("code", {}, `${instruction.op} ${names(instruction.reads)} \u2192 ${names(instruction.writes)}`),
    instruction.sent && !at_home ? element("span", { class: "sent" }, `sends ${whole(Math.round(instruction.sent))}`) : ""));
}

/**
 * The calls around the pointer, the one that runs with its instructions.
 * @param {HTMLElement} root @param {LessonWalk} walk @param {number} program
 */
export function show_program(root, walk, program) {
  const told = walk.lesson.programs[program];
  const now = walk.place(program)?.call_index ?? -1;
  const from = Math.max(0, now - AROUND);
  const to = Math.min(told.calls.length - 1, Math.max(now, 0) + AROUND);
  const rows = [];
  if (from > 0) rows.push(element("li", { class: "muted small" }, `${from} calls before`));
  for (let index = from; index <= to; index += 1) {
    rows.push(element("li", { class: `call ${index === now ? "is_now" : ""} ${index < now ? "is_done" : ""}` }, call_text(told, index, walk.lesson)));
    if (index === now) rows.push(element("li", {}, element("ul", { class: "steps_list" }, ...routine_rows(walk, program))));
  }
  if (to < told.calls.length - 1) rows.push(element("li", { class: "muted small" }, `${told.calls.length - 1 - to} calls after`));
  fill(root, ...rows);
  const here = /** @type {HTMLElement | null} */ (root.querySelector(".is_here"));
  if (here) root.scrollTop = Math.max(0, here.offsetTop - root.offsetTop - root.clientHeight / 2);
}
