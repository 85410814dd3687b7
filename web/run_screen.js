// SPDX-License-Identifier: Apache-2.0
// Run: runs of the folders that Studio was given, live ones first: curves, what happened, where the time went, and two
// runs side by side. A live run is followed from the byte that is known; nothing is read twice.

import { on } from "./app.js";
import { ask, ask_columns, cancel, is_cancelled, newest, sentence_of, stream } from "./ask.js";
import { element, fill } from "./dom.js";
import { bytes_text, count_text, percent, seconds_text, significant, whole } from "./format.js";
import { build_chart } from "./line_chart.js";
import { build_rank_map } from "./rank_map.js";

/** @typedef {import("./ask.js").Json} Json */
/** @typedef {import("./line_chart.js").Series} Series */
/** @typedef {import("./line_chart.js").Mark} Mark */

const CHARTS = [
  { title: "Loss", keys: ["loss", "held_out_loss"], text: significant, from_zero: false },
  { title: "Tokens/s", keys: ["tokens_per_second"], text: count_text, from_zero: true },
  { title: "MFU", keys: ["mfu"], text: percent, from_zero: true },
  { title: "Step", keys: ["step_seconds", "compute_seconds", "exposed_communication_seconds", "bubble_seconds"], text: seconds_text, from_zero: true },
  { title: "Ranks' own work", keys: ["slowest_rank_seconds", "fastest_rank_seconds"], text: seconds_text, from_zero: true, band: true },
  { title: "Gradient norm", keys: ["grad_norm"], text: significant, from_zero: true },
  { title: "Learning rate", keys: ["lr"], text: (/** @type {number} */ value) => (value === 0 ? "0" : value.toExponential(1)), from_zero: true },
];
const LINE_COLOURS = ["accent", "orange", "vermillion", "green"];
const EVENTS = /** @type {Record<string, string>} */ ({ checkpoint: "checkpoint", saved: "saved", sample: "sample", failure: "failure", start: "start", end: "end", evaluation: "held-out loss", restart: "restart", resume: "resumed" });
const BETWEEN_DRAWS = 250;

/**
 * What is known of the opened run.
 * @type {{id: string, step: number[], low: Map<string, number[]>, high: Map<string, number[]>, marks: Mark[]}}
 */
let opened = { id: "", step: [], low: new Map(), high: new Map(), marks: [] };
let visible = false;
let timer = 0;

/** What is known of the opened run, for tests. */
export const opened_run = () => opened;

const list = element("ul", { class: "run_list" });
const head = element("div", { class: "run_head" });
const charts = CHARTS.map((chart) => ({ ...chart, view: build_chart(chart.title, chart.text, chart.from_zero, chart.band) }));
export const rank_map = build_rank_map();
const findings = element("div");
const compared = element("div");
const story = element("ul", { class: "run_events" });

function draw() {
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    for (const chart of charts) {
      const known = chart.keys.filter((key) => opened.low.has(key));
      /** @type {Series[]} */
      const series = known.map((key, index) => ({ name: key.replace(/(_communication)?_seconds$/, "").replace(/_/g, " "), colour: LINE_COLOURS[index], step: opened.step, low: opened.low.get(key) ?? [], high: opened.high.get(key) ?? [] }));
      chart.view.box.hidden = known.length === 0;
      chart.view.show(series, opened.marks);
    }
    const told = opened.marks.filter((mark) => mark.letter !== "held-out loss");
    fill(story, ...told.slice(-40).reverse().map((mark) => element("li", { class: mark.bad ? "is_bad" : "" }, element("b", {}, `step ${whole(mark.step)}`), ` ${mark.text}`)));
  }, BETWEEN_DRAWS);
}

/**
 * A step that is known already was done again after a failure: what came after it is gone.
 * @param {Json} line
 */
function add_step(line) {
  while (opened.step.length > 0 && opened.step[opened.step.length - 1] >= line.step) {
    opened.step.pop();
    for (const values of [...opened.low.values(), ...opened.high.values()]) values.length = opened.step.length;
  }
  opened.step.push(line.step);
  for (const [key, value] of Object.entries(line)) {
    if (key === "step" || typeof value !== "number") continue;
    for (const side of [opened.low, opened.high]) {
      const values = side.get(key) ?? new Array(opened.step.length - 1).fill(NaN);
      values.push(value);
      side.set(key, values);
    }
  }
  for (const values of [...opened.low.values(), ...opened.high.values()]) if (values.length < opened.step.length) values.push(NaN);
}

/** @param {Json} event */
function add_event(event) {
  const name = EVENTS[event.event];
  if (!name || (event.event === "start" && !event.step)) return;
  const bytes = event.bytes ? `, ${bytes_text(event.bytes)}` : "";
  opened.marks.push({ step: event.step ?? 0, letter: name, bad: event.event === "failure", text: event.event === "failure" ? `failure: ${event.text ?? ""}` : event.event === "start" ? `resumed from step ${event.step}` : name + bytes });
}

/** @param {string} id @param {Json} from */
async function follow(id, from) {
  try {
    for await (const part of stream("follow", { run: id, from }, newest("follow"))) {
      if (opened.id !== id) return;
      if (part.reset) return void open(id);
      for (const line of part.metrics ?? []) add_step(line);
      for (const event of part.events ?? []) add_event(event);
      rank_map.add(part.ranks ?? []);
      if ((part.metrics ?? []).length + (part.events ?? []).length > 0) draw();
    }
  } catch (error) {
    if (!is_cancelled(error)) fill(head, element("p", { class: "is_bad" }, sentence_of(error).what));
  }
}

