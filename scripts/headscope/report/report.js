// The page at work: figures drawn when they come into view, tables handed out, the views of the explorer linked.
// Everything the page shows lies in it; nothing is fetched, and text goes into the page as text alone.

const LONG = 60_000; // milliseconds
const DRAWN = { renderer: "svg", logLevel: 1 }; // of what Vega has to say only errors
const byId = (id) => document.getElementById(id);
const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** The text that an element carries as gzip in base64. */
async function unpack(id) {
  const stream = new Blob([bytesOf(byId(id).textContent.trim())]).stream();
  return new Response(stream.pipeThrough(new DecompressionStream("gzip"))).text();
}

// Figures and tables

async function draw(figure) {
  const options = { ...DRAWN, actions: { export: true, source: false, compiled: false, editor: false } };
  const inside = figure.appendChild(document.createElement("div"));
  await vegaEmbed(inside, JSON.parse(await unpack(figure.dataset.figure)), options);
  figure.classList.add("drawn");
}

const drawing = new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting).forEach((one) => {
  drawing.unobserve(one.target);
  draw(one.target);
}), { rootMargin: "600px" });
document.querySelectorAll("[data-figure]").forEach((figure) => drawing.observe(figure));

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-table]");
  if (!button) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([await unpack(button.dataset.table)], { type: "text/csv" }));
  link.download = button.dataset.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), LONG); // not before the browser has begun to read it
});

// The explorer

const CHOICES = ["model", "corpus", "measure", "relation", "head", "example", "word"];
const [CELL, MAP, BAR, LINE] = [30, 280, 20, 18]; // the height of a row of heads, of the map, a bar, a word: pixels
const MOST_BEST = 10;
const FAINTEST = 0.01; // of the lines that are drawn
let data, views, maps; // of the model; the charts by name; the weights of the example
let drawn = 0; // views that are being drawn
const state = { layer: 1, head: 1, only: -1 };

const picked = () => ({ layer: state.layer, head: state.head });
const place = (layer, head) => (layer - 1) * data.heads + head - 1;
const chosen = (list, name) => list.find((one) => one.name === byId(name).value);
const corpus = () => chosen(data.corpora, "corpus");
const measure = () => chosen(data.measures, "measure");
const relation = () => data.relations[byId("relation").value];
const example = () => corpus().examples[byId("example").value];

function shown(value, unit) {
  if (value === null) return "–";
  if (unit === "kind") return value;
  const number = value && Math.abs(value) < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(3));
  return (unit === "share" ? `${(100 * value).toFixed(1)} %` : number).replace(/^-/, "−");
}

/** Every head with its value of a measure. */
function everyHead({ values, unit }) {
  return values.map((value, index) => {
    const [layer, head] = [Math.floor(index / data.heads) + 1, (index % data.heads) + 1];
    return { layer, head, name: `${layer}-${head}`, value, shown: shown(value, unit) };
  });
}

/** Fill a select with [value, text, group]. */
function fill(name, options) {
  const select = byId(name);
  select.replaceChildren();
  const groups = new Map([["", select]]);
  for (const [value, text, group = ""] of options) {
    if (!groups.has(group)) {
      groups.set(group, document.createElement("optgroup")).get(group).label = group;
      select.append(groups.get(group));
    }
    groups.get(group).append(new Option(text, value));
  }
  select.closest("label").hidden = !options.length;
}

async function openModel() {
  data = JSON.parse(await unpack(byId("model").value));
  fill("corpus", data.corpora.map(({ name }) => [name, name]));
  fill("measure", data.measures.map(({ name, title, corpus, group }) => [name, title, `${corpus}: ${group}`]));
  fill("relation", data.relations.map(({ title, corpus }, index) => [index, title, corpus]));
  const every = Array.from({ length: data.layers * data.heads }, (_, index) => index);
  const names = every.map((index) => [Math.floor(index / data.heads) + 1, (index % data.heads) + 1]);
  fill("head", names.map(([layer, head]) => [`${layer}-${head}`, `${layer}-${head}`, `Layer ${layer}`]));
  openCorpus();
  if (!relation()) return;
  const { layer, head } = relation(); // the best at something is the first that is picked
  pick(layer, head);
}

