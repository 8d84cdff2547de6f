// The header of every page: the theme, which is chosen before anything is painted, and links for this machine alone.
"use strict";
{
  const root = document.documentElement;
  // Above another tool's document its keys are the document's own.
  const hasKeys = !("foreign" in document.currentScript.dataset);
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // A browser may refuse storage: the theme is then the system's.
    }
  };
  const apply = () => {
    root.dataset.theme = chosen() ?? root.dataset.chosen ?? (prefersDark.matches ? "dark" : "light");
    dispatchEvent(new Event("themechange"));
  };
  const flip = () => {
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    root.dataset.chosen = next;
    try {
      localStorage.setItem("theme", next);
    } catch {
      // Kept by the page alone.
    }
    apply();
  };
  apply();
  prefersDark.addEventListener("change", apply);
  addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", flip);
    if (["127.0.0.1", "localhost", "[::1]"].includes(location.hostname)) {
      for (const link of document.querySelectorAll("[data-this-machine]")) link.hidden = false;
    }
  });
  addEventListener("keydown", (event) => {
    const typing = !hasKeys || event.target.closest?.("input, textarea, select");
    if (event.key === "t" && !typing && !event.metaKey && !event.ctrlKey && !event.altKey) flip();
  });
}
