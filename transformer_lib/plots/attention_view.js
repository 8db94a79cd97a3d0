// Starts each attention view of the page that does not run yet, so it may stand there repeatedly.
for (const view of document.querySelectorAll(".attention-view:not(.running)")) {
  const buttons = (side) => [...view.querySelectorAll(side + " button")];
  const queries = buttons(".queries");
  const keys = buttons(".keys");
  const layer = view.querySelector(".layer"); // null where there is one layer, one head
  const head = view.querySelector(".head");
  const lines = view.querySelector("svg");
  const readout = view.querySelector(".readout");
  const hundredths = view.dataset.weights.split(",").map(Number); // "" is 0
  let pinned = queries[0];
  let shown = pinned; // what is pointed at, else what is pinned; null: everything

  const weight = (i, j) => {
    const matrix = (layer?.selectedIndex ?? 0) * (head?.length ?? 1) + (head?.selectedIndex ?? 0);
    return hundredths[(matrix * queries.length + i) * keys.length + j];
  };
  const written = (share) => (share / 100).toFixed(2);

  // The same curve as attention_view.py draws.
  const line = ([i, j]) => {
    const [start, end] = [(i + 0.5) / queries.length, (j + 0.5) / keys.length].map(
      (height) => +(100 * height).toFixed(1)
    );
    const share = weight(i, j) / 100;
    return `<path d="M0 ${start}C50 ${start} 50 ${end} 100 ${end}"
      stroke-width="${(1 + 7 * share).toFixed(2)}" stroke-opacity="${(0.5 + 0.5 * share).toFixed(2)}"/>`;
  };

  const drawLines = () => {
    const pairs = queries.flatMap((_, i) => keys.map((_, j) => [i, j]));
    const isShown = ([i, j]) => queries[i] === shown || keys[j] === shown;
    const strong = pairs.filter(([i, j]) => weight(i, j) >= 10);
    const drawn = shown ? pairs.filter(isShown).filter(([i, j]) => weight(i, j)) : strong;
    const faint = strong.filter((pair) => !drawn.includes(pair));
    lines.innerHTML = `<g class="faint">${faint.map(line).join("")}</g>${drawn.map(line).join("")}`;
  };

  // The other side of the chosen token, with its share of the attention.
  const partners = () => {
    const [i, j] = [queries.indexOf(shown), keys.indexOf(shown)];
    if (i >= 0) return keys.map((key, place) => [key, weight(i, place)]);
    if (j >= 0) return queries.map((query, place) => [query, weight(place, j)]);
    return [];
  };

  const label = () => {
    for (const button of [...queries, ...keys]) {
      delete button.dataset.weight;
      button.style.removeProperty("--share");
      button.setAttribute("aria-pressed", button === pinned);
    }
    for (const [button, share] of partners()) {
      button.dataset.weight = written(share);
      button.style.setProperty("--share", share / 200);
    }
  };

  const tell = () => {
    const most = partners().sort((one, other) => other[1] - one[1]).slice(0, 4);
    const texts = most.map(([button, share]) => `${button.textContent} (${written(share)})`);
    const arrow = queries.includes(shown) ? "→" : "←";
    readout.textContent = shown ? `${shown.textContent} ${arrow} ${texts.join(" · ")}` : "";
  };

  const show = (button) => {
    shown = button;
    drawLines();
    label();
    tell();
  };

  const pin = (button) => {
    pinned = button === pinned ? null : button;
    show(pinned);
  };

  // One stop of the Tab key for each side; arrows go on from there.
  const enter = (button) => {
    for (const other of queries.includes(button) ? queries : keys) other.tabIndex = -1;
    button.tabIndex = 0;
    show(button);
  };

  const turn = (event) => {
    const side = queries.includes(event.target) ? queries : keys;
    const place = side.indexOf(event.target);
    const goal = {
      ArrowUp: side[place - 1],
      ArrowDown: side[place + 1],
      ArrowLeft: queries[Math.min(place, queries.length - 1)],
      ArrowRight: keys[Math.min(place, keys.length - 1)],
      Home: side[0],
      End: side.at(-1),
      Escape: event.target,
    };
    if (!(event.key in goal)) return;
    event.preventDefault();
    event.stopPropagation(); // the page's arrow keys turn pages, a notebook's choose cells
    if (event.key === "Escape") pin(pinned);
    else goal[event.key]?.focus();
  };

  for (const button of [...queries, ...keys]) {
    button.addEventListener("click", () => pin(button));
    button.addEventListener("focus", () => enter(button));
    button.addEventListener("pointerenter", () => show(button));
    button.addEventListener("keydown", turn);
    button.tabIndex = [queries[0], keys[0]].includes(button) ? 0 : -1;
  }
  for (const event of ["pointerleave", "focusout"])
    view.querySelector(".picture").addEventListener(event, () => show(pinned));
  for (const choice of [layer, head]) choice?.addEventListener("change", () => show(pinned));
  for (const control of view.querySelectorAll("[disabled]")) control.disabled = false;
  view.querySelector(".hint").hidden = false;
  view.classList.add("running");
}
