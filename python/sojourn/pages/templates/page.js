"use strict";
// All of the page is there without this script: it adds sorting, filters, and what copies or saves.
(() => {
  const MANY = 10;

  const button = (label, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", () => act(made));
    return made;
  };

  const tools = (before, ...parts) => {
    const bar = document.createElement("div");
    bar.className = "tools";
    bar.append(...parts);
    before.before(bar);
  };

  const save = (name, type, content) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };

  const fileName = (text) => text.toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^-|-$/g, "");

  const sort = (table, head, column) => {
    const rises = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", rises ? "ascending" : "descending");
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      const both = Number(x) - Number(y);
      return (Number.isNaN(both) ? x.localeCompare(y) : both) * (rises ? 1 : -1);
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
  };

  const csv = (table) => [...table.rows].map((row) => [...row.cells]
    .map((cell) => `"${(cell.dataset.value ?? cell.textContent).replaceAll('"', '""')}"`).join(",")).join("\n") + "\n";

  for (const table of document.querySelectorAll("table")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const label = head.textContent;
      head.replaceChildren(button(label, () => sort(table, head, column)));
    });
    const parts = [button("Save as CSV", () => save(`${fileName(table.dataset.name)}.csv`, "text/csv", csv(table)))];
    if (table.tBodies[0].rows.length > MANY) {
      const filter = document.createElement("input");
      filter.type = "search";
      filter.placeholder = "Filter rows";
      filter.setAttribute("aria-label", `Filter rows of: ${table.dataset.name}`);
      filter.addEventListener("input", () => {
        const sought = filter.value.toLowerCase();
        for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(sought);
      });
      parts.unshift(filter);
    }
    tools(table.parentElement, ...parts);
  }

  // A table that is too wide for its column gets the window's width; where that is too little, its rows become cards.
  const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TH: "columnheader", TD: "cell" };
  const LONG = 24; // letters

  const label = (table) => {
    if (table.hasAttribute("role")) return;
    const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent);
    // A browser does not take cards for a table.
    for (const one of [table, ...table.querySelectorAll("thead, tbody, tr, th, td")]) one.setAttribute("role", ROLES[one.tagName]);
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, column) => {
        cell.dataset.label = heads[column];
        cell.classList.toggle("long", cell.textContent.length > LONG);
      });
    }
  };

  const fit = (frame) => {
    frame.classList.remove("broad", "stacked");
    const isTooWide = () => frame.scrollWidth > frame.clientWidth + 1;
    if (!frame.clientWidth || !isTooWide()) return;
    frame.classList.add("broad");
    if (!isTooWide()) return;
    label(frame.querySelector("table"));
    frame.classList.replace("broad", "stacked");
  };

  const fitAll = (inside) => inside.querySelectorAll(".scroll").forEach(fit);
  let fitted = 0;
  new ResizeObserver(([{ contentRect: { width } }]) => {
    if (width !== fitted) fitAll(document);
    fitted = width;
  }).observe(document.body);
  document.addEventListener("toggle", ({ target }) => fitAll(target), true);

  for (const text of document.querySelectorAll("pre")) {
    tools(text, button("Copy", async (made) => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        made.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
        made.textContent = "Selected: press Ctrl+C";
      }
    }));
  }

  const resolved = (svg) => {
    const look = getComputedStyle(document.documentElement);
    const copy = svg.cloneNode(true);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.removeAttribute("data-points");
    copy.querySelectorAll(".pointed").forEach((one) => one.remove());
    return copy.outerHTML.replace(/var\((--\w+)\)/g, (_, name) => look.getPropertyValue(name).trim());
  };

  const savePng = (svg, name) => {
    const scale = 3;
    const { width, height } = svg.viewBox.baseVal;
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [width * scale, height * scale];
      const context = canvas.getContext("2d");
      context.fillStyle = getComputedStyle(document.body).backgroundColor;
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(name, "image/png", blob));
    };
    image.src = `data:image/svg+xml,${encodeURIComponent(resolved(svg))}`;
  };

  const pointsCsv = (panels) => {
    const cell = (value) => `"${String(value).replaceAll('"', '""')}"`;
    const rows = panels.flatMap(({ title, x, y, lines }) => lines.flatMap((line) => line.x.map((at, place) =>
      [title, line.label, x.label, named(x, at), y.label, named(y, line.y[place])].map(cell).join(","))));
    return ["panel,line,x,x_value,y,y_value", ...rows].join("\n") + "\n";
  };

  // Where a value stands between the two ends of an axis, from 0 to 1.
  const place = ({ limits: [low, high], log }, value) => (log
    ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
  const named = (axis, value) => axis.names?.[Math.round(value)] ?? Number(value.toPrecision(4));

  for (const figure of document.querySelectorAll("figure")) {
    const name = fileName(figure.dataset.name);
    const svg = figure.querySelector(".wide svg");
    const bar = [button("Save as SVG", () => save(`${name}.svg`, "image/svg+xml", resolved(svg))),
      button("Save as PNG", () => savePng(svg, `${name}.png`))];
    if (svg.dataset.points) {
      const panels = JSON.parse(svg.dataset.points);
      bar.push(button("Save data as CSV", () => save(`${name}.csv`, "text/csv", pointsCsv(panels))));
    }
    tools(figure.querySelector("figcaption"), ...bar);
    for (const one of figure.querySelectorAll("svg[data-points]")) point(one);
  }

  /** Says what is under the pointer: the values of all curves there, or the nearest point. */
  function point(svg) {
    const panels = JSON.parse(svg.dataset.points);
    svg.querySelectorAll("g > title").forEach((title) => title.remove());
    const box = document.createElement("div");
    box.className = "told";
    box.hidden = true;
    svg.parentElement.append(box);
    const marks = document.createElementNS("http://www.w3.org/2000/svg", "g");
    marks.setAttribute("class", "pointed");
    svg.append(marks);
    const { width, height } = svg.viewBox.baseVal;

    const hide = () => { box.hidden = true; marks.replaceChildren(); };
    const show = ({ clientX, clientY }) => {
      const frame = svg.getBoundingClientRect();
      const [x, y] = [(clientX - frame.left) / frame.width, (clientY - frame.top) / frame.height];
      const panel = panels.find(({ box: [left, top, right, bottom] }) => x >= left - .01 && x <= right + .01 && y >= top && y <= bottom);
      const found = panel && near(panel, x, y);
      if (!found?.length) return hide();
      const [first] = found;
      const head = first.line.told ? first.line.label : panel.curves ? `${panel.x.label} ${named(panel.x, first.value[0])}` : first.line.label;
      const rows = panel.curves
        ? found.map(({ line, value }) => [line.color, `${line.label || panel.y.label}: ${named(panel.y, value[1])}`])
        : first.line.told ? [] : [[first.line.color, `${named(panel.x, first.value[0])}, ${named(panel.y, first.value[1])}`]];
      box.replaceChildren(...[head].filter(Boolean).map((text) => element("strong", text)), ...rows.map(([color, text]) => {
        const row = element("div", text);
        row.style.setProperty("--of", color);
        return row;
      }));
      box.hidden = false;
      const left = Math.min(Math.max(first.at[0] * frame.width + 12, 0), frame.width - box.offsetWidth);
      const flipped = first.at[0] * frame.width + 12 + box.offsetWidth > frame.width;
      box.style.left = `${flipped ? Math.max(first.at[0] * frame.width - box.offsetWidth - 12, 0) : left}px`;
      box.style.top = `${Math.max(Math.min(y * frame.height - box.offsetHeight / 2, frame.height - box.offsetHeight), 0)}px`;
      marks.replaceChildren(...found.map(({ at, line }) => {
        const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
        for (const [key, value] of Object.entries({ cx: at[0] * width, cy: at[1] * height, r: 3.5, fill: "none", stroke: line.color, "stroke-width": 1.2 })) dot.setAttribute(key, value);
        return dot;
      }));
    };
    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", hide);
  }

  function element(kind, text) {
    const made = document.createElement(kind);
    made.textContent = text;
    return made;
  }

  /** The point of each curve that is next to the pointer's x, or the one point that is next to the pointer. */
  function near(panel, x, y) {
    const [left, top, right, bottom] = panel.box;
    const points = panel.lines.map((line) => line.x.map((across, index) => {
      const value = [across, line.y[index]];
      const at = [left + place(panel.x, value[0]) * (right - left), bottom - place(panel.y, value[1]) * (bottom - top)];
      return { line, value, at };
    }));
    const least = (some, far) => some.reduce((best, one) => (far(one) < far(best) ? one : best));
    if (panel.curves) {
      const all = points.map((some) => least(some, ({ at }) => Math.abs(at[0] - x)));
      const next = Math.min(...all.map(({ at }) => Math.abs(at[0] - x)));
      return all.filter(({ at }) => Math.abs(at[0] - x) < next + .01);
    }
    const nearest = least(points.flat(), ({ at }) => Math.hypot(at[0] - x, at[1] - y));
    return Math.hypot(nearest.at[0] - x, nearest.at[1] - y) < .08 ? [nearest] : [];
  }

  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", open);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  open();
})();
