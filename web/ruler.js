// SPDX-License-Identifier: Apache-2.0
// The ruler: ranks as a product of axes. A prime factor is a tile that is dragged, or moved by arrow keys, from one axis
// to another; + and - of an axis do the same. Every handle has the price of its move; places that the compiler refuses
// are grey and say why.

import { app, change, on } from "./app.js";
import { ask, is_cancelled, newest } from "./ask.js";
import { announce, element, fill } from "./dom.js";
import { data_axis, move_factor, parse_mesh, partner_of, prime_factors, print_mesh, ranks_of, size_of, step_axis, with_ranks } from "./factors.js";
import { microbatch_samples, samples_text } from "./samples.js";
import { seconds_text, signed, significant, whole } from "./format.js";
import { AXES } from "./state.js";

/** @typedef {import("./ask.js").Json} Json */
/** @typedef {import("./factors.js").Axis} Axis */

const SPLITS = /** @type {Record<string, string>} */ ({
  pp: "blocks, in stages", dp: "samples", fsdp: "samples and states", ep: "experts", cp: "tokens of a sample", tp: "heads, mlp, vocab",
});

/**
 * What the compiler said of meshes near this one: text of the mesh to its price.
 * @type {Map<string, Json>}
 */
let prices = new Map();
let priced_line = "";

const mesh_now = () => parse_mesh(app.run.set.mesh ?? "");

/** @param {Axis[] | null} mesh */
function take(mesh) {
  if (!mesh) return;
  const text = print_mesh(mesh);
  const before = microbatch_samples();
  change({ mesh: text });
  const samples = microbatch_samples();
  if (samples !== before && Number.isInteger(samples) && Number.isInteger(before))
    fill(reason, element("b", {}, "microbatch"), ` now ${samples_text(samples)} on a rank, before ${whole(before)}`);
  announce(`mesh ${text || "one rank"}`);
}

/**
 * +0.41 s, -9.0 GB against the plan as it is.
 * @param {Json} price
 * @returns {string[]}
 */
function price_text(price) {
  const now = app.verdict;
  if (!now) return [];
  const giga = (/** @type {number} */ bytes) => `${significant(bytes / 1e9, 2)} GB`;
  return [signed(price.step_seconds - now.step_seconds, (value) => seconds_text(value)), signed(price.peak_bytes - now.peak_bytes, giga)];
}

/**
 * A button of an axis with the price of its move.
 * @param {string} axis @param {"up" | "down"} way @param {Axis[]} mesh
 */
function step_button(axis, way, mesh) {
  const next = step_axis(mesh, axis, way);
  const partner = partner_of(mesh, axis);
  const factor = next ? prime_factors(size_of(mesh, way === "up" ? partner : axis))[0] : 2;
  const sign = way === "up" ? "\u00d7" : "\u00f7";
  const price = next ? prices.get(print_mesh(next)) : undefined;
  const error = price?.error;
  const what = next ? `${axis} ${sign} ${factor}, ${partner} ${way === "up" ? "\u00f7" : "\u00d7"} ${factor}` : `${axis} has no factor to ${way === "up" ? "take" : "give"}`;
  const lines = error ? [] : price ? price_text(price) : [];
  const classes = ["step", !next && "is_off", error && "is_illegal", price && price.fits === false && "is_bad", price && price.fits && price.step_seconds < (app.verdict?.step_seconds ?? 0) && "is_better"];
  const button = element("button", {
    class: classes.filter(Boolean).join(" "), id: `${axis}_${way}`, "aria-disabled": !next || Boolean(error),
    title: error ? `${error.what}${error.help ? `. ${error.help}` : ""}` : what,
    "aria-label": error ? `${what}: ${error.what}` : `${what}${lines.length ? `: ${lines.join(", ")}${price?.fits ? "" : ", does not fit"}` : ""}`,
  }, element("b", {}, next ? `${sign}${factor}` : sign), element("span", {}, ...(error ? ["refused"] : lines.map((text) => element("i", {}, text)))));
  button.addEventListener("click", () => (error ? explain(axis, error) : take(next)));
  return button;
}

