// SPDX-License-Identifier: Apache-2.0
// What happened in a run, in words: marks on its charts, made of the lines of its events. One line for each checkpoint,
// and one for each failure with what it cost; and names of runs that are short where they can be.

import { bytes_text, seconds_text, whole } from "./format.js";

/** @typedef {import("./ask.js").Json} Json */
/** @typedef {import("./line_chart.js").Mark} Mark */
/** @typedef {{marks: Mark[], is_open: boolean}} Story `is_open`: the last start has neither an end nor a failure */

const NAMES = /** @type {Record<string, string>} */ ({ sample: "sample", end: "end", evaluation: "held-out loss" });

/** @param {Json} event */
function save_text(event) {
  const size = event.bytes ? `, ${bytes_text(event.bytes)}` : "";
  if (event.event === "checkpoint") return `checkpoint${size}`;
  if (event.event === "save_failed") return `checkpoint was not saved: ${event.text ?? ""}`;
  return `checkpoint saved${size}`;
}

/**
 * A checkpoint is taken, then it is written beside the steps: one mark.
 * @param {Story} story @param {Json} event
 */
function add_save(story, event) {
  const mark = { step: event.step ?? 0, letter: "checkpoint", text: save_text(event), bad: event.event === "save_failed" };
  let taken = event.event === "checkpoint" ? -1 : story.marks.length - 1;
  while (taken >= 0 && (story.marks[taken].letter !== "checkpoint" || story.marks[taken].step !== mark.step)) taken -= 1;
  if (taken < 0) story.marks.push(mark);
  else story.marks[taken] = mark;
}

/**
 * A start that is not the first: what broke off before it, and what is computed again.
 * @param {Story} story @param {Json} event
 */
function add_start(story, event) {
  const step = event.step ?? 0;
  const dropped = event.dropped_steps ?? 0;
  const last = story.marks[story.marks.length - 1];
  const failed = last?.letter === "failure";
  const cause = event.interrupted_by || (story.is_open && "the run was killed");
  if (failed && event.interrupted_by) story.marks.pop();  // the same failure, as another rank saw it
  const bad = Boolean(cause) && (failed || story.is_open);
  story.is_open = true;
  const back = (step > 0 ? `resumed from step ${whole(step)}` : "began again") + (dropped > 0 ? `: ${whole(dropped)} ${dropped === 1 ? "step" : "steps"} computed again, ${seconds_text(event.dropped_seconds ?? 0)} lost` : "");
  const died = `${cause}${dropped > 0 ? ` after step ${whole(step + dropped)}` : ""}`;
  story.marks.push({ step: bad ? step + dropped : step, letter: "start", bad, text: bad ? `${died}; ${back}` : back });
}

/**
 * Takes one line of the run's events.
 * @param {Story} story @param {Json} event
 */
export function add_event(story, event) {
  if (event.event === "start" && !event.step && !story.is_open && story.marks.length === 0) story.is_open = true;
  else if (event.event === "start") add_start(story, event);
  else if (["checkpoint", "saved", "save_failed"].includes(event.event)) add_save(story, event);
  else if (event.event === "failure" || NAMES[event.event]) {
    const bad = event.event === "failure";
    if (bad || event.event === "end") story.is_open = false;
    story.marks.push({ step: event.step ?? 0, letter: bad ? "failure" : NAMES[event.event], bad, text: bad ? `failure: ${event.text ?? ""}` : NAMES[event.event] + (event.stopped_by ? `, stopped by ${event.stopped_by}` : "") });
  }
}

/**
 * The last part of its path, and the folder before it.
 * @param {Json} run
 */
export function name_parts(run) {
  const cut = run.name.lastIndexOf("/");
  return { name: run.name.slice(cut + 1), folder: run.name.slice(0, Math.max(0, cut)) };
}

/**
 * The short name; with its folder where another run has the same.
 * @param {Json} run @param {Json[]} runs
 */
export function run_label(run, runs) {
  const { name, folder } = name_parts(run);
  return folder && runs.some((one) => one.id !== run.id && name_parts(one).name === name) ? `${name} in ${folder}` : name;
}
