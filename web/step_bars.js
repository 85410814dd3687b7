// SPDX-License-Identifier: Apache-2.0
// The step of each class of ranks as compute, exposed communication and bubble, with the figures of the whole run.

import { app, on, select } from "./app.js";
import { element, fill } from "./dom.js";
import { count_text, percent, seconds_text, whole } from "./format.js";

/** @typedef {import("./ask.js").Json} Json */

const PARTS = [
  { key: "compute_seconds", name: "compute", letter: "C", class: "part_compute", help: "kernels run" },
  { key: "exposed_communication_seconds", name: "exposed", letter: "E", class: "part_exposed", help: "the rank waits while bytes move" },
  { key: "bubble_seconds", name: "bubble", letter: "", class: "part_bubble", help: "the rank waits for other ranks" },
];

/** @param {Json} times @param {number} total */
function bar(times, total) {
  return PARTS.filter(({ key }) => times[key] > 0).map((part) => {
    const share = times[part.key] / total;
    return element("div", { class: `part ${part.class}`, style: { width: `${share * 100}%` }, title: `${part.name} ${seconds_text(times[part.key])}: ${part.help}` },
      share > 0.16 ? seconds_text(times[part.key]) : share > 0.045 && part.letter);
  });
}

/** @param {Json} told */
function figures(told) {
  const rows = [
    ["step", seconds_text(told.step_seconds)],
    ["tokens/s", count_text(told.tokens_per_second)],
    ["per device", count_text(told.tokens_per_second / told.ranks)],
    ["MFU", percent(told.mfu)],
    ["HFU", percent(told.hfu)],
    ["1T tokens", days_text(1e12 / told.tokens_per_second)],
  ];
  return element("dl", { class: "big_figures" }, ...rows.map(([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text))));
}

/** @param {number} seconds */
function days_text(seconds) {
  const days = seconds / 86400;
  return days < 1000 ? `${days.toPrecision(3)} days` : `${whole(Math.round(days / 365))} years`;
}

/** @param {HTMLElement} body */
export function build_step(body) {
  const show = () => {
    if (!app.verdict?.results) return;
    const told = app.verdict;
    const rows = told.results.slice(0, 16).map((/** @type {Json} */ one) => element("button", { class: "bar_row", onclick: () => select({ rank: one.rank }),
      "aria-label": `rank ${one.rank}: ${PARTS.map(({ key, name }) => `${name} ${seconds_text(one[key])}`).join(", ")}` },
      element("span", { class: "bar_name" }, `rank ${whole(one.rank)}`, element("em", {}, one.alike > 1 ? `and ${whole(one.alike - 1)} identical` : "")),
      element("span", { class: "track" }, ...bar(one, told.step_seconds))));
    fill(body, element("ul", { class: "legend" }, ...PARTS.map((part) => element("li", { title: part.help }, element("i", { class: part.class }), part.name))),
      element("div", { class: "bars" }, ...rows), figures(told));
  };
  on("verdict", show);
  show();
}
