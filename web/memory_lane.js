// SPDX-License-Identifier: Apache-2.0
// Memory over the step of one class of ranks, below the timeline and on its clock, and what lies in it at a time.

import { app } from "./app.js";
import { ask, ask_columns, is_cancelled, newest } from "./ask.js";
import { element, fill } from "./dom.js";
import { bytes_text, seconds_text, whole } from "./format.js";
import { MEMORY_KINDS } from "./memory_bars.js";
import { GUTTER } from "./timeline_canvas.js";

/** @typedef {import("./timeline_canvas.js").TimelineCanvas} TimelineCanvas */
/** @typedef {import("./ask.js").Json} Json */

const HEIGHT = 120;
const COLOURS = ["sky", "orange", "green", "yellow", "purple", "grey", "grey"];  // of MEMORY_KINDS

export class MemoryLane {
  constructor() {
    this.canvas = element("canvas", { class: "memory_lane", "aria-hidden": true });
    /** @type {import("./ask.js").Table | null} */
    this.curve = null;
    this.key = "";
    this.time = -1;
  }

  /**
   * Asks for the curve of a place of the pipeline, once for each line; the fullest where none is named.
   * @param {number} pp
   */
  async load(pp) {
    const key = `${app.line} ${pp}`;
    if (key === this.key) return;
    try {
      const fields = pp < 0 ? { run: app.run, curve: true } : { run: app.run, pp, curve: true };
      this.curve = await ask_columns("memory_at", fields, newest("memory_curve"));
      this.key = key;
    } catch (error) {
      if (!is_cancelled(error)) this.curve = null;
    }
  }

  /**
   * Steps of memory as an area, with the line of the device and the peak.
   * @param {TimelineCanvas} picture
   */
  draw(picture) {
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    const context = this.canvas.getContext("2d", { alpha: false });
    if (!context || width <= GUTTER) return;
    [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(HEIGHT * ratio)];
    const { colours } = picture;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, width, HEIGHT);
    if (!this.curve) return;
    const { head, columns } = this.curve;
    const scale = 1.12 * Math.max(head.peak_bytes, head.device_memory_bytes);
    const y_of = (/** @type {number} */ bytes) => HEIGHT - 2 - (bytes / scale) * (HEIGHT - 16);
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, width - GUTTER, HEIGHT);
    context.clip();
    this.draw_area(context, picture, columns.begin, columns.bytes, y_of, colours.yellow);
    this.draw_kept(context, picture, head.bytes, y_of);
    const line = Math.round(y_of(head.device_memory_bytes));
    context.fillStyle = colours.ink;
    context.fillRect(GUTTER, line, width, 1);
    for (const [time, colour] of /** @type {[number, string][]} */ ([[head.peak_time, colours.vermillion], [this.time, colours.ink]])) {
      if (time >= 0) {
        context.fillStyle = colour;
        context.fillRect(Math.round(picture.x_of(time)), 4, 2, HEIGHT - 6);
      }
    }
    context.restore();
    this.draw_names(context, head, colours, line);
  }

  /**
   * Kinds that do not change, below activations, which alone do.
   * @param {CanvasRenderingContext2D} context @param {TimelineCanvas} picture @param {Json} bytes @param {(bytes: number) => number} y_of
   */
  draw_kept(context, picture, bytes, y_of) {
    const begin = picture.x_of(0);
    let top = 0;
    MEMORY_KINDS.forEach((kind, index) => {
      if (kind === "activations" || !bytes[kind]) return;
      top += bytes[kind];
      context.fillStyle = picture.colours[COLOURS[index]];
      context.fillRect(begin, y_of(top), picture.x_of(picture.timeline.seconds) - begin, y_of(top - bytes[kind]) - y_of(top));
    });
  }

  /** @param {CanvasRenderingContext2D} context @param {Json} head @param {Record<string, string>} colours @param {number} line */
  draw_names(context, head, colours, line) {
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillStyle = colours.ink;
    context.font = "600 12px Inter, system-ui, sans-serif";
    context.fillText(`memory of rank ${whole(head.rank)}`, 0, 24);
    context.fillStyle = colours.muted;
    context.font = "11px Inter, system-ui, sans-serif";
    context.fillText(`peak ${bytes_text(head.peak_bytes)}`, 0, 41);
    context.fillText(`at ${seconds_text(head.peak_time)}`, 0, 57);
    context.fillStyle = colours.ink;
    context.fillText(bytes_text(head.device_memory_bytes), GUTTER + 4, line - 8);
  }

  /**
   * @param {CanvasRenderingContext2D} context @param {TimelineCanvas} picture @param {ArrayLike<number>} begin
   * @param {ArrayLike<number>} bytes @param {(bytes: number) => number} y_of @param {string} colour
   */
  draw_area(context, picture, begin, bytes, y_of, colour) {
    context.beginPath();
    context.moveTo(picture.x_of(begin[0] ?? 0), HEIGHT);
    for (let i = 0; i < begin.length; ++i) {
      const x = picture.x_of(begin[i]);
      if (i > 0) context.lineTo(x, y_of(bytes[i - 1]));
      context.lineTo(x, y_of(bytes[i]));
    }
    context.lineTo(picture.x_of(picture.timeline.seconds), y_of(bytes[begin.length - 1] ?? 0));
    context.lineTo(picture.x_of(picture.timeline.seconds), HEIGHT);
    context.fillStyle = colour;
    context.fill();
  }

  /**
   * What lies in memory at a time; the peak where none is named.
   * @param {HTMLElement} box @param {number} time
   */
  async show_at(box, time) {
    try {
      const pp = this.curve?.head.pp ?? 0;
      const told = await ask("memory_at", time < 0 ? { run: app.run, pp } : { run: app.run, pp, time }, newest("memory_at"));
      this.time = told.time;
      fill(box, ...memory_view(told));
      return told;
    } catch (error) {
      if (!is_cancelled(error)) fill(box, element("p", { class: "muted" }, "Memory at this time is not known."));
      return null;
    }
  }
}

