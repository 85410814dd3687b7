// SPDX-License-Identifier: Apache-2.0
// The timeline for elsewhere: what is shown as SVG, the whole step as a trace, and the hand-over to Perfetto.

import { save_file } from "./dom.js";
import { seconds_text } from "./format.js";
import { first_bar } from "./timeline_data.js";

/** @typedef {import("./timeline_canvas.js").TimelineCanvas} TimelineCanvas */
/** @typedef {import("./timeline_data.js").Timeline} Timeline */

/** @param {string} text */
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

/**
 * Bars of less than a pixel are left out.
 * @param {TimelineCanvas} picture
 */
export function svg_text(picture) {
  const { timeline, rows, start, stop, height } = picture;
  const width = picture.width + 164;
  const colours = picture.colours;
  const parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${width}" height="${height}" fill="${colours.panel}"/>`];
  for (const row of rows) {
    const lane = timeline.lanes[row.lane];
    const name = lane.name === "kernels" ? `rank ${timeline.ranks[lane.rank].rank}${timeline.ranks[lane.rank].measured ? " measured" : ""}` : lane.name;
    parts.push(`<text x="0" y="${row.y + row.height / 2 + 4}" fill="${colours.ink}">${escaped(name)}</text>`);
    const bars = picture.bars[row.lane];
    for (let i = first_bar(bars, start); i < bars.count && bars.begin[i] < stop; ++i) {
      const left = Math.max(164, picture.x_of(bars.begin[i]));
      const right = Math.min(width, picture.x_of(bars.end[i]));
      if (right - left < 1) continue;
      const text = picture.view.text(timeline.order[bars.first[i]]);
      parts.push(`<rect x="${left.toFixed(1)}" y="${row.y}" width="${(right - left).toFixed(1)}" height="${row.height}" fill="${picture.colour_of(bars.code[i])}"><title>${escaped(`${text} ${seconds_text(bars.end[i] - bars.begin[i])}`)}</title></rect>`);
      if (right - left > 8 * text.length + 6 && row.height > 20) parts.push(`<text x="${((left + right) / 2).toFixed(1)}" y="${row.y + row.height / 2 + 4}" text-anchor="middle">${escaped(text)}</text>`);
    }
  }
  return `${parts.join("\n")}\n</svg>\n`;
}

/** @param {TimelineCanvas} picture */
export function export_svg(picture) {
  save_file("timeline.svg", "image/svg+xml", svg_text(picture));
}

/**
 * The step in Chrome's trace format, which Perfetto reads.
 * @param {Timeline} timeline
 */
export function trace_text(timeline) {
  const events = [];
  timeline.ranks.forEach(({ rank, alike, measured }, pid) => events.push({ name: "process_name", ph: "M", pid, args: { name: `rank ${rank}${measured ? ", measured" : alike > 1 ? ` and ${alike - 1} identical` : ""}` } }));
  timeline.lanes.forEach((lane, tid) => events.push({ name: "thread_name", ph: "M", pid: lane.rank, tid, args: { name: lane.name } }));
  for (const slice of timeline.order) {
    const one = timeline.instructions[timeline.instruction[slice]];
    const tid = timeline.lane[slice];
    events.push({ name: one.op, cat: one.kind, ph: "X", pid: timeline.lanes[tid].rank, tid, ts: timeline.begin[slice] * 1e6, dur: timeline.length[slice] * 1e6,
      args: { result: one.name, class: one.class, routine: one.routine, microbatch: timeline.microbatch[slice], line: one.line } });
  }
  return JSON.stringify({ displayTimeUnit: "ms", traceEvents: events });
}

/** @param {Timeline} timeline */
export function export_trace(timeline) {
  save_file("step.json", "application/json", trace_text(timeline));
}

const PERFETTO = "https://ui.perfetto.dev";

/**
 * Perfetto answers PONG when it is ready for a trace.
 * @param {Timeline} timeline
 */
export function open_in_perfetto(timeline) {
  const other = window.open(PERFETTO);
  if (!other) return;
  const buffer = new TextEncoder().encode(trace_text(timeline)).buffer;
  const timer = setInterval(() => other.postMessage("PING", PERFETTO), 50);
  const listen = (/** @type {MessageEvent} */ event) => {
    if (event.origin !== PERFETTO || event.data !== "PONG") return;
    clearInterval(timer);
    window.removeEventListener("message", listen);
    other.postMessage({ perfetto: { buffer, title: "Tessera step", fileName: "step.json" } }, PERFETTO);
  };
  window.addEventListener("message", listen);
  setTimeout(() => clearInterval(timer), 20000);
}
