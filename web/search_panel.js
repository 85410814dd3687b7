// SPDX-License-Identifier: Apache-2.0
// The plan search, which streams: how many plans were considered and simulated, then the ten best, the rule of thumb,
// what was dropped and why, and why the plan as it is lost.

import { app, change, on, value_of } from "./app.js";
import { cancel, is_cancelled, newest, sentence_of, stream } from "./ask.js";
import { announce, element, fill } from "./dom.js";
import { parse_mesh, print_mesh, ranks_of, size_of } from "./factors.js";
import { bytes_text, percent, seconds_text, whole } from "./format.js";

/** @typedef {import("./ask.js").Json} Json */

/**
 * The plan as the planner writes it, to ask why it lost.
 */
function plan_text() {
  const set = app.run.set;
  const mesh = parse_mesh(set.mesh ?? "");
  const replicas = ["dp", "fsdp", "ep"].reduce((product, axis) => product * size_of(mesh, axis), 1);
  const microbatch = Number(value_of("train.batch")) / replicas / Number(value_of("train.microbatches"));
  const words = [print_mesh(mesh) || "dp=1", `recompute=${value_of("plan.recompute")}`];
  if (Number.isInteger(microbatch)) words.push(`microbatch=${microbatch}`);
  if (value_of("plan.zero") !== "auto") words.push(`zero=${value_of("plan.zero")}`);
  if (size_of(mesh, "pp") > 1) words.push(`schedule=${value_of("plan.schedule")}`);
  if (Number(value_of("plan.chunks")) > 1) words.push(`chunks=${value_of("plan.chunks")}`);
  return words.join(" ");
}

/**
 * The keys that a found plan sets; those of another plan go.
 * @param {Json} plan @returns {Record<string, string>}
 */
function settings_of(plan) {
  const old = Object.keys(app.run.set).filter((key) => key.startsWith("plan."));
  return { ...Object.fromEntries(old.map((key) => [key, ""])), ...plan.set };
}

/** @param {Json} plan @param {string} rank */
function plan_row(plan, rank) {
  const load = element("button", { class: "link", title: "load this plan" }, plan.plan);
  load.addEventListener("click", () => change(settings_of(plan)));
  return element("tr", {}, element("td", { title: rank === "rule" ? "the rule of thumb" : "" }, rank), element("td", {}, seconds_text(plan.step_seconds)), element("td", {}, percent(plan.mfu)),
    element("td", {}, bytes_text(plan.peak_bytes)), element("td", { class: "is_text" }, load));
}

/** @param {Json} told */
function funnel(told) {
  const rows = Object.entries(told.dropped).filter(([, count]) => Number(count) > 0).sort(([, a], [, b]) => Number(b) - Number(a));
  const most = Math.max(1, ...rows.map(([, count]) => Number(count)), told.simulated);
  /** @param {string} text @param {number} count @param {boolean} kept */
  const row = (text, count, kept) => element("li", { class: kept ? "is_kept" : "" }, element("b", {}, whole(count)),
    element("span", { class: "funnel_bar" }, element("i", { style: { width: `${Math.max(0.5, (count / most) * 100)}%` } })), element("span", {}, text));
  return element("ul", { class: "funnel" }, row("simulated", told.simulated, true), ...rows.map(([reason, count]) => row(told.reasons?.[reason] ?? reason, Number(count), false)));
}

/** @param {HTMLElement} box @param {Json} told */
function show_results(box, told) {
  const head = ["", "step", "MFU", "memory", "plan"].map((text, index) => element("th", { scope: "col", class: index === 4 ? "is_text" : "" }, text));
  const rows = told.results.slice(0, 10).map((/** @type {Json} */ plan, /** @type {number} */ index) => plan_row(plan, String(index + 1)));
  if (told.recipe) rows.push(plan_row(told.recipe, "rule"));
  fill(box, element("table", { class: "figures plans" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)),
    element("div", {}, element("h3", {}, "What was dropped"), funnel(told)));
}

/**
 * Why the plan as it is lost against the best; asked after each change while there is a result.
 * @param {HTMLElement} box @param {Json} told
 */
async function show_why_not(box, told) {
  try {
    const plans = told.results.map((/** @type {Json} */ row) => row.plan);
    for await (const answer of stream("why_not", { run: app.run, plan: plan_text(), results: plans }, newest("why_not"))) {
      if (answer.done) fill(box, element("span", {}, element("b", {}, "Why not this plan? "), answer.reason));
    }
    const best = told.results[0];
    const load = element("button", { class: "plain" }, "Load the best");
    load.addEventListener("click", () => change(settings_of(best)));
    box.append(" ", load);
  } catch (error) {
    if (!is_cancelled(error)) fill(box, element("b", {}, "Why not this plan? "), sentence_of(error).what);
  }
}

/** @param {HTMLElement} body */
export function build_search(body) {
  const button = element("button", { class: "main", id: "search_start" }, "Search");
  const progress = element("span", { class: "muted", role: "status" });
  const why = element("p", { class: "why" });
  const results = element("div", { class: "found" });
  body.append(element("div", { class: "search_head" }, button, progress), why, results);
  let running = false;
  /** @type {{told: Json, key: string} | null} */
  let last = null;
  const key_now = () => {
    const { "train.batch": batch, "train.seq": seq, "train.precision": precision, mesh } = app.run.set;
    return [app.run.model, app.run.cluster, batch, seq, precision, ranks_of(parse_mesh(mesh ?? ""))].join(" ");
  };
  const idle = () => {
    running = false;
    button.textContent = "Search";
    const ranks = ranks_of(parse_mesh(app.run.set.mesh ?? ""));
    if (!last || last.key !== key_now()) fill(progress, `all plans of ${app.run.model} on ${whole(ranks)} ranks`);
  };
  /** @param {Json} told */
  const finish = (told) => {
    last = { told, key: key_now() };
    fill(progress, `${whole(told.simulated)} plans simulated${told.complete === false ? ", not all" : ""}`);
    show_results(results, told);
    show_why_not(why, told);
    announce(`search ended; the best plan is ${told.results[0]?.plan ?? "none"}`);
  };
  const start = async () => {
    if (running) return cancel("search");
    running = true;
    button.textContent = "Stop";
    fill(progress, "starting");
    try {
      for await (const told of stream("search", { run: app.run }, newest("search"))) {
        if (told.done) finish(told);
        else fill(progress, `${whole(told.considered)} considered, ${whole(told.simulated)} simulated`, told.best_mfu > 0 && `, best MFU ${percent(told.best_mfu)}`);
      }
      idle();
    } catch (error) {
      idle();
      const { what, help } = sentence_of(error);
      fill(progress, is_cancelled(error) ? "stopped" : `${what}. ${help}`);
    }
  };
  button.addEventListener("click", start);
  on("run", () => {
    if (last && last.key !== key_now()) {
      last = null;
      fill(results);
      fill(why);
    }
    if (!running) idle();
  });
  on("verdict", () => {
    if (last && !app.error) show_why_not(why, last.told);
  });
  idle();
}
