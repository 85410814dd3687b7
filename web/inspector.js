// SPDX-License-Identifier: Apache-2.0
// What a bar of the timeline is: its instruction, its figures, what belongs to it on other ranks, its line of the IR, who made
// it and the line of C++ that it comes from. With no bar chosen: the instructions that take the most seconds.

import { app } from "./app.js";
import { is_cancelled } from "./ask.js";
import { element, fill } from "./dom.js";
import { bytes_text, percent, scaled, seconds_text, whole } from "./format.js";
import { ask_ir, history_text, history_view, source_view } from "./source_lines.js";
import { seconds_by_instruction, seconds_moving } from "./timeline_data.js";
import { wait_view } from "./timeline_waits.js";

/** @typedef {import("./timeline_canvas.js").TimelineCanvas} TimelineCanvas */
/** @typedef {{zoom_to: (slice: number) => void, select_slice: (slice: number) => void, light: (lit: import("./app.js").Lit) => void}} Acts */

const AROUND = 3;

/** @param {[string, string | null][]} rows */
function facts(rows) {
  return element("dl", { class: "facts" }, ...rows.filter(([, text]) => text !== null && text !== "").flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}

/** @param {import("./timeline_data.js").Timeline} timeline @param {number} number @param {number} place */
const slices_of = (timeline, number, place) => [...timeline.order].filter((slice) => timeline.instruction[slice] === number && timeline.lanes[timeline.lane[slice]].rank === place);

/** @param {TimelineCanvas} picture @param {number} slice @param {Acts} acts */
function slice_view(picture, slice, acts) {
  const { timeline } = picture;
  const number = timeline.instruction[slice];
  const one = timeline.instructions[number];
  const lane = timeline.lanes[timeline.lane[slice]];
  const rank = timeline.ranks[lane.rank];
  const length = timeline.length[slice];
  const moving = seconds_moving(timeline, slice);
  const all = slices_of(timeline, number, lane.rank);
  const total = all.reduce((sum, each) => sum + timeline.length[each], 0);
  const at = all.indexOf(slice);
  /** @param {string} text @param {number} way */
  const go = (text, way) => element("button", { class: "plain", "aria-disabled": !all[at + way], onclick: () => { if (all[at + way] !== undefined) acts.select_slice(all[at + way]); } }, text);
  const block = timeline.block ? timeline.blocks[timeline.block[slice]] : one.class;
  const ir_box = element("div", { class: "ir" });
  const source_box = element("div");
  show_ir(ir_box, source_box, one.line, acts, (line) => {
    const other = one.line === line ? number : timeline.instructions.findIndex((each) => each.line === line);
    const [found] = slices_of(timeline, other, lane.rank);
    if (found !== undefined) acts.select_slice(found);
  });
  return [
    element("h2", {}, one.op), ...wait_view(timeline, slice), element("p", { class: "muted" }, `${one.routine} of ${block}, microbatch ${timeline.microbatch[slice]}`),
    facts([["result", one.name], ["takes", seconds_text(length)], ["bytes move", moving < length ? seconds_text(moving) : null], ["begins", seconds_text(timeline.begin[slice])],
      ["rank", `${whole(rank.rank)}${rank.alike > 1 ? ` and ${whole(rank.alike - 1)} identical` : ""}`],
      ["flops", one.flops > 0 ? `${scaled(one.flops)}flop, ${scaled(one.flops / length)}flop/s` : null],
      ["bytes", one.bytes > 0 ? `${bytes_text(one.bytes)}${moving > 0 && one.kind !== "wait" ? `, ${bytes_text(one.bytes / moving)}/s` : ""}` : null],
      ["axes", one.axes ?? null], ["link", one.level ?? null],
      ["in the step", `${whole(all.length)} times, ${seconds_text(total)}, ${percent(total / timeline.seconds)}`]]),
    element("div", { class: "actions" }, go("Previous", -1), go("Next", 1), element("button", { class: "plain", onclick: () => acts.zoom_to(slice) }, "Zoom")),
    picture.lit_text && element("p", { class: "lit_text" }, picture.lit_text),
    ...links_view(picture, acts), element("h3", {}, "IR"), ir_box, source_box,
  ];
}

/**
 * The bars that belong to this one, on its own and on other ranks.
 * @param {TimelineCanvas} picture @param {Acts} acts
 */
function links_view({ timeline, links, cursor }, acts) {
  if (links.bars.length === 0) return [];
  /** @param {number} slice */
  const text = (slice) => `${timeline.instructions[timeline.instruction[slice]].op} on rank ${whole(timeline.ranks[timeline.lanes[timeline.lane[slice]].rank].rank)}`;
  const others = links.bars.filter((slice) => slice !== cursor);
  return [element("h3", {}, "Belongs together"), element("p", { class: "small" }, `${links.sentence[0]?.toUpperCase() ?? ""}${links.sentence.slice(1)}.`),
    element("ul", { class: "linked_bars" }, ...others.map((slice) => element("li", {}, element("button", { class: "link", onclick: () => acts.select_slice(slice) }, text(slice)),
      element("span", { class: "muted small" }, ` at ${seconds_text(timeline.begin[slice])}`))))];
}

/**
 * The lines of the IR around one, and the line of C++ that it comes from.
 * @param {HTMLElement} box @param {HTMLElement} source_box @param {number} line @param {Acts} acts @param {(line: number) => void} choose
 */
async function show_ir(box, source_box, line, acts, choose) {
  try {
    const lines = await ask_ir();
    const from = Math.max(0, line - AROUND);
    const near = lines.slice(from, line + AROUND + 1);
    fill(box, ...near.map((one, index) => element("button", { class: from + index === line ? "is_here" : "", title: history_text(one) || one.kind, onclick: () => choose(from + index) },
      element("i", {}, from + index + 1), element("code", {}, one.text.trim()))));
    const source = lines[line]?.source;
    fill(source_box, history_view(lines[line] ?? {}), ...(source ? source_view(source, () => acts.light({ source, owner: "", names: [] })) : []));
  } catch (error) {
    if (!is_cancelled(error)) fill(box, element("p", { class: "muted small" }, "The IR of this plan is not known."));
  }
}

/**
 * Instructions of the same name are one row, the longest first: a transfer has that of Plan's traffic, a wait that of what it waits for.
 * @param {import("./timeline_data.js").Timeline} timeline @param {number} place
 */
export function summary_rows(timeline, place) {
  /** @type {Record<string, {op: string, detail: string, kind: string, instruction: number, seconds: number, slices: number}>} */
  const rows = {};
  for (const { instruction, seconds, slices } of seconds_by_instruction(timeline, place)) {
    const one = timeline.instructions[instruction];
    const { op, axes, routine, kind } = timeline.instructions[one.awaits] ?? one;
    const detail = kind === "transfer" ? `${axes ?? "pp"}, in ${routine}` : `${one.class} ${routine}, ${one.name}`;
    const row = rows[`${one.kind} ${op} ${detail}`] ??= { op, detail, kind: one.kind, instruction, seconds: 0, slices: 0 };
    row.seconds += seconds;
    row.slices += slices;
  }
  return Object.values(rows).filter((row) => row.seconds > 0).sort((a, b) => b.seconds - a.seconds);
}

/** @param {TimelineCanvas} picture @param {Acts} acts */
function summary_view(picture, acts) {
  const { timeline } = picture;
  const place = Math.max(0, timeline.ranks.findIndex((one) => one.rank === app.selection.rank));
  const rows = summary_rows(timeline, place);
  /** @param {string} kind @param {string} title @param {string} hint @param {number} most */
  const part = (kind, title, hint, most) => {
    const own = rows.filter((row) => row.kind === kind);
    if (own.length === 0) return null;
    const total = own.reduce((sum, row) => sum + row.seconds, 0);
    return element("section", {}, element("h3", { title: hint }, title, element("span", { class: "muted" }, ` ${seconds_text(total)}`)),
      element("table", { class: "figures" }, element("tbody", {}, ...own.slice(0, most).map((row) => instruction_row(timeline, row, place, acts)))));
  };
  return [
    element("h2", {}, "Where the time goes"),
    element("p", { class: "muted small" }, `Rank ${whole(timeline.ranks[place]?.rank ?? 0)}. Choose a bar to see its instruction.`),
    part("kernel", "Kernels", "the rank computes", 8), part("wait", "Waits for", "the rank stalls until a transfer ends", 4),
    part("transfer", "Transfers", "while bytes move, as Traffic on Plan counts", 6),
  ];
}

/** @param {import("./timeline_data.js").Timeline} timeline @param {ReturnType<typeof summary_rows>[number]} row @param {number} place @param {Acts} acts */
function instruction_row(timeline, row, place, acts) {
  const choose = () => acts.select_slice(slices_of(timeline, row.instruction, place)[0] ?? -1);
  return element("tr", {}, element("td", { class: "is_text" }, element("button", { class: "link", onclick: choose }, row.op),
    element("em", { class: "muted small" }, row.detail)),
  element("td", {}, seconds_text(row.seconds)), element("td", { class: "muted" }, row.kind === "transfer" ? `${whole(row.slices)} \u00d7` : percent(row.seconds / timeline.seconds)));
}

/** @param {Acts} acts */
export function build_inspector(acts) {
  const box = element("aside", { class: "inspector", "aria-label": "What is selected" });
  return {
    box,
    /** @param {TimelineCanvas} picture @param {number} slice */
    show(picture, slice) {
      fill(box, ...(slice < 0 ? summary_view(picture, acts) : slice_view(picture, slice, acts)));
    },
  };
}
