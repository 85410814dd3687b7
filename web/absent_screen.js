// SPDX-License-Identifier: Apache-2.0
// What stands on the screen Run where no machine answers: why there are no runs, and where they are.

import { element } from "./dom.js";

const SHOWN = ["loss, speed and the parts of every step, while a run writes them", "saves, samples, failures and restarts, as marks on the axis",
  "what the report finds, and what to try", "two runs beside each other: what differs, and which part of the step explains it"];

/** @type {import("./main.js").Screen} */
export const absent_screen = {
  build(root) {
    root.classList.remove("run_screen");
    root.append(element("section", { id: "absent", class: "absent" }, element("h2", {}, "Runs are on your machine"),
      element("p", {}, "This page is the compiler, the simulator and the planner, and all of it runs in your browser. Runs lie in folders, which it cannot read, and to start one takes processes, which it does not have."),
      element("p", {}, "With Tessera installed, this screen shows:"), element("ul", {}, ...SHOWN.map((text) => element("li", {}, text))),
      element("p", {}, element("code", {}, "tessera train --out out/first"), " makes a run, and ", element("code", {}, "tessera studio out"), " opens this page with it."),
      element("p", { class: "muted" }, "Proofs (Prove) and mistakes that are run (Learn, Break it) need it, too. Everything else is here.")));
  },
};