/** @type {HTMLElement} */
let reason;

/**
 * The compiler's own sentence, below the ruler.
 * @param {string} axis @param {Json} error
 */
function explain(axis, error) {
  fill(reason, element("b", {}, axis), ` ${error.what}.`, error.help && element("span", { class: "muted" }, ` ${error.help}`));
  announce(error.what);
}

/**
 * Moves a tile with the keyboard: left and right, to the next axis.
 * @param {KeyboardEvent} event @param {string} axis @param {number} factor
 */
function on_tile_key(event, axis, factor) {
  const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  const to = AXES[AXES.indexOf(axis) + way];
  if (way === 0 || !to) return;
  event.preventDefault();
  take(move_factor(mesh_now(), axis, to, factor));
  document.querySelector(`#axis_${to} .tile[data-factor="${factor}"]`)?.dispatchEvent(new Event("take_focus"));
}

/** @param {string} axis @param {number} factor */
function tile(axis, factor) {
  const made = element("button", { class: "tile", draggable: true, "data-factor": factor, "aria-label": `factor ${factor} of ${axis}; left and right arrows move it`, title: "drag to another axis, or press left or right" }, factor);
  made.addEventListener("take_focus", () => made.focus());
  made.addEventListener("keydown", (event) => on_tile_key(event, axis, factor));
  made.addEventListener("dragstart", (event) => {
    event.dataTransfer?.setData("text/plain", `${axis} ${factor}`);
    if (event.dataTransfer) event.dataTransfer.effectAllowed = "move";
    dragged = { axis, factor };
    document.body.classList.add("is_dragging");
    ask_prices(axis, factor);
    mark_places();
  });
  made.addEventListener("dragend", () => {
    dragged = null;
    document.body.classList.remove("is_dragging");
    mark_places();
  });
  return made;
}

/** @type {{axis: string, factor: number} | null} */
let dragged = null;

/** While a tile is dragged each axis shows what the move would cost, or why it cannot be. */
function mark_places() {
  const mesh = mesh_now();
  for (const axis of AXES) {
    const column = document.getElementById(`axis_${axis}`);
    const place = column?.querySelector(".place");
    if (!column || !place) continue;
    const next = dragged && move_factor(mesh, dragged.axis, axis, dragged.factor);
    const price = next && prices.get(print_mesh(next));
    column.classList.toggle("is_place", Boolean(next));
    column.classList.toggle("is_illegal", Boolean(price?.error));
    fill(place, price?.error ? price.error.what : price ? [...price_text(price), price.fits ? "" : "does not fit"].filter(Boolean).join(", ") : next ? "drop here" : "");
  }
}

/** @param {string} axis @param {Axis[]} mesh */
function axis_column(axis, mesh) {
  const size = size_of(mesh, axis);
  const column = element("div", { class: `axis ${size > 1 ? "" : "is_one"}`, id: `axis_${axis}`, role: "group", "aria-label": `${axis}: ${SPLITS[axis]}` },
    element("div", { class: "axis_name" }, element("b", {}, axis), element("span", {}, SPLITS[axis])),
    element("output", { class: "axis_size" }, whole(size)),
    element("div", { class: "tiles" }, ...prime_factors(size).map((factor) => tile(axis, factor))),
    element("div", { class: "place" }),
    element("div", { class: "steps" }, step_button(axis, "up", mesh), step_button(axis, "down", mesh)));
  column.addEventListener("dragover", (event) => {
    if (!dragged || dragged.axis === axis) return;
    event.preventDefault();
    column.classList.add("is_over");
  });
  column.addEventListener("dragleave", () => column.classList.remove("is_over"));
  column.addEventListener("drop", (event) => {
    event.preventDefault();
    const moved = dragged;
    dragged = null;
    document.body.classList.remove("is_dragging");
    if (moved) take(move_factor(mesh_now(), moved.axis, axis, moved.factor));
  });
  return column;
}

