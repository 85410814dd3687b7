// SPDX-License-Identifier: Apache-2.0
// Draws what belongs to the selected bar over the lanes: a frame around each bar, an arrow from where something begins to
// where it arrives.

/** @typedef {import("./timeline_canvas.js").TimelineCanvas} TimelineCanvas */

const HEAD = 6;

/**
 * Where a slice is on the canvas, cut at the edges of the window.
 * @param {TimelineCanvas} picture @param {number} slice
 */
export function box_of(picture, slice) {
  const { timeline } = picture;
  const row = picture.rows.find((one) => one.lane === timeline.lane[slice]);
  if (!row) return null;
  const inside = (/** @type {number} */ x) => Math.min(picture.x_of(picture.stop), Math.max(picture.x_of(picture.start), x));
  const left = inside(picture.x_of(timeline.begin[slice]));
  const right = inside(picture.x_of(timeline.begin[slice] + timeline.length[slice]));
  return { left, right: Math.max(right, left + 2), y: row.y, height: row.height };
}

/** @param {CanvasRenderingContext2D} context @param {{x: number, y: number}} from @param {{x: number, y: number}} to */
function draw_arrow(context, from, to) {
  const down = to.y >= from.y ? 1 : -1;
  const reach = Math.max(24, Math.abs(to.y - from.y) / 2);
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.bezierCurveTo(from.x, from.y + down * reach, to.x, to.y - down * reach, to.x, to.y - down * HEAD);
  context.stroke();
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - HEAD * 0.7, to.y - down * HEAD * 1.4);
  context.lineTo(to.x + HEAD * 0.7, to.y - down * HEAD * 1.4);
  context.fill();
}

/** @param {TimelineCanvas} picture */
export function draw_links(picture) {
  const { context, colours, links } = picture;
  context.strokeStyle = context.fillStyle = colours.accent;
  context.lineWidth = 2;
  for (const slice of links.bars) {
    const box = box_of(picture, slice);
    if (box) context.strokeRect(box.left - 1, box.y - 1, box.right - box.left + 2, box.height + 2);
  }
  for (const [begin, end] of links.arrows) {
    const [from, to] = [box_of(picture, begin), box_of(picture, end)];
    if (!from || !to) continue;
    const down = to.y >= from.y;
    draw_arrow(context, { x: from.left, y: down ? from.y + from.height : from.y }, { x: to.right, y: down ? to.y : to.y + to.height });
  }
}