function openCorpus() {
  const { name } = corpus();
  const first = data.measures.find((one) => one.corpus === name) ?? data.measures[0];
  if (first) byId("measure").value = first.name;
  const known = data.relations.findIndex((one) => one.corpus === name);
  if (data.relations.length) byId("relation").value = Math.max(known, 0);
  openExamples();
  show();
}

function openExamples() {
  fill("example", corpus().examples.map(({ label }, index) => [index, label]));
  openExample();
}

function openRelation() {
  const { corpus: of, measure: scored, layer, head } = relation();
  if (byId("corpus").value !== of) {
    byId("corpus").value = of;
    openExamples();
  }
  byId("measure").value = scored;
  pick(layer, head);
}

function openExample() {
  state.only = -1;
  maps = example() && bytesOf(example().weights);
  fill("word", example() ? [[-1, "all"], ...example().rows.map((text, index) => [index, `${index + 1} ${text}`])] : []);
  showExample();
}

function pick(layer, head) {
  Object.assign(state, { layer, head });
  show();
}

function busy(more) {
  drawn += more;
  byId("explorer").ariaBusy = drawn > 0;
}

async function update(name, height, sets, signals = {}) {
  const view = views[name].height(height);
  Object.entries(sets).forEach(([set, rows]) => view.data(set, rows));
  Object.entries(signals).forEach(([signal, value]) => view.signal(signal, value));
  busy(1);
  await view.resize().runAsync();
  busy(-1);
}

function hide(name, without) {
  byId(`view-${name}`).closest("figure").hidden = without;
}

function show() {
  const { layer, head } = state;
  byId("head").value = `${layer}-${head}`;
  const colour = measure();
  const kinds = colour?.unit === "kind";
  byId("view-grid").hidden = kinds;
  byId("view-kinds").hidden = !kinds;
  window.dispatchEvent(new Event("resize")); // a chart that was hidden takes the width it has now
  if (colour) update(kinds ? "kinds" : "grid", CELL * data.layers, { heads: everyHead(colour) }, picked());
  byId("grid-title").textContent = colour ? `${colour.corpus}: ${colour.title}` : "no measures";
  byId("status").textContent = said(colour);
  [showMap, showBest, showExample, showRow].forEach((view) => view());
}

function said(colour) {
  const { layer, head } = state;
  const index = place(layer, head);
  const value = colour ? `${colour.title} ${shown(colour.values[index], colour.unit)}` : "";
  const note = colour?.notes?.[index] ? ` (${colour.notes[index]})` : "";
  return `Head ${layer}-${head}: ${value}${note}`;
}

function showMap() {
  const { map } = corpus().map ? corpus() : data.corpora.find((one) => one.map) ?? {};
  hide("map", !map);
  if (!map) return;
  const places = map.layer.map((layer, index) => ({
    layer, head: map.head[index], name: `${layer}-${map.head[index]}`,
    x: map.x[index], y: map.y[index], behaviour: map.behaviour[index],
  }));
  update("map", MAP, { places }, picked());
}

function showBest() {
  hide("best", !relation());
  if (!relation()) return;
  const { baseline, sentence, title, measure: scored } = relation();
  const heads = everyHead(data.measures.find(({ name }) => name === scored)).filter(({ value }) => value !== null);
  const best = heads.sort((one, other) => other.value - one.value).slice(0, MOST_BEST);
  update("best", BAR * best.length, { best: best.map((row, rank) => ({ ...row, rank, baseline })) }, picked());
  byId("best-title").textContent = title;
  byId("best-sentence").textContent = sentence;
  byId("best-baseline").hidden = baseline === null;
}

function showExample() {
  hide("lines", !example());
  hide("heat", !example());
  if (!example()) return;
  const { rows, left_out: leftOut } = example();
  const size = rows.length;
  const start = place(state.layer, state.head) * size * size;
  const cells = Array.from({ length: size * size }, (_, index) => {
    const [query, key] = [Math.floor(index / size), index % size];
    const [from, to] = [rows[query], rows[key]];
    return { query, key, from, to, weight: maps[start + index] / 255, row: `${query}|${from}`, column: `${key}|${to}` };
  });
  const words = rows.map((text, row) => ({ row, text }));
  const lines = cells.filter(({ weight }) => weight >= FAINTEST);
  update("lines", LINE * size, { cells: lines, rows: words }, { last: size - 1, only: state.only });
  update("heat", LINE * size, { cells });
  const part = leftOut ? ` ${leftOut} more ${corpus().unit}s are not shown, so rows need not sum to one.` : "";
  byId("example-note").textContent = `Quantised for display to 256 steps.${part}`;
  document.querySelectorAll(".picked-head").forEach((name) => { name.textContent = `${state.layer}-${state.head}`; });
}

