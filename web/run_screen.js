// SPDX-License-Identifier: Apache-2.0
// Run: runs of the folders that Studio was given, live ones first: curves, what happened, where the time went, and two
// runs side by side. A live run is followed from the byte that is known; nothing is read twice.

import { app, on, show_part } from "./app.js";
import { ask, ask_columns, AskError, cancel, HAS_SERVER, is_cancelled, newest, sentence_of, stream } from "./ask.js";
import { element, fill } from "./dom.js";
import { count_text, percent, seconds_text, significant, whole } from "./format.js";
import { build_chart } from "./line_chart.js";
import { build_rank_map } from "./rank_map.js";
import { compare_view } from "./run_compare.js";
import { build_controls, show_controls } from "./run_controls.js";
import { add_event, name_parts, run_label } from "./run_events.js";
import { open_start } from "./run_start.js";
import { build_text, set_writer } from "./run_text.js";

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
const BETWEEN_DRAWS = 250;
const BETWEEN_LOOKS = { live: 2000, quiet: 8000 };
const LONGEST_PAUSE = 4000;

/**
 * What is known of the opened run.
 * @type {{id: string, step: number[], low: Map<string, number[]>, high: Map<string, number[]>, marks: Mark[], next: Json, is_open: boolean}}
 */
let opened = { id: "", step: [], low: new Map(), high: new Map(), marks: [], next: {}, is_open: false };
let visible = false;
let timer = 0;
let looks = 0;
let followers = 0;
let following = false;
let report_at = 0;
let lost = false;  // the server did not answer the last time
/** @type {Json[]} */
let runs = [];
/** @type {Series | null} */
let other = null;  // the loss of the run that is compared

/** What is known of the opened run, for tests. */
export const opened_run = () => opened;

const list = element("ul", { class: "run_list" });
const title = element("div", { class: "run_title" });
const others = element("select", { class: "run_compare", id: "run_compare", "aria-label": "Compare with", hidden: true });
const connection = element("p", { class: "is_bad", id: "run_connection", role: "alert" });
const may_start = element("p", { class: "muted small" });
const start = element("button", { class: "plain is_accent", id: "run_start", hidden: true, onclick: () => open_start((id) => show_part(id)) }, "Start a run");
const controls = build_controls(() => look_soon(0));
const text_box = build_text();
const head = element("div", { class: "run_head" }, title, controls.buttons, others);
const charts = CHARTS.map((chart) => ({ ...chart, view: build_chart(chart.title, chart.text, chart.from_zero, chart.band) }));
export const rank_map = build_rank_map();
const findings = element("div");
const compared = element("div");
const compared_tables = element("div");
const story = element("ul", { class: "run_events" });

function draw() {
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    for (const chart of charts) {
      const known = chart.keys.filter((key) => opened.low.has(key));
      /** @type {Series[]} */
      const series = known.map((key, index) => ({ name: key.replace(/(_communication)?_seconds$/, "").replace(/_/g, " "), colour: LINE_COLOURS[index], step: opened.step, low: opened.low.get(key) ?? [], high: opened.high.get(key) ?? [] }));
      if (other && known[0] === "loss") series.push(other);
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

/**
 * Whether it makes sense to ask again.
 * @param {unknown} error
 */
function show_lost(error) {
  lost = true;
  const refused = error instanceof AskError && (error.status === 401 || error.status === 403);
  fill(connection, refused ? "Studio was started again: open the address that it printed." : "The server does not answer. Trying again; what is shown stays.");
  return !refused;
}

function show_found() {
  if (lost) fill(connection);
  lost = false;
}

/**
 * Follows the opened run from where it is known; a connection that breaks is made again.
 * @param {string} id
 */
async function follow(id) {
  const own = ++followers;
  following = true;
  await follow_parts(id, own);
  if (own === followers) following = false;
}

/** @param {string} id @param {number} own */
async function follow_parts(id, own) {
  for (let pause = 250; opened.id === id && own === followers; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      for await (const part of stream("follow", { run: id, from: opened.next }, newest("follow"))) {
        if (opened.id !== id || own !== followers) return;
        show_found();
        pause = 250;
        if (part.reset) return void open(id);
        for (const line of part.metrics ?? []) add_step(line);
        for (const event of part.events ?? []) add_event(opened, event);
        rank_map.add(part.ranks ?? []);
        opened.next = part.next ?? opened.next;
        if ((part.metrics ?? []).length + (part.events ?? []).length > 0) draw();
      }
    } catch (error) {
      if (is_cancelled(error) || own !== followers || !show_lost(error)) return;
    }
    await new Promise((done) => setTimeout(done, pause));
  }
}

/** @param {Json} told */
function show_findings(told) {
  const { split } = told;
  fill(findings, told.plan && told.machine && split && element("p", { class: "muted" }, `${told.plan.model} on ${told.machine.ranks} ${told.machine.ranks === 1 ? "rank" : "ranks"} (${told.plan.mesh}), ${told.plan.precision}: ${seconds_text(told.step_seconds)} a step, MFU ${percent(told.mfu)}; of it compute ${seconds_text(split.compute_seconds)}, exposed ${seconds_text(split.exposed_communication_seconds)}, bubble ${seconds_text(split.bubble_seconds)}, data ${seconds_text(split.data_seconds)}.`),
    element("ul", { class: "findings" }, ...told.results.map((/** @type {Json} */ one) => element("li", { class: `is_${one.verdict}` }, element("b", {}, one.title), element("span", {}, one.answer), one.advice && element("em", {}, one.advice)))));
}

/** @param {string} id */
async function open(id) {
  if (opened.id !== id) {
    others.value = "";
    show_no_compared();
  }
  opened = { id, step: [], low: new Map(), high: new Map(), marks: [], next: {}, is_open: false };
  followers += 1;
  set_writer(id);
  show_part(id);
  show_list();
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
    opened.next = { ...told.next, ...ranks.head.next };
    if (visible && !document.hidden) follow(id);  // else when somebody looks again
  } catch (error) {
    if (is_cancelled(error) && opened.id !== id) return;
    opened.id = "";  // opened again with the next look
    return is_cancelled(error) ? undefined : void show_lost(error);
  }
  report_at = 0;
  fill(findings);
  show_report();
}

