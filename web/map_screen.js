// SPDX-License-Identifier: Apache-2.0
// Map: ranks on nodes, what each holds of a tensor in use and at rest, its groups and the links that they cross, and the
// IR after each pass.

import { app, on, select, show_screen } from "./app.js";
import { ask, is_cancelled, newest, sentence_of } from "./ask.js";
import { by_id, element, fill } from "./dom.js";
import { bytes_text, whole } from "./format.js";
import { drawn_dims, pieces_at_rest, pieces_in_use, ranks_text } from "./held_pieces.js";
import { build_ir_passes } from "./ir_passes.js";
import { build_mesh_grid, PIECE_COLOURS } from "./mesh_grid.js";
import { add_source } from "./palette.js";

/** @typedef {import("./ask.js").Json} Json */
/** @typedef {import("./held_pieces.js").Piece} Piece */

const WHEN = /** @type {Record<string, string>} */ ({ in_use: "in use", at_rest: "at rest", gradient: "gradient" });

/** @type {{line: string, list: Json | null, held: Json | null, tensor: string, when: string, axis: string, visible: boolean}} */
const map = { line: "", list: null, held: null, tensor: "layer.0.gate_up", when: "in_use", axis: "", visible: false };

const tensor_box = element("div", { class: "tensor_box" });
const tensor_list = element("select", { id: "tensor", size: 12, "aria-label": "Tensor" });
const filter = element("input", { type: "text", placeholder: "filter", "aria-label": "Filter tensors", spellcheck: false });
const axes_box = element("div");
const rank_box = element("div", { class: "rank_box" });
const grid = build_mesh_grid((rank) => select({ rank }));
/** @type {() => void} */
let show_passes = () => {};

/** @returns {Piece[]} */
function pieces() {
  if (!map.held) return [];
  return map.when === "in_use" ? pieces_in_use(map.held) : map.held[map.when] ? pieces_at_rest(map.held, /** @type {"at_rest" | "gradient"} */ (map.when)) : [];
}

/**
 * Ranks that differ from this one in one coordinate alone.
 * @param {Json} axis @param {number} rank
 */
export function group_along(axis, rank) {
  const first = rank - (Math.floor(rank / axis.stride) % axis.size) * axis.stride;
  return Array.from({ length: axis.size }, (_, index) => first + index * axis.stride);
}

function chosen_rank() {
  return Math.min(app.selection.rank, (map.list?.ranks ?? 1) - 1);
}

function show_grid() {
  if (!map.list) return;
  const cluster = app.lists.clusters.find((one) => one.name === app.run.cluster);
  const held = pieces();
  /** @type {(import("./mesh_grid.js").Mark)[]} */
  const marks = new Array(map.list.ranks).fill(null);
  held.forEach((piece, index) => piece.ranks.forEach((rank) => (marks[rank] = { letter: piece.name, colour: PIECE_COLOURS[index % PIECE_COLOURS.length] })));
  const axis = map.list.axes.find((/** @type {Json} */ one) => one.name === map.axis);
  grid.show({ ranks: map.list.ranks, node: Math.min(cluster?.levels[0]?.ranks ?? 8, Math.max(1, map.list.ranks)), mark: (rank) => marks[rank],
    group: axis ? group_along(axis, chosen_rank()) : [], chosen: chosen_rank() });
}

/** @param {Piece} piece @param {number} index */
function piece_rect(piece, index) {
  const own = piece.ranks.includes(chosen_rank());
  return piece.rects.map(({ x, y, width, height }) => element("div", { class: `piece data_${PIECE_COLOURS[index % PIECE_COLOURS.length]} ${own ? "is_own" : ""}`,
    style: { left: `${x * 100}%`, top: `${y * 100}%`, width: `${width * 100}%`, height: `${height * 100}%` }, title: `${piece.name}: ranks ${ranks_text(piece.ranks)}` },
    height > 0.04 && width > 0.03 && element("b", {}, piece.name), height > 0.12 && width > 0.12 && element("span", {}, piece.ranks.length > 1 ? `\u00d7 ${whole(piece.ranks.length)}` : "")));
}

