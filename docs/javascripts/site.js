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