/** @param {Axis[]} mesh */
function ranks_column(mesh) {
  const ranks = ranks_of(mesh);
  const input = element("input", { type: "text", inputmode: "numeric", id: "ranks", value: ranks, "aria-label": "number of ranks", class: "axis_size" });
  input.addEventListener("change", () => {
    const wanted = Number(input.value.replace(/,/g, ""));
    const next = with_ranks(mesh_now(), wanted);
    if (next) return take(next);
    const axis = data_axis(mesh_now());
    explain("ranks", { what: `${input.value} ranks are no multiple of the ${ranks_of(mesh_now()) / size_of(mesh_now(), axis)} of the other axes`, help: `${axis} takes what the others leave` });
    input.value = String(ranks_of(mesh_now()));
  });
  /** @param {number} factor @param {string} label */
  const scale = (factor, label) => {
    const next = with_ranks(mesh, ranks * factor);
    const button = element("button", { class: `step ${next ? "" : "is_off"}`, "aria-disabled": !next, "aria-label": `${label} ranks, on ${data_axis(mesh)}`, title: `${data_axis(mesh)} takes it`, id: factor > 1 ? "ranks_up" : "ranks_down" }, element("b", {}, label));
    button.addEventListener("click", () => take(next));
    return button;
  };
  return element("div", { class: "axis is_total", role: "group", "aria-label": "ranks" },
    element("div", { class: "axis_name" }, element("b", {}, "ranks"), element("span", {}, "devices in use")), input,
    element("div", { class: "tiles" }, element("span", { class: "equals", "aria-hidden": true }, "= product of")),
    element("div", { class: "place" }),
    element("div", { class: "steps" }, scale(2, "\u00d72"), scale(0.5, "\u00f72")));
}

/**
 * Asks for the prices of the moves from an axis, in the background; the next change cancels it.
 * @param {string} [from] @param {number} [factor]
 */
async function ask_prices(from, factor) {
  const line = app.line;
  try {
    const fields = from ? { run: app.run, from, factor } : { run: app.run };
    const { axes } = await ask("neighbours", from ? { run: fields.run, from } : fields, newest("neighbours"));
    if (app.line !== line) return;
    for (const row of axes) {
      for (const price of [row.up, row.down]) if (price?.mesh) prices.set(print_mesh(parse_mesh(price.mesh)), price);
    }
    priced_line = line;
    if (dragged) mark_places();
    else show_steps();
  } catch (error) {
    if (!is_cancelled(error)) priced_line = "";
  }
}

function show_steps() {
  const mesh = mesh_now();
  for (const axis of AXES) {
    for (const way of /** @type {("up" | "down")[]} */ (["up", "down"])) {
      const old = document.getElementById(`${axis}_${way}`);
      const focused = document.activeElement === old;
      const fresh = step_button(axis, way, mesh);
      old?.replaceWith(fresh);
      if (focused) fresh.focus();
    }
  }
}

/** @param {HTMLElement} body */
export function build_ruler(body) {
  const columns = element("div", { class: "ruler" });
  reason = element("p", { class: "reason small" });
  body.append(columns, reason);
  const show = () => {
    const focused = document.activeElement?.id ?? "";
    const mesh = mesh_now();
    fill(columns, ranks_column(mesh), ...AXES.map((axis) => axis_column(axis, mesh)));
    fill(reason, "\u00a0");
    if (focused && columns.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused)?.focus();
  };
  on("run", () => {
    prices = new Map();
    show();
  });
  const show_prices = () => {
    show_steps();
    if (priced_line !== app.line && !app.error && app.verdict) ask_prices();
  };
  on("verdict", show_prices);
  show();
  show_prices();
}
