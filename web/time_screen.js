// SPDX-License-Identifier: Apache-2.0
// Time: the kernels and transfers of a step for every class of ranks, what each bar is, and memory over time.

import { app, on, select, tell } from "./app.js";
import { ask_columns, is_cancelled, newest, sentence_of } from "./ask.js";
import { build_clocks } from "./clocks.js";
import { announce, element, fill } from "./dom.js";
import { seconds_text, whole } from "./format.js";
import { build_inspector } from "./inspector.js";
import { MemoryLane } from "./memory_lane.js";
import { add_source, go_to_instruction } from "./palette.js";
import { ask_ir, instructions_of } from "./source_lines.js";
import { GUTTER, TimelineCanvas } from "./timeline_canvas.js";
import { first_bar, make_timeline, slice_at } from "./timeline_data.js";
import { export_svg, export_trace, open_in_perfetto } from "./timeline_export.js";
import { links_of } from "./timeline_links.js";
import { MEANINGS } from "./timeline_views.js";
import { find_fill } from "./timeline_waits.js";

/** @typedef {import("./timeline_data.js").Timeline} Timeline */

/** @type {TimelineCanvas | null} */
let picture = null;
let drawn_line = "";
let visible = false;
let frame = 0;
/** @type {HTMLElement} */
let fill_button;

const canvas = element("canvas", { "aria-hidden": true });
const layer = element("div", { class: "timeline_layer", tabindex: 0, role: "application", id: "timeline",
  "aria-label": "Timeline. Left and right: next bar. Up and down: next lane. Plus and minus: zoom. A and D: move. F: whole step. G: next bar that belongs to this one." });
const status = element("p", { class: "muted small", role: "status" });
const legend = element("ul", { class: "legend" });
const memory = new MemoryLane();
const inspector = build_inspector({ zoom_to, select_slice, light });
const clocks = build_clocks({
  show(timeline, line) {
    drawn_line = line;
    take_timeline(timeline);
  },
  leave() {
    drawn_line = "";
    ask_slices();
  },
  choose(instruction) {
    select_slice(picture?.timeline.order.find((slice) => picture?.timeline.instruction[slice] === instruction) ?? -1);
    layer.scrollIntoView({ block: "nearest" });
  },
});

const table = element("details", {}, element("summary", {}, "As a table"), element("div", { class: "scroll table_view" }));
const MOST_ROWS = 300;

/** What the window shows of the chosen rank's kernels, as rows: for those who cannot see a picture. */
function show_table() {
  if (!picture || !table.open) return;
  const { timeline, start, stop } = picture;
  const place = Math.max(0, timeline.ranks.findIndex((one) => one.rank === app.selection.rank));
  const lane = timeline.lanes.findIndex((one) => one.rank === place && one.name === "kernels");
  const bars = picture.runs[lane];
  const rows = [];
  for (let i = first_bar(bars, start); i < bars.count && bars.begin[i] < stop && rows.length < MOST_ROWS; ++i) {
    const slice = timeline.order[bars.first[i]];
    const { op, routine } = timeline.instructions[timeline.instruction[slice]];
    rows.push(element("tr", {}, element("th", { scope: "row" }, picture.view.text(slice) || op), element("td", {}, routine), element("td", {}, timeline.microbatch[slice]),
      element("td", {}, seconds_text(bars.begin[i])), element("td", {}, seconds_text(bars.end[i] - bars.begin[i]))));
  }
  fill(/** @type {Element} */ (table.lastElementChild), element("table", { class: "figures" }, element("caption", {}, `Rank ${timeline.ranks[place].rank}, ${rows.length === MOST_ROWS ? "first " : ""}${rows.length} bars of the window`),
    element("thead", {}, element("tr", {}, ...["bar", "routine", "microbatch", "begins", "takes"].map((text) => element("th", { scope: "col" }, text)))), element("tbody", {}, ...rows)));
}

/** The timeline as it is shown, for the inspector and for tests. */
export function timeline_picture() {
  return picture;
}

function redraw() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => {
    if (!picture) return;
    picture.draw();
    memory.draw(picture);
    show_table();
  });
}

/**
 * The memory of the class of ranks that is selected; of the fullest where none is.
 * @param {number} place
 */
async function show_memory(place) {
  await memory.load(place < 0 ? -1 : picture?.timeline.ranks[place]?.pp ?? -1);
  redraw();
}

