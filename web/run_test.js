// SPDX-License-Identifier: Apache-2.0
// The words for what happened in a run, and names of runs.

import { equal } from "./claims_test.js";
import { add_event, run_label } from "./run_events.js";

/** @param {import("./ask.js").Json[]} events */
function told(...events) {
  const story = { marks: /** @type {import("./line_chart.js").Mark[]} */ ([]), is_open: false };
  for (const event of [{ event: "start", step: 0 }, ...events]) add_event(story, event);
  return story.marks.map((mark) => `${mark.step}${mark.bad ? "!" : ""} ${mark.text}`);
}

const RESUME = { event: "start", step: 40, dropped_steps: 15, dropped_seconds: 2.1 };
const COST = "resumed from step 40: 15 steps computed again, 2.10 s lost";

/** @type {Record<string, () => void>} */
export const claims = {
  "a killed rank is named with what it cost"() {
    equal(told({ ...RESUME, interrupted_by: "rank 0 was killed" }), [`55! rank 0 was killed after step 55; ${COST}`]);
    equal(told({ event: "failure", step: 55, text: "stopped because rank 1 failed" }, { ...RESUME, interrupted_by: "rank 1 was killed" }), [`55! rank 1 was killed after step 55; ${COST}`]);
    equal(told(RESUME), [`55! the run was killed after step 55; ${COST}`]);
    equal(told({ event: "start", step: 0, dropped_steps: 1, dropped_seconds: 2.1 }), ["1! the run was killed after step 1; began again: 1 step computed again, 2.10 s lost"]);
  },
  "older runs and stops on request tell what they know"() {
    equal(told({ event: "start", step: 40 }), ["40! the run was killed; resumed from step 40"]);
    equal(told({ event: "failure", step: 55, text: "late" }, { event: "start", step: 40 }), ["55! failure: late", "40 resumed from step 40"]);
    equal(told({ event: "end", step: 40, stopped_by: "SIGINT" }, { event: "start", step: 40 }), ["40 end, stopped by SIGINT", "40 resumed from step 40"]);
  },
  "a checkpoint is one line"() {
    const taken = { event: "checkpoint", step: 20, bytes: 10237440 };
    equal(told(taken), ["20 checkpoint, 10.2 MB"]);
    equal(told(taken, { event: "checkpoint", step: 40 }, { event: "saved", step: 20, written_seconds: 0.09, bytes: 10251024 }), ["20 checkpoint saved, 10.3 MB", "40 checkpoint"]);
    equal(told(taken, { event: "save_failed", step: 20, text: "the disk is full" }), ["20! checkpoint was not saved: the disk is full"]);
  },
  "a name has its folder only where another run has it, too"() {
    const runs = [{ id: "1", name: "out/a/tiny" }, { id: "2", name: "out/b/tiny" }, { id: "3", name: "out/large" }, { id: "4", name: "alone" }];
    equal(runs.map((run) => run_label(run, runs)), ["tiny in out/a", "tiny in out/b", "large", "alone"]);
  },
};
