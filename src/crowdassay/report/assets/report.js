"use strict";
// Charts are drawn from data in this page. Expressions are interpreted (ast), so no code is ever made from text.
const tooltip = { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" };
for (const [id, spec] of Object.entries(JSON.parse(document.getElementById("charts").textContent))) {
  const place = document.getElementById(id);
  vegaEmbed(place, spec, { mode: "vega", renderer: "svg", actions: false, ast: true, tooltip }).catch((error) => {
    place.textContent = "This chart could not be drawn: " + error.message;
  });
}