/** While the run goes on, too; a report that takes long is made seldom. */
async function show_report() {
  if (opened.step.length === 0 || performance.now() < report_at) return;
  const begin = performance.now();
  report_at = Infinity;
  try {
    show_findings(await ask("report", { run: opened.id }, newest("report")));
  } catch (error) {
    if (!is_cancelled(error)) fill(findings, element("p", { class: "muted" }, sentence_of(error).what));
  }
  report_at = performance.now() + Math.max(BETWEEN_LOOKS.quiet, 200 * (performance.now() - begin));
}

/** @param {Json} run */
function list_item(run) {
  const facts = [run.model, run.mesh, run.step ? `step ${whole(run.step)}${run.steps ? ` of ${whole(run.steps)}` : ""}` : "", run.loss ? `loss ${significant(run.loss)}` : ""];
  return element("li", {}, element("button", { "data-run": run.id, "aria-current": run.id === opened.id, title: run.name, onclick: () => open(run.id) },
    element("b", {}, run_label(run, runs)), element("span", { class: `run_state is_${run.state}` }, run.state), element("em", {}, facts.filter(Boolean).join(", "))));
}

/** @param {Json} run */
const is_live = (run) => ["running", "starting", "stopping"].includes(run.state);

let listed = "";

/** The list, the head and the controls of the opened run; what has not changed keeps the focus. */
function show_list() {
  const now = JSON.stringify([opened.id, runs]);
  if (now === listed) return;
  listed = now;
  const focused = /** @type {HTMLElement | null} */ (document.activeElement?.closest(".run_list button"))?.dataset.run;
  fill(list, ...runs.map(list_item));
  if (focused) /** @type {HTMLElement | null} */ (list.querySelector(`[data-run="${CSS.escape(focused)}"]`))?.focus();
  const run = runs.find((one) => one.id === opened.id);
  const missing = !run && element("p", { class: "is_bad", id: "run_missing" }, "The address names a run that is not in these folders: choose one of the list.");
  fill(title, missing, run && element("h2", { title: run.name }, name_parts(run).name), run && element("span", { class: "muted small run_folder" }, name_parts(run).folder), run && element("span", { class: `run_state is_${run.state}`, id: "run_state" }, run.state),
    run?.step && element("span", { class: "muted small" }, `step ${whole(run.step)}${run.steps ? ` of ${whole(run.steps)}` : ""}`));
  const choices = runs.filter((one) => one.id !== opened.id);
  const wanted = JSON.stringify(choices.map((one) => one.id));
  others.hidden = choices.length === 0 || !run;
  if (others.dataset.runs !== wanted) {
    const kept = others.value;
    fill(others, element("option", { value: "" }, "compare with"), ...choices.map((one) => element("option", { value: one.id, title: one.name }, run_label(one, runs))));
    others.value = choices.some((one) => one.id === kept) ? kept : "";
    others.dataset.runs = wanted;
  }
  if (run) show_controls(run);
}

