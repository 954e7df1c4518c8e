// SPDX-License-Identifier: Apache-2.0
// Draws the charts (charts.js) and fills the long tables of a report from the JSON that the page carries.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  // page.py writes a list for each column, by its name: here a row is an object.
  function rows(columns) {
    const names = Object.keys(columns);
    return (columns[names[0]] || []).map((_, index) => Object.fromEntries(names.map((name) => [name, columns[name][index]])));
  }
  const cells = rows(data.cells);
  for (const [number, found] of Object.entries(data.bandwidths)) cells[number].bandwidths = found;
  for (const [number, found] of Object.entries(data.overlaps)) cells[number].overlap = found;
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
  const SVG_DASHES = ["", "6 3", "2 3", "6 3 2 3", "10 3", "10 3 2 3"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "star"];
  const PALETTE = 6;
  const PAGE_OF_ROWS = 200;
  const PAPER = { two: [336, 208], three: [221, 160], pairs: [336, 288] }; // px of a chart on A4; report.css agrees

  // ---- figures, written as numbers.py writes them ----
  function number(value) {
    if (value === null || !Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    const magnitude = Math.abs(value);
    if (magnitude < 1e-4 || magnitude >= 1e9) return value.toExponential(2);
    const rounded = value.toExponential(2);
    return Number(rounded).toFixed(Math.max(0, 2 - Number(rounded.split("e")[1])));
  }
  const probability = (p) => (p !== null && p < 0.001 ? "< 0.001" : number(p));
  const percent = (fraction) => number(fraction === null ? null : 100 * fraction);
  function size(bytes) {
    for (const [unit, scale] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024]]) {
      if (bytes >= scale && bytes % scale === 0) return `${bytes / scale} ${unit}`;
    }
    return `${bytes} B`;
  }
  function spread(low, high, isInterval) {
    if (low === null) return "";
    return isInterval ? `[${number(low)}, ${number(high)}]` : `range ${number(low)} to ${number(high)}`;
  }
  const brief = (text) => (text.length > 40 ? `${text.slice(0, 20)}…${text.slice(-19)}` : text); // names differ at either end

  // ---- the message-size axis: logarithmic, with 0 bytes about one step left of 1 byte ----
  const ZERO = 0.45;
  const place = (bytes) => (bytes === 0 ? ZERO : bytes);
  function sizeAxis(places, room) {
    const powers = places.filter((one) => one !== ZERO).map(Math.log2);
    const hasZero = powers.length < places.length;
    const first = Math.floor(Math.min(...(powers.length ? powers : [0])));
    const last = Math.ceil(Math.max(...(powers.length ? powers : [0])));
    const step = [1, 2, 3, 4, 5, 6, 8, 10].find((one) => (last - first) / one <= room) || 10;
    const ticks = hasZero ? [[ZERO, "0"]] : [];
    const label = (tick) => (tick < 1024 ? String(tick) : size(tick).replace("iB", "i"));
    for (let power = hasZero && first === 0 ? step - 1 : first; power <= last; power += step) ticks.push([2 ** power, label(2 ** power)]);
    const low = Math.log10(Math.min(...places));
    const high = Math.log10(Math.max(...places));
    const margin = 0.03 * (high - low) + 0.05;
    const grouped = (bytes) => String(bytes).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return { title: "message size, bytes", range: [low - margin, high + margin], ticks, name: (at) => `${grouped(at === ZERO ? 0 : at)} bytes` };
  }

  function rankAxis(ranks) {
    return { title: "ranks", range: [Math.log10(ranks[0]) - 0.06, Math.log10(ranks[ranks.length - 1]) + 0.06],
      ticks: ranks.map((one) => [one, String(one)]), name: (at) => `${at} ranks` };
  }

  // ---- colours: the page's own, light or dark ----
  function theme() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    return { fg: get("--fg"), muted: get("--muted"), grid: get("--grid"), rule: get("--rule"),
      raised: get("--raised"), bad: get("--bad"), note: get("--note"), good: get("--good"), sans: get("--sans"),
      colours: Array.from({ length: PALETTE }, (_, index) => get(`--c${index}`)) };
  }
  // ---- charts ----
  const hidden = new Set();
  const groups = new Map(); // cells by "path,variant"
  for (const cell of cells) {
    const key = `${cell.path},${cell.variant}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(cell);
  }

  function wanted(kind, bytes) {
    if (kind === "small") return bytes <= data.small_up_to;
    if (kind === "large") return bytes >= data.small_up_to;
    return true;
  }

  const curve = (points, style, text) => ({ ...style,
    points: points.map((point) => ({ x: place(point.size), y: point.y, low: point.low, high: point.high, hollow: point.hollow, text: text(point) })) });
  function styleOf(contender, name, look) {
    const symbol = SYMBOLS[(contender.colour + Math.floor(contender.colour / PALETTE)) % SYMBOLS.length];
    return { name, colour: look.colours[contender.colour % PALETTE], width: 2, dash: DASHES[contender.dash % DASHES.length], symbol, marker: 5.5 };
  }
  const referenceStyle = (variant, look) => ({ name: variant.reference, colour: look.fg, width: 1.6, dash: "solid", symbol: "circle", marker: 3 });

  const lostWords = (cell) => (cell.failed ? ` · ${cell.status}` : "");
  // A cross around the points where some launches were lost: the others alone are drawn.
  const lost = (points) => points.filter(({ cell }) => cell.failed).map((point) => ({ x: place(point.size), y: point.y }));

  function chartLines(kind, key, look) {
    const variant = data.variants[Number(key.split(",")[1])];
    const asFraction = kind === "fraction";
    const lines = [];
    const crosses = [];
    const places = [];
    const ceiling = rows(data.ceilings[key] || {}).filter((point) => wanted(kind, point.size));
    if (!asFraction && ceiling.length) {
      const points = ceiling.map((row) => ({ size: row.size, y: row.value, low: row.low, high: row.high, row }));
      points.forEach((point) => places.push(place(point.size)));
      lines.push(curve(points, referenceStyle(variant, look),
        ({ row }) => (variant.ideal ? `at best ${number(row.value)} ${variant.unit}: ` : variant.reference === "bound" ? `bound ${number(row.value)} ${variant.unit} by ` : `ceiling ${number(row.value)} ${variant.unit} by `)
          + `${data.methods[row.method]} ${spread(row.low, row.high, row.isInterval)}`));
    }
    data.contenders.forEach((contender, who) => {
      if (hidden.has(who)) return;
      const points = (groups.get(key) || [])
        .filter((cell) => cell.who === who && wanted(kind, cell.size) && cell.median !== null)
        .filter((cell) => !asFraction || cell.fraction !== null)
        .filter((cell) => (kind !== "large" && kind !== "times") || cell.median > 0)
        .sort((one, other) => one.size - other.size)
        .map((cell) => asFraction
          ? { size: cell.size, y: 100 * cell.fraction, cell, hollow: !cell.fractionIsInterval,
            low: cell.fractionLow === null ? null : 100 * cell.fractionLow,
            high: cell.fractionHigh === null ? null : 100 * cell.fractionHigh }
          : { size: cell.size, y: cell.median, low: cell.low, high: cell.high, cell, hollow: !cell.isInterval });
      if (!points.length) return;
      points.forEach((point) => places.push(place(point.size)));
      crosses.push(...lost(points));
      lines.push(curve(points, styleOf(contender, brief(contender.label), look),
        ({ cell }) => {
          const part = (cell.fraction === null ? `no ${variant.reference}` : `${percent(cell.fraction)} % of ${variant.reference}`)
            + (cell.bandwidths ? ` · bus bandwidth ${number(cell.bandwidths[1])} GB/s` : "")
            + (cell.overlap ? ` · ${cell.overlap}` : "");
          return `${brief(contender.label)} ${number(cell.median)} ${variant.unit}`
            + ` ${spread(cell.low, cell.high, cell.isInterval)} · ${part}${cell.defect ? ` (defect of the ${variant.reference})` : ""}${lostWords(cell)}`;
        }));
    });
    return { lines, crosses, places, variant };
  }

  // All pairs: the fraction of the median pair as colour, the value in each field.
  function drawPairs(node) {
    const matrix = data.matrices[Number(node.dataset.matrix)];
    const source = matrix.sources[Number(node.dataset.source || 0)];
    const look = theme();
    const paper = document.documentElement.classList.contains("paper");
    node.classList.toggle("flat", 2 * matrix.rows.length <= matrix.columns.length);
    const [width, height] = paper ? PAPER.pairs : [node.clientWidth, node.clientHeight];
    const name = (end) => (matrix.kind === "gpu-gpu" ? `GPU ${end}` : end);
    const fits = matrix.columns.length <= 8;
    Charts.map(node, { width, height, look, size: paper ? 9 : 11, rows: matrix.rows.map(name), columns: matrix.columns.map(name),
      values: source.fractions, range: [data.ratings.fair, 1],
      scale: [[0, look.bad], [data.ratings.good, look.note], [1, look.good]],
      named: [0.5, 0.6, 0.7, 0.8, 0.9, 1].map((one) => [one, `${Math.round(100 * one)}%`]),
      shown: fits && ((i, j) => number(source.values[i][j])),
      xTitle: matrix.directed ? "to" : "", yTitle: matrix.directed ? "from" : "",
      text: (i, j) => `${name(matrix.rows[i])} ${matrix.directed ? "to" : "and"} ${name(matrix.columns[j])}: ${number(source.values[i][j])} ${matrix.unit},`
        + ` ${percent(source.fractions[i][j])} % of the median pair` });
    node.dataset.drawn = "yes";
  }

  // One operation at one message size, over the number of ranks.
  function rankLines(scaling, look) {
    const variant = data.variants[scaling.variant];
    const of = (path, who) => (groups.get(`${path},${scaling.variant}`) || [])
      .find((cell) => cell.who === who && cell.size === scaling.size && cell.median !== null);
    const lines = [];
    const crosses = [];
    const bounds = scaling.paths.map((path) => rows(data.ceilings[`${path},${scaling.variant}`] || {}).find((row) => row.size === scaling.size));
    const add = (found, style, text) => {
      const points = scaling.ranks.map((ranks, index) => ({ ranks, cell: found[index] })).filter(({ cell }) => cell)
        .map(({ ranks, cell }) => ({ size: ranks, y: cell.value ?? cell.median, low: cell.low, high: cell.high, cell }));
      if (points.length) lines.push(curve(points, style, ({ cell }) => text(cell)));
      crosses.push(...lost(points));
    };
    add(bounds, referenceStyle(variant, look), (row) => `${variant.reference} ${number(row.value)} ${variant.unit}`);
    data.contenders.forEach((contender, who) => {
      if (hidden.has(who)) return;
      const name = brief(contender.label);
      add(scaling.paths.map((path) => of(path, who)), styleOf(contender, name, look),
        (cell) => `${name} ${number(cell.median)} ${variant.unit} ${spread(cell.low, cell.high, cell.isInterval)}`
          + (cell.fraction === null ? "" : ` · ${percent(cell.fraction)} % of ${variant.reference}`) + lostWords(cell));
    });
    return { lines, crosses, places: scaling.ranks, variant };
  }

  // An application over the number of ranks, in percent: a line for each library and way.
  function growthLines(growth, look) {
    const lines = growth.lines.filter((line) => !hidden.has(line.who)).map((line) => {
      const contender = data.contenders[line.who];
      const style = { ...styleOf(contender, line.name, look), dash: DASHES[(contender.dash + line.way) % DASHES.length], symbol: SYMBOLS[line.way % SYMBOLS.length] };
      return curve(rows(line.points), style, (point) => `${line.name} ${number(point.y)} % ${spread(point.low, point.high, point.isInterval)}`);
    });
    return { lines, crosses: [], places: growth.ranks, variant: { unit: "%" } };
  }

  function draw(node) {
    const { kind } = node.dataset;
    if (kind === "pairs") {
      drawPairs(node);
      return;
    }
    const scaling = kind === "ranks" ? data.scalings[Number(node.dataset.scaling)] : null;
    const key = `${node.dataset.path},${node.dataset.variant}`;
    const look = theme();
    const growth = kind === "growth" ? data.growths[node.dataset.application][Number(node.dataset.growth)] : null;
    const overRanks = scaling || growth;
    const { lines, crosses, places, variant } = scaling ? rankLines(scaling, look) : growth ? growthLines(growth, look) : chartLines(kind, key, look);
    const paper = document.documentElement.classList.contains("paper");
    const [width, height] = paper ? PAPER[node.closest(".three") ? "three" : "two"] : [node.clientWidth, node.clientHeight];
    const room = Math.max(3, Math.floor((width - 70) / 58));
    const x = overRanks ? rankAxis(overRanks.ranks) : sizeAxis(places.length ? places : [1, 2], room);
    const y = { title: kind !== "fraction" ? variant.unit : variant.reference === "bound" ? "% of bound" : "% of measured ceiling",
      log: kind === "large" || kind === "times" || scaling !== null };
    if (kind === "fraction") {
      const found = lines.flatMap(({ points }) => points.flatMap((point) => [point.y, point.low, point.high])).filter((one) => one > 0);
      const top = Math.max(100, ...found);
      // What can be done may be far from a bound, so curves would lie flat at the foot of a linear axis.
      y.log = variant.reference === "bound" && !variant.ideal;
      y.range = y.log ? [Math.log10(Math.min(10, ...found)) - 0.06, Math.log10(top) + 0.06] : [0, top * 1.06];
    }
    // Lines of one library differ in the way it was used, which the page's legends do not have.
    Charts.curves(node, { width, height, size: paper ? 9 : 11, look, lines, crosses, x, y, legend: growth !== null,
      ...(kind === "fraction" ? { level: 100 } : {}) });
    node.dataset.drawn = "yes";
  }

  const charts = Array.from(document.querySelectorAll(".chart"));
  const drawn = () => charts.filter((node) => node.dataset.drawn);
  const visible = (node) => !node.closest("details:not([open]), [hidden]");
  const redraw = () => drawn().filter(visible).forEach(draw);
  const drawInside = (box) => Array.from(box.querySelectorAll(".chart")).filter(visible).forEach(draw);
  const queue = charts.filter(visible);
  // One chart at a time, so that the page can be read while the charts below are drawn.
  function next() {
    const node = queue.shift();
    if (!node) return;
    if (!node.dataset.drawn) draw(node);
    setTimeout(next, 0);
  }
  setTimeout(next, 0);
  document.querySelectorAll("details.variant").forEach((box) => box.addEventListener("toggle", () => {
    if (box.open) drawInside(box);
  }));

  // A path has one block of charts for each kind of buffers, of which one is shown.
  document.querySelectorAll("button[data-show]").forEach((button) => button.addEventListener("click", () => {
    const section = button.closest("section");
    section.querySelectorAll("button[data-show]").forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
    section.querySelectorAll("div[data-buffers]").forEach((box) => {
      box.hidden = box.dataset.buffers !== button.dataset.show;
      if (!box.hidden) drawInside(box);
    });
  }));
  document.querySelectorAll("select[data-source]").forEach((select) => select.addEventListener("input", () => {
    const node = select.closest("figure").querySelector(".chart");
    node.dataset.source = select.value;
    draw(node);
  }));

  document.querySelectorAll("button.save").forEach((button) => button.addEventListener("click", () => {
    const node = button.closest("figure").querySelector(".chart");
    const { kind } = node.dataset;
    const scaling = kind === "ranks" ? data.scalings[Number(node.dataset.scaling)] : null;
    const variant = scaling ? scaling.variant : Number(node.dataset.variant);
    const name = kind === "pairs" ? data.matrices[Number(node.dataset.matrix)].case
      : kind === "growth" ? `${node.dataset.application} ${node.dataset.growth}`
        : `${scaling ? size(scaling.size) : data.paths[Number(node.dataset.path)]} ${data.variants[variant].label}`;
    Charts.save(node, `nearpeak-${name.replace(/\W+/g, "-").replace(/-$/, "")}-${kind}.svg`);
  }));

  let waiting = 0;
  let lastWidth = document.documentElement.clientWidth;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const now = document.documentElement.clientWidth;
      if (now === lastWidth || document.documentElement.classList.contains("paper")) return;
      lastWidth = now;
      redraw();
    }, 120);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  const opened = []; // what is folded on the screen and not on paper
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("paper");
    opened.push(...document.querySelectorAll("section.family details:not([open])"));
    opened.forEach((box) => { box.open = true; });
    charts.filter(visible).forEach(draw);
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("paper");
    opened.splice(0).forEach((box) => { box.open = false; });
    redraw();
  });

  // ---- legends ----
  const SHAPES = ['<circle cx="14" cy="6" r="3.2"/>', '<rect x="11" y="3" width="6" height="6"/>',
    '<path d="M14 2l4 4-4 4-4-4z"/>', '<path d="M14 2l4 7h-8z"/>', '<path d="M11 3l6 6M17 3l-6 6"/>',
    '<path d="M14 2l1.2 3h3l-2.4 1.9.9 3.1L14 8.2 11.300 10l.9-3.1L9.800 5h3z"/>'];
  document.querySelectorAll("[data-contender]").forEach((node) => {
    const who = node.dataset.contender;
    const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    swatch.setAttribute("width", "28");
    swatch.setAttribute("height", "12");
    swatch.setAttribute("aria-hidden", "true");
    if (who === "ceiling") {
      swatch.innerHTML = '<path d="M0 6h28" fill="none" stroke="var(--fg)"/>';
    } else {
      const { colour, dash } = data.contenders[Number(who)];
      const symbol = (colour + Math.floor(colour / PALETTE)) % SHAPES.length;
      swatch.style.color = `var(--c${colour % PALETTE})`;
      swatch.innerHTML = `<path d="M0 6h28" fill="none" stroke="currentColor" stroke-dasharray="${SVG_DASHES[dash % SVG_DASHES.length]}"/>`
        + `<g fill="currentColor" stroke="currentColor">${SHAPES[symbol]}</g>`;
      node.addEventListener("click", () => {
        const number_ = Number(who);
        if (!hidden.delete(number_)) hidden.add(number_);
        document.querySelectorAll(`button[data-contender="${number_}"]`).forEach((button) => {
          button.setAttribute("aria-pressed", String(!hidden.has(number_)));
        });
        redraw();
      });
    }
    node.prepend(swatch);
  });

  // ---- long tables ----
  function element(name, text, classes) {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (classes) node.className = classes;
    return node;
  }
  function copyButton() {
    const button = element("button", "Copy", "plain copy");
    button.type = "button";
    return button;
  }
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code); // no clipboard from a file in some browsers
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  // Opens a row below the button's own, or closes it again.
  function toggleBelow(button, make) {
    const row = button.closest("tr");
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) {
      row.nextElementSibling.remove();
      return;
    }
    const inner = element("tr", undefined, "inner");
    const cell = element("td");
    cell.colSpan = row.cells.length;
    cell.append(make());
    inner.append(cell);
    row.after(inner);
  }

  function cellRow(cell) {
    const variant = data.variants[cell.variant];
    const row = element("tr");
    const name = element("th", data.contenders[cell.who].label, "name");
    name.scope = "row";
    const fraction = element("td", percent(cell.fraction), cell.defect ? "n bad" : "n");
    if (cell.fractionLow !== null) {
      fraction.append(element("small", spread(100 * cell.fractionLow, 100 * cell.fractionHigh, cell.fractionIsInterval),
        cell.fractionIsInterval ? "" : "note"));
    }
    const status = element("td", cell.status, cell.status === "ok" ? "" : "bad");
    if (cell.flags) status.append(" ", element("small", cell.flags));
    const median = element("td", number(cell.median), "n");
    if (cell.low !== null) {
      median.append(element("small", spread(cell.low, cell.high, cell.isInterval), cell.isInterval ? "" : "note"));
    }
    const ceiling = element("td", number(cell.ceiling), "n");
    if (cell.method !== null) {
      ceiling.append(element("small", (variant.reference === "bound" ? "a bound: " : "") + data.methods[cell.method], "wrap"));
    }
    const benchmark = element("td", `${variant.figure} `);
    benchmark.append(element("small", variant.detail));
    const button = element("button", "details", "plain small");
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => toggleBelow(button, () => {
      const box = element("div", undefined, "command");
      if (cell.p05 !== null) {
        box.append(element("p", `Samples of all launches: 5 % below ${number(cell.p05)}, 95 % below ${number(cell.p95)},`
          + ` smallest ${number(cell.minimum)} ${variant.unit}; first use ${number(cell.firstUse)} µs (median over launches).`));
      }
      if (cell.fraction !== null) {
        const blocks = cell.fractionBlocks;
        box.append(element("p", `The fraction of the ${variant.reference} rests on ${blocks} ${blocks === 1 ? "block" : "blocks"} that measured both.`));
      }
      if (cell.bandwidths) {
        const [algorithm, bus] = cell.bandwidths.map(number);
        box.append(element("p", `As nccl-tests counts: algorithm bandwidth ${algorithm} GB/s, bus bandwidth ${bus} GB/s.`));
      }
      if (cell.overlap) box.append(element("p", `${cell.overlap}.`));
      box.append(element("code", data.commands[cell.command]), " ", copyButton());
      return box;
    }));
    const last = element("td");
    last.append(button);
    row.append(name, element("td", data.paths[cell.path], "path"), benchmark, element("td", size(cell.size), "n"),
      median, element("td", variant.unit), element("td", String(cell.launches), "n"), ceiling, fraction, status, last);
    return row;
  }

  const table = { box: document.getElementById("all-cells"), rows: document.getElementById("rows"), found: [], shown: 0 };
  const selects = Array.from(document.querySelectorAll("select[data-filter]"));
  const texts = []; // what the search looks at, made when it is first needed
  const words = (cell) => [data.contenders[cell.who].label, data.paths[cell.path], data.variants[cell.variant].label,
    size(cell.size), cell.size, cell.status, cell.flags, cell.method === null ? "" : data.methods[cell.method]].join(" ").toLowerCase();
  function showMore() {
    const part = table.found.slice(table.shown, table.shown + PAGE_OF_ROWS);
    table.rows.append(...part.map((index) => cellRow(cells[index])));
    table.shown += part.length;
    document.getElementById("shown").textContent = `${table.shown} of ${table.found.length} matching cells shown, of ${cells.length}`;
    document.getElementById("more").hidden = table.shown >= table.found.length;
  }
  function filter() {
    const terms = document.getElementById("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const picks = selects.filter((select) => select.value !== "").map((select) => [select.dataset.filter, select.value]);
    table.found = cells.map((_, index) => index).filter((index) => {
      const cell = cells[index];
      return picks.every(([column, value]) => String(cell[column]) === value) && terms.every((term) => texts[index].includes(term));
    });
    table.rows.replaceChildren();
    table.shown = 0;
    showMore();
  }
  table.box.addEventListener("toggle", () => {
    if (!table.box.open || texts.length) return;
    cells.forEach((cell) => texts.push(words(cell)));
    const names = { who: data.contenders.map((one) => one.label), path: data.paths,
      variant: data.variants.map((one) => one.label), buffers: data.buffers };
    for (const select of selects) {
      const column = select.dataset.filter;
      for (const value of new Set(cells.map((cell) => cell[column]))) {
        const option = element("option", names[column] ? names[column][value] : value);
        option.value = String(value);
        select.append(option);
      }
      select.addEventListener("input", filter);
    }
    document.getElementById("search").addEventListener("input", filter);
    document.getElementById("more").addEventListener("click", showMore);
    filter();
  });

  function comparisonTable(wantedGroup) {
    const list = element("table", undefined, "fit");
    list.append(element("caption", "By message size. Ratio: second to first; above 1, the second is better"));
    const head = element("tr");
    for (const [text, classes] of [["Size", "n"], ["Ratio", "n"], ["95 % interval", "n"], ["p, adjusted", "n"], ["Verdict", ""]]) {
      const cell = element("th", text, classes);
      cell.scope = "col";
      head.append(cell);
    }
    list.createTHead().append(head);
    const body = list.createTBody();
    for (const { row: group, size: bytes, ratio, low, high, p, verdict } of rows(data.comparisons)) {
      if (group !== wantedGroup) continue;
      const row = element("tr");
      const first = element("th", size(bytes), "n");
      first.scope = "row";
      const tone = { faster: "good", slower: "bad" }[verdict] || "";
      row.append(first, element("td", number(ratio), "n"), element("td", low === null ? "none" : spread(low, high, 1), "n"),
        element("td", probability(p), "n"), element("td", verdict, tone));
      body.append(row);
    }
    return list;
  }
  document.querySelectorAll("button[data-verdicts]").forEach((button) => button.addEventListener("click", () => {
    toggleBelow(button, () => comparisonTable(Number(button.dataset.verdicts)));
  }));
})();