/** The picked head in every table: value, standard error, rank. */
function showRow() {
  const index = place(state.layer, state.head);
  byId("row").replaceChildren(...[...grouped(data.measures)].map(([name, measures]) => {
    const table = document.createElement("table");
    table.createCaption().textContent = name;
    for (const { title, unit, values, errors, notes } of measures) {
      const row = table.insertRow();
      const header = document.createElement("th");
      header.scope = "row";
      header.textContent = title;
      const error = errors?.[index] == null ? "" : ` ± ${shown(errors[index], unit)}`;
      const known = values.filter((value) => value !== null);
      const rank = unit === "kind" || values[index] === null ? "" :
        `${1 + known.filter((value) => value > values[index]).length} of ${known.length}`;
      row.append(header);
      [shown(values[index], unit) + error, rank, notes?.[index] ?? ""].forEach((text) => {
        row.insertCell().textContent = text;
      });
    }
    return table;
  }));
}

/** Measures by corpus and table. */
function grouped(measures) {
  const groups = new Map();
  for (const one of measures) {
    const name = `${one.corpus}: ${one.group}`;
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return groups;
}

// What is pressed and clicked

const MOVES = {
  ArrowUp: ({ layer, head }) => [layer - 1, head], ArrowDown: ({ layer, head }) => [layer + 1, head],
  ArrowLeft: ({ layer, head }) => [layer, head - 1], ArrowRight: ({ layer, head }) => [layer, head + 1],
  Home: ({ layer }) => [layer, 1], End: ({ layer }) => [layer, data.heads],
  PageUp: ({ head }) => [1, head], PageDown: ({ head }) => [data.layers, head],
};

function pressed(event) {
  const move = MOVES[event.key];
  if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const [layer, head] = move(state);
  pick(Math.min(Math.max(layer, 1), data.layers), Math.min(Math.max(head, 1), data.heads));
}

function only(row) {
  state.only = row;
  byId("word").value = row;
  showExample();
}

const CHANGES = {
  model: openModel, corpus: openCorpus, measure: show, relation: openRelation, example: openExample,
  head: (name) => pick(...name.split("-").map(Number)), word: (row) => only(Number(row)),
};

/** The colours of the page, light or dark, for charts. */
function look() {
  const style = getComputedStyle(document.documentElement);
  const [ink, quiet, line] = ["--ink", "--quiet", "--line"].map((name) => style.getPropertyValue(name).trim());
  const axis = { labelColor: ink, titleColor: quiet, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: "normal" };
  return { background: "transparent", axis, legend: { labelColor: ink, titleColor: ink }, text: { color: ink }, view: { stroke: line } };
}

async function drawViews() {
  const specifications = JSON.parse(await unpack("explorer--views"));
  const options = { ...DRAWN, actions: false, config: look() };
  const made = Object.entries(specifications).map(async ([name, specification]) => {
    const { view } = await vegaEmbed(`#view-${name}`, specification, options);
    view.addEventListener("click", (event, item) => {
      if (item?.datum?.layer) pick(item.datum.layer, item.datum.head);
      else if (name === "lines" && item?.datum?.row !== undefined) only(state.only === item.datum.row ? -1 : item.datum.row);
    });
    return [name, view];
  });
  views = Object.fromEntries(await Promise.all(made));
}

async function explore() {
  await drawViews();
  await openModel();
  CHOICES.forEach((name) => byId(name).addEventListener("change", () => CHANGES[name](byId(name).value)));
  byId("heads").addEventListener("keydown", pressed);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", async () => { await drawViews(); show(); });
  byId("explorer").dataset.ready = "true";
}

if (byId("explorer")) explore();