function show_no_compared() {
  fill(compared);
  fill(compared_tables);
  other = null;
  draw();
}

/** The verdict above the charts, the other run's loss in its chart, the tables below. */
async function show_compared() {
  if (others.value === "") return show_no_compared();
  const [one, two] = [opened.id, others.value].map((id) => runs.find((run) => run.id === id) ?? { id, name: id });
  try {
    const told = await ask("compare", { run: one.id, with: two.id }, newest("compare"));
    const { columns } = await ask_columns("history", { run: two.id }, newest("compared"));
    if (opened.id !== one.id) return;
    const view = compare_view(told, run_label(one, runs), run_label(two, runs));
    fill(compared, view.verdict);
    fill(compared_tables, view.tables);
    other = columns["loss.largest"] ? { name: `B: ${run_label(two, runs)}`, colour: "green", step: [...columns.step], low: [...columns["loss.least"]], high: [...columns["loss.largest"]], dashed: true } : null;
    draw();
    compared.scrollIntoView({ block: "nearest" });
  } catch (error) {
    if (is_cancelled(error)) return;
    show_no_compared();
    fill(compared, element("p", { class: "is_bad" }, sentence_of(error).what));
  }
}

/** @param {Json} told */
function show_allowed(told) {
  start.hidden = !told.allows_runs;
  text_box.hidden = !told.allows_runs || told.runs.length === 0;
  if (told.folders && !told.allows_runs) fill(may_start, "Read only. To start, stop and resume runs here: ", element("code", {}, "tessera studio out --allow-runs"));
  else fill(may_start);
}

/** @param {number} milliseconds */
function look_soon(milliseconds) {
  clearTimeout(looks);
  looks = window.setTimeout(show_runs, milliseconds);
}

async function show_runs() {
  clearTimeout(looks);
  if (!visible || document.hidden) return;
  let next = BETWEEN_LOOKS.quiet;
  try {
    const told = await ask("runs", {}, newest("runs"));
    const before = runs.find((run) => run.id === opened.id)?.state;
    runs = told.runs;
    show_found();
    show_allowed(told);
    if (runs.length === 0) {
      const help = told.folders ? "The folders have no runs yet." : HAS_SERVER ? "Start Studio with folders of runs to see them here: " : "";
      fill(list, element("li", { class: "muted" }, help, !told.folders && element("code", {}, "tessera studio out")));
    } else {
      choose_run();
      const state = runs.find((run) => run.id === opened.id)?.state;
      if (before && before !== state && !is_live({ state })) {
        report_at = 0;  // it is complete now
        show_report();
      }
    }
    if (runs.some(is_live)) next = BETWEEN_LOOKS.live;
    if (runs.some((run) => run.id === opened.id && is_live(run))) show_report();
  } catch (error) {
    if (is_cancelled(error)) return;
    if (!HAS_SERVER) return fill(list, element("li", { class: "muted" }, sentence_of(error).what));
    if (!show_lost(error)) return;
  }
  look_soon(next);
}

/** Opens the run that the address names, or the first. */
function choose_run() {
  const wanted = app.parts.run || runs[0].id;
  if (wanted !== opened.id && runs.some((run) => run.id === wanted)) open(wanted);
  else if (opened.id && !following && opened.next.metrics !== undefined) follow(opened.id);
  show_list();
}

/** Nothing is asked while nobody looks. */
function rest() {
  clearTimeout(looks);
  followers += 1;
  following = false;
  cancel("follow");
}

/** @type {import("./main.js").Screen} */
export const run_screen = {
  build(root) {
    root.append(element("aside", { "aria-label": "Runs" }, element("div", { class: "run_aside_head" }, element("h2", {}, "Runs"), start), list, may_start, element("h3", {}, "What happened"), story),
      element("div", { class: "run_main" }, connection, head, controls.said, compared, element("div", { class: "run_charts" }, ...charts.map((chart) => chart.view.box), rank_map.box), compared_tables, text_box, controls.told, element("h2", {}, "Where the time went"), findings));
    others.addEventListener("change", show_compared);
    on("theme", () => {
      charts.forEach((chart) => chart.view.draw());
      rank_map.draw();
    });
    on("screen", () => {
      if (app.screen === "run" && visible && (lost || (app.parts.run ?? "") !== opened.id)) look_soon(0);
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) rest();
      else if (visible) show_runs();
    });
  },
  show() {
    visible = true;
    show_runs();
  },
  hide() {
    visible = false;
    rest();
  },
};