/** @param {Json} told */
function show_findings(told) {
  const { split } = told;
  fill(findings, element("p", { class: "muted" }, `${told.plan.model} on ${told.machine.ranks} ${told.machine.ranks === 1 ? "rank" : "ranks"} (${told.plan.mesh}), ${told.plan.precision}: ${seconds_text(told.step_seconds)} a step, MFU ${percent(told.mfu)}; of it compute ${seconds_text(split.compute_seconds)}, exposed ${seconds_text(split.exposed_communication_seconds)}, bubble ${seconds_text(split.bubble_seconds)}, data ${seconds_text(split.data_seconds)}.`),
    element("ul", { class: "findings" }, ...told.results.map((/** @type {Json} */ one) => element("li", { class: `is_${one.verdict}` }, element("b", {}, one.title), element("span", {}, one.answer), one.advice && element("em", {}, one.advice)))));
}

/**
 * Two runs side by side: what explains the difference, then settings and figures.
 * @param {Json} told
 */
function compare_view(told) {
  /** @param {string} title @param {[string, string, string][]} rows */
  const table = (title, rows) => element("table", { class: "figures" }, element("thead", {}, element("tr", {}, ...[title, told.a, told.b].map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map(([name, a, b]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, a), element("td", {}, b)))));
  const number = (/** @type {any} */ value) => (typeof value === "number" ? (Math.abs(value) >= 1e6 ? count_text(value) : significant(value, 4)) : "-");
  return element("div", { class: "compared" }, element("p", {}, element("b", {}, "A and B. "), told.verdict),
    told.loss && element("p", { class: "muted" }, `Losses of ${whole(told.loss.steps)} equal steps differ by ${number(told.loss.largest)} at most, at step ${whole(told.loss.largest_step)}.`),
    table("part", told.results.map((/** @type {Json} */ row) => [row.part, seconds_text(row.a_seconds), seconds_text(row.b_seconds)])),
    table("figure", told.figures.map((/** @type {Json} */ row) => [row.name, number(row.a), number(row.b)])),
    table("setting", told.settings.map((/** @type {Json} */ row) => [row.key, String(row.a), String(row.b)])));
}

/** @param {string} id */
async function open(id) {
  opened = { id, step: [], low: new Map(), high: new Map(), marks: [] };
  for (const button of list.querySelectorAll("button")) button.setAttribute("aria-current", String(button.dataset.run === id));
  try {
    const { head: told, columns } = await ask_columns("history", { run: id }, newest("history"));
    if (opened.id !== id) return;
    opened.step = [...columns.step];
    for (const key of told.figures) {
      opened.low.set(key, [...columns[`${key}.least`]]);
      opened.high.set(key, [...columns[`${key}.largest`]]);
    }
    draw();
    const ranks = await ask_columns("ranks", { run: id }, newest("ranks"));
    if (opened.id !== id) return;
    rank_map.show(ranks);
    follow(id, { ...told.next, ...ranks.head.next });
    show_findings(await ask("report", { run: id }, newest("report")));
  } catch (error) {
    if (!is_cancelled(error)) fill(findings, element("p", { class: "muted" }, sentence_of(error).what));
  }
}

async function show_runs() {
  try {
    const told = await ask("runs", {}, newest("runs"));
    if (told.runs.length === 0) {
      const help = told.folders ? "The folders have no runs yet." : "Start Studio with folders of runs to see them here: ";
      return fill(list, element("li", { class: "muted" }, help, !told.folders && element("code", {}, "tessera studio out")));
    }
    fill(list, ...told.runs.map((/** @type {Json} */ run) => element("li", {}, element("button", { "data-run": run.id, "aria-current": run.id === opened.id, onclick: () => open(run.id) },
      element("b", {}, run.name), element("span", { class: `run_state is_${run.state}` }, run.state),
      element("em", {}, [run.model, run.mesh, run.step ? `step ${whole(run.step)}${run.steps ? ` of ${whole(run.steps)}` : ""}` : "", run.loss ? `loss ${significant(run.loss)}` : ""].filter(Boolean).join(", "))))));
    const others = element("select", { "aria-label": "Compare with" }, element("option", { value: "" }, "compare with"), ...told.runs.map((/** @type {Json} */ run) => element("option", { value: run.id }, run.name)));
    others.addEventListener("change", async () => {
      if (others.value === "") return fill(compared);
      try {
        fill(compared, compare_view(await ask("compare", { run: opened.id, with: others.value }, newest("compare"))));
      } catch (error) {
        if (!is_cancelled(error)) fill(compared, element("p", { class: "is_bad" }, sentence_of(error).what));
      }
    });
    fill(head, others);
    if (!told.runs.some((/** @type {Json} */ run) => run.id === opened.id)) open(told.runs[0].id);
  } catch (error) {
    if (!is_cancelled(error)) fill(list, element("li", { class: "muted" }, sentence_of(error).what));
  }
}

/** @type {import("./main.js").Screen} */
export const run_screen = {
  build(root) {
    root.append(element("aside", { "aria-label": "Runs" }, element("h2", {}, "Runs"), list, element("h3", {}, "What happened"), story),
      element("div", { class: "run_main" }, head, element("div", { class: "run_charts" }, ...charts.map((chart) => chart.view.box), rank_map.box), compared, element("h2", {}, "Where the time went"), findings));
    on("theme", () => {
      charts.forEach((chart) => chart.view.draw());
      rank_map.draw();
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) cancel("follow");
      else if (visible && opened.id) open(opened.id);
    });
  },
  show() {
    visible = true;
    show_runs();
  },
  hide() {
    visible = false;
    cancel("follow");
    opened.id = "";
  },
};
