// SPDX-License-Identifier: Apache-2.0
// Draws a solution (charts.js) from the JSON that the page carries.
"use strict";
(() => {
  const { step, values } = JSON.parse(document.getElementById("data").textContent);
  const SCALE = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"]; // viridis
  const node = document.querySelector(".chart");
  const places = (list) => list.map((_, index) => index * step);
  const rows = places(values), columns = places(values[0] || []);
  const all = values.flat();
  const range = [all.reduce((one, other) => Math.min(one, other), Infinity), all.reduce((one, other) => Math.max(one, other), -Infinity)];
  function draw() {
    const style = getComputedStyle(document.documentElement);
    const look = Object.fromEntries(["fg", "muted", "rule", "raised", "sans"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    Charts.map(node, { width: node.clientWidth, height: node.clientHeight, size: 12, look, values, range, square: true,
      rows: rows.map(String), columns: columns.map(String), xTitle: "column", yTitle: "row", shown: null,
      scale: SCALE.map((colour, index) => [index / (SCALE.length - 1), colour]),
      named: range[1] > range[0] ? Charts.ticks(...range, false, 8) : [[range[0], String(range[0])]],
      text: (i, j) => `row ${rows[i]}, column ${columns[j]}: ${values[i][j]}` });
    node.dataset.drawn = "yes";
  }
  draw();
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
