document.addEventListener("DOMContentLoaded", () => {
  keepPlaceOnSwitch();
  keepPunctuationWithMathematics();
  // Whenever the text gets another size: MathJax is done, the window changes, a solution opens.
  const watcher = new ResizeObserver(() => requestAnimationFrame(makeWideBoxesScrollable));
  watcher.observe(document.querySelector("main"));
});

// The language switch leads to the same place on the page, and to the same search.
function keepPlaceOnSwitch() {
  for (const link of document.querySelectorAll("a.language-switch")) {
    link.addEventListener("click", () => {
      link.hash = location.hash;
      link.search = location.search;
    });
  }
}

// A browser may break a line between a formula and the full-width comma behind it; Chinese may not.
function keepPunctuationWithMathematics() {
  for (const formula of document.querySelectorAll("span.math")) {
    const after = formula.nextSibling;
    const mark = after?.nodeType === Node.TEXT_NODE && after.data.match(/^[，。、；：？！）」]+/);
    if (!mark) continue;
    after.splitText(mark[0].length);
    const pair = document.createElement("span");
    pair.className = "unbroken";
    formula.replaceWith(pair);
    pair.append(formula, after);
  }
}

// What is wider than its box scrolls; whoever has no mouse scrolls it with the arrow keys.
function makeWideBoxesScrollable() {
  for (const equation of document.querySelectorAll("mjx-container:not([display])")) {
    const line = equation.closest("p, li, td, th, dd, div");
    equation.classList.toggle("wide", equation.firstElementChild.clientWidth > line.clientWidth);
  }
  for (const box of document.querySelectorAll("pre, mjx-container[display], mjx-container.wide")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
}
