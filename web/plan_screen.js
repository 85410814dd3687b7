// SPDX-License-Identifier: Apache-2.0
// Plan: does it fit, how fast is it, why not another plan.

import { element } from "./dom.js";
import { build_knobs } from "./knobs.js";
import { build_memory } from "./memory_bars.js";
import { build_ruler } from "./ruler.js";
import { build_search } from "./search_panel.js";
import { build_setup } from "./setup_panel.js";
import { build_step } from "./step_bars.js";
import { build_traffic } from "./traffic.js";

/** @param {string} id @param {string} title @param {string} hint @param {(body: HTMLElement) => void} build */
function section(id, title, hint, build) {
  const body = element("div", { class: "section_body" });
  const made = element("section", { id, "aria-labelledby": `${id}_title` },
    element("header", {}, element("h2", { id: `${id}_title` }, title), element("p", { class: "hint" }, hint)), body);
  build(body);
  return made;
}

/** @type {import("./main.js").Screen} */
export const plan_screen = {
  build(root) {
    root.append(
      element("aside", { class: "setup", "aria-label": "Model and cluster" }, ...build_setup()),
      element("div", { class: "plan_main" },
        section("ruler", "Mesh", "Drag a factor from one axis to another: the number of ranks stays.", build_ruler),
        section("knobs", "Plan", "What is sharded, recomputed, and in which order.", build_knobs),
        element("div", { class: "figures_grid" },
          section("memory", "Memory", "Bytes that train would allocate, by stage.", build_memory),
          section("step", "Step", "Where the seconds of a rank go.", build_step),
          section("search", "Search", "Every plan for these ranks, ranked by MFU.", build_search),
          section("traffic", "Traffic", "Collectives of a step, the costliest first.", build_traffic))));
  },
};
