"use strict";
// Print shows the parts that the screen folds.
(() => {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const d of folded) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of folded) d.open = false; });
})();

// The flame graph: a row for each depth, a frame for each call. Positions are percentages, so that print needs no drawing of its own.
if (data.flames) (() => {
  const [box, about, only, find, found, which, out] = ["flame", "about", "only", "find", "found", "which", "out"].map(id => document.getElementById(id));
  const narrowest = 1.5, labelled = 34; // pixels from which a frame is drawn, and has its name
  let flame = data.flames.at(-1);
  let zoomed = [flame.root];  // the calls from the root to the one that fills the width
  let drawn = new Map();      // the element of each call
  let current = flame.root;   // the call that Tab leads to
  let drawnFor = 0;           // the width that it was drawn for, in pixels

  const weigh = call => only.checked ? call.m || 0 : call.t;
  const short = name => name.replace(/\[.*\]/, "[…]").replace(/^.*\//, "");
  const seconds = ns => ns >= 1e9 ? (ns / 1e9).toFixed(2) + " s" : (ns / 1e6).toFixed(0) + " ms";
  const percent = (a, b) => b ? (100 * a / b).toFixed(1) + " %" : "0 %";
  const figures = call => seconds(call.t) + ", " + percent(call.t, flame.root.t) + " of CPU, of which " + percent(call.m || 0, call.t) + " allocation and collection";
  const tell = call => about.textContent = figures(call) + "\n" + flame.names[call.n];
  const matches = call => find.value && flame.names[call.n].toLowerCase().includes(find.value.toLowerCase());

  // add draws the last call of a trail, which leads there from the root.
  function add(trail, left, width) {
    const frame = document.createElement("div"), call = trail.at(-1), depth = trail.length - 1;
    frame.trail = trail;
    frame.tabIndex = -1;
    frame.setAttribute("role", "treeitem");
    frame.setAttribute("aria-level", depth + 1);
    frame.setAttribute("aria-label", flame.names[call.n] + ", " + figures(call));
    frame.style.cssText = `left:${left}%;width:${width}%;--heat:${percent(call.m || 0, call.t).replace(" ", "")}`;
    if (width * drawnFor / 100 > labelled) frame.textContent = short(flame.names[call.n]);
    frame.classList.toggle("above", depth < zoomed.length - 1);
    frame.classList.toggle("found", !!matches(call));
    if (!box.children[depth]) {
      const row = document.createElement("div");
      row.setAttribute("role", "none");
      box.append(row);
    }
    box.children[depth].append(frame);
    drawn.set(call, frame);
  }

  function addCallees(trail, left, width) {
    const call = trail.at(-1);
    for (const callee of call.c || []) {
      const part = width * weigh(callee) / (weigh(call) || 1), to = [...trail, callee];
      if (part * drawnFor / 100 < narrowest) continue;
      add(to, left, part);
      addCallees(to, left, part);
      left += part;
    }
  }

  function draw(width = box.clientWidth) {
    const focused = box.contains(document.activeElement);
    drawnFor = width;
    drawn = new Map();
    box.replaceChildren();
    zoomed.forEach((_, i) => add(zoomed.slice(0, i + 1), 0, 100));
    addCallees(zoomed, 0, 100);
    if (!drawn.has(current)) current = zoomed.at(-1);
    drawn.get(current).tabIndex = 0;
    if (focused) drawn.get(current).focus();
    tell(current);
    out.hidden = zoomed.length < 2;
    count();
  }

  // count says how much of the CPU time the functions take that are searched for. A call below a match counts with it.
  function count() {
    let calls = 0, time = 0;
    (function visit(call, inside) {
      const match = matches(call);
      if (match) calls++;
      if (match && !inside) time += call.t;
      for (const callee of call.c || []) visit(callee, inside || match);
    })(flame.root, false);
    found.textContent = !find.value ? "" : calls + (calls == 1 ? " frame, " : " frames, ") + percent(time, flame.root.t) + " of CPU";
  }

  function zoom(trail) {
    zoomed = trail;
    draw();
  }

  function focus(frame) {
    if (!frame) return;
    drawn.get(current).tabIndex = -1;
    current = frame.trail.at(-1);
    frame.tabIndex = 0;
    frame.focus();
  }

  const to = { // the frame that a key leads to
    ArrowUp: frame => drawn.get(frame.trail.at(-2)),
    ArrowDown: frame => (frame.trail.at(-1).c || []).map(callee => drawn.get(callee)).find(Boolean),
    ArrowLeft: frame => frame.previousElementSibling,
    ArrowRight: frame => frame.nextElementSibling,
  };
  const action = {
    "Enter": frame => zoom(frame.trail),
    " ": frame => zoom(frame.trail),
    "Escape": () => { if (zoomed.length > 1) zoom(zoomed.slice(0, -1)); },
    "Home": () => { zoom([flame.root]); focus(drawn.get(flame.root)); },
  };
  box.onkeydown = event => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (to[event.key]) focus(to[event.key](event.target));
    else if (action[event.key]) action[event.key](event.target);
    else return;
    event.preventDefault();
  };
  box.onclick = event => {
    if (!event.target.trail) return;
    focus(event.target);
    zoom(event.target.trail);
  };
  for (const type of ["focusin", "mouseover"]) box.addEventListener(type, event => {
    if (event.target.trail) tell(event.target.trail.at(-1));
  });
  out.onclick = () => {
    action.Escape();
    if (out.hidden) drawn.get(current).focus();
  };

  if (data.flames.length > 1) for (const f of data.flames) {
    const button = document.createElement("button");
    button.textContent = f.title;
    button.setAttribute("aria-pressed", f === flame);
    button.onclick = () => {
      flame = f;
      for (const b of which.children) b.setAttribute("aria-pressed", b === button);
      zoom([f.root]);
    };
    which.append(button);
  }
  only.onchange = find.oninput = () => draw();
  addEventListener("beforeprint", () => draw(300)); // narrow frames would make a page of lines
  addEventListener("afterprint", () => draw());
  new ResizeObserver(() => { if (box.clientWidth !== drawnFor && !matchMedia("print").matches) draw(); }).observe(box);
  draw();
})();
