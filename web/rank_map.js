// SPDX-License-Identifier: Apache-2.0
// Ranks over steps: a row for each rank, a cell for each part of the steps, coloured by how far the rank's own work lies
// above the median of all ranks. Arrow keys and the pointer read cells; the same is there as a table.

import { select } from "./app.js";
import { announce, element, fill, theme_colours } from "./dom.js";
import { percent, seconds_text, signed, whole } from "./format.js";

/** @typedef {import("./ask.js").Json} Json */
/** @typedef {import("./ask.js").Table} Table */
/** @typedef {{rank: number, over: number, compute: number, waiting: number}} Cell */
/** @typedef {{step: number, cells: Cell[]}} Part */

const LEFT = 64;
const BOTTOM = 20;
const FULL = 0.5;  // above or below the median, of the strongest colour
const MOST_HEIGHT = 256;

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
}

/**
 * A line of ranks.jsonl as a part of its own; null where it is none.
 * @param {Json} line
 * @returns {Part | null}
 */
export function part_of_line(line) {
  const { step, compute_seconds: compute, exposed_communication_seconds: exposed, bubble_seconds: bubble, rank } = line;
  const are_numbers = [compute, exposed, bubble, rank ?? []].every((list) => Array.isArray(list) && list.every(Number.isFinite));
  if (!are_numbers || !Number.isFinite(step) || compute.length === 0 || exposed.length !== compute.length || bubble.length !== compute.length) return null;
  const usual = median(compute);
  return { step, cells: compute.map((/** @type {number} */ seconds, /** @type {number} */ row) => ({ rank: rank?.[row] ?? row, over: seconds / usual - 1, compute: seconds, waiting: exposed[row] + bubble[row] })) };
}

/** @param {Table} table @returns {Part[]} */
export function parts_of_table({ head, columns }) {
  return Array.from({ length: head.parts }, (_, part) => ({ step: columns.step[part], cells: Array.from({ length: head.rows }, (_unused, row) => {
    const at = part * head.rows + row;
    return { rank: columns.rank[at], over: columns.over[at], compute: columns.compute_seconds[at], waiting: columns.waiting_seconds[at] };
  }) }));
}

/** @param {Cell} cell @param {number} step */
const cell_text = (cell, step) => `step ${whole(step)}, rank ${whole(cell.rank)}: computes ${seconds_text(cell.compute)}, ${signed(cell.over, percent)} of the median, waits ${seconds_text(cell.waiting)}`;

/**
 * A row for each rank: its work, and the moment when it was slowest beside the others.
 * @param {Part[]} parts
 */
function table_view(parts) {
  const rows = (parts.at(-1)?.cells ?? []).map((last, row) => {
    const worst = parts.reduce((found, part) => (part.cells[row].over > found.cells[row].over ? part : found));
    const cell = worst.cells[row];
    return element("tr", {}, element("th", { scope: "row" }, whole(cell.over > 0 ? cell.rank : last.rank)), element("td", {}, seconds_text(median(parts.map((part) => part.cells[row].compute)))), element("td", {}, seconds_text(median(parts.map((part) => part.cells[row].waiting)))),
      element("td", {}, signed(cell.over, percent)), element("td", {}, whole(worst.step)));
  });
  return element("table", { class: "figures" }, element("caption", {}, "Medians over the steps; the largest distance above the median of all ranks, and its step"),
    element("thead", {}, element("tr", {}, ...["rank", "computes", "waits", "at most above", "at step"].map((text) => element("th", { scope: "col" }, text)))), element("tbody", {}, ...rows));
}