/** Moves the window to where the memory is fullest and lists what lies in it. */
async function jump_to_peak() {
  await show_memory(-1);
  const told = await memory.show_at(inspector.box, -1);
  if (!told || !picture) return;
  const span = Math.min(picture.stop - picture.start, picture.timeline.seconds / 8);
  picture.set_window(told.time - span / 2, told.time + span / 2);
  announce(`peak of rank ${told.rank}: ${told.call.routine} of ${told.call.block}`);
  redraw();
}

/** @param {number} slice */
function zoom_to(slice) {
  if (!picture) return;
  const { begin, length } = picture.timeline;
  const margin = Math.max(length[slice] * 4, picture.timeline.seconds / 1e5);
  picture.set_window(begin[slice] - margin, begin[slice] + length[slice] + margin);
  redraw();
}

/** @param {TimelineCanvas} shown */
function jump_to_fill(shown) {
  const slice = find_fill(shown.timeline);
  if (slice < 0) return;
  select_slice(slice);
  const { begin, length } = shown.timeline;
  shown.set_window(begin[slice], begin[slice] + length[slice] * 2);
}

/** @param {number} slice */
function select_slice(slice) {
  if (!picture) return;
  const { timeline } = picture;
  picture.cursor = slice;
  picture.selected = slice < 0 ? -1 : timeline.instruction[slice];
  picture.lit = new Set(slice < 0 ? [] : [picture.selected]);
  picture.lit_text = "";
  picture.links = links_of(timeline, slice);
  if (slice >= 0) {
    const end = timeline.begin[slice] + timeline.length[slice];
    if (end < picture.start || timeline.begin[slice] > picture.stop) {
      const span = picture.stop - picture.start;
      picture.set_window(timeline.begin[slice] - span / 2, timeline.begin[slice] + span / 2);
    }
    const lane = timeline.lanes[timeline.lane[slice]];
    memory.time = timeline.begin[slice];
    show_memory(lane.rank);
    select({ rank: timeline.ranks[lane.rank].rank, instruction: picture.selected, microbatch: timeline.microbatch[slice], time: timeline.begin[slice], lit: null });
    const { op, routine } = timeline.instructions[picture.selected];
    announce(`${op}, ${routine} of microbatch ${timeline.microbatch[slice]}, ${seconds_text(timeline.length[slice])}${picture.links.sentence && `, ${picture.links.sentence}`}`);
  } else {
    select({ instruction: -1, microbatch: -1, time: -1, lit: null });
  }
  inspector.show(picture, slice);
  clocks.select(inspector.box, picture.selected);
  redraw();
}

/**
 * Lights all bars of some instructions, and says how many there are.
 * @param {import("./app.js").Lit} lit
 */
async function light(lit) {
  const shown = picture;
  const lines = await ask_ir().catch(() => []);
  if (!shown || shown !== picture) return;
  const { timeline } = shown;
  const found = new Set(instructions_of(timeline, lines, lit));
  const bars = [...timeline.order].filter((slice) => found.has(timeline.instruction[slice]));
  const what = lit.names.length > 0 ? `%${lit.names[0]}` : lit.source;
  if (bars.length > 0 && !found.has(shown.selected)) select_slice(bars[0]);
  shown.lit = found;
  shown.lit_text = bars.length === 0 ? `No bar comes from ${what}.` : `${what}: ${whole(found.size)} ${found.size === 1 ? "instruction" : "instructions"}, ${whole(bars.length)} bars.`;
  select({ lit });
  announce(shown.lit_text);
  inspector.show(shown, shown.cursor);
  redraw();
}

/** The next of the bars that belong to the cursor's, lane by lane. */
function step_link() {
  if (!picture) return;
  const { links, rows, timeline, cursor } = picture;
  const row_of = (/** @type {number} */ slice) => rows.findIndex((row) => row.lane === timeline.lane[slice]);
  const bars = [...links.bars].sort((a, b) => row_of(a) - row_of(b) || timeline.begin[a] - timeline.begin[b]);
  if (bars.length > 0) select_slice(bars[(bars.indexOf(cursor) + 1) % bars.length]);
}

/**
 * The slice after or before the cursor in its lane.
 * @param {number} way
 */
function step_bar(way) {
  if (!picture) return;
  const { timeline } = picture;
  if (picture.cursor < 0) return select_slice(timeline.order[0] ?? -1);
  const lane = timeline.lane[picture.cursor];
  let place = timeline.order.indexOf(picture.cursor, timeline.lane_start[lane]) + way;
  while (place >= timeline.lane_start[lane] && place < timeline.lane_start[lane + 1] && timeline.length[timeline.order[place]] === 0) place += way;
  if (place >= timeline.lane_start[lane] && place < timeline.lane_start[lane + 1]) select_slice(timeline.order[place]);
}

/**
 * The slice of the next lane at about the same time.
 * @param {number} way
 */
