// SPDX-License-Identifier: Apache-2.0
// The two kinds of chart of the pages, as SVG: curves over a logarithmic axis, and a map of fields.
// Lengths are CSS pixels. Colours are written into the drawing, so that a saved one keeps them.
"use strict";
const Charts = (() => {
  const DASHES = { solid: "", dash: "9 5", dot: "2 4", dashdot: "9 4 2 4", longdash: "14 6", longdashdot: "14 5 2 5" };
  const SYMBOLS = { // of size 1 around 0, 0
    circle: "M-.5 0a.5 .5 0 1 0 1 0a.5 .5 0 1 0-1 0z", square: "M-.5-.5h1v1h-1z", diamond: "M0-.65L.65 0 0 .65-.65 0z",
    "triangle-up": "M0-.6L.58 .4H-.58z", x: "M0-.2L.4-.6 .6-.4 .2 0 .6 .4 .4 .6 0 .2-.4 .6-.6 .4-.2 0-.6-.4-.4-.6z",
    star: "M0-.7L.17-.23 .67-.22 .27 .09 .41 .57 0 .29-.41 .57-.27 .09-.67-.22-.17-.23z", cross: "M-.5-.5L.5 .5M.5-.5L-.5 .5" };
  const TICK = 4, GAP = 6, LINE = 1.45; // px of a tick and between texts; a line of text in sizes of its font
  const FIELDS = 4096; // more than these are one picture, not shapes
  const ZOOM = 10; // px that the pointer moves at least

  function add(parent, name, attributes, text) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== "") node.setAttribute(key, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
    }
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  }
  const canvas = document.createElement("canvas").getContext("2d");
  function wide(text, size, family) {
    canvas.font = `${size}px ${family}`;
    return canvas.measureText(text).width;
  }
  const widest = (texts, size, family) => Math.max(0, ...texts.map((text) => wide(text, size, family)));

  function root(node, spec) {
    const { width, height, look, size } = spec;
    const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    Object.entries({ width, height, viewBox: `0 0 ${width} ${height}`, "font-family": look.sans, "font-size": size, fill: look.fg })
      .forEach(([name, value]) => made.setAttribute(name, value));
    node.replaceChildren(made);
    node.chart = spec;
    return made;
  }
  const label = (parent, spec, text, x, y, more = {}) => add(parent, "text",
    { x, y, fill: spec.look.muted, "text-anchor": "middle", ...more }, text);
  const title = (parent, spec, text, x, y) => label(parent, spec, text, x, y, { transform: `rotate(-90 ${x} ${y})` });

  // ---- the box beside the pointer: one for the page ----
  let box = null;
  function hide() {
    if (box) box.hidden = true;
  }
  function show(event, lines) {
    if (!box) {
      box = document.createElement("div");
      box.className = "hover";
      document.body.append(box);
      addEventListener("scroll", hide, { passive: true });
    }
    box.replaceChildren(...lines);
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const right = event.clientX + 14;
    const left = right + width <= innerWidth ? right : event.clientX - 14 - width;
    box.style.left = `${Math.max(4, left)}px`;
    box.style.top = `${Math.max(4, Math.min(innerHeight - height - 4, event.clientY - height / 2))}px`;
  }
  function line(text, style) {
    const made = document.createElement("p");
    if (style) swatch(add(made, "svg", { width: 28, height: 12 }), style, 14, 6);
    made.append(text);
    return made;
  }

  // ---- curves ----
  function swatch(parent, style, x, y) {
    add(parent, "path", { d: `M${x - 14} ${y}h28`, fill: "none", stroke: style.colour, "stroke-width": style.width, "stroke-dasharray": DASHES[style.dash] });
    mark(parent, style.symbol, x, y, style.marker, style.colour);
  }
  function mark(parent, symbol, x, y, size, colour, more = {}) {
    add(parent, "path", { d: SYMBOLS[symbol], fill: colour, transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${size})`, ...more });
  }

  const powers = (low, high) => Array.from({ length: Math.max(0, Math.floor(high) - Math.ceil(low) + 1) }, (_, index) => Math.ceil(low) + index);
  // Values and texts of ticks between two ends, of which a logarithmic axis has the logarithms.
  function ticks(low, high, log, most) {
    if (log) {
      const tens = powers(low, high);
      const factors = tens.length > 1 ? [1] : [1, 2, 5];
      const skip = Math.ceil(tens.length / Math.max(2, most));
      return powers(Math.floor(low), high).filter((power) => power % skip === 0).flatMap((power) => factors.map((factor) => [power, factor]))
        .filter(([power, factor]) => power + Math.log10(factor) >= low && power + Math.log10(factor) <= high)
        .map(([power, factor]) => [power + Math.log10(factor), (factor * 10 ** power).toFixed(Math.max(0, -power))]);
    }
    const rough = (high - low) / Math.max(2, most);
    const scale = 10 ** Math.floor(Math.log10(rough));
    const step = scale * [1, 2, 5, 10].find((one) => scale * one >= rough * 0.999);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, index) => [(first + index) * step, ((first + index) * step).toFixed(digits)]);
  }

  // The ends of the vertical axis where nothing says them.
  function ends(axis, lines) {
    if (axis.range) return axis.range;
    const all = lines.flatMap(({ points }) => points.flatMap((point) => [point.y, point.low, point.high]))
      .filter((one) => Number.isFinite(one) && one !== null && (!axis.log || one > 0));
    if (!all.length) return [0, 1];
    const low = Math.min(...all), high = Math.max(...all);
    if (!axis.log) return [Math.min(0, low * 1.06), Math.max(0, high * 1.06) || 1];
    const margin = 0.06 * Math.log10(high / low) + 0.03;
    return [Math.log10(low) - margin, Math.log10(high) + margin];
  }

  // spec: width, height, size (of text), look (fg, muted, grid, rule, sans); x: title, range (logarithms),
  // ticks (values and texts), name (of a value); y: title, log, range; lines: name,
  // colour, width, dash, symbol, marker, points (x, y, low, high, text), in order; crosses: x, y; level
  // and legend where there are.
  // view: what is zoomed into (x and y, each two ends); off: names of lines that a click has hidden.
  function curves(node, spec, view = null, off = new Set()) {
    hide();
    const { width, height, size, look } = spec;
    const lines = spec.lines.filter((one) => !off.has(one.name));
    const svg = root(node, spec);
    const entries = spec.legend ? spec.lines.map((one) => ({ one, room: wide(one.name, size, look.sans) + 48 })) : [];
    const rows = []; // of the legend
    for (const entry of entries) {
      const last = rows[rows.length - 1];
      if (!last || last.room + entry.room > width - 8) rows.push({ entries: [entry], room: entry.room });
      else { last.entries.push(entry); last.room += entry.room; }
    }
    const under = size * LINE;
    const top = 8, right = width - 10;
    const bottom = height - TICK - 2 * under - GAP - rows.length * under;
    const [xLow, xHigh] = view ? view.x : spec.x.range;
    const [yLow, yHigh] = view ? view.y : ends(spec.y, lines);
    const marks = ticks(yLow, yHigh, spec.y.log, (bottom - top) / (2.8 * size));
    const beside = widest(marks.map(([, text]) => text), size, look.sans) + TICK + 3 + GAP;
    const left = Math.max(50, under + beside);
    const across = (value) => left + (Math.log10(value) - xLow) / (xHigh - xLow) * (right - left);
    const down = (value) => bottom - ((spec.y.log ? Math.log10(value) : value) - yLow) / (yHigh - yLow) * (bottom - top);

    for (const [at, text] of marks) {
      const y = bottom - (at - yLow) / (yHigh - yLow) * (bottom - top);
      add(svg, "path", { class: "grid", d: `M${left} ${y.toFixed(2)}H${right}`, stroke: look.grid });
      add(svg, "path", { d: `M${left} ${y.toFixed(2)}h-${TICK}`, stroke: look.rule });
      label(svg, spec, text, left - TICK - 3, y + size * 0.35, { class: "ytick", "text-anchor": "end" });
    }
    for (const [value, text] of spec.x.ticks.filter(([one]) => across(one) >= left - 0.5 && across(one) <= right + 0.5)) {
      add(svg, "path", { d: `M${across(value).toFixed(2)} ${bottom}v${TICK}`, stroke: look.rule });
      label(svg, spec, text, across(value), bottom + TICK + size + 3, { class: "xtick" });
    }
    label(svg, spec, spec.x.title, (left + right) / 2, bottom + TICK + under + GAP + size * 0.8);
    title(svg, spec, spec.y.title, left - beside, (top + bottom) / 2);

    const area = add(svg, "svg", { x: left, y: top, width: right - left, height: bottom - top, viewBox: `${left} ${top} ${right - left} ${bottom - top}` });
    const place = (point, side) => `${across(point.x).toFixed(2)} ${Math.max(-1e5, Math.min(1e5, down(point[side]))).toFixed(2)}`;
    const drawable = (value) => value !== null && value !== undefined && (!spec.y.log || value > 0);
    for (const one of lines) {
      let run = []; // of points that have both ends
      const close = () => {
        if (run.length > 1) {
          const ways = [...run.map((point) => place(point, "high")), ...[...run].reverse().map((point) => place(point, "low"))];
          add(area, "path", { class: "band", d: `M${ways.join("L")}z`, fill: one.colour, "fill-opacity": 0.18 });
        }
        run = [];
      };
      for (const point of one.points) {
        if (drawable(point.low) && drawable(point.high)) run.push(point);
        else close();
      }
      close();
    }
    for (const one of lines) {
      const points = one.points.filter((point) => drawable(point.y));
      add(area, "path", { class: "curve", d: `M${points.map((point) => place(point, "y")).join("L")}`, fill: "none", stroke: one.colour,
        "stroke-width": one.width, "stroke-dasharray": DASHES[one.dash], "stroke-linejoin": "round" });
      // A hollow point is unconfirmed: it has no interval.
      const hollow = { class: "point hollow", fill: look.raised, stroke: one.colour, "stroke-width": 0.24 };
      points.forEach((point) => mark(area, one.symbol, across(point.x), down(point.y), one.marker, one.colour, point.hollow ? hollow : { class: "point" }));
    }
    for (const point of spec.crosses) {
      mark(area, "cross", across(point.x), down(point.y), 9, "none", { class: "cross", stroke: look.bad, "stroke-width": 0.22 });
    }
    if (spec.level !== undefined) add(area, "path", { d: `M${left} ${down(spec.level).toFixed(2)}H${right}`, stroke: look.fg, "stroke-width": 1.6 });

    add(svg, "path", { d: `M${left} ${top}V${bottom}H${right}`, fill: "none", stroke: look.rule });
    rows.forEach((row, at) => {
      let x = Math.max(4, (width - row.room) / 2);
      const y = height - (rows.length - at - 0.5) * under;
      for (const { one, room } of row.entries) {
        const entry = add(svg, "g", { opacity: off.has(one.name) ? 0.4 : "", style: "cursor: pointer" });
        swatch(entry, one, x + 14, y);
        label(entry, spec, one.name, x + 34, y + size * 0.35, { class: "named", "text-anchor": "start", fill: look.fg });
        add(entry, "rect", { x, y: y - under / 2, width: room - 8, height: under, fill: "none", "pointer-events": "all" });
        entry.addEventListener("click", () => {
          if (!off.delete(one.name)) off.add(one.name);
          curves(node, spec, view, off);
        });
        x += room;
      }
    });
    follow(node, spec, area, { lines, left, right, top, bottom, xLow, xHigh, yLow, yHigh, across, view, off });
  }

  // What the pointer does in curves: names the points at the nearest place, and zooms; two clicks show all.
  function follow(node, spec, area, frame) {
    const { lines, left, right, top, bottom, across } = frame;
    const xs = [...new Set(lines.flatMap(({ points }) => points.map(({ x }) => x)))].filter((x) => across(x) >= left - 1 && across(x) <= right + 1);
    add(area, "rect", { x: left, y: top, width: right - left, height: bottom - top, fill: "none", "pointer-events": "all" });
    const spike = add(area, "path", { class: "spike", stroke: spec.look.muted, "stroke-dasharray": "2 3", visibility: "hidden" });
    const picked = add(area, "rect", { fill: spec.look.muted, "fill-opacity": 0.15, stroke: spec.look.muted, visibility: "hidden" });
    let start = null;
    const at = (event) => {
      const edge = node.firstElementChild.getBoundingClientRect();
      return [Math.max(left, Math.min(right, event.clientX - edge.left)), Math.max(top, Math.min(bottom, event.clientY - edge.top))];
    };
    const ended = () => {
      start = null;
      spike.setAttribute("visibility", "hidden");
      picked.setAttribute("visibility", "hidden");
      hide();
    };
    function moved(event) {
      const [x, y] = at(event);
      if (start) {
        const [one, other] = [[start[0], x], [start[1], y]];
        Object.entries({ x: Math.min(...one), y: Math.min(...other), width: Math.abs(one[1] - one[0]), height: Math.abs(other[1] - other[0]), visibility: "visible" })
          .forEach(([name, value]) => picked.setAttribute(name, value));
        return;
      }
      if (!xs.length) return;
      const nearest = xs.reduce((best, one) => (Math.abs(across(one) - x) < Math.abs(across(best) - x) ? one : best));
      spike.setAttribute("d", `M${across(nearest).toFixed(2)} ${top}V${bottom}`);
      spike.setAttribute("visibility", "visible");
      const found = lines.flatMap((one) => one.points.filter((point) => point.x === nearest).map((point) => line(point.text, one)));
      const head = line(spec.x.name(nearest));
      head.className = "head";
      show(event, [head, ...found]);
    }
    area.addEventListener("pointermove", moved);
    area.addEventListener("pointerleave", ended);
    area.addEventListener("pointercancel", ended);
    area.addEventListener("pointerdown", (event) => {
      moved(event);
      if (event.pointerType !== "mouse" || event.button !== 0) return;
      event.preventDefault(); // no text is selected
      start = at(event);
      area.setPointerCapture(event.pointerId);
    });
    area.addEventListener("pointerup", (event) => {
      if (!start) return;
      const [x, y] = at(event);
      const part = (one, other, low, high, from, to) => (Math.abs(one - other) < ZOOM ? [low, high]
        : [Math.min(one, other), Math.max(one, other)].map((px) => low + (px - from) / (to - from) * (high - low)).sort((a, b) => a - b));
      const wanted = { x: part(start[0], x, frame.xLow, frame.xHigh, left, right), y: part(start[1], y, frame.yLow, frame.yHigh, bottom, top) };
      const far = Math.abs(start[0] - x) >= ZOOM || Math.abs(start[1] - y) >= ZOOM;
      ended();
      if (far) curves(node, spec, wanted, frame.off);
    });
    area.addEventListener("dblclick", () => { if (frame.view) curves(node, spec, null, frame.off); });
  }

  // ---- maps ----
  function mixed(scale, value) {
    const part = Math.min(1, Math.max(0, value)); // what is beyond the scale has the colour of its end
    const above = Math.max(1, scale.findIndex(([at]) => at >= part));
    const [[from, one], [to, other]] = [scale[above - 1], scale[above]];
    const share = (part - from) / (to - from);
    const digits = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    const others = digits(other);
    return `rgb(${digits(one).map((digit, index) => Math.round(digit + share * (others[index] - digit))).join(",")})`;
  }

  // spec: width, height, size, look as of curves; rows and columns (names); values, which may be null;
  // scale (parts of 1 and #rrggbb); range (of values); named (texts of the scale by value); text (of
  // a row and a column, beside the pointer); shown (of them, in the field) or null; xTitle, yTitle;
  // square: whether fields are.
  function map(node, spec) {
    hide();
    const { width, height, size, look, rows, columns, values } = spec;
    const svg = root(node, spec);
    const under = size * LINE;
    const [low, high] = spec.range;
    const colour = (value) => mixed(spec.scale, high > low ? (value - low) / (high - low) : 1);
    const names = widest(rows, size, look.sans);
    const beside = widest(spec.named.map(([, text]) => text), size, look.sans);
    const titled = (text) => (text ? under + GAP : 0);
    const top = 8, left = Math.min(width / 3, Math.max(24, names + TICK + 4) + titled(spec.yTitle));
    let right = width - beside - 10 - TICK - 4 - 14;
    const longest = widest(columns, size, look.sans);
    const upright = longest + 6 > (right - left) / Math.min(columns.length, 8); // most of 8 must fit
    let bottom = height - TICK - 4 - titled(spec.xTitle) - (upright ? Math.min(longest, height / 3) : under);
    if (spec.square) {
      const side = Math.min((right - left) / columns.length, (bottom - top) / rows.length);
      right = left + side * columns.length;
      bottom = top + side * rows.length;
    }
    const across = (right - left) / columns.length, down = (bottom - top) / rows.length;

    if (rows.length * columns.length > FIELDS) {
      const picture = document.createElement("canvas");
      picture.width = columns.length;
      picture.height = rows.length;
      const brush = picture.getContext("2d");
      values.forEach((row, i) => row.forEach((value, j) => {
        if (value === null) return;
        brush.fillStyle = colour(value);
        brush.fillRect(j, i, 1, 1);
      }));
      add(svg, "image", { class: "fields", href: picture.toDataURL(), x: left, y: top, width: right - left, height: bottom - top,
        preserveAspectRatio: "none", style: "image-rendering: pixelated" });
    } else {
      const fields = add(svg, "g", { class: "fields" });
      values.forEach((row, i) => row.forEach((value, j) => {
        if (value === null) return;
        add(fields, "rect", { x: left + j * across + 0.5, y: top + i * down + 0.5, width: Math.max(0.5, across - 1), height: Math.max(0.5, down - 1), fill: colour(value) });
        if (!spec.shown) return;
        label(fields, spec, spec.shown(i, j), left + (j + 0.5) * across, top + (i + 0.5) * down + size * 0.35, { fill: look.raised });
      }));
    }
    const every = (room, each) => 2 ** Math.max(0, Math.ceil(Math.log2(room / each)));
    const everyRow = every(under, down), everyColumn = every(upright ? under : longest + 6, across);
    rows.forEach((name, i) => {
      if (i % everyRow) return;
      const y = top + (i + 0.5) * down;
      add(svg, "path", { d: `M${left} ${y.toFixed(2)}h-${TICK}`, stroke: look.rule });
      label(svg, spec, name, left - TICK - 3, y + size * 0.35, { class: "ytick", "text-anchor": "end" });
    });
    columns.forEach((name, j) => {
      if (j % everyColumn) return;
      const x = left + (j + 0.5) * across, y = bottom + TICK + (upright ? 4 : size);
      add(svg, "path", { d: `M${x.toFixed(2)} ${bottom}v${TICK}`, stroke: look.rule });
      label(svg, spec, name, upright ? x + size * 0.35 : x, y, upright ? { class: "xtick", "text-anchor": "end", transform: `rotate(-90 ${x + size * 0.35} ${y})` } : { class: "xtick" });
    });
    if (spec.xTitle) label(svg, spec, spec.xTitle, (left + right) / 2, bottom + TICK + GAP + size + (upright ? longest : under));
    if (spec.yTitle) title(svg, spec, spec.yTitle, size, (top + bottom) / 2);
    const steps = 64, each = (bottom - top) / steps; // of the scale, which stands at the right
    for (let at = 0; at < steps; at += 1) {
      add(svg, "rect", { x: right + 14, y: top + at * each, width: 10, height: each + 0.5, fill: mixed(spec.scale, 1 - (at + 0.5) / steps) });
    }
    for (const [value, text] of spec.named) {
      label(svg, spec, text, right + 14 + 10 + TICK, bottom - (high > low ? (value - low) / (high - low) : 1) * (bottom - top) + size * 0.35, { "text-anchor": "start" });
    }

    const area = add(svg, "rect", { x: left, y: top, width: right - left, height: bottom - top, fill: "none", "pointer-events": "all" });
    const said = (event) => {
      const edge = area.getBoundingClientRect();
      const j = Math.min(columns.length - 1, Math.max(0, Math.floor((event.clientX - edge.left) / across)));
      const i = Math.min(rows.length - 1, Math.max(0, Math.floor((event.clientY - edge.top) / down)));
      if (values[i][j] === null) hide();
      else show(event, [line(spec.text(i, j))]);
    };
    area.addEventListener("pointermove", said);
    area.addEventListener("pointerdown", said);
    area.addEventListener("pointerleave", hide);
    area.addEventListener("pointercancel", hide);
  }

  // Saves the drawing as it is.
  function save(node, name) {
    const copy = node.firstElementChild.cloneNode(true);
    copy.querySelectorAll('[visibility="hidden"], [pointer-events]').forEach((one) => one.remove());
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  return { curves, map, save, ticks };
})();