export function build_rank_map() {
  const canvas = element("canvas", { "aria-hidden": true });
  const told = element("p", { class: "small muted chart_told" });
  const layer = element("div", { class: "rank_map_layer", id: "rank_map", tabindex: 0, role: "application", "aria-label": "Ranks over steps. Left and right: steps. Up and down: ranks. Enter: select the rank." }, canvas);
  const table = element("details", {}, element("summary", {}, "As a table"), element("div", { class: "scroll table_view" }));
  const key = element("span", { class: "small muted rank_map_key" }, "\u2212 50 %", element("i", {}), "+ 50 % of the median");
  const box = element("figure", { class: "line_chart rank_map", hidden: true }, element("figcaption", {}, element("span", {}, element("b", {}, "Ranks over steps"), key), told), layer, table);
  /** @type {Part[]} */ let parts = [];
  let ranks = 0;
  let cursor = { part: -1, row: 0 };
  const rows = () => parts.at(-1)?.cells.length ?? 0;
  const row_height = () => Math.max(2, Math.min(18, Math.floor(MOST_HEIGHT / Math.max(1, rows()))));
  const x_of = (/** @type {number} */ part) => LEFT + (part / Math.max(1, parts.length)) * (layer.clientWidth - LEFT);

  /** @param {CanvasRenderingContext2D} context @param {Record<string, string>} colours */
  const draw_axes = (context, colours) => {
    context.font = "11px Inter, system-ui, sans-serif";
    context.fillStyle = colours.muted;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const height = row_height();
    const every = Math.max(1, Math.ceil(14 / height));
    for (let row = 0; row < rows(); row += every) context.fillText(`rank ${whole(Math.floor((row * ranks) / rows()))}`, LEFT - 8, row * height + height / 2);
    const most = Math.max(1, Math.floor((layer.clientWidth - LEFT) / 110));
    for (let part = 0; part < parts.length; part += Math.ceil(parts.length / most)) {
      context.textAlign = part === 0 ? "left" : "center";
      context.fillText(whole(parts[part].step), part === 0 ? LEFT : (x_of(part) + x_of(part + 1)) / 2, rows() * height + BOTTOM / 2 + 2);
    }
  };

  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    const width = layer.clientWidth;
    const height = rows() * row_height() + BOTTOM;
    const context = canvas.getContext("2d", { alpha: false });
    if (!context || width === 0 || parts.length === 0) return;
    canvas.style.height = layer.style.height = `${height}px`;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const colours = theme_colours(["panel", "sunk", "vermillion", "blue", "muted", "ink"]);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, width, height);
    context.fillStyle = colours.sunk;
    context.fillRect(LEFT, 0, width - LEFT, rows() * row_height());
    const gap = row_height() > 6 ? 1 : 0;
    parts.forEach((part, index) => part.cells.forEach((cell, row) => {
      context.globalAlpha = Math.min(1, Math.abs(cell.over) / FULL);
      context.fillStyle = cell.over > 0 ? colours.vermillion : colours.blue;
      const [left, right] = [Math.floor(x_of(index)), Math.floor(x_of(index + 1))];
      context.fillRect(left, row * row_height(), Math.max(1, right - left), row_height() - gap);
    }));
    context.globalAlpha = 1;
    draw_axes(context, colours);
    if (cursor.part < 0 || cursor.part >= parts.length) return;
    context.strokeStyle = colours.ink;
    context.lineWidth = 2;
    context.strokeRect(x_of(cursor.part), cursor.row * row_height() - 1, Math.max(3, x_of(cursor.part + 1) - x_of(cursor.part)), row_height() + 1);
  };

  /** @param {number} part @param {number} row */
  const move = (part, row) => {
    if (parts.length === 0) return;
    cursor = { part: Math.max(0, Math.min(parts.length - 1, part)), row: Math.max(0, Math.min(rows() - 1, row)) };
    fill(told, cell_text(parts[cursor.part].cells[cursor.row], parts[cursor.part].step));
    draw();
  };
  const choose = () => { if (cursor.part >= 0) select({ rank: parts[cursor.part].cells[cursor.row].rank }); };
  const show_table = () => { if (table.open && parts.length > 0) fill(/** @type {Element} */ (table.lastElementChild), table_view(parts)); };
  const refresh = () => {
    box.hidden = rows() < 2;
    if (cursor.part < 0 && parts.length > 0) {
      const last = parts[parts.length - 1];
      const slowest = last.cells.reduce((found, cell) => (cell.over > found.over ? cell : found));
      fill(told, cell_text(slowest, last.step));
    }
    draw();
    show_table();
  };

  layer.addEventListener("pointermove", (event) => {
    if (event.offsetX >= LEFT) move(Math.floor(((event.offsetX - LEFT) / (layer.clientWidth - LEFT)) * parts.length), Math.floor(event.offsetY / row_height()));
  });
  layer.addEventListener("click", choose);
  layer.addEventListener("keydown", (event) => {
    if (event.key === "Enter") return choose();
    const ways = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] });
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    if (cursor.part < 0) move(parts.length - 1, 0);
    else move(cursor.part + way[0], cursor.row + way[1]);
    announce(told.textContent ?? "");
  });
  table.addEventListener("toggle", show_table);
  new ResizeObserver(draw).observe(layer);

  return {
    box,
    draw,
    parts: () => parts,
    /** @param {Table | null} answer Of the question `ranks`; null: of no run. */
    show(answer) {
      parts = answer ? parts_of_table(answer) : [];
      ranks = answer?.head.ranks ?? 0;
      cursor = { part: -1, row: 0 };
      refresh();
    },
    /** @param {Json[]} lines As they are written. */
    add(lines) {
      for (const line of lines) {
        const part = part_of_line(line);
        if (!part) continue;
        if (part.cells.length !== rows() || line.ranks !== ranks) parts = [];
        ranks = line.ranks;
        while (parts.length > 0 && parts[parts.length - 1].step >= part.step) parts.pop();
        parts.push(part);
      }
      if (lines.length > 0) refresh();
    },
  };
}
