// SPDX-License-Identifier: Apache-2.0
// The collectives of a step: which axis, how often, how many bytes of a rank, and whether kernels run meanwhile.

import { app, on } from "./app.js";
import { element, fill } from "./dom.js";
import { bytes_text, whole } from "./format.js";

/** @typedef {import("./ask.js").Json} Json */

/** @param {HTMLElement} body */
export function build_traffic(body) {
  const show = () => {
    if (!app.verdict?.collectives) return;
    const rows = [...app.verdict.collectives].sort((a, b) => b.bytes - a.bytes);
    if (rows.length === 0) return fill(body, element("p", { class: "muted" }, "One rank talks to nobody."));
    const largest = rows[0].bytes;
    fill(body, element("div", { class: "scroll" }, element("table", { class: "figures" },
      element("thead", {}, element("tr", {}, ...["collective", "axes", "in", "calls", "hidden", "bytes of a rank"].map((text, index) =>
        element("th", { scope: "col", class: index < 3 ? "is_text" : "" }, text)))),
      element("tbody", {}, ...rows.map((/** @type {Json} */ row) => element("tr", {},
        element("th", { scope: "row" }, row.op), element("td", { class: "is_text" }, row.axes), element("td", { class: "is_text" }, row.routine),
        element("td", {}, whole(row.calls)), element("td", { title: "calls that kernels run beside" }, whole(row.hidden)),
        element("td", { class: "with_bar" }, element("i", { style: { width: `${(row.bytes / largest) * 100}%` } }), element("span", {}, bytes_text(row.bytes)))))))));
  };
  on("verdict", show);
  show();
}
