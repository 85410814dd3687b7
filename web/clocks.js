// SPDX-License-Identifier: Apache-2.0
// Two clocks: a run of the folders beside its own simulation. Chooses the run, says how far its step is from the simulated
// one, and lists the instructions whose seconds differ most; a row lights its bars on both.

import { app, on, set_run } from "./app.js";
import { ask, ask_columns, cancel, HAS_SERVER, is_cancelled, newest, sentence_of } from "./ask.js";
import { announce, element, fill } from "./dom.js";
import { seconds_text, signed, whole } from "./format.js";
import { print_line } from "./state.js";
import { make_timeline } from "./timeline_data.js";

/** @typedef {import("./ask.js").Json} Json */
/** @typedef {import("./timeline_data.js").Timeline} Timeline */
/** @typedef {{show: (timeline: Timeline, line: string) => void, leave: () => void, choose: (instruction: number) => void}} Acts */

const FIRST_ROWS = 12;

/** @param {number} count @param {string} what */
const counted = (count, what) => `${whole(count)} ${what}${count === 1 ? "" : "s"}`;

/**
 * How long the step took on both clocks, and on whose figures the simulated one stands.
 * @param {Json} told
 */
export function sentence_of_clocks(told) {
  const ratio = told.measured_seconds / told.simulated_seconds;
  const apart = ratio >= 1 ? `${ratio.toFixed(2)} times as long` : `${(1 / ratio).toFixed(2)} times as fast`;
  const figures = told.calibrated ? "calibrated" : "not calibrated: its figures are published or assumed, none measured on this machine";
  return `Measured ${seconds_text(told.measured_seconds)}, simulated ${seconds_text(told.simulated_seconds)}: the run is ${apart}. Simulated on ${told.cluster} (${figures}).`;
}

/**
 * What could not be laid to an instruction, and what the clocks do not share.
 * @param {Json} told
 */
export function alignment_of_clocks(told) {
  const { unknown_slices, slices_outside_steps, only_measured, only_simulated } = told.unaligned;
  const parts = [unknown_slices === 0 ? `All ${whole(told.aligned_slices)} slices of step ${told.step} are instructions of the program.`
    : `${counted(unknown_slices, "slice")} of step ${told.step} could not be aligned: the program has no such instruction. ${whole(told.aligned_slices)} could.`];
  if (only_measured + only_simulated > 0) parts.push(`${counted(only_measured, "instruction")} ${only_measured === 1 ? "was" : "were"} measured and not simulated, ${whole(only_simulated)} simulated and not measured.`);
  if (slices_outside_steps > 0) parts.push(`${counted(slices_outside_steps, "slice")} of the trace ${slices_outside_steps === 1 ? "is" : "are"} of no training step.`);
  parts.push(`${seconds_text(told.outside_seconds)} of the measured step lie between instructions.`);
  if (told.drawn_ranks < told.measured_ranks) parts.push(`${whole(told.drawn_ranks)} of ${whole(told.measured_ranks)} ranks are drawn.`);
  return parts.join(" ");
}

/** @param {Json} told @param {Json} row @param {number} chosen @param {Acts} acts */
function row_of(told, row, chosen, acts) {
  const one = told.instructions[row.instruction];
  return element("tr", { "data-instruction": row.instruction, "aria-selected": row.instruction === chosen },
    element("th", { scope: "row" }, element("button", { class: "link", onclick: () => acts.choose(row.instruction) }, one.op), element("em", { class: "muted small" }, `${one.class} ${one.routine}, ${one.axes ?? one.name}`)),
    element("td", {}, signed(row.difference_seconds, seconds_text)), element("td", {}, seconds_text(row.measured_seconds)), element("td", {}, seconds_text(row.simulated_seconds)),
    element("td", { class: "muted" }, row.measured_slices === row.simulated_slices ? `${whole(row.measured_slices)} \u00d7` : `${whole(row.measured_slices)} and ${whole(row.simulated_slices)} \u00d7`));
}

/**
 * The first rows, and a button for all of them.
 * @param {string} title @param {string} hint @param {Json[]} rows @param {(row: Json) => HTMLElement} view
 */
function table_of(title, hint, rows, view) {
  if (rows.length === 0) return null;
  const body = element("tbody", {}, ...rows.slice(0, FIRST_ROWS).map(view));
  const more = rows.length > FIRST_ROWS && element("button", { class: "plain", onclick: () => {
    fill(body, ...rows.map(view));
    if (more) more.remove();
  } }, `All ${whole(rows.length)} instructions`);
  return element("div", {}, element("h3", {}, title), element("p", { class: "muted small" }, hint),
    element("div", { class: "scroll" }, element("table", { class: "figures" }, element("thead", {}, element("tr", {}, ...["instruction", "difference", "measured", "simulated", "slices"].map((text) => element("th", { scope: "col" }, text)))), body)), more);
}

