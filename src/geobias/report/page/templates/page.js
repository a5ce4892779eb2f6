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
  const option = (select, value, text) => { make("option", text, select).value = value; };
  const copy = (value) => JSON.parse(JSON.stringify(value));
  const short = (value) => (value === null || value === undefined ? "unknown" : Number(value.toPrecision(3)).toString());
  const fixed = (value) => value.toFixed(2).replace("-", "−");
  const areHidden = () => find("#hide-texts").checked;
  const views = new Map();

  async function embed(element, spec) {
    views.get(element)?.finalize();
    const config = copy(data.themes[root.dataset.theme]);
    config.axis.labelLimit = Math.min(config.axis.labelLimit, innerWidth / 3); // names leave room for what they name
    const options = { actions: false, renderer: "svg", config, tooltip: { theme: root.dataset.theme } };
    const found = await vegaEmbed(element, spec, options);
    views.set(element, found);
    return found.view;
  }

  // Charts

  const drawChart = (element) => embed(element, copy(data.charts[element.dataset.chart].spec));
  const isShown = (element) => !element.closest("[hidden]");
  const drawCharts = () => Promise.all(all("[data-chart]").filter(isShown).map(drawChart));

  for (const choice of all(".choice")) {
    choice.addEventListener("change", (event) => {
      if (event.target.name !== choice.id) return;
      for (const figure of all("figure", choice)) figure.hidden = figure.id !== event.target.value;
      all("[data-chart]", choice).filter(isShown).forEach(drawChart);
    });
  }

  // The world map

  const ASPECT = 0.44; // height of the drawn world for its width: Equal Earth from Cape Horn to Greenland
  const FULL_SIZE = 700; // pixels of width below which the small countries' circles shrink with the map

  function range(values, centre) {
    // Colours end where outliers begin (Tukey's fences), so that one of them does not make all others alike.
    const sorted = [...values].sort((a, b) => a - b);
    const at = (share) => { const place = share * (sorted.length - 1), below = Math.floor(place); return sorted[below] + (place - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]); };
    const reach = 1.5 * (at(0.75) - at(0.25));
    const usual = sorted.filter((value) => value >= at(0.25) - reach && value <= at(0.75) + reach);
    let [low, high] = [usual[0], usual[usual.length - 1]];
    if (low === high) [low, high] = [sorted[0], sorted[sorted.length - 1]];
    if (low === high) [low, high] = [low - 1, high + 1];
    if (centre === null) return [low, high];
    const wider = Math.max(Math.abs(low - centre), Math.abs(high - centre));
    return [centre - wider, centre + wider];
  }

  function decoded(topology) {
    // TopoJSON: borders are kept once, as steps on a grid, and shapes name the borders that go around them.
    const { scale, translate } = topology.transform;
    const borders = topology.arcs.map((steps) => {
      const at = [0, 0];
      return steps.map((step) => [0, 1].map((k) => (at[k] += step[k]) * scale[k] + translate[k]));
    });
    const border = (n) => (n < 0 ? borders[~n].slice().reverse() : borders[n]);
    const ring = (numbers) => numbers.flatMap((n, k) => border(n).slice(k ? 1 : 0));
    const polygon = (rings) => rings.map(ring);
    return topology.objects.countries.geometries.map((shape) => ({
      ...shape.properties,
      geometry: { type: shape.type, coordinates: shape.type === "Polygon" ? polygon(shape.arcs) : shape.arcs.map(polygon) },
    }));
  }

  const features = data.topology ? decoded(data.topology) : [];

  class World {
    constructor(figure) {
      this.figure = figure;
      this.about = data.worlds[figure.id];
      this.drawing = find("[data-world]", figure);
      this.panel = find("[data-role=panel]", figure);
      this.role = (name) => find(`[data-role=${name}]`, figure);
      this.about.measures.forEach((measure, k) => option(this.role("measure"), k, measure.title));
      const words = this.about.words;
      if (words) {
        option(this.role("measure"), "words", "How likely words are");
        words.topics.forEach((topic, k) => option(this.role("topic"), k, topic.topic));
        this.listWords();
      }
      if (!this.about.measures.length) this.role("measure").value = "words";
      for (const [code, country] of Object.entries(this.about.countries).sort((a, b) => a[1].name.localeCompare(b[1].name)))
        option(this.role("country"), code, country.name);
      figure.addEventListener("change", (event) => this.changed(event.target.dataset.role));
      this.choosers();
    }

    listWords() {
      const select = this.role("word"), topic = this.about.words.topics[this.role("topic").value];
      select.replaceChildren();
      option(select, "", `all ${topic.words.length} words of it`);
      topic.words.forEach((position) => option(select, position, this.about.words.names[position]));
    }

    changed(role) {
      if (role === "country") return this.open(this.role("country").value);
      if (role === "topic") this.listWords();
      this.choosers();
      this.draw();
    }

    choosers() {
      const isWords = this.role("measure").value === "words";
      for (const name of ["topic", "word"]) this.role(name).closest("label").hidden = !isWords;
    }

    shown() {
      // What is on the map now: its values by country, and what to call them.
      if (this.role("measure").value !== "words") return this.about.measures[this.role("measure").value];
      const words = this.about.words, topic = words.topics[this.role("topic").value], word = this.role("word").value;
      const several = `How likely the ${topic.words.length} words of “${topic.topic}” are`;
      const values = word === "" ? topic.values : {};
      if (word !== "") for (const [code, f] of Object.entries(words.f)) if (f[word] !== null) values[code] = f[word];
      const title = areHidden() ? "How likely the chosen words are" : word === "" ? several : `How likely “${this.sentence("…", word)}” is`;
      return { title, legend: "mean log-probability", reading: words.reading, centre: null, values };
    }

    sentence(region, position) {
      // In one go and by a function: what is put in may hold braces, or "$&".
      const { template, names } = this.about.words;
      return template.replace(/{region}|{description}/g, (place) => (place === "{region}" ? region : names[position]));
    }

    csv() {
      // What a spreadsheet would run is made plain text, as in the run's own tables.
      const shown = this.shown(), quoted = (text) => `"${String(text).replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;
      const rows = Object.entries(this.about.countries).map(([code, country]) => [code, quoted(country.name), quoted(country.continent), shown.values[code] ?? ""]);
      return [["code", "country", "continent", quoted(shown.title)], ...rows].map((row) => row.join(",") + "\n").join("");
    }

    async draw() {
      const shown = this.shown(), spec = copy(this.about.spec), width = this.drawing.clientWidth;
      const known = Object.values(shown.values).filter((value) => value !== null);
      const [low, high] = known.length ? range(known, shown.centre) : [0, 1];
      const colour = { domain: [low, high], scheme: shown.centre === null ? data.schemes.sequential : data.schemes.diverging, clamp: true };
      for (const layer of spec.layer) {
        if (layer.encoding.color?.field) Object.assign(layer.encoding.color, { scale: colour, title: shown.legend });
        if (layer.mark.type === "circle") layer.mark.size *= Math.min(1, width / FULL_SIZE);
      }
      const about = (code, name) => ({ code, name: this.about.countries[code]?.name ?? name, value: shown.values[code] ?? null, text: short(shown.values[code]) });
      const shapes = features.map((shape) => ({ type: "Feature", geometry: shape.geometry, ...about(shape.code, shape.name) }));
      const dots = data.dots.map((dot) => ({ x: dot.x, y: dot.y, ...about(dot.code, dot.name) }));
      spec.datasets = { shapes, dots };
      Object.assign(spec, { width, height: Math.round(width * ASPECT), params: [{ name: "chosen", value: this.chosen ?? "" }] });
      this.view = await embed(this.drawing, spec);
      this.view.addEventListener("click", (_event, item) => { const code = item?.datum?.code; if (code in this.about.countries) { this.open(code); this.panel.focus(); } });
      this.describe();
    }

    describe() {
      const shown = this.shown(), known = Object.values(shown.values).filter((value) => value !== null);
      const missing = Object.keys(this.about.countries).length - known.length;
      this.role("legend").textContent = `${shown.title}. ${shown.reading}${missing ? ` Without a number: ${missing}.` : ""}`;
    }

    open(code) {
      // The focus stays in the list of countries, so that arrow keys go on from country to country.
      this.chosen = code;
      this.role("country").value = code;
      this.view?.signal("chosen", code).runAsync();
      this.panel.hidden = !code;
      if (!code) return;
      const country = this.about.countries[code];
      this.panel.replaceChildren();
      const close = make("button", "Close", this.panel);
      close.type = "button";
      close.className = "close";
      close.addEventListener("click", () => { this.open(""); this.role("country").focus(); });
      make("h4", `${country.name} (${country.continent})`, this.panel);
      const facts = make("ul", undefined, this.panel);
      for (const measure of this.about.measures) make("li", `${measure.title}: ${short(measure.values[code])}`, facts);
      for (const fact of country.facts ?? []) make("li", fact, facts);
      const columns = make("div", undefined, this.panel);
      columns.className = "columns texts";
      if (this.about.words) {
        this.listSentences(columns, code, country.name);
        make("p", "Words are hidden by the switch at the top of the page.", this.panel).className = "hidden-texts";
      }
      if (country.cities?.length) {
        make("h5", country.cities_title, this.panel);
        const list = make("ul", undefined, this.panel);
        for (const [name, value] of country.cities) make("li", `${name}: ${short(value)}`, list);
      }
      this.panel.scrollIntoView({ block: "nearest" });
    }

    listSentences(columns, code, name) {
      const { f, salient } = this.about.words, own = f[code], words = salient[code];
      if (!words) return void make("p", "No likelihoods.", columns);
      const lists = [
        [`Likelier, among what is said of ${name}, than of other countries`, words.likelier],
        [`Less likely, among what is said of ${name}, than of other countries`, words.less_likely],
      ];
      const note = `f: ${this.about.words.reading} The second number: how much likelier than of other countries, once it is allowed for that the model finds anything likelier or less likely of ${name}.`;
      make("p", note, columns).className = "reading";
      for (const [title, sentences] of lists) {
        const column = make("div", undefined, columns);
        make("h5", title, column);
        const list = make("ul", undefined, column);
        for (const [k, difference] of sentences) make("li", `“${this.sentence(name, k)}” f\u00a0${fixed(own[k])}, ${difference < 0 ? "" : "+"}${fixed(difference)}`, list);
      }
    }
  }

  const worlds = all(".world").map((figure) => new World(figure));

  // CSV

  function download(id) {
    const world = worlds.find((each) => each.figure.id === id);
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([world ? world.csv() : data.charts[id].csv], { type: "text/csv" }));
    link.download = `${id}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  for (const button of all("[data-csv]")) button.addEventListener("click", () => download(button.dataset.csv));

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
  });
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  prefersDark.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
  let before;
  addEventListener("beforeprint", () => { before = root.dataset.theme; for (const each of all("details")) each.open = true; if (before === "dark") setTheme("light"); });
  addEventListener("afterprint", () => { if (before === "dark") setTheme("dark"); });
  let width = innerWidth, waiting;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => worlds.forEach((world) => world.draw()), 150);
  });
  setTheme(prefersDark.matches ? "dark" : "light").then(() => { root.dataset.drawn = "yes"; });
})();
