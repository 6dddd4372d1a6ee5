"use strict";
// Draws data.flames[k]: boxes are laid out in percent of the width, so that the page can change its size without drawing anew.
(() => {
  const row = 21, box = document.getElementById("flame"), about = document.getElementById("about");
  const only = document.getElementById("only"), find = document.getElementById("find"), which = document.getElementById("which");
  let flame = data.flames[data.flames.length - 1], path = [flame.root]; // from the root to the node that fills the width

  const weigh = node => only.checked ? node.m || 0 : node.t;
  const short = name => name.replace(/\[.*\]/, "[…]").replace(/^.*\//, "");
  const seconds = ns => ns >= 1e9 ? (ns / 1e9).toFixed(2) + " s" : (ns / 1e6).toFixed(0) + " ms";
  const percent = (a, b) => b ? (100 * a / b).toFixed(1) + " %" : "0 %";
  const stops = [[207, 214, 223], [244, 177, 131], [217, 81, 44]];
  function colour(node) {
    const x = Math.min(1, (node.m || 0) / node.t) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(x));
    return "rgb(" + stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * (x - i))).join(",") + ")";
  }

  function tell(node) {
    about.textContent = !node ? "\u00a0" : flame.names[node.n] + "   " + seconds(node.t) + ", " + percent(node.t, flame.root.t) +
      " of CPU, of which " + percent(node.m || 0, node.t) + " allocation and collection";
  }

  function add(node, left, width, depth, zoom) {
    const div = document.createElement("div"), name = flame.names[node.n];
    div.style.left = left + "%";
    div.style.width = width + "%";
    div.style.top = depth * row + "px";
    div.style.background = colour(node);
    if (width > 2) div.textContent = short(name);
    else div.className = "thin";
    div.title = name + "\n" + seconds(node.t) + ", " + percent(node.t, flame.root.t) + " of CPU\n" + percent(node.m || 0, node.t) + " allocation and collection";
    if (depth < path.length - 1) div.classList.add("faded");
    if (find.value && name.toLowerCase().includes(find.value.toLowerCase())) div.classList.add("found");
    div.onclick = () => { path = zoom; draw(); };
    div.onmouseenter = () => tell(node);
    div.onmouseleave = () => tell(null);
    box.append(div);
  }

  function below(node, left, width, depth, trail) {
    let deepest = depth, total = weigh(node);
    for (const child of node.c || []) {
      const part = total && width * weigh(child) / total;
      if (part < 0.08) continue;
      add(child, left, part, depth, [...trail, child]);
      deepest = Math.max(deepest, below(child, left, part, depth + 1, [...trail, child]));
      left += part;
    }
    return deepest;
  }

  function draw() {
    box.replaceChildren();
    path.forEach((node, i) => add(node, 0, 100, i, path.slice(0, i + 1)));
    const deepest = below(path[path.length - 1], 0, 100, path.length, path);
    box.style.height = (deepest + 1) * row + "px";
    tell(null);
  }

  if (data.flames.length > 1) {
    for (const f of data.flames) {
      const button = document.createElement("button");
      button.textContent = f.title;
      button.setAttribute("aria-pressed", f === flame);
      button.onclick = () => {
        flame = f;
        path = [f.root];
        for (const b of which.children) b.setAttribute("aria-pressed", b === button);
        draw();
      };
      which.append(button);
    }
  }
  only.onchange = draw;
  find.oninput = draw;
  draw();
})();