function show_tensor() {
  const told = map.held;
  if (!told) return;
  const { tensor } = told;
  const drawn = drawn_dims(tensor.dims, told.in_use.boxes);
  const held = pieces();
  const dim_text = (/** @type {number} */ dim) => (dim < 0 ? "" : `${tensor.dims[dim].name} ${whole(tensor.dims[dim].size)}`);
  const others = tensor.dims.filter((/** @type {Json} */ _, /** @type {number} */ index) => index !== drawn.row && index !== drawn.column);
  const bytes_each = tensor.bytes / Math.max(1, tensor.dims.reduce((/** @type {number} */ product, /** @type {Json} */ dim) => product * dim.size, 1));
  const buttons = Object.keys(WHEN).filter((when) => when === "in_use" || told[when]).map((when) => element("button", { "aria-pressed": when === map.when, id: `when_${when}`,
    onclick: () => { map.when = when; show_all(); document.getElementById(`when_${when}`)?.focus(); } }, WHEN[when]));
  const own = held.filter((piece) => piece.ranks.includes(chosen_rank()));
  fill(tensor_box,
    element("div", { class: "tensor_head" }, element("div", { class: "segments", role: "group", "aria-label": "When" }, ...buttons),
      element("p", { class: "small muted" }, `${tensor.role}, ${tensor.dtype}, ${bytes_text(tensor.bytes)}. `, tensor.on ? `Split: ${tensor.on}. ` : "Not split. ", tensor.shard_axes ? `At rest in shards over ${tensor.shard_axes}.` : "Whole at rest.")),
    element("div", { class: "tensor_frame" }, element("span", { class: "dim_row" }, dim_text(drawn.row)), element("div", { class: `tensor_picture ${drawn.row < 0 ? "is_flat" : ""}` }, ...held.flatMap(piece_rect)),
      element("span", { class: "dim_column" }, dim_text(drawn.column))),
    others.length > 0 && element("p", { class: "small muted" }, `Each place stands for ${others.map((/** @type {Json} */ dim) => `${dim.name} ${whole(dim.size)}`).join(" \u00d7 ")}.`),
    element("p", {}, element("b", {}, `Rank ${whole(chosen_rank())} `), own.length === 0 ? "holds nothing of it." : `holds ${own.map((piece) => piece.name).join(", ")}: ${bytes_text(own.reduce((sum, piece) => sum + piece.elements, 0) * bytes_each)}, as ${ranks_text(own[0].ranks)} ${own[0].ranks.length === 1 ? "does alone" : "do"}.`));
}

function show_axes() {
  const told = map.list;
  if (!told) return;
  const near = app.lists.clusters.find((one) => one.name === app.run.cluster)?.levels[0]?.name;
  const rank = chosen_rank();
  fill(axes_box, element("table", { class: "figures" }, element("thead", {}, element("tr", {}, ...["axis", "size", "at", "link", "group"].map((text, index) => element("th", { scope: "col", class: index > 2 ? "is_text" : "" }, text)))),
    element("tbody", {}, ...told.axes.map((/** @type {Json} */ axis) => {
      const far = axis.name === "tp" && axis.level !== near;
      const button = element("button", { class: "link", "aria-pressed": axis.name === map.axis, onclick: () => { map.axis = map.axis === axis.name ? "" : axis.name; show_all(); } }, axis.name);
      return element("tr", { class: axis.name === map.axis ? "is_chosen" : "" }, element("th", { scope: "row" }, button), element("td", {}, whole(axis.size)), element("td", {}, Math.floor(rank / axis.stride) % axis.size),
        element("td", { class: `is_text ${far ? "is_bad" : ""}`, title: far ? "tp leaves the node: every layer waits for the slower link" : "" }, axis.level), element("td", { class: "is_text" }, ranks_text(group_along(axis, rank))));
    }))));
}

