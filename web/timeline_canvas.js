// SPDX-License-Identifier: Apache-2.0
// Draws the lanes of a step on a canvas: pixel rows first, then edges and text of wide bars, then what is selected.

import { theme_colours } from "./dom.js";
import { seconds_text, whole } from "./format.js";
import { fill_pixel_row, pixels_of } from "./pixel_rows.js";
import { draw_links } from "./timeline_arrows.js";
import { first_bar, make_bars } from "./timeline_data.js";
import { make_view, MEANINGS } from "./timeline_views.js";

/** @typedef {import("./timeline_data.js").Timeline} Timeline */
/** @typedef {import("./timeline_data.js").Bars} Bars */
/** @typedef {{lane: number, y: number, height: number}} Row */

export const GUTTER = 164;
const AXIS = 28;
const KERNELS = 26;
const TRANSFERS = 8;
const GROUP_GAP = 20;
const WIDE = 14;

const COLOURS = ["sky", "green", "orange", "purple", "yellow", "vermillion", "blue", "grey", "ink", "muted", "line", "panel", "paper", "accent", "sunk", "on_data", "wait"];

/**
 * Lanes of a class of ranks are neighbours: kernels, then transfers over near and far links.
 * @param {Timeline} timeline @param {string[]} levels
 * @returns {{rows: Row[], height: number}}
 */
export function lay_out(timeline, levels) {
  /** @type {Row[]} */
  const rows = [];
  let y = AXIS + 4;
  for (let rank = 0; rank < timeline.ranks.length; ++rank) {
    if (timeline.ranks[rank].measured && !timeline.ranks[rank - 1]?.measured) y += GROUP_GAP;
    const own = [...timeline.lanes.keys()].filter((index) => timeline.lanes[index].rank === rank);
    own.sort((a, b) => levels.indexOf(timeline.lanes[a].name) - levels.indexOf(timeline.lanes[b].name) || a - b);
    for (const lane of own) {
      const is_kernels = timeline.lanes[lane].name === "kernels";
      if (rows.length > 0 && rows[rows.length - 1].height === TRANSFERS && timeline.lanes[rows[rows.length - 1].lane].name !== timeline.lanes[lane].name) y += 4;
      rows.push({ lane, y, height: is_kernels ? KERNELS : TRANSFERS });
      y += is_kernels ? KERNELS + 4 : TRANSFERS + 1;
    }
    y += GROUP_GAP;
  }
  return { rows, height: y };
}

/**
 * Steps of 1, 2 or 5 that leave room for their text.
 * @param {number} span @param {number} width
 */
export function tick_step(span, width) {
  const rough = (span * 90) / Math.max(width, 90);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough) ?? 10 * power;
}

export class TimelineCanvas {
  /** @param {HTMLCanvasElement} canvas @param {Timeline} timeline @param {string[]} levels */
  constructor(canvas, timeline, levels) {
    this.canvas = canvas;
    this.timeline = timeline;
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser has no canvas");
    this.context = context;
    const { rows, height } = lay_out(timeline, levels);
    this.rows = rows;
    this.shown = rows;
    this.height = height;
    this.start = 0;
    this.stop = timeline.seconds;
    this.selected = -1;
    this.lit = new Set();  // instructions
    this.lit_text = "";
    /** @type {import("./timeline_links.js").Links} */ this.links = { bars: [], arrows: [], sentence: "" };
    this.cursor = -1;
    this.frame_milliseconds = 0;
    this.view_name = "pipeline";
    this.view = make_view(timeline, this.view_name);
    /** @type {Bars[]} */ this.bars = [];
    /** @type {Bars[]} */ this.runs = [];
    this.colours = theme_colours(COLOURS);
    this.sheet = document.createElement("canvas");
    /** @type {ImageData | null} */ this.image = null;
    this.set_view("pipeline");
  }

  /** @param {string} name */
  set_view(name) {
    this.view_name = name;
    this.view = make_view(this.timeline, name);
    this.bars = this.timeline.lanes.map((_, lane) => make_bars(this.timeline, lane, this.view));
    this.runs = this.timeline.lanes.map((_, lane) => make_bars(this.timeline, lane, this.view, true));
  }