/**
 * Figures of one instruction, below what the inspector says of it.
 * @param {HTMLElement} inspector @param {Json} row
 */
function inspect_row(inspector, row) {
  inspector.append(element("h3", {}, "On both clocks"), element("dl", { class: "facts" }, element("dt", {}, "measured"), element("dd", {}, seconds_text(row.measured_seconds)), element("dt", {}, "simulated"), element("dd", {}, seconds_text(row.simulated_seconds)),
    element("dt", {}, "difference"), element("dd", {}, signed(row.difference_seconds, seconds_text))), element("p", { class: "muted small" }, "Seconds of a step, means over ranks."));
}

/** @param {Json} told @param {HTMLElement} steps @param {(row: Json) => HTMLElement} view */
function panel_of(told, steps, view) {
  /** @type {Json[]} */ const rows = told.differences;
  return [element("div", { class: "clocks_head" }, element("h2", {}, "Two clocks"), steps), element("p", { id: "clocks_sentence" }, sentence_of_clocks(told)), element("p", { class: "muted small", id: "clocks_aligned" }, alignment_of_clocks(told)),
    element("div", { class: "clocks_tables" }, table_of("Largest differences first", "Seconds of a step, means over ranks. Choose a row to see its bars on both clocks.", rows.filter((row) => !row.hidden), view),
      table_of("Transfers beside kernels", "Measured from their start to the end of their wait: longer than their links were busy.", rows.filter((row) => row.hidden), view))];
}

/**
 * Whether there are runs to choose from.
 * @param {HTMLSelectElement} choice
 */
async function list_runs(choice) {
  if (!HAS_SERVER) return false;
  try {
    const { runs } = await ask("runs", {}, newest("beside"));
    fill(choice, element("option", { value: "" }, "beside a run"), ...runs.map((/** @type {Json} */ run) => element("option", { value: run.id }, run.trace ? run.name : `${run.name} (no trace)`)));
    return runs.length > 0;
  } catch {
    return false;
  }
}

/** @param {HTMLElement} panel @param {unknown} error */
function show_error(panel, error) {
  const { what, help } = sentence_of(error);
  fill(panel, element("h2", {}, "Two clocks"), element("p", { class: "is_bad", id: "clocks_sentence" }, what), element("p", { class: "muted" }, help));
  panel.hidden = false;
}

/** @param {Json} told @param {(step: number) => void} open */
function step_choice(told, open) {
  const steps = element("select", { id: "beside_step", "aria-label": "Step of the trace" }, ...told.steps.map((/** @type {number} */ step) => element("option", { value: step }, `step ${whole(step)} of the trace`)));
  steps.value = String(told.step);
  steps.addEventListener("change", () => open(Number(steps.value)));
  return steps;
}

/** @param {Acts} acts */
export function build_clocks(acts) {
  const choice = element("select", { id: "beside_run", "aria-label": "Beside a run" });
  const control = element("div", { class: "beside", hidden: true }, choice);
  const panel = element("section", { class: "clocks", "aria-label": "Two clocks", hidden: true });
  /** @type {{run: string, line: string, told: Json | null}} */
  let beside = { run: "", line: "", told: null };
  let chosen = -1;

  const leave = () => {
    cancel("clocks");
    beside = { run: "", line: "", told: null };
    choice.value = "";
    panel.hidden = true;
    fill(panel);
  };

  /** @param {string} run @param {number} [step] */
  const open = async (run, step) => {
    if (run === "") {
      leave();
      return acts.leave();
    }
    try {
      const table = await ask_columns("clocks", step ? { run, step } : { run }, newest("clocks"));
      beside = { run, line: print_line(table.head.run), told: table.head };
      chosen = -1;
      acts.show(make_timeline(table), beside.line);
      set_run(table.head.run);
      fill(panel, ...panel_of(table.head, step_choice(table.head, (next) => open(run, next)), (row) => row_of(table.head, row, chosen, acts)));
      panel.hidden = false;
      announce(sentence_of_clocks(table.head));
    } catch (error) {
      if (!is_cancelled(error)) show_error(panel, error);
    }
  };

  choice.addEventListener("change", () => open(choice.value));
  on("run", () => { if (beside.run && app.line !== beside.line) leave(); });

  return {
    control,
    panel,
    /** Lists the runs as they are now. */
    async list() {
      control.hidden = !await list_runs(choice);
      choice.value = beside.run;
    },
    /**
     * The instruction that is selected, in the tables and below the inspector.
     * @param {HTMLElement} inspector @param {number} instruction
     */
    select(inspector, instruction) {
      chosen = instruction;
      for (const row of panel.querySelectorAll("tr[data-instruction]")) row.setAttribute("aria-selected", String(Number(/** @type {HTMLElement} */ (row).dataset.instruction) === instruction));
      const row = beside.told?.differences.find((/** @type {Json} */ one) => one.instruction === instruction);
      if (row) inspect_row(inspector, row);
    },
  };
}
