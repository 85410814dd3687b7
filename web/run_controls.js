// SPDX-License-Identifier: Apache-2.0
// What can be done with a run that Studio has started: stop, resume, kill a rank and watch it come back; what the run
// printed, and the story of its failure. The server says which of them it allows.

import { ask, is_cancelled, newest, said_of } from "./ask.js";
import { announce, element, fill } from "./dom.js";

/** @typedef {import("./ask.js").Json} Json */

const LABELS = /** @type {Record<string, [string, string]>} */ ({
  stop: ["Stop", "saves a checkpoint and stops"],
  stop_now: ["Stop now", "ends it without waiting for its checkpoint"],
  resume: ["Resume", "goes on from its newest checkpoint"],
});

const buttons = element("div", { class: "run_buttons", role: "group", "aria-label": "This run" });
const said = element("p", { class: "run_said", role: "status" });
const output = element("pre", { class: "run_output", tabindex: 0, "aria-label": "What the run printed" });
const failure = element("pre", { class: "run_output", tabindex: 0, "aria-label": "Failure report" });
const output_box = element("details", { class: "run_told" }, element("summary", {}, "Output"), output);
const failure_box = element("details", { class: "run_told" }, element("summary", {}, "Failure report: who waited for whom"), failure);

let shown = "";
let told_of = "";
let rank = 0;
let change = () => {};

/** @param {string} sentence @param {boolean} bad */
function say(sentence, bad) {
  fill(said, sentence);
  said.classList.toggle("is_bad", bad);
  announce(sentence);
}

/** @param {string} kind @param {Json} fields @param {string} done */
async function act(kind, fields, done) {
  try {
    await ask(kind, fields, newest("control"));
    say(done, false);
  } catch (error) {
    if (is_cancelled(error)) return;
    say(said_of(error), true);
  }
  change();
}

/** @param {Json} run @param {string} what */
function button(run, what) {
  const [label, title] = LABELS[what];
  const done = what === "resume" ? "resumed: it goes on from its newest checkpoint" : "asked to stop: it saves first";
  const fields = what === "stop_now" ? { run: run.id, now: true } : { run: run.id };
  return element("button", { class: "plain", id: `run_${what}`, title, onclick: () => act(what === "resume" ? "resume" : "stop", fields, done) }, label);
}

/** @param {Json} run */
function kill_button(run) {
  const ranks = Array.from({ length: run.ranks ?? 1 }, (_, number) => number);
  const chosen = element("select", { id: "kill_rank", "aria-label": "Rank to kill" }, ...ranks.map((number) => element("option", { value: number }, `rank ${number}`)));
  rank = Math.min(rank, ranks.length - 1);
  chosen.value = String(rank);
  chosen.addEventListener("change", () => (rank = Number(chosen.value)));
  const kill = element("button", { class: "plain is_danger", id: "run_kill", title: "kill -9 of its process; the run is restarted from its newest checkpoint, and comes to the same bits",
    onclick: () => act("kill", { run: run.id, rank }, `killed rank ${rank}: the supervisor restarts the run from its newest checkpoint`) }, "Kill");
  return element("span", { class: "run_kill" }, chosen, kill);
}

/** @param {Json} run */
async function show_output(run) {
  try {
    const told = await ask("output", { run: run.id }, newest("output"));
    output_box.hidden = told.output === "";
    failure_box.hidden = told.failure === "";
    const at_end = output.scrollTop + output.clientHeight >= output.scrollHeight - 4;
    if (output.textContent !== told.output) fill(output, told.output);
    if (failure.textContent !== told.failure) fill(failure, told.failure);
    if (at_end) output.scrollTop = output.scrollHeight;
  } catch (error) {
    if (!is_cancelled(error)) output_box.hidden = failure_box.hidden = true;
  }
}

/**
 * The controls of one run, as the list of runs tells of it; unchanged ones keep the focus.
 * @param {Json} run
 */
export function show_controls(run) {
  const now = JSON.stringify([run.id, run.can, run.ranks]);
  if (now !== shown) {
    if (!shown.startsWith(`["${run.id}"`)) say("", false);
    shown = now;
    const focused = document.activeElement?.id ?? "";
    /** @type {string[]} */
    const can = run.can ?? [];
    fill(buttons, ...can.filter((what) => what in LABELS).map((what) => button(run, what)), can.includes("kill") && kill_button(run));
    if (focused) /** @type {HTMLElement | null} */ (buttons.querySelector(`[id="${CSS.escape(focused)}"]`))?.focus();
  }
  if (run.can || run.id !== told_of) show_output(run);  // others print elsewhere
  told_of = run.id;
}

/**
 * @param {() => void} changed what to do when a run was asked for something
 */
export function build_controls(changed) {
  change = changed;
  output_box.hidden = failure_box.hidden = true;
  return { buttons, said, told: element("div", { class: "run_tolds" }, failure_box, output_box) };
}