function step_lane(way) {
  if (!picture) return;
  const { timeline, rows } = picture;
  if (picture.cursor < 0) return step_bar(0);
  let row = rows.findIndex((one) => one.lane === timeline.lane[/** @type {TimelineCanvas} */ (picture).cursor]) + way;
  const time = timeline.begin[picture.cursor];
  for (; row >= 0 && row < rows.length; row += way) {
    const lane = rows[row].lane;
    const found = slice_at(timeline, lane, time);
    const nearest = found >= 0 ? found : timeline.order[timeline.lane_start[lane]];
    if (timeline.lane_start[lane] < timeline.lane_start[lane + 1]) return select_slice(nearest);
  }
}

/** @param {KeyboardEvent} event */
function on_key(event) {
  if (!picture || event.ctrlKey || event.metaKey) return;
  const span = picture.stop - picture.start;
  const middle = (picture.start + picture.stop) / 2;
  const around = picture.cursor >= 0 ? Math.min(picture.stop, Math.max(picture.start, picture.timeline.begin[picture.cursor])) : middle;
  /** @type {Record<string, () => void>} */
  const acts = {
    ArrowRight: () => step_bar(1), ArrowLeft: () => step_bar(-1), ArrowDown: () => step_lane(1), ArrowUp: () => step_lane(-1),
    "+": () => picture?.zoom(0.5, around), "=": () => picture?.zoom(0.5, around), w: () => picture?.zoom(0.5, around),
    "-": () => picture?.zoom(2, around), s: () => picture?.zoom(2, around),
    a: () => picture?.set_window(picture.start - span / 4, picture.stop - span / 4),
    d: () => picture?.set_window(picture.start + span / 4, picture.stop + span / 4),
    f: () => picture?.set_window(0, picture.timeline.seconds), Escape: () => select_slice(-1), g: step_link,
    Enter: () => { if (picture && picture.cursor >= 0) zoom_to(picture.cursor); },
  };
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  act();
  redraw();
}

function listen() {
  let dragging = false;
  let moved = 0;
  layer.addEventListener("pointerdown", (event) => {
    dragging = true;
    moved = 0;
    layer.setPointerCapture(event.pointerId);
  });
  layer.addEventListener("pointermove", (event) => {
    if (!dragging || !picture) return;
    moved += Math.abs(event.movementX);
    const shift = (-event.movementX / picture.width) * (picture.stop - picture.start);
    picture.set_window(picture.start + shift, picture.stop + shift);
    redraw();
  });
  layer.addEventListener("pointerup", (event) => {
    dragging = false;
    if (!picture || moved > 3 || event.offsetX < GUTTER) return;
    const lane = picture.lane_at(event.offsetY);
    select_slice(lane < 0 ? -1 : slice_at(picture.timeline, lane, picture.time_at(event.offsetX)));
  });
  layer.addEventListener("dblclick", () => { if (picture && picture.cursor >= 0) zoom_to(picture.cursor); });
  layer.addEventListener("wheel", (event) => {
    if (!picture) return;
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) picture.zoom(Math.exp(event.deltaY * 0.004), picture.time_at(event.offsetX));
    else if (Math.abs(sideways) > 0) picture.set_window(picture.start + (sideways / picture.width) * (picture.stop - picture.start), picture.stop + (sideways / picture.width) * (picture.stop - picture.start));
    else return;
    event.preventDefault();
    redraw();
  }, { passive: false });
  memory.canvas.addEventListener("click", async (event) => {
    if (!picture || event.offsetX < GUTTER) return;
    await memory.show_at(inspector.box, picture.time_at(event.offsetX));
    redraw();
  });
  layer.addEventListener("keydown", on_key);
  table.addEventListener("toggle", show_table);
  new ResizeObserver(redraw).observe(layer);
  window.addEventListener("scroll", () => { if (visible) redraw(); }, { passive: true });
}

/** @param {string} name */
function show_legend(name) {
  fill(legend, ...MEANINGS[name].map(({ letter, name: text, colour }) => element("li", {}, element("i", { class: `data_${colour}` }), letter ? element("b", {}, `${letter} `) : "", text)));
}

/** From near to far. */
function level_names() {
  const cluster = app.lists.clusters.find((one) => one.name === app.run.cluster);
  return (cluster?.levels ?? []).map((/** @type {any} */ level) => level.name);
}

/** The roofline of the cluster's device. */
function device_now() {
  const device = app.lists.clusters.find((one) => one.name === app.run.cluster)?.device;
  const peak = device?.peak_flops[(app.run.set["train.precision"] ?? "bf16").replace("pure_", "")] ?? Object.values(device?.peak_flops ?? {})[0];
  return peak ? { flops: peak.value, bandwidth: device.memory_bandwidth.value, launch: device.launch_seconds.value } : null;
}