  take_theme() {
    this.colours = theme_colours(COLOURS);
  }

  get width() {
    return this.canvas.clientWidth - GUTTER;
  }

  /** @param {number} time */
  x_of(time) {
    return GUTTER + ((time - this.start) / (this.stop - this.start)) * this.width;
  }

  /** @param {number} x */
  time_at(x) {
    return this.start + ((x - GUTTER) / this.width) * (this.stop - this.start);
  }

  /**
   * The lane at a height, or -1.
   * @param {number} y
   */
  lane_at(y) {
    return this.rows.find((row) => y >= row.y - 1 && y < row.y + row.height + 1)?.lane ?? -1;
  }

  /**
   * Shows a window of the step, never past its ends.
   * @param {number} start @param {number} stop
   */
  set_window(start, stop) {
    const total = this.timeline.seconds;
    const span = Math.min(total, Math.max(total / 1e6, stop - start));
    this.start = Math.max(0, Math.min(start, total - span));
    this.stop = this.start + span;
  }

  /**
   * Zooms around a time, which stays in its place.
   * @param {number} factor @param {number} time
   */
  zoom(factor, time) {
    this.set_window(time - (time - this.start) * factor, time + (this.stop - time) * factor);
  }

  /** Rows that the window shows; others cost nothing. */
  visible_rows() {
    const top = -this.canvas.getBoundingClientRect().top;
    return this.rows.filter((row) => row.y + row.height >= top - 40 && row.y <= top + window.innerHeight + 40);
  }

  draw() {
    const begin = performance.now();
    this.shown = this.visible_rows();
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    if (width <= GUTTER) return;
    const size = [Math.round(width * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) [this.canvas.width, this.canvas.height] = size;
    const { context, colours } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, width, this.height);
    this.draw_axis();
    this.draw_rows(ratio);
    this.draw_selected();
    this.draw_names();
    this.frame_milliseconds = performance.now() - begin;
  }

