// SPDX-License-Identifier: Apache-2.0
// Memory by kind and stage against the memory of a device.

import { app, on, select } from "./app.js";
import { element, fill } from "./dom.js";
import { bytes_text, significant } from "./format.js";

/** @typedef {import("./ask.js").Json} Json */

export const MEMORY_KINDS = ["parameters", "gradients", "optimizer", "activations", "scratch", "inputs", "snapshot"];

/**
 * Kinds that this plan has, in the order of the bars.
 * @param {Json[]} stages
 */
function kinds_of(stages) {
  const extra = stages.flatMap((stage) => Object.keys(stage.bytes)).filter((kind) => !MEMORY_KINDS.includes(kind));
  const largest = Math.max(...stages.map((stage) => stage.peak_bytes));
  return [...new Set([...MEMORY_KINDS, ...extra])].filter((kind) => stages.some((stage) => stage.bytes[kind] > largest / 1000));
}

/** @param {Json} stage @param {string[]} kinds @param {number} scale */
function bar(stage, kinds, scale) {
  return kinds.filter((kind) => stage.bytes[kind] > 0).map((kind) => {
    const share = stage.bytes[kind] / scale;
    return element("div", { class: `part kind_${kind}`, style: { width: `${share * 100}%` }, title: `${kind} ${bytes_text(stage.bytes[kind])}` },
      share > 0.035 && kind[0].toUpperCase());
  });
}

/** @param {Json} stage @param {number} count */
function stage_name(stage, count) {
  return count === 1 ? "every rank" : `stage ${stage.pp}`;
}

/** @param {Json[]} stages @param {string[]} kinds */
function table_view(stages, kinds) {
  return element("details", {}, element("summary", {}, "As a table"),
    element("div", { class: "scroll" }, element("table", { class: "figures" },
      element("thead", {}, element("tr", {}, ...["stage", ...kinds, "peak"].map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...stages.map((stage) => element("tr", {}, element("th", { scope: "row" }, stage_name(stage, stages.length)),
        ...kinds.map((kind) => element("td", {}, bytes_text(stage.bytes[kind] ?? 0))), element("td", {}, bytes_text(stage.peak_bytes))))))));
}

/** @param {HTMLElement} body */
export function build_memory(body) {
  const show = () => {
    if (!app.verdict?.stages) return;
    const { stages, device_memory_bytes } = app.verdict;
    const kinds = kinds_of(stages);
    const scale = 1.08 * Math.max(device_memory_bytes, ...stages.map((/** @type {Json} */ stage) => stage.peak_bytes));
    const line = device_memory_bytes / scale;
    const rows = stages.map((/** @type {Json} */ stage) => {
      const over = stage.peak_bytes > device_memory_bytes;
      return element("button", { class: `bar_row ${over ? "is_over" : ""}`, title: stage.blocks, onclick: () => select({ rank: first_rank(stage.pp, stages.length) }),
        "aria-label": `${stage_name(stage, stages.length)}, ${stage.blocks}: ${bytes_text(stage.peak_bytes)}${over ? ", does not fit" : ""}` },
        element("span", { class: "bar_name" }, stage_name(stage, stages.length), element("em", {}, stage.blocks.replace(/^\d+: /, ""))),
        element("span", { class: "track" }, ...bar(stage, kinds, scale)),
        element("span", { class: "bar_figure" }, bytes_text(stage.peak_bytes)));
    });
    fill(body,
      element("ul", { class: "legend" }, ...kinds.map((kind) => element("li", {}, element("i", { class: `kind_${kind}` }), kind))),
      element("div", { class: "bars" },
        element("div", { class: "limit_frame", "aria-hidden": true }, element("div", { class: "limit", style: { left: `${line * 100}%` } },
          element("span", {}, `${significant(device_memory_bytes / 1e9)} GB`))), ...rows),
      table_view(stages, kinds));
  };
  on("verdict", show);
  show();
}

/**
 * The first rank of a stage: ranks of a stage are neighbours where pp comes first.
 * @param {number} place @param {number} stages
 */
function first_rank(place, stages) {
  return app.verdict ? (app.verdict.results[place]?.rank ?? (place * app.verdict.ranks) / stages) : 0;
}
