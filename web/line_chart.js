// SPDX-License-Identifier: Apache-2.0
// A chart of figures over steps: each place has a least and a largest value, so that spikes stay in sight. Marks on the
// axis are events. Arrow keys and the pointer move a cursor, whose figures are told.

import { announce, element, fill, theme_colours } from "./dom.js";
import { whole } from "./format.js";

/** @typedef {{name: string, colour: string, step: number[], low: number[], high: number[], dashed?: boolean}} Series */
/** @typedef {{step: number, letter: string, text: string, bad: boolean}} Mark */

const HEIGHT = 150;
const LEFT = 52;
const BOTTOM = 20;

/**
 * Round numbers between two, few enough to read.
 * @param {number} low @param {number} high @param {number} most
 */
export function round_ticks(low, high, most) {
  const rough = (high - low || Math.abs(high) || 1) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? 10 * power;
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + 1e-9 * step; ++index) ticks.push(index * step + 0);
  return ticks;
}

/**
 * The least and the largest of all series, without what is not known.
 * @param {Series[]} series @param {boolean} from_zero
 */
export function range_of(series, from_zero) {
  let [low, high] = [Infinity, -Infinity];
  for (const one of series) {
    for (const value of one.low) if (value < low) low = value;
    for (const value of one.high) if (value > high) high = value;
  }
  if (low > high) return { low: 0, high: 1 };
  if (from_zero) low = Math.min(0, low);
  const margin = (high - low || Math.abs(high) || 1) * 0.04;
  return { low: from_zero ? low : low - margin, high: high + margin };
}

/** A chart; `band`: the first two series are the edges of one band. */
export class LineChart {
  /** @param {string} title @param {(value: number) => string} text @param {boolean} from_zero @param {boolean} [band] */
  constructor(title, text, from_zero, band = false) {
    this.text = text;
    this.from_zero = from_zero;
    this.band = band;
    this.canvas = element("canvas", { "aria-hidden": true });
    this.told = element("p", { class: "small muted chart_told" });
    this.names = element("span", { class: "small chart_names" });
    this.layer = element("div", { class: "chart_layer", tabindex: 0, role: "application", "aria-label": `${title} over steps; left and right move the cursor` }, this.canvas);
    this.box = element("figure", { class: "line_chart" }, element("figcaption", {}, element("span", {}, element("b", {}, title), this.names), this.told), this.layer);
    /** @type {Series[]} */ this.series = [];
    /** @type {Mark[]} */ this.marks = [];
    this.cursor = -1;
    this.listen();
  }

  get steps() {
    return this.series[0]?.step ?? [];
  }

  get first() {
    return this.steps[0] ?? 0;
  }

  get last() {
    return this.steps[this.steps.length - 1] ?? 1;
  }