  draw_axis() {
    const { context, colours, start, stop } = this;
    const step = tick_step(stop - start, this.width);
    context.font = "11px Inter, system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let index = Math.ceil(start / step); index * step <= stop; ++index) {
      const x = Math.round(this.x_of(index * step)) + 0.5;
      context.fillStyle = colours.line;
      context.fillRect(x, AXIS - 6, 1, this.height - AXIS);
      context.fillStyle = colours.muted;
      context.textAlign = x > GUTTER + this.width - 30 ? "right" : x < GUTTER + 24 ? "left" : "center";
      context.fillText(seconds_text(index * step), x, 11);
    }
  }

  /** @param {number} ratio */
  draw_rows(ratio) {
    const { context, colours, start, stop, shown: rows } = this;
    const pixels = Math.round(this.width * ratio);
    const per_pixel = (stop - start) / pixels;
    const palette = pixels_of([colours.sunk, ...Array.from({ length: 16 }, (_, index) => this.colour_of(index + 1))]);
    const height = Math.max(1, rows.length);
    if (!this.image || this.image.width !== pixels || this.image.height !== height) this.image = new ImageData(pixels, height);
    const image = this.image;
    const target = new Uint32Array(image.data.buffer);
    const codes = new Uint8Array(pixels);
    rows.forEach((row, index) => {
      fill_pixel_row(this.bars[row.lane], start, per_pixel, codes);
      for (let x = 0, at = index * pixels; x < pixels; ++x, ++at) target[at] = palette[codes[x]];
    });
    if (this.sheet.width !== pixels || this.sheet.height !== image.height) [this.sheet.width, this.sheet.height] = [pixels, image.height];
    const sheet = /** @type {CanvasRenderingContext2D} */ (this.sheet.getContext("2d"));
    sheet.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    rows.forEach((row, index) => {
      context.drawImage(this.sheet, 0, index, pixels, 1, GUTTER, row.y, this.width, row.height);
      this.draw_wide(row);
    });
  }

  /** @param {number} code */
  colour_of(code) {
    const meaning = MEANINGS[this.view_name].find((one) => one.code === code);
    return meaning ? this.colours[meaning.colour] : "";
  }

  /**
   * Edges and text of bars that are wide enough.
   * @param {Row} row
   */
  draw_wide(row) {
    const { context, colours, timeline, start, stop } = this;
    const bars = this.runs[row.lane];
    const least = ((stop - start) / this.width) * 4;
    context.textAlign = "center";
    context.font = "600 11px Inter, system-ui, sans-serif";
    const first = first_bar(bars, start);
    for (let i = first; i < bars.count && bars.begin[i] < stop; ++i) {
      if (bars.end[i] - bars.begin[i] < least) continue;
      const left = Math.max(GUTTER, this.x_of(bars.begin[i]));
      const right = Math.min(GUTTER + this.width, this.x_of(bars.end[i]));
      context.fillStyle = colours.panel;
      if (bars.begin[i] > start) context.fillRect(Math.round(left), row.y, 1, row.height);
      if (right - left < WIDE || row.height < KERNELS) continue;
      const text = this.view.text(timeline.order[bars.first[i]]);
      if (text === "" || context.measureText(text).width > right - left - 3) continue;
      context.fillStyle = colours.on_data;
      context.fillText(text, (left + right) / 2, row.y + row.height / 2 + 0.5);
    }
  }

  /** All bars of the instructions that are lit, what belongs to the cursor's, and a frame around that. */
  draw_selected() {
    const { context, colours, timeline, start, stop } = this;
    if (this.lit.size === 0) return;
    context.fillStyle = colours.ink;
    for (const row of this.shown) {
      let drawn = -1;
      for (let i = timeline.lane_start[row.lane]; i < timeline.lane_start[row.lane + 1]; ++i) {
        const slice = timeline.order[i];
        if (!this.lit.has(timeline.instruction[slice]) || timeline.begin[slice] > stop || timeline.begin[slice] + timeline.length[slice] < start) continue;
        const left = Math.max(GUTTER, Math.floor(this.x_of(timeline.begin[slice])));
        const right = Math.min(GUTTER + this.width, Math.max(left + 1, this.x_of(timeline.begin[slice] + timeline.length[slice])));
        if (right <= drawn) continue;
        context.fillRect(left, row.y + row.height - 3, right - left, 3);
        drawn = right;
      }
    }
    if (this.cursor < 0) return;
    draw_links(this);
    const row = this.rows.find((one) => one.lane === timeline.lane[this.cursor]);
    if (!row) return;
    const left = this.x_of(timeline.begin[this.cursor]);
    const right = this.x_of(timeline.begin[this.cursor] + timeline.length[this.cursor]);
    if (right < GUTTER || left > GUTTER + this.width) return;
    context.strokeStyle = colours.ink;
    context.lineWidth = 2;
    context.strokeRect(Math.max(GUTTER, left) - 1, row.y - 1, Math.max(3, Math.min(right, GUTTER + this.width) - Math.max(GUTTER, left)) + 2, row.height + 2);
  }

  draw_names() {
    const { context, colours, timeline } = this;
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, GUTTER - 1, this.height);
    context.textAlign = "left";
    for (const row of this.shown) {
      const lane = timeline.lanes[row.lane];
      const middle = row.y + row.height / 2;
      if (lane.name === "kernels") {
        const { rank, alike, measured } = timeline.ranks[lane.rank];
        context.fillStyle = colours.ink;
        context.font = "600 12px Inter, system-ui, sans-serif";
        context.fillText(`rank ${whole(rank)}`, 0, middle - 6);
        context.fillStyle = colours.muted;
        context.font = "11px Inter, system-ui, sans-serif";
        context.fillText(measured ? "measured" : alike > 1 ? `and ${whole(alike - 1)} identical` : "", 0, middle + 8);
      } else if (lane.number === 0) {
        context.fillStyle = colours.muted;
        context.font = "11px Inter, system-ui, sans-serif";
        context.textAlign = "right";
        context.fillText(lane.name, GUTTER - 8, middle + 0.5);
        context.textAlign = "left";
      }
    }
  }
}
