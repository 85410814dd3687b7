// SPDX-License-Identifier: Apache-2.0
// A chart of figures over steps: each place has a least and a largest value, so that spikes stay in sight. Marks on the
// axis are events. Arrow keys and the pointer move a cursor, whose figures are told.

import { announce, element, fill, theme_colours } from "./dom.js";
import { whole } from "./format.js";

/** @typedef {{name: string, colour: string, step: number[], low: number[], high: number[]}} Series */
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

/**
 * `band`: the first two series are the edges of one band.
 * @param {string} title @param {(value: number) => string} text @param {boolean} from_zero @param {boolean} [band]
 */
export function build_chart(title, text, from_zero, band = false) {
  const canvas = element("canvas", { "aria-hidden": true });
  const told = element("p", { class: "small muted chart_told" });
  const names = element("span", { class: "small chart_names" });
  const layer = element("div", { class: "chart_layer", tabindex: 0, role: "application", "aria-label": `${title} over steps; left and right move the cursor` }, canvas);
  const box = element("figure", { class: "line_chart" }, element("figcaption", {}, element("span", {}, element("b", {}, title), names), told), layer);
  /** @type {Series[]} */ let series = [];
  /** @type {Mark[]} */ let marks = [];
  let cursor = -1;
  const steps = () => series[0]?.step ?? [];
  const x_of = (/** @type {number} */ step) => LEFT + ((step - (steps()[0] ?? 0)) / Math.max(1, (steps()[steps().length - 1] ?? 1) - (steps()[0] ?? 0))) * (layer.clientWidth - LEFT - 8);

  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    const width = layer.clientWidth;
    const context = canvas.getContext("2d", { alpha: false });
    if (!context || width === 0) return;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(HEIGHT * ratio)];
    const colours = theme_colours([...series.map((one) => one.colour), "panel", "line", "muted", "ink", "bad"]);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, width, HEIGHT);
    const { low, high } = range_of(series, from_zero);
    const y_of = (/** @type {number} */ value) => HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - BOTTOM - 6);
    context.font = "11px Inter, system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of round_ticks(low, high, 4)) {
      context.fillStyle = colours.line;
      context.fillRect(LEFT, Math.round(y_of(tick)), width - LEFT, 1);
      context.fillStyle = colours.muted;
      context.fillText(text(tick), LEFT - 6, y_of(tick));
    }
    context.textAlign = "center";
    for (const tick of round_ticks(steps()[0] ?? 0, steps()[steps().length - 1] ?? 1, width / 110)) {
      if (!Number.isInteger(tick)) continue;
      context.textAlign = x_of(tick) > width - 24 ? "right" : "center";
      context.fillText(whole(tick), Math.min(x_of(tick), width), HEIGHT - 8);
    }
    if (band && series.length > 1) draw_band(context, series[0], series[1], y_of, colours[series[0].colour]);
    for (const one of series) draw_series(context, one, y_of, colours[one.colour]);
    for (const mark of marks) {
      context.fillStyle = mark.bad ? colours.bad : colours.muted;
      context.fillRect(x_of(mark.step), mark.bad ? 4 : HEIGHT - BOTTOM - 6, mark.bad ? 2 : 1, mark.bad ? HEIGHT - BOTTOM : 6);
    }
    context.fillStyle = colours.ink;
    if (cursor >= 0) context.fillRect(x_of(steps()[cursor]), 4, 1, HEIGHT - BOTTOM);
  };
  /** @param {CanvasRenderingContext2D} context @param {Series} one @param {(value: number) => number} y_of @param {string} colour */
  const draw_series = (context, one, y_of, colour) => {
    context.beginPath();
    let open = false;
    one.step.forEach((step, index) => {
      if (Number.isNaN(one.low[index])) return;
      const x = x_of(step);
      if (open) context.lineTo(x, y_of(one.low[index]));
      else context.moveTo(x, y_of(one.low[index]));
      if (one.high[index] !== one.low[index]) context.lineTo(x, y_of(one.high[index]));
      open = true;
    });
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.stroke();
  };
  /** @param {CanvasRenderingContext2D} context @param {Series} above @param {Series} below @param {(value: number) => number} y_of @param {string} colour */
  const draw_band = (context, above, below, y_of, colour) => {
    const known = [...above.step.keys()].filter((index) => !Number.isNaN(above.high[index]) && !Number.isNaN(below.low[index]));
    context.beginPath();
    for (const index of known) context.lineTo(x_of(above.step[index]), y_of(above.high[index]));
    for (const index of known.reverse()) context.lineTo(x_of(above.step[index]), y_of(below.low[index]));
    context.globalAlpha = 0.15;
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
  };
  /** @param {number} index */
  const move = (index) => {
    cursor = Math.max(0, Math.min(steps().length - 1, index));
    const step = steps()[cursor];
    const near = marks.filter((mark) => mark.step === step).map((mark) => mark.text);
    const parts = [`step ${whole(step ?? 0)}`, ...series.filter((one) => one.high[cursor] === one.high[cursor]).map((one) => `${one.name} ${text(one.high[cursor])}`), ...near];
    fill(told, parts.join(", "));
    draw();
  };
  layer.addEventListener("pointermove", (event) => {
    const share = (event.offsetX - LEFT) / Math.max(1, layer.clientWidth - LEFT - 8);
    const wanted = (steps()[0] ?? 0) + share * ((steps()[steps().length - 1] ?? 0) - (steps()[0] ?? 0));
    const found = steps().findIndex((step) => step >= wanted);
    move(found < 0 ? steps().length - 1 : found);
  });
  layer.addEventListener("keydown", (event) => {
    const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (way === 0) return;
    event.preventDefault();
    move(cursor + way);
    announce(told.textContent ?? "");
  });
  new ResizeObserver(draw).observe(layer);
  /** @param {Series[]} next @param {Mark[]} events */
  const show = (next, events) => {
    [series, marks] = [next, events];
    const one = series[0];
    fill(names, ...(series.length > 1 ? series.map((each) => element("span", {}, element("i", { class: `data_${each.colour}` }), each.name)) : []));
    if (cursor < 0 && one) fill(told, one.high.length > 0 ? text(one.high[one.high.length - 1]) : "");
    draw();
  };
  return { box, draw, show };
}