/** @param {Json} told */
function memory_view(told) {
  const kinds = Object.entries(told.bytes).filter(([, bytes]) => Number(bytes) > 0).sort(([, a], [, b]) => Number(b) - Number(a));
  const most = Math.max(...kinds.map(([, bytes]) => Number(bytes)));
  const { call } = told;
  const is_peak = told.all_bytes === told.peak_bytes;
  return [
    element("h2", {}, is_peak ? "Memory at the peak" : "Memory"),
    element("p", { class: "muted small" }, `Rank ${whole(told.rank)} at ${seconds_text(told.time)}, in ${call.routine} of ${call.block}, microbatch ${call.microbatch}.`),
    element("p", { class: "big" }, bytes_text(told.all_bytes), element("span", { class: "muted small" }, ` of ${bytes_text(told.device_memory_bytes)}`)),
    element("table", { class: "figures" }, element("tbody", {}, ...kinds.map(([kind, bytes]) => element("tr", {}, element("th", { scope: "row" }, element("i", { class: `swatch kind_${kind}` }), kind.replace("_", " ")),
      element("td", { class: "with_bar" }, element("i", { style: { width: `${(Number(bytes) / most) * 100}%` } }), element("span", {}, bytes_text(Number(bytes)))))))),
    element("h3", {}, "Largest kept buffers, one for each layer and microbatch in flight"),
    element("table", { class: "figures" }, element("tbody", {}, ...told.buffers.slice(0, 12).map((/** @type {Json} */ row) => element("tr", {},
      element("td", { class: "is_text" }, element("code", {}, row.name), element("em", { class: "muted small" }, `${row.class}, ${whole(row.count)} of ${row.type}`)),
      element("td", {}, bytes_text(row.bytes)))))),
  ];
}
