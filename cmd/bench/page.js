// Draws the charts of the page. `charts` is the list that the command wrote before this script.
const style = getComputedStyle(document.documentElement);
const colourOf = name => style.getPropertyValue("--" + name).trim();
// Curves beyond the palette are dashed in the same colours.
const palette = ["#7b5ea7", "#2f9e5b", "#c2456b", "#3f6fd1", "#9a7b1c", "#b0562b"];
const ownPalette = [colourOf("own"), "#4f8ff0", "#35b48a", "#2b5fb8", "#7fb3c8", "#0d4a73"];
const named = { heap: colourOf("heap"), bound: colourOf("bound"), own: colourOf("own"), failed: colourOf("bad") };
const brief = v => {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(v) >= size) return Number((v / size).toPrecision(3)) + " " + unit;
  }
  return Number(v.toPrecision(3)).toString();
};
// Of the many ticks of a logarithmic axis only 1, 2 and 5 of each decade get a label.
const decades = v => [1, 2, 5].includes(Math.round(v / 10 ** Math.floor(Math.log10(v)))) ? brief(v) : "";
Chart.defaults.color = colourOf("soft");
Chart.defaults.borderColor = colourOf("line");
Chart.defaults.font.family = "system-ui, 'DejaVu Sans', sans-serif";
Chart.defaults.animation = false;
Chart.defaults.maintainAspectRatio = false;

const axis = (text, more) => ({ title: { display: text !== "", text }, ticks: { callback: brief }, ...more });
const title = text => ({ display: true, text, align: "start", color: colourOf("ink") });

function bars(c) {
  const [data, ...kinds] = c.sets;
  return {
    type: "bar",
    data: { labels: c.labels, datasets: [{ data: data.values, backgroundColor: kinds.map(k => named[k.kind] || colourOf("plain")), maxBarThickness: 22 }] },
    options: {
      indexAxis: "y",
      scales: { x: axis(c.unit, { beginAtZero: true }), y: { grid: { display: false }, ticks: { autoSkip: false, color: colourOf("ink") } } },
      plugins: { legend: { display: false }, title: title(c.title),
        tooltip: { callbacks: { label: item => brief(item.parsed.x) + " " + c.unit } } },
    },
  };
}

// Rings where a curve crosses the Go heap's.
function marks(c) {
  if (!c.marks) return [];
  return [{ label: "crosses", data: c.marks, showLine: false, pointStyle: "circle", pointRadius: 8, pointHoverRadius: 9,
    borderColor: colourOf("ink"), borderWidth: 1.5, backgroundColor: "transparent", pointBackgroundColor: "transparent" }];
}

// Groups of bars: a group for each input, a bar for each contestant, and a line at 1.
function ratios(c) {
  const chart = lines({ ...c, sets: c.sets.map(s => ({ ...s, x: s.values })) });
  chart.data.labels = c.labels;
  chart.data.datasets.forEach((d, i) => {
    Object.assign(d, { data: c.sets[i].values.map(v => v || null), borderWidth: 0, maxBarThickness: 26 });
  });
  chart.type = "bar";
  chart.options.interaction.axis = "x";
  chart.options.scales = { x: { grid: { display: false }, ticks: { color: colourOf("ink") } }, y: axis(c.unit, { beginAtZero: true }) };
  chart.options.plugins.legend.labels = { boxWidth: 12 };
  chart.options.plugins.tooltip.callbacks.label = item => item.dataset.label + ": " + brief(item.parsed.y) + " " + c.unit;
  return chart;
}

function lines(c, x, y) {
  let next = 0, owns = 0;
  const fixed = {};
  return {
    type: "line",
    data: { datasets: c.sets.map(s => {
      const own = s.kind === "own";
      const colours = own ? ownPalette : palette;
      const alone = !own && named[s.kind]; // one colour for all of the kind, told apart by dashes
      const index = own ? owns++ : alone ? (fixed[s.kind] = (fixed[s.kind] ?? -1) + 1) : next++;
      const colour = alone || colours[index % colours.length];
      const dash = alone ? index : Math.floor(index / colours.length);
      return { label: s.name, data: s.x.map((v, i) => ({ x: v, y: s.values[i] })), borderColor: colour, backgroundColor: colour,
        borderWidth: s.kind === "own" ? 3 : 1.5, borderDash: [[], [6, 3], [2, 2]][dash % 3], pointRadius: c.kind === "sizes" ? 3 : 0 };
    }).concat(marks(c)) },
    options: {
      interaction: { mode: "nearest", axis: "x", intersect: false },
      scales: { x, y },
      plugins: { legend: { labels: { usePointStyle: true, pointStyle: "line", boxWidth: 28, filter: item => !item.text.includes("crosses") } }, title: title(c.title),
        tooltip: { callbacks: { label: item => item.raw.text || item.dataset.label + ": " + brief(item.parsed.y) + " " + c.unit } } },
    },
  };
}

const draw = {
  bars,
  ratios,
  sizes: c => lines(c, axis("size", { type: "logarithmic", ticks: { callback: v => c.exact ? v : brief(v) },
      afterBuildTicks: a => { a.ticks = c.sets[0].x.map(value => ({ value })); } }), axis(c.unit, { type: "logarithmic", ticks: { callback: decades } })),
  curves: c => lines(c, axis("seconds", { type: "linear" }), axis(c.unit, { type: "linear", beginAtZero: true })),
};

charts.forEach((c, i) => {
  const canvas = document.getElementById("chart" + i);
  canvas.parentNode.style.height = ({ bars: 70 + 30 * c.labels.length, sizes: 460 }[c.kind] ?? 340) + "px";
  new Chart(canvas, draw[c.kind](c));
});
