// SPDX-License-Identifier: Apache-2.0
// Light or dark: as the system says, or as the switch says until it is switched back.

import { tell } from "./app.js";
import { element } from "./dom.js";

const KEY = "tessera.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @returns {"light" | "dark"} */
export function theme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return dark.matches ? "dark" : "light";
}

export function build_theme_switch() {
  const stored = localStorage.getItem(KEY);
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
  const button = element("button", { id: "theme", class: "plain icon" });
  const show = () => {
    const other = theme() === "dark" ? "light" : "dark";
    button.textContent = theme() === "dark" ? "\u2600" : "\u263e";
    button.title = `${other} colours`;
    button.setAttribute("aria-label", `use ${other} colours`);
  };
  button.addEventListener("click", () => {
    const next = theme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem(KEY, next);
    show();
    tell("theme");
  });
  dark.addEventListener("change", () => {
    show();
    tell("theme");
  });
  show();
  return button;
}
