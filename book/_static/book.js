document.addEventListener("DOMContentLoaded", () => {
  keepPlaceOnSwitch();
  keepPunctuationWithMathematics();
  document.querySelectorAll(".book-steps").forEach(stepThrough);
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

// Moments side by side become one place with two buttons; the note is read out when it changes.
function stepThrough(stepper) {
  const steps = [...stepper.querySelectorAll(".book-step")];
  const buttons = stepper.querySelector(".book-steps-buttons");
  const [back, next] = buttons.children;
  const place = document.createElement("span");
  back.after(place);
  stepper.querySelector(".book-steps-row").setAttribute("aria-live", "polite");
  let current = 0;
  const show = (step) => {
    current = Math.min(Math.max(step, 0), steps.length - 1);
    steps.forEach((moment, i) => { moment.hidden = i !== current; });
    place.textContent = `${current + 1} / ${steps.length}`;
    back.setAttribute("aria-disabled", current === 0);
    next.setAttribute("aria-disabled", current === steps.length - 1);
  };
  back.addEventListener("click", () => show(current - 1));
  next.addEventListener("click", () => show(current + 1));
  stepper.addEventListener("keydown", (event) => {
    const turn = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!turn) return;
    event.preventDefault();
    event.stopPropagation(); // the theme's arrow keys turn pages
    show(current + turn);
  });
  buttons.hidden = false;
  stepper.classList.add("stepping");
  show(0);
}

// What is wider than its box scrolls; whoever has no mouse scrolls it with the arrow keys.
function makeWideBoxesScrollable() {
  for (const equation of document.querySelectorAll("mjx-container:not([display])")) {
    const line = equation.closest("p, li, td, th, dd, div");
    equation.classList.toggle("wide", equation.firstElementChild.clientWidth > line.clientWidth);
  }
  const boxes = "pre, mjx-container[display], mjx-container.wide, .pst-scrollable-table-container";
  for (const box of document.querySelectorAll(boxes)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
}
