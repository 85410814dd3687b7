// SPDX-License-Identifier: Apache-2.0
// The ranks of the mesh as a grid inside the nodes of the cluster. A cell has the colour and letter of the piece that its
// rank holds; a frame marks the chosen rank, dots its group along the chosen axis.

import { announce, element, theme_colours } from "./dom.js";

/** @typedef {{letter: string, colour: string} | null} Mark */
/** @typedef {{ranks: number, node: number, mark: (rank: number) => Mark, group: number[], chosen: number}} Shown */

const SIZES = [34, 28, 22, 16, 11, 7, 5, 3];
const MOST_HEIGHT = 520;
export const PIECE_COLOURS = ["sky", "orange", "green", "purple", "yellow", "blue", "vermillion"];

/**
 * The largest cells with which all nodes fit.
 * @param {number} ranks @param {number} node @param {number} width
 */
export function grid_layout(ranks, node, width) {
  const columns = Math.min(node, 8);
  const rows = Math.ceil(node / columns);
  const nodes = Math.ceil(ranks / node);
  for (const size of SIZES) {
    const gap = size > 12 ? 12 : size > 5 ? 5 : 2;
    const node_width = columns * size + gap;
    const node_height = rows * size + gap;
    const across = Math.max(1, Math.floor((width + gap) / node_width));
    const height = Math.ceil(nodes / across) * node_height;
    if (height <= MOST_HEIGHT || size === SIZES[SIZES.length - 1]) return { size, gap, columns, across, node_width, node_height, height };
  }
  throw new Error("unreachable");
}

/** @typedef {ReturnType<typeof grid_layout>} Layout */

/**
 * Where the cell of a rank begins.
 * @param {Layout} layout @param {Shown} shown @param {number} rank
 */
function place(layout, shown, rank) {
  const node = Math.floor(rank / shown.node);
  const within = rank % shown.node;
  return { x: (node % layout.across) * layout.node_width + (within % layout.columns) * layout.size, y: Math.floor(node / layout.across) * layout.node_height + Math.floor(within / layout.columns) * layout.size };
}

/** @param {CanvasRenderingContext2D} context @param {Record<string, string>} colours @param {Layout} layout @param {Shown} shown @param {number} rank */
function draw_cell(context, colours, layout, shown, rank) {
  const { size } = layout;
  const { x, y } = place(layout, shown, rank);
  const mark = shown.mark(rank);
  const inset = size > 5 ? 1 : 0.5;
  context.fillStyle = mark ? colours[mark.colour] : colours.sunk;
  context.fillRect(x, y, size - inset, size - inset);
  if (size < 22) return;
  context.fillStyle = !mark ? colours.muted : mark.colour === "blue" ? colours.on_blue : colours.on_data;
  context.font = `${size >= 34 ? 11 : 10}px Inter, system-ui, sans-serif`;
  context.fillText(String(rank), x + size / 2, y + size / 2 - (mark && size >= 28 ? size / 6 : 0));
  context.font = `650 ${size >= 34 ? 12 : 10}px Inter, system-ui, sans-serif`;
  if (mark && size >= 28) context.fillText(mark.letter, x + size / 2, y + size * 0.7);
}

/** @param {CanvasRenderingContext2D} context @param {Record<string, string>} colours @param {Layout} layout @param {Shown} shown */
function draw_cells(context, colours, layout, shown) {
  const { size } = layout;
  const group = new Set(shown.group);
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let rank = 0; rank < shown.ranks; ++rank) {
    draw_cell(context, colours, layout, shown, rank);
    if (!group.has(rank)) continue;
    const { x, y } = place(layout, shown, rank);
    context.strokeStyle = colours.ink;
    context.lineWidth = size > 12 ? 2 : 1;
    context.strokeRect(x + 1.5, y + 1.5, size - 4, size - 4);
  }
  const { x, y } = place(layout, shown, shown.chosen);
  context.strokeStyle = colours.accent;
  context.lineWidth = 3;
  context.strokeRect(x, y, size - 1, size - 1);
}

/** @param {(rank: number) => void} choose */
export function build_mesh_grid(choose) {
  const canvas = element("canvas", { "aria-hidden": true });
  const layer = element("div", { class: "mesh_layer", id: "mesh_grid", tabindex: 0, role: "application", "aria-label": "Ranks in their nodes. Arrow keys choose a rank." }, canvas);
  /** @type {Shown} */
  let shown = { ranks: 1, node: 1, mark: () => null, group: [], chosen: 0 };
  let layout = grid_layout(1, 1, 600);

  const draw = () => {
    const width = layer.clientWidth;
    const context = canvas.getContext("2d", { alpha: false });
    if (!context || width === 0) return;
    layout = grid_layout(shown.ranks, shown.node, width);
    const ratio = window.devicePixelRatio || 1;
    const height = layout.height + 4;
    layer.style.height = canvas.style.height = `${height}px`;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const colours = theme_colours([...PIECE_COLOURS, "panel", "ink", "muted", "line", "sunk", "on_data", "on_blue", "accent"]);
    context.setTransform(ratio, 0, 0, ratio, 2 * ratio, 2 * ratio);
    context.fillStyle = colours.panel;
    context.fillRect(-2, -2, width, height);
    draw_cells(context, colours, layout, shown);
  };
  /** @param {number} rank */
  const take = (rank) => {
    if (rank < 0 || rank >= shown.ranks) return;
    choose(rank);
    announce(`rank ${rank}, piece ${shown.mark(rank)?.letter ?? "none"}`);
  };
  layer.addEventListener("click", (event) => {
    const node = Math.floor((event.offsetY - 2) / layout.node_height) * layout.across + Math.floor((event.offsetX - 2) / layout.node_width);
    const column = Math.floor(((event.offsetX - 2) % layout.node_width) / layout.size);
    const row = Math.floor(((event.offsetY - 2) % layout.node_height) / layout.size);
    if (column < layout.columns && row * layout.columns + column < shown.node) take(node * shown.node + row * layout.columns + column);
  });
  layer.addEventListener("keydown", (event) => {
    const ways = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -shown.node, ArrowDown: shown.node });
    if (!(event.key in ways)) return;
    event.preventDefault();
    take(shown.chosen + ways[event.key]);
  });
  new ResizeObserver(draw).observe(layer);
  /** @param {Shown} next */
  const show = (next) => {
    shown = next;
    draw();
  };
  return { layer, draw, show };
}
