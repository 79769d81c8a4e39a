// What scrolls sideways can be reached by keyboard: the generator wraps wide tables after the page is there.
const reachable = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap")) {
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Table");
  }
};
new MutationObserver(reachable).observe(document.documentElement, { childList: true, subtree: true });
reachable();

// A table is sorted by the column whose head is pressed: numbers as such, words by the alphabet.
const sortable = () => {
  for (const head of document.querySelectorAll(".md-typeset th:not([data-sorts])")) {
    head.dataset.sorts = "";
    head.tabIndex = 0;
    const sort = () => {
      const rises = head.getAttribute("aria-sort") !== "ascending";
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", rises ? "ascending" : "descending");
      const body = head.closest("table").tBodies[0];
      const key = (row) => row.cells[head.cellIndex].textContent;
      const compare = (a, b) => {
        const [x, y] = [a, b].map((row) => Number.parseFloat(key(row)));
        return (Number.isNaN(x) || Number.isNaN(y) ? key(a).localeCompare(key(b)) : x - y) * (rises ? 1 : -1);
      };
      body.append(...[...body.rows].sort(compare));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  }
};
new MutationObserver(sortable).observe(document.documentElement, { childList: true, subtree: true });
sortable();
