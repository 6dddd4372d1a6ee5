// TestPageInBrowser runs this in a page that has the report's page as the string report. It shows the report in frames of several widths, presses keys,
// and leaves what it finds as JSON in the element result.
const result = {};

function show(width, look) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:800px;border:0`;
  frame.srcdoc = report;
  frame.onload = () => look(frame.contentDocument, frame.contentWindow);
  document.body.append(frame);
}

// beyond lists the elements that stick out of the frame to the right.
const beyond = (doc, width) => [...doc.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > width + 1 && e.checkVisibility()).map(e => e.outerHTML.slice(0, 80));

for (const width of [360, 768, 1280]) show(width, doc => {
  const gains = [...doc.querySelectorAll("td.figure")].filter(e => !e.closest("details:not([open])"));
  result["w" + width] = {
    beyond: beyond(doc, width), scrolled: doc.documentElement.scrollWidth,
    gains: gains.length, seen: gains.filter(e => e.getBoundingClientRect().width > 0 && e.checkVisibility()).length,
  };
});

show(1280, (doc, page) => {
  const flame = doc.getElementById("flame"), name = e => e && e.getAttribute && (e.getAttribute("aria-label") || "").split(",")[0];
  const state = () => name(doc.activeElement) + " of " + [...flame.children].map(row => row.children.length).join(" ") + ", above " + flame.querySelectorAll(".above").length;
  flame.querySelector("[tabindex='0']").focus();
  result.keys = [state()];
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "Enter", "ArrowUp", "Escape", "Home", "ArrowUp", "Escape"]) {
    doc.activeElement.dispatchEvent(new page.KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
    result.keys.push(key + ": " + state());
  }
  result.stops = flame.querySelectorAll("[tabindex='0']").length;
  flame.children[2].children[0].click(); // a tap is a click, too
  result.click = state() + ", out " + !doc.getElementById("out").hidden;
  doc.getElementById("out").click();
  result.out = state();
  const folded = () => doc.querySelectorAll("details:not([open])").length;
  result.folded = [folded()];
  for (const type of ["beforeprint", "afterprint"]) {
    page.dispatchEvent(new page.Event(type));
    result.folded.push(folded());
  }
});

addEventListener("load", () => {
  const pre = document.createElement("pre");
  pre.id = "result";
  pre.textContent = JSON.stringify(result);
  document.body.append(pre);
});