/** @param {Timeline} timeline */
function take_timeline(timeline) {
  timeline.device = device_now();
  const view = picture?.view_name ?? (timeline.ranks.length > 1 ? "pipeline" : "kind");
  picture = new TimelineCanvas(canvas, timeline, ["kernels", ...level_names()]);
  choose_view(view);
  layer.style.height = canvas.style.height = `${picture.height}px`;
  inspector.show(picture, -1);
  fill_button.hidden = find_fill(timeline) < 0;
  memory.time = -1;
  show_memory(-1);
  if (app.selection.lit) light(app.selection.lit);
  const classes = timeline.ranks.filter((rank) => !rank.measured).length;
  const measured = timeline.ranks.length - classes;
  fill(status, `${whole(timeline.begin.length)} slices of ${whole(classes)} ${classes === 1 ? "class" : "classes"} of ranks${measured > 0 ? ` and ${whole(measured)} measured` : ""}`);
  redraw();
}

async function ask_slices() {
  if (!visible || drawn_line === app.line) return;
  const line = app.line;
  fill(status, "compiling and simulating");
  try {
    const table = await ask_columns("slices", { run: app.run, blocks: true }, newest("slices"));
    drawn_line = line;
    take_timeline(make_timeline(table));
  } catch (error) {
    if (!is_cancelled(error)) fill(status, sentence_of(error).what);
  }
}

/** @param {string} name */
function choose_view(name) {
  picture?.set_view(name);
  for (const one of Object.keys(MEANINGS)) document.getElementById(`view_${one}`)?.setAttribute("aria-pressed", String(one === name));
  show_legend(name);
  redraw();
}

function build_bar() {
  const views = Object.keys(MEANINGS).map((name) => element("button", { id: `view_${name}`, onclick: () => choose_view(name) }, name === "bound" ? "bound by" : name));
  /** @param {string} text @param {string} title @param {(picture: TimelineCanvas) => void} act */
  const button = (text, title, act) => element("button", { class: "plain", title, "aria-label": title, onclick: () => { if (picture) act(picture); redraw(); } }, text);
  const middle = (/** @type {TimelineCanvas} */ shown) => (shown.start + shown.stop) / 2;
  return element("div", { class: "time_bar" },
    element("div", { class: "segments", role: "group", "aria-label": "Colours by" }, ...views),
    element("div", { class: "actions", role: "group", "aria-label": "Zoom" },
      button("\u2212", "zoom out", (shown) => shown.zoom(2, middle(shown))), button("+", "zoom in", (shown) => shown.zoom(0.5, middle(shown))),
      button("Whole step", "show the whole step", (shown) => shown.set_window(0, shown.timeline.seconds)),
      button("Memory peak", "jump to where the memory is fullest", jump_to_peak), fill_button = button("Pipeline fill", "jump to where a stage waits for its first microbatch", jump_to_fill)),
    status,
    element("div", { class: "actions is_end", role: "group", "aria-label": "Export" },
      button("SVG", "save what is shown as a picture", export_svg), button("Trace", "save the step as a trace for Perfetto", (shown) => export_trace(shown.timeline)),
      button("Perfetto", "open the step in ui.perfetto.dev, which needs the internet", (shown) => open_in_perfetto(shown.timeline))));
}

/** @type {import("./main.js").Screen} */
export const time_screen = {
  build(root) {
    layer.append(canvas);
    root.append(build_bar(), element("div", { class: "legend_row" }, legend, clocks.control), element("div", { class: "time_body" }, element("div", {}, element("div", { class: "timeline_frame" }, layer, memory.canvas), clocks.panel, table), inspector.box));
    listen();
    choose_view("pipeline");
    on("run", ask_slices);
    on("theme", () => {
      picture?.take_theme();
      redraw();
    });
    add_source("instructions", () => (picture?.timeline.instructions ?? []).map((one, index) => ({
      title: `${one.op} ${one.name}`, detail: `${one.class}, ${one.routine}`, act: () => {
        go_to_instruction(index);
        const slice = picture?.timeline.order.find((each) => picture?.timeline.instruction[each] === index);
        if (slice !== undefined) select_slice(slice);
      } })));
  },
  show() {
    visible = true;
    clocks.list();
    ask_slices();
    if (picture && drawn_line === app.line && app.selection.lit) light(app.selection.lit);
    redraw();
    tell("selection");
  },
  hide() {
    visible = false;
  },
};
