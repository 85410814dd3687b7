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

/** The map with its table. */
export class RankMap {
  constructor() {
    this.canvas = element("canvas", { "aria-hidden": true });
    this.told = element("p", { class: "small muted chart_told" });
    this.layer = element("div", { class: "rank_map_layer", id: "rank_map", tabindex: 0, role: "application", "aria-label": "Ranks over steps. Left and right: steps. Up and down: ranks. Enter: select the rank." }, this.canvas);
    this.table = element("details", {}, element("summary", {}, "As a table"), element("div", { class: "scroll table_view" }));
    const key = element("span", { class: "small muted rank_map_key" }, "\u2212 50 %", element("i", {}), "+ 50 % of the median");
    this.box = element("figure", { class: "line_chart rank_map", hidden: true }, element("figcaption", {}, element("span", {}, element("b", {}, "Ranks over steps"), key), this.told), this.layer, this.table);
    /** @type {Part[]} */ this.kept = [];
    this.ranks = 0;
    this.cursor = { part: -1, row: 0 };
    this.listen();
  }

  parts() {
    return this.kept;
  }

  get rows() {
    return this.kept.at(-1)?.cells.length ?? 0;
  }

  get row_height() {
    return Math.max(2, Math.min(18, Math.floor(MOST_HEIGHT / Math.max(1, this.rows))));
  }

  /** @param {number} part */
  x_of(part) {
    return LEFT + (part / Math.max(1, this.kept.length)) * (this.layer.clientWidth - LEFT);
  }

  /** @param {CanvasRenderingContext2D} context @param {Record<string, string>} colours */
  draw_axes(context, colours) {
    context.font = "11px Inter, system-ui, sans-serif";
    context.fillStyle = colours.muted;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const { rows, row_height: height, kept } = this;
    const every = Math.max(1, Math.ceil(14 / height));
    for (let row = 0; row < rows; row += every) context.fillText(`rank ${whole(Math.floor((row * this.ranks) / rows))}`, LEFT - 8, row * height + height / 2);
    const most = Math.max(1, Math.floor((this.layer.clientWidth - LEFT) / 110));
    for (let part = 0; part < kept.length; part += Math.ceil(kept.length / most)) {
      context.textAlign = part === 0 ? "left" : "center";
      context.fillText(whole(kept[part].step), part === 0 ? LEFT : (this.x_of(part) + this.x_of(part + 1)) / 2, rows * height + BOTTOM / 2 + 2);
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {Record<string, string>} colours */
  draw_cells(context, colours) {
    const height = this.row_height;
    const gap = height > 6 ? 1 : 0;
    this.kept.forEach((part, index) => part.cells.forEach((cell, row) => {
      context.globalAlpha = Math.min(1, Math.abs(cell.over) / FULL);
      context.fillStyle = cell.over > 0 ? colours.vermillion : colours.blue;
      const [left, right] = [Math.floor(this.x_of(index)), Math.floor(this.x_of(index + 1))];
      context.fillRect(left, row * height, Math.max(1, right - left), height - gap);
    }));
    context.globalAlpha = 1;
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.layer.clientWidth;
    const height = this.rows * this.row_height + BOTTOM;
    const context = this.canvas.getContext("2d", { alpha: false });
    if (!context || width === 0 || this.kept.length === 0) return;
    this.canvas.style.height = this.layer.style.height = `${height}px`;
    [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const colours = theme_colours(["panel", "sunk", "vermillion", "blue", "muted", "ink"]);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, width, height);
    context.fillStyle = colours.sunk;
    context.fillRect(LEFT, 0, width - LEFT, height - BOTTOM);
    this.draw_cells(context, colours);
    this.draw_axes(context, colours);
    const { part, row } = this.cursor;
    if (part < 0 || part >= this.kept.length) return;
    context.strokeStyle = colours.ink;
    context.lineWidth = 2;
    context.strokeRect(this.x_of(part), row * this.row_height - 1, Math.max(3, this.x_of(part + 1) - this.x_of(part)), this.row_height + 1);
  }

  /** @param {number} part @param {number} row */
  move(part, row) {
    if (this.kept.length === 0) return;
    this.cursor = { part: Math.max(0, Math.min(this.kept.length - 1, part)), row: Math.max(0, Math.min(this.rows - 1, row)) };
    const now = this.kept[this.cursor.part];
    fill(this.told, cell_text(now.cells[this.cursor.row], now.step));
    this.draw();
  }

  choose() {
    if (this.cursor.part >= 0) select({ rank: this.kept[this.cursor.part].cells[this.cursor.row].rank });
  }

  show_table() {
    if (this.table.open && this.kept.length > 0) fill(/** @type {Element} */ (this.table.lastElementChild), table_view(this.kept));
  }

  refresh() {
    this.box.hidden = this.rows < 2;
    const last = this.kept.at(-1);
    if (this.cursor.part < 0 && last) fill(this.told, cell_text(last.cells.reduce((found, cell) => (cell.over > found.over ? cell : found)), last.step));
    this.draw();
    this.show_table();
  }

  listen() {
    const { layer } = this;
    layer.addEventListener("pointermove", (event) => {
      if (event.offsetX >= LEFT) this.move(Math.floor(((event.offsetX - LEFT) / (layer.clientWidth - LEFT)) * this.kept.length), Math.floor(event.offsetY / this.row_height));
    });
    layer.addEventListener("click", () => this.choose());
    layer.addEventListener("keydown", (event) => {
      if (event.key === "Enter") return this.choose();
      const ways = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] });
      const way = ways[event.key];
      if (!way) return;
      event.preventDefault();
      if (this.cursor.part < 0) this.move(this.kept.length - 1, 0);
      else this.move(this.cursor.part + way[0], this.cursor.row + way[1]);
      announce(this.told.textContent ?? "");
    });
    this.table.addEventListener("toggle", () => this.show_table());
    new ResizeObserver(() => this.draw()).observe(layer);
  }

  /** @param {Table | null} answer Of the question `ranks`; null: of no run. */
  show(answer) {
    this.kept = answer ? parts_of_table(answer) : [];
    this.ranks = answer?.head.ranks ?? 0;
    this.cursor = { part: -1, row: 0 };
    this.refresh();
  }

  /** @param {Json[]} lines As they are written. */
  add(lines) {
    for (const line of lines) {
      const part = part_of_line(line);
      if (!part) continue;
      if (part.cells.length !== this.rows || line.ranks !== this.ranks) this.kept = [];
      this.ranks = line.ranks;
      while (this.kept.length > 0 && this.kept[this.kept.length - 1].step >= part.step) this.kept.pop();
      this.kept.push(part);
    }
    if (lines.length > 0) this.refresh();
  }
}

export const build_rank_map = () => new RankMap();
