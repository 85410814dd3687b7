// SPDX-License-Identifier: Apache-2.0
// The collectives of a step, those first that cost most: the seconds that a rank stalls for them, their seconds on the
// links, and the bytes that a rank sends.

import { app, on } from "./app.js";
import { element, fill } from "./dom.js";
import { bytes_text, seconds_text, whole } from "./format.js";

/** @typedef {import("./ask.js").Json} Json */

const COLUMNS = [["collective", ""], ["axes", ""], ["in", ""],
  ["exposed", "seconds in which the rank stalls while these bytes move"], ["seconds", "on the links, beside kernels or not; no wait for a sender"],
  ["bytes sent", "by this rank; a recv sends nothing"], ["calls", ""], ["hidden calls", "calls that kernels run beside"]];

/**
 * What costs most comes first.
 * @param {Json[]} rows
 */
export function by_cost(rows) {
  return [...rows].sort((a, b) => b.exposed_seconds - a.exposed_seconds || b.seconds - a.seconds || b.sent_bytes - a.sent_bytes);
}

/** @param {Json} row @param {number} most */
function row_view(row, most) {
  return element("tr", {}, element("th", { scope: "row" }, row.op), element("td", { class: "is_text" }, row.axes), element("td", { class: "is_text" }, row.routine),
    element("td", { class: "with_bar" }, element("i", { style: { width: `${(row.exposed_seconds / most) * 100}%` } }), element("span", {}, seconds_text(row.exposed_seconds))),
    element("td", {}, seconds_text(row.seconds)), element("td", {}, bytes_text(row.sent_bytes)),
    element("td", {}, whole(row.calls)), element("td", {}, whole(row.hidden)));
}

/** @param {HTMLElement} body */
export function build_traffic(body) {
  const show = () => {
    if (!app.verdict?.collectives) return;
    const rows = by_cost(app.verdict.collectives);
    if (rows.length === 0) return fill(body, element("p", { class: "muted" }, "One rank talks to nobody."));
    fill(body, element("p", { class: "muted small" }, `Rank ${whole(app.verdict.collectives_rank)}, whose memory is the fullest: what stalls it the longest comes first.`),
      element("div", { class: "scroll" }, element("table", { class: "figures" },
        element("thead", {}, element("tr", {}, ...COLUMNS.map(([text, title], index) => element("th", { scope: "col", class: index < 3 ? "is_text" : "", title: title || null }, text)))),
        element("tbody", {}, ...rows.map((row) => row_view(row, rows[0].exposed_seconds || 1))))));
  };
  on("verdict", show);
  show();
}
