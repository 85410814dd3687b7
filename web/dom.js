// SPDX-License-Identifier: Apache-2.0
// Elements made in code. Text always becomes a text node, so that names from files and models can do no harm.

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, unknown>} Attributes */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Sets attributes: `on*` functions listen, `style` is an object of CSS properties, booleans are present or absent.
 * @param {Element} target
 * @param {Attributes} attributes
 */
export function set(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on") && typeof value === "function") {
      target.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (name === "style" && value !== null && typeof value === "object") {
      for (const [property, text] of Object.entries(value)) {
        /** @type {HTMLElement} */ (target).style.setProperty(property, String(text));
      }
    } else if (name === "value") {
      /** @type {HTMLInputElement} */ (target).value = String(value);
    } else if (name.startsWith("aria-") || name === "draggable") {
      if (value !== null && value !== undefined) target.setAttribute(name, String(value));
    } else if (value === false || value === null || value === undefined) {
      target.removeAttribute(name);
    } else {
      target.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/** @param {Element} target @param {Child[]} children */
function append(target, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    target.append(child instanceof Node ? child : String(child));
  }
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  append(made, children);
  set(made, attributes);
  return made;
}

/**
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const made = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  append(made, children);
  set(made, attributes);
  return made;
}

/** @param {Element} target @param {...Child} children */
export function fill(target, ...children) {
  target.replaceChildren();
  append(target, children);
}

/**
 * The element with this id of index.html.
 * @param {string} id @returns {HTMLElement}
 */
export function by_id(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}

/**
 * The colours of the theme for a canvas, which knows no CSS variables.
 * @param {string[]} names
 * @returns {Record<string, string>}
 */
export function theme_colours(names) {
  const probe = element("i", { hidden: true });
  document.body.append(probe);
  /** @type {Record<string, string>} */
  const colours = {};
  for (const name of names) {
    probe.style.color = `var(--${name})`;
    colours[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return colours;
}

let live_timer = 0;

/**
 * Tells screen readers what has changed, politely and not more than twice a second.
 * @param {string} sentence
 */
export function announce(sentence) {
  clearTimeout(live_timer);
  live_timer = window.setTimeout(() => fill(by_id("live"), sentence), 400);
}

/**
 * Offers text or bytes as a file.
 * @param {string} name @param {string} type @param {BlobPart} content
 */
export function save_file(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
