"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, text, parent) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };
  const copy = (value) => JSON.parse(JSON.stringify(value));
  const areHidden = () => find("#hide-texts").checked;
  const views = new Map();

  async function embed(element, spec) {
    views.get(element)?.finalize();
    const config = copy(data.themes[root.dataset.theme]);
    config.axis.labelLimit = Math.min(config.axis.labelLimit, innerWidth / 3); // names leave room for what they name
    const options = { actions: false, renderer: "svg", config, tooltip: { theme: root.dataset.theme } };
    const result = await vegaEmbed(element, copy(spec), options);
    views.set(element, { spec, finalize: () => result.finalize() });
    return result.view;
  }

  // Charts

  const drawChart = (element) => embed(element, data.charts[element.dataset.chart].spec);
  const isShown = (element) => !element.closest("[hidden]");
  const drawCharts = () => Promise.all(all("[data-chart]").filter(isShown).map(drawChart));

  // The world map (map.js), which follows the choice of a model

  const worlds = createWorlds({ data, embed, areHidden });

  // Choices: of some charts by their own control, of those by model with one control for the whole page

  function showOption(choice, name) {
    const figures = all("figure", choice);
    for (const figure of figures) figure.hidden = figure.dataset.option !== name;
    const absent = find(".absent", choice);
    if (absent) absent.hidden = figures.some((figure) => !figure.hidden);
    return root.dataset.theme ? Promise.all(all("[data-chart]", choice).filter(isShown).map(drawChart)) : undefined; // the first time all are drawn
  }

  const modelInputs = all(".models input"), modelChoices = all("[data-by=model]");

  function showModel(name) {
    for (const input of modelInputs) if (input.value === name) input.checked = true;
    document.dispatchEvent(new CustomEvent("modelchange", { detail: name }));
    return Promise.all(modelChoices.map((choice) => showOption(choice, name)));
  }

  function readHash() {
    const name = new URLSearchParams(location.hash.slice(1)).get("model");
    if (modelInputs.some((input) => input.value === name)) showModel(name);
  }

  for (const choice of all("[data-by=itself]")) {
    choice.addEventListener("change", (event) => { if (event.target.name === choice.id) showOption(choice, event.target.value); });
    showOption(choice, find("figure", choice).dataset.option);
  }
  for (const input of modelInputs) {
    input.addEventListener("change", async () => {
      history.replaceState(null, "", `#model=${encodeURIComponent(input.value)}`);
      // Charts above may have another height: what is being read stays where it is.
      const bar = input.closest(".models").getBoundingClientRect().bottom;
      const topOf = (choice) => choice.getBoundingClientRect().top, reading = modelChoices.find((choice) => choice.getBoundingClientRect().bottom > bar);
      const top = reading && topOf(reading);
      await showModel(input.value);
      if (reading) scrollBy({ top: topOf(reading) - top, behavior: "instant" });
    });
  }
  if (modelInputs.length) showModel(modelInputs[0].value);
  readHash();
  addEventListener("hashchange", readHash);

  // Downloads

  const IMAGE_WIDTH = 720;

  function save(name, content, type) {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  async function draw(id) {
    // What the chart shows now, with its title, on white: also where the page is dark or narrow.
    const figure = document.getElementById(id), element = find("[data-chart]", figure);
    const spec = copy(views.get(element).spec);
    if (spec.width === "container") spec.width = IMAGE_WIDTH;
    const config = { ...copy(data.themes.light), background: "white" };
    const title = { text: find("h3", figure).textContent, anchor: "start" };
    const result = await vegaEmbed(make("div"), { padding: 12, ...spec, title }, { actions: false, renderer: "svg", config });
    const image = { svg: await result.view.toSVG(), png: await result.view.toCanvas(2) };
    result.finalize();
    return image;
  }

  const download = {
    csv: async (id) => save(`${id}.csv`, data.charts[id].csv, "text/csv"),
    svg: async (id) => save(`${id}.svg`, (await draw(id)).svg, "image/svg+xml"),
    png: async (id) => (await draw(id)).png.toBlob((content) => save(`${id}.png`, content, "image/png")),
  };

  for (const button of all("[data-csv]")) button.addEventListener("click", () => download.csv(button.dataset.csv));
  for (const button of all("[data-download]")) button.addEventListener("click", () => download[button.dataset.download](button.dataset.of));

  // Light or dark, texts shown or hidden, and the page's width

  const drawAll = () => Promise.all([drawCharts(), ...worlds.map((world) => world.draw())]);

  function setTheme(theme) {
    root.dataset.theme = theme;
    find("#theme").textContent = theme === "dark" ? "Light page" : "Dark page";
    return drawAll();
  }

  find("#theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
  find("#hide-texts").addEventListener("change", (event) => {
    document.body.classList.toggle("texts-hidden", event.target.checked);
    worlds.forEach((world) => world.describe());
    if (!event.target.checked) drawCharts(); // what was hidden had no width
  });
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  prefersDark.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
  let width = innerWidth, waiting;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => worlds.forEach((world) => world.draw()), 150);
  });
  setTheme(prefersDark.matches ? "dark" : "light").then(() => { root.dataset.drawn = "yes"; }, () => { root.classList.remove("js"); }); // still pictures
})();