function show_rank() {
  const pp = map.list?.axes.find((/** @type {Json} */ axis) => axis.name === "pp");
  const place = pp ? Math.floor(chosen_rank() / pp.stride) % pp.size : 0;
  const stage = app.verdict?.stages?.[place];
  if (!stage) return fill(rank_box);
  const rows = Object.entries(stage.bytes).filter(([, bytes]) => Number(bytes) > 0);
  fill(rank_box, element("p", { class: "muted small" }, `Blocks ${stage.blocks.replace(/^\d+: /, "")}; ${bytes_text(stage.peak_bytes)} at the peak.`),
    element("dl", { class: "facts" }, ...rows.flatMap(([kind, bytes]) => [element("dt", {}, kind), element("dd", {}, bytes_text(Number(bytes)))])));
}

function show_all() {
  show_grid();
  show_tensor();
  show_axes();
  show_rank();
}

function show_list() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = (map.list?.tensors ?? []).filter((/** @type {Json} */ one) => words.every((word) => one.name.toLowerCase().includes(word)));
  fill(tensor_list, ...rows.slice(0, 500).map((/** @type {Json} */ one) => element("option", { value: one.name, selected: one.name === map.tensor }, one.name)));
}

/** @param {string} tensor */
async function ask_tensor(tensor) {
  try {
    map.held = await ask("placements", { run: app.run, tensor }, newest("tensor"));
    map.tensor = tensor;
    select({ tensor });
    if (map.when !== "in_use" && !map.held[map.when]) map.when = "in_use";
    show_all();
  } catch (error) {
    if (!is_cancelled(error)) fill(tensor_box, element("p", { class: "muted" }, sentence_of(error).what));
  }
}

async function ask_list() {
  if (!map.visible || map.line === app.line) return;
  try {
    const line = app.line;
    map.list = await ask("placements", { run: app.run }, newest("placements"));
    map.line = line;
    const names = map.list.tensors.map((/** @type {Json} */ one) => one.name);
    if (!names.includes(map.tensor)) map.tensor = names[Math.min(4, names.length - 1)] ?? "";
    if (!map.list.axes.some((/** @type {Json} */ axis) => axis.name === map.axis)) map.axis = map.list.axes[map.list.axes.length - 1]?.name ?? "";
    show_list();
    await ask_tensor(map.tensor);
    show_passes();
  } catch (error) {
    if (!is_cancelled(error)) fill(tensor_box, element("p", { class: "muted" }, sentence_of(error).what));
  }
}

/** @param {string} id @param {string} title @param {string} hint @param {...HTMLElement} parts */
function section(id, title, hint, ...parts) {
  return element("section", { id, "aria-labelledby": `${id}_title` }, element("header", {}, element("h2", { id: `${id}_title` }, title), element("p", { class: "hint" }, hint)), ...parts);
}

/** @type {import("./main.js").Screen} */
export const map_screen = {
  build(root) {
    const passes = element("div");
    show_passes = build_ir_passes(passes);
    root.append(element("div", { class: "map_grid" },
      element("div", { class: "column" },
        section("map_ranks", "Ranks", "In their nodes. Colour and letter: which piece of the tensor a rank holds.", element("div", { class: "mesh_frame" }, grid.layer)),
        section("map_axes", "Groups", "Of the chosen rank; choose an axis to see its group above.", axes_box)),
      element("div", { class: "column" },
        section("map_tensor", "Tensor", "Who holds what of it.", element("div", { class: "tensor_pick" }, element("div", { class: "tensor_names" }, filter, tensor_list), tensor_box)),
        section("map_rank", "Rank", "What it holds.", rank_box))),
    section("map_ir", "IR", "The program after each pass, and what the pass changed.", passes));
    filter.addEventListener("input", show_list);
    tensor_list.addEventListener("change", () => ask_tensor(tensor_list.value));
    on("run", ask_list);
    on("verdict", show_rank);
    on("selection", () => { if (map.visible) show_all(); });
    on("theme", grid.draw);
    add_source("tensors", () => (map.list?.tensors ?? []).map((/** @type {Json} */ one) => ({ title: one.name, detail: `tensor, ${one.role}, ${bytes_text(one.bytes)}`, act: () => { show_screen("map"); ask_tensor(one.name); } })));
  },
  show() {
    map.visible = true;
    ask_list();
    show_all();
    if (map.line === app.line) show_passes();
    if (app.selection.pass) by_id("map_ir").scrollIntoView({ block: "nearest" });
  },
  hide() {
    map.visible = false;
  },
};
