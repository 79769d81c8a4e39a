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

  const save = (name, type, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
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

  for (const figure of document.querySelectorAll("figure")) {
    const saved = button("Save as SVG", () => {
      const copy = figure.querySelector(".wide svg").cloneNode(true);
      const look = getComputedStyle(document.documentElement);
      copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
      const text = copy.outerHTML.replace(/var\((--\w+)\)/g, (_, name) => look.getPropertyValue(name).trim());
      save(`${fileName(figure.dataset.name)}.svg`, "image/svg+xml", text);
    });
    tools(figure.querySelector("figcaption"), saved);
  }

  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", open);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  open();
})();
