// SPDX-License-Identifier: Apache-2.0
// The plan search, which streams: how many plans were tried and the best so far, then the ten best, the rule of thumb,
// what was dropped and why, and why the plan as it is lost.

import { app, change, on, value_of } from "./app.js";
import { cancel, is_cancelled, newest, sentence_of, stream } from "./ask.js";
import { announce, element, fill } from "./dom.js";
import { parse_mesh, print_mesh, ranks_of, size_of } from "./factors.js";
import { microbatch_samples } from "./samples.js";
import { bytes_text, percent, seconds_text, whole } from "./format.js";
import { short_key } from "./state.js";

/** @typedef {import("./ask.js").Json} Json */

/**
 * The plan as the planner writes it, to ask why it lost.
 */
function plan_text() {
  const set = app.run.set;
  const mesh = parse_mesh(set.mesh ?? "");
  const microbatch = microbatch_samples();
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

/**
 * Whether the run is this plan, with all that it sets and no more.
 * @param {Json} plan
 */
function is_loaded(plan) {
  return Object.entries(settings_of(plan)).every(([key, value]) => (app.run.set[key] ?? "") === value);
}

/**
 * What loading sets beyond the words of the plan.
 * @param {Json} plan
 */
function other_settings(plan) {
  const words = plan.plan.split(" ").map((/** @type {string} */ word) => word.split("=")[0]);
  return Object.entries(plan.set).filter(([key]) => key !== "mesh" && !words.includes(short_key(key))).map(([key, value]) => `${short_key(key)}=${value}`).join(" ");
}

/** @param {Json} plan @param {string} rank */
function plan_row(plan, rank) {
  const load = element("button", { class: "link", title: "load this plan" }, plan.plan);
  load.addEventListener("click", () => change(settings_of(plan)));
  return element("tr", {}, element("td", {}, rank), element("td", {}, seconds_text(plan.step_seconds)), element("td", {}, percent(plan.mfu)),
    element("td", {}, bytes_text(plan.peak_bytes)), element("td", { class: "is_text" }, load, element("code", { class: "also muted", title: "loading sets these too" }, other_settings(plan))));
}

/** @param {Json} told */
function funnel(told) {
  const rows = Object.entries(told.dropped).filter(([, count]) => Number(count) > 0).sort(([, a], [, b]) => Number(b) - Number(a));
  const most = Math.max(1, ...rows.map(([, count]) => Number(count)), told.simulated);
  /** @param {string} text @param {number} count @param {boolean} kept */
  const row = (text, count, kept) => element("li", { class: kept ? "is_kept" : "" }, element("b", {}, whole(count)),
    element("span", { class: "funnel_bar" }, element("i", { style: { width: `${Math.max(0.5, (count / most) * 100)}%` } })), element("span", {}, text));
  return element("ul", { class: "funnel" }, row("tried, and fit", told.simulated, true), ...rows.map(([reason, count]) => row(told.reasons?.[reason] ?? reason, Number(count), false)));
}

/**
 * The plans, when the search has ended with the rule of thumb and what was dropped.
 * @param {HTMLElement} box @param {Json} told
 */
function show_results(box, told) {
  const head = ["", "step", "MFU", "memory", "plan"].map((text, index) => element("th", { scope: "col", class: index === 4 ? "is_text" : "" }, text));
  const rows = told.results.slice(0, 10).map((/** @type {Json} */ plan, /** @type {number} */ index) => plan_row(plan, String(index + 1)));
  if (told.recipe) rows.push(plan_row(told.recipe, "rule of thumb"));
  fill(box, element("table", { class: "figures plans" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)),
    told.done && element("div", {}, element("h3", {}, "What was dropped"), funnel(told),
      told.recipe && element("p", { class: "muted small" }, "Rule of thumb: what many take without a search, tried first: dp, then fsdp, then recomputation, then pp, cp and tp.")));
}

/**
 * Why the plan as it is lost against the best; asked after each change while there is a result.
 * @param {HTMLElement} box @param {Json} told
 */
async function show_why_not(box, told) {
  const best = told.results[0];
  if (is_loaded(best)) {
    cancel("why_not");
    return fill(box, element("b", {}, "This is the best plan found."));
  }
  fill(box, element("span", { class: "muted" }, "Why not this plan? \u2026"));
  try {
    // Those with its mesh lend it the knobs that it does not name.
    const mesh = print_mesh(parse_mesh(app.run.set.mesh ?? ""));
    const plans = told.results.filter((/** @type {Json} */ row) => row === best || print_mesh(parse_mesh(row.set.mesh)) === mesh).map((/** @type {Json} */ row) => row.plan);
    const load = element("button", { class: "plain" }, "Load the best");
    load.addEventListener("click", () => change(settings_of(best)));
    for await (const answer of stream("why_not", { run: app.run, plan: plan_text(), results: plans }, newest("why_not"))) {
      if (answer.done) fill(box, element("span", {}, element("b", {}, "Why not this plan? "), answer.reason), " ", load);
    }
  } catch (error) {
    if (!is_cancelled(error)) fill(box, element("b", {}, "Why not this plan? "), sentence_of(error).what);
  }
}

/**
 * How far a search is. Its end is known by time, not by count: plans that are left have lower bounds of their step, and
 * once the lowest is above the tenth best step none of them can be shown.
 * @param {Json} told @param {Json[]} best
 */
function progress_text(told, best) {
  const counts = `${whole(told.simulated)}${told.considered > told.simulated ? ` of ${whole(told.considered)}` : ""} plans tried, ${whole(told.fit)} fit${told.best_mfu > 0 ? `, best MFU ${percent(told.best_mfu)}` : ""}`;
  if (best.length < 10 || !(told.floor_seconds > 0)) return counts;
  return `${counts}; the next takes at least ${seconds_text(told.floor_seconds)}, done above ${seconds_text(best[9].step_seconds)}`;
}

/** @param {Json} told */
function end_text(told) {
  const tried = told.simulated + (told.dropped.planned_memory ?? 0) + (told.dropped.refused ?? 0);
  return `${whole(tried)} plans tried, ${whole(told.simulated)} fit${told.complete === false ? "; not all were tried" : "; no other can be among the ten best"}`;
}

/**
 * Shows a search as it goes; its last part, or null where it was not answered.
 * @param {HTMLElement} results @param {(text: string) => void} say
 */
async function follow_search(results, say) {
  /** @type {Json[]} */
  let best = [];
  let end = null;
  for await (const told of stream("search", { run: app.run }, newest("search"))) {
    if (told.done) end = told;
    else {
      if (told.results) show_results(results, told);
      best = told.results ?? best;
      say(progress_text(told, best));
    }
  }
  return end;
}

/** What a search depends on. */
function key_now() {
  const { "train.batch": batch, "train.seq": seq, "train.precision": precision, mesh } = app.run.set;
  return [app.run.model, app.run.cluster, batch, seq, precision, ranks_of(parse_mesh(mesh ?? ""))].join(" ");
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
  let begin = 0;
  const say = (/** @type {string} */ text) => fill(progress, `${Math.floor((performance.now() - begin) / 1000)} s: ${text}`);
  const idle = () => {
    running = false;
    button.textContent = "Search";
    const ranks = ranks_of(parse_mesh(app.run.set.mesh ?? ""));
    if (!last || last.key !== key_now()) fill(progress, `all plans of ${app.run.model} on ${whole(ranks)} ranks`);
  };
  /** @param {Json} told */
  const finish = (told) => {
    last = { told, key: key_now() };
    say(end_text(told));
    show_results(results, told);
    show_why_not(why, told);
    announce(`search ended; the best plan is ${told.results[0]?.plan ?? "none"}`);
  };
  const start = async () => {
    if (running) return cancel("search");
    running = true;
    button.textContent = "Stop";
    begin = performance.now();
    say("listing the plans");
    fill(results);
    fill(why);
    last = null;
    try {
      const end = await follow_search(results, say);
      if (end) finish(end);
      idle();
    } catch (error) {
      idle();
      const { what, help } = sentence_of(error);
      fill(progress, is_cancelled(error) ? `stopped: ${progress.textContent}` : `${what}. ${help}`);
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
