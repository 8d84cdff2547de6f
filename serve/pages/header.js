// The header of every page: theme and colours, which are chosen before anything is painted, and links for this machine
// alone.
"use strict";
{
  const root = document.documentElement;
  // Above another tool's document its keys are the document's own.
  const isForeign = "foreign" in document.currentScript.dataset;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  // A browser may refuse storage: a choice is then the page's alone.
  const choices = {};
  const chosen = (name) => {
    try {
      return localStorage.getItem(name) ?? choices[name];
    } catch {
      return choices[name];
    }
  };
  const choose = (name, value) => {
    choices[name] = value;
    try {
      localStorage.setItem(name, value);
    } catch {
      // As above.
    }
    apply();
  };
  const apply = () => {
    root.dataset.theme = chosen("theme") ?? (prefersDark.matches ? "dark" : "light");
    root.dataset.colours = chosen("colours") ?? "blue-orange";
    document.getElementById("colours")?.setAttribute("aria-pressed", root.dataset.colours === "green-red");
    dispatchEvent(new Event("themechange"));
  };
  const flip = () => choose("theme", root.dataset.theme === "dark" ? "light" : "dark");
  apply();
  prefersDark.addEventListener("change", apply);
  addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", flip);
    document.getElementById("colours")?.addEventListener("click", () =>
      choose("colours", root.dataset.colours === "green-red" ? "blue-orange" : "green-red"));
    apply();
    if (["127.0.0.1", "localhost", "[::1]"].includes(location.hostname)) {
      for (const link of document.querySelectorAll("[data-this-machine]")) link.hidden = false;
    }
  });
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select");
    if (event.key === "t" && !isForeign && !typing && !event.metaKey && !event.ctrlKey && !event.altKey) flip();
  });
}
