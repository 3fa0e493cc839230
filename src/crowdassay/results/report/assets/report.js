"use strict";
// Charts are drawn from data in this page. Expressions are interpreted (ast), so no code is ever made from text.
const tooltip = { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" };
for (const [id, spec] of Object.entries(JSON.parse(document.getElementById("charts").textContent))) {
  const place = document.getElementById(id);
  vegaEmbed(place, spec, { mode: "vega", renderer: "svg", actions: false, ast: true, tooltip }).catch((error) => {
    place.textContent = "This chart could not be drawn: " + error.message;
  });
}
// A click on a heading sorts its table; a second click turns the order round.
for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("th").forEach((heading, column) => {
    if (!heading.dataset.by) return;
    const button = document.createElement("span"); // paper repeats headings on every page, but not the buttons in them
    button.setAttribute("role", "button");
    button.tabIndex = 0;
    button.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); button.click(); }
    });
    button.append(...heading.childNodes);
    heading.append(button);
    const value = (row) => {
      const cell = row.cells[column];
      return heading.dataset.by === "number" ? Number(cell.dataset.value) : cell.textContent;
    };
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
      const rows = [...table.tBodies[0].rows].sort((one, other) => sign * compare(value(one), value(other)));
      table.tBodies[0].append(...rows);
    });
  });
}
