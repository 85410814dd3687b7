// SPDX-License-Identifier: Apache-2.0
// A column per rank: where it stands, the tensors that it reads and writes with the part that it holds of each dim, its peers,
// what it has sent and what it has in use.

import { element, fill } from "./dom.js";
import { bytes_text, whole } from "./format.js";
import { ring_mask } from "./lesson_ring.js";
import { held_parts, shown_ranks } from "./lesson_walk.js";

/** @typedef {import("./ask.js").Json} Json */
/** @typedef {import("./lesson_walk.js").LessonBuffer} LessonBuffer */
/** @typedef {import("./lesson_walk.js").LessonDim} LessonDim */
/** @typedef {import("./lesson_walk.js").LessonWalk} LessonWalk */

/** @param {LessonBuffer} buffer */
function kind_of(buffer) {
  if (buffer.lifetime === "persistent") return /moment|master/.test(buffer.name) ? "optimizer" : "parameters";
  if (buffer.lifetime === "slot") return "activations";
  if (/^d_|gradient|summed|there|reduced|squares/.test(buffer.name)) return "gradients";
  return buffer.lifetime === "scratch" ? "activations" : "inputs";
}

/**
 * How a rank holds a tensor, in a few words.
 * @param {Json} lesson @param {LessonBuffer} buffer
 */
export function holding_text(lesson, buffer) {
  const words = buffer.dims.filter((dim) => dim.axes?.length).map((dim) => `${dim.name} split by ${dim.axes?.join("+")}${dim.hops ? `, ${dim.hops} ${dim.hops === 1 ? "hop" : "hops"} on` : ""}`);
  if (buffer.pending) words.push(`one term of a sum over ${buffer.pending}`);
  return words.length > 0 ? words.join(", ") : lesson.axes.some((/** @type {Json} */ axis) => axis.name !== "pp" && axis.size > 1) ? "whole" : "";
}

/** @param {Json} lesson @param {Json} rank @param {LessonBuffer} buffer @param {LessonDim} dim */
function dim_track(lesson, rank, buffer, dim) {
  const parts = held_parts(lesson, rank, dim).map(([from, to]) => element("i", { class: `${buffer.pending ? "is_pending" : ""} kind_${kind_of(buffer)}`,
    style: { left: `${from * 100}%`, width: `${(to - from) * 100}%` } }));
  return element("span", { class: `dim ${dim.whole ? "is_split" : ""}` }, element("span", { class: "dim_name" }, dim.name, " ", element("b", {}, whole(dim.size)),
    dim.whole ? ` of ${whole(dim.whole)}` : ""), element("span", { class: "dim_track" }, ...parts));
}

/** @param {Json} lesson @param {Json} rank @param {LessonBuffer} buffer */
function tensor_box(lesson, rank, buffer) {
  const dims = buffer.dims.length > 0 ? buffer.dims.map((dim) => dim_track(lesson, rank, buffer, dim))
    : [element("span", { class: "dim" }, element("span", { class: "dim_name" }, "one number"), element("span", { class: "dim_track" },
      element("i", { class: `${buffer.pending ? "is_pending" : ""} kind_${kind_of(buffer)}`, style: { left: "0", width: "100%" } })))];
  return element("li", { class: "tensor", title: `${buffer.name}: ${buffer.dtype}, ${whole(buffer.bytes)} bytes, ${buffer.lifetime}` },
    element("div", { class: "lesson_tensor_head" }, element("code", {}, buffer.name), element("span", { class: "muted" }, bytes_text(buffer.bytes))),
    element("div", { class: "dims" }, ...dims),
    element("div", { class: "holding" }, holding_text(lesson, buffer)));
}

/** @param {LessonWalk} walk @param {Json} rank */
function peers_text(walk, rank) {
  const place = walk.place(rank.program);
  const peers = place ? walk.peers(rank, place) : [];
  if (!place || peers.length === 0) return "";
  const { op, axes, started } = place.instruction;
  const others = peers.filter((one) => one !== rank.rank).join(", ");
  if (op === "send") return `to rank ${others}`;
  if (op === "recv") return `from rank ${others}`;
  return `with rank ${others} along ${axes}${started ? ", goes on meanwhile" : ""}`;
}

/** @param {LessonWalk} walk @param {Json} rank */
function rank_card(walk, rank) {
  const { lesson } = walk;
  const place = walk.place(rank.program);
  const told = lesson.programs[rank.program];
  const coordinates = Object.entries(rank.coordinates).map(([axis, value]) => element("span", { class: "chip" }, `${axis} ${value}`));
  const memory = walk.memory(rank.program);
  const head = element("header", {}, element("h3", {}, `Rank ${rank.rank}`), ...coordinates);
  const foot = element("dl", { class: "rank_counters" },
    element("div", {}, element("dt", {}, "sent"), element("dd", {}, element("b", { class: "rank_sent" }, whole(Math.round(walk.sent_by(rank.program)))), ` of ${whole(Math.round(walk.sent_by(rank.program, walk.last)))} B`)),
    lesson.programs.length > 1 && element("div", {}, element("dt", {}, "idle"), element("dd", {}, element("b", { class: "rank_idle" }, whole(Number(walk.idle(rank.program).toFixed(2)))), " of ", whole(Number(lesson.times[walk.moment].toFixed(2))))),
    element("div", {}, element("dt", {}, "memory"), element("dd", {}, element("b", {}, bytes_text(memory)))),
    element("div", { class: "memory_track", "aria-hidden": true }, element("i", { style: { width: `${Math.min(100, memory / told.peak_bytes * 100)}%` } })));
  if (!place) return element("li", { class: "rank_card is_waiting" }, head, element("p", { class: "rank_place" }, "has not begun"), foot);
  const boxes = (/** @type {number[]} */ list) => list.map((index) => tensor_box(lesson, rank, place.buffers[index]));
  const { instruction, call } = place;
  const waits = !walk.moves(rank.program);
  return element("li", { class: `rank_card ${waits ? "is_waiting" : ""} ${instruction.group !== undefined ? "is_sending" : ""}` },
    head,
    element("p", { class: "rank_place" }, `${call.routine} of ${place.block}`, lesson.microbatches > 1 ? element("span", { class: "chip" }, `microbatch ${call.microbatch}`) : ""),
    element("p", { class: "rank_op" }, element("code", {}, instruction.op), element("span", { class: "muted small" }, waits ? " still" : "", ` ${peers_text(walk, rank)}`)),
    instruction.op === "attention" && lesson.zigzag > 1 && ring_mask(lesson, rank, place),
    instruction.reads.length > 0 && element("p", { class: "rank_label" }, "reads"),
    element("ul", { "aria-label": "reads" }, ...boxes(instruction.reads)),
    instruction.writes.length > 0 && element("p", { class: "rank_label" }, instruction.adds ? "adds to" : "writes"),
    element("ul", { "aria-label": "writes" }, ...boxes(instruction.writes)),
    foot);
}

/** @param {HTMLElement} root @param {LessonWalk} walk */
export function show_ranks(root, walk) {
  const ranks = shown_ranks(walk.lesson);
  root.style.setProperty("--columns", String(Math.min(4, ranks.length)));
  fill(root, ...ranks.map((rank) => rank_card(walk, rank)));
}