  /** @param {number} step */
  x_of(step) {
    return LEFT + ((step - this.first) / Math.max(1, this.last - this.first)) * (this.layer.clientWidth - LEFT - 8);
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.layer.clientWidth;
    const context = this.canvas.getContext("2d", { alpha: false });
    if (!context || width === 0) return;
    [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(HEIGHT * ratio)];
    const colours = theme_colours([...this.series.map((one) => one.colour), "panel", "line", "muted", "ink", "bad"]);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, width, HEIGHT);
    const { low, high } = range_of(this.series, this.from_zero);
    const y_of = (/** @type {number} */ value) => HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - BOTTOM - 6);
    this.draw_axes(context, colours, round_ticks(low, high, 4), y_of);
    if (this.band && this.series.length > 1) this.draw_band(context, y_of, colours[this.series[0].colour]);
    for (const one of this.series) this.draw_series(context, one, y_of, colours[one.colour]);
    for (const mark of this.marks) {
      context.fillStyle = mark.bad ? colours.bad : colours.muted;
      context.fillRect(this.x_of(mark.step), mark.bad ? 4 : HEIGHT - BOTTOM - 6, mark.bad ? 2 : 1, mark.bad ? HEIGHT - BOTTOM : 6);
    }
    context.fillStyle = colours.ink;
    if (this.cursor >= 0) context.fillRect(this.x_of(this.steps[this.cursor]), 4, 1, HEIGHT - BOTTOM);
  }

  /** @param {CanvasRenderingContext2D} context @param {Record<string, string>} colours @param {number[]} ticks @param {(value: number) => number} y_of */
  draw_axes(context, colours, ticks, y_of) {
    const width = this.layer.clientWidth;
    context.font = "11px Inter, system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of ticks) {
      context.fillStyle = colours.line;
      context.fillRect(LEFT, Math.round(y_of(tick)), width - LEFT, 1);
      context.fillStyle = colours.muted;
      context.fillText(this.text(tick), LEFT - 6, y_of(tick));
    }
    for (const tick of round_ticks(this.first, this.last, width / 110)) {
      if (!Number.isInteger(tick)) continue;
      context.textAlign = this.x_of(tick) > width - 24 ? "right" : "center";
      context.fillText(whole(tick), Math.min(this.x_of(tick), width), HEIGHT - 8);
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {Series} one @param {(value: number) => number} y_of @param {string} colour */
  draw_series(context, one, y_of, colour) {
    context.beginPath();
    let open = false;
    one.step.forEach((step, index) => {
      if (Number.isNaN(one.low[index])) return;
      const x = this.x_of(step);
      if (open) context.lineTo(x, y_of(one.low[index]));
      else context.moveTo(x, y_of(one.low[index]));
      if (one.high[index] !== one.low[index]) context.lineTo(x, y_of(one.high[index]));
      open = true;
    });
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.setLineDash(one.dashed ? [3, 5] : []);
    context.stroke();
    context.setLineDash([]);
  }

  /** @param {CanvasRenderingContext2D} context @param {(value: number) => number} y_of @param {string} colour */
  draw_band(context, y_of, colour) {
    const [above, below] = this.series;
    const known = [...above.step.keys()].filter((index) => !Number.isNaN(above.high[index]) && !Number.isNaN(below.low[index]));
    context.beginPath();
    for (const index of known) context.lineTo(this.x_of(above.step[index]), y_of(above.high[index]));
    for (const index of known.reverse()) context.lineTo(this.x_of(above.step[index]), y_of(below.low[index]));
    context.globalAlpha = 0.15;
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
  }

  /** @param {number} index */
  move(index) {
    this.cursor = Math.max(0, Math.min(this.steps.length - 1, index));
    const step = this.steps[this.cursor];
    const before = this.steps[this.cursor - 1] ?? -1;  // a place may stand for many steps
    const near = this.marks.filter((mark) => mark.step > before && mark.step <= step).map((mark) => mark.text);
    this.layer.title = near.join("; ");
    const value_of = (/** @type {Series} */ one) => one.high[one.step === this.steps ? this.cursor : one.step.indexOf(step)] ?? NaN;
    const figures = this.series.filter((one) => !Number.isNaN(value_of(one))).map((one) => `${one.name} ${this.text(value_of(one))}`);
    fill(this.told, [`step ${whole(step ?? 0)}`, ...figures, ...near].join(", "));
    this.draw();
  }

  listen() {
    this.layer.addEventListener("pointermove", (event) => {
      const share = (event.offsetX - LEFT) / Math.max(1, this.layer.clientWidth - LEFT - 8);
      const wanted = this.first + share * ((this.steps[this.steps.length - 1] ?? 0) - this.first);
      const found = this.steps.findIndex((step) => step >= wanted);
      this.move(found < 0 ? this.steps.length - 1 : found);
    });
    this.layer.addEventListener("keydown", (event) => {
      const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (way === 0) return;
      event.preventDefault();
      this.move(this.cursor + way);
      announce(this.told.textContent ?? "");
    });
    new ResizeObserver(() => this.draw()).observe(this.layer);
  }

  /** @param {Series[]} next @param {Mark[]} events */
  show(next, events) {
    [this.series, this.marks] = [next, events];
    const one = this.series[0];
    fill(this.names, ...(this.series.length > 1 ? this.series.map((each) => element("span", {}, element("i", { class: `data_${each.colour}` }), each.name)) : []));
    if (this.cursor < 0 && one) fill(this.told, one.high.length > 0 ? this.text(one.high[one.high.length - 1]) : "");
    this.draw();
  }
}

/** @param {string} title @param {(value: number) => string} text @param {boolean} from_zero @param {boolean} [band] */
export const build_chart = (title, text, from_zero, band) => new LineChart(title, text, from_zero, band);
