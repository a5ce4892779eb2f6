"use strict";
// The world map: its drawing, panel and downloads. ranking.js has its search; page.js gives the data and draws charts.
function createWorlds({ data, embed, areHidden }) {
  const ASPECT = 0.44; // height of the drawn world for its width: Equal Earth from Cape Horn to Greenland
  const FULL_SIZE = 700; // pixels of width below which the circles of small countries shrink with the map
  const IMAGE_WIDTH = 1000; // pixels of a downloaded map
  const SIGNIFICANT = 0.05;

  const find = (selector, within) => within.querySelector(selector);
  const make = makeElement;
  const copy = (value) => JSON.parse(JSON.stringify(value));
  const makeList = (texts, parent) => { const list = make("ul", undefined, parent); for (const text of texts) make("li", text, list); };
  const addOption = (select, value, text) => { make("option", text, select).value = value; };
  const short = (value) => { const text = value.toPrecision(3); return (text.includes("e") ? String(Number(text)) : text).replace("-", "−"); };
  const formatP = (p) => (p < 0.001 ? "adjusted p < 0.001" : `adjusted p = ${Number(p.toPrecision(2))}`);

  function colourRange(values, centre, isRatio) {
    if (isRatio) return colourRange(values.map(Math.log), centre === null ? null : Math.log(centre)).map(Math.exp);
    // Colours end where outliers begin (Tukey's fences), so that one of them does not make all others alike.
    const sorted = [...values].sort((a, b) => a - b);
    const quantile = (share) => { const place = share * (sorted.length - 1), below = Math.floor(place); return sorted[below] + (place - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]); };
    const first = quantile(0.25), third = quantile(0.75), reach = 1.5 * (third - first);
    const usual = sorted.filter((value) => value >= first - reach && value <= third + reach);
    let [low, high] = [usual[0], usual[usual.length - 1]];
    if (low === high) [low, high] = [sorted[0], sorted[sorted.length - 1]];
    if (low === high) [low, high] = [low - 1, high + 1];
    if (centre === null) return [low, high];
    const wider = Math.max(Math.abs(low - centre), Math.abs(high - centre));
    return [centre - wider, centre + wider];
  }

  function decode(topology) {
    // TopoJSON: borders are kept once, as steps on a grid, and shapes name the borders that go around them.
    const { scale, translate } = topology.transform;
    const borders = topology.arcs.map((steps) => {
      const point = [0, 0];
      return steps.map((step) => [0, 1].map((k) => (point[k] += step[k]) * scale[k] + translate[k]));
    });
    const border = (n) => (n < 0 ? borders[~n].slice().reverse() : borders[n]);
    const ring = (numbers) => numbers.flatMap((n, k) => border(n).slice(k ? 1 : 0));
    const polygon = (rings) => rings.map(ring);
    return topology.objects.countries.geometries.map((shape) => ({
      ...shape.properties,
      geometry: { type: shape.type, coordinates: shape.type === "Polygon" ? polygon(shape.arcs) : shape.arcs.map(polygon) },
    }));
  }

  const features = data.topology ? decode(data.topology) : [];

  class World {
    constructor(figure) {
      this.figure = figure;
      this.about = data.worlds[figure.id];
      this.drawing = find("[data-world]", figure);
      this.role = (name) => find(`[data-role=${name}]`, figure);
      this.panel = this.role("panel");
      this.chosen = "";
      this.ranking = new Ranking(figure, this.about.countries, () => this.rank(this.shown()), (code, byArrow) => this.open(code, byArrow));
      const world = this;
      data.charts[figure.id] = { get csv() { return world.csv(); } };
      this.fillChoosers();
      this.listen();
    }

    fillChoosers() {
      const { measures, words } = this.about;
      measures.forEach((measure, k) => addOption(this.role("measure"), k, measure.title));
      if (words) {
        this.words = createWords(words, data.sequential_scheme);
        addOption(this.role("measure"), "words", this.words.title);
        words.topics.forEach((topic, k) => addOption(this.role("topic"), k, topic.topic));
        this.listWords();
      }
      for (const part of [".choosers", ".ranking"]) find(part, this.figure).hidden = false;
      this.hideChoosers();
    }

    listen() {
      for (const role of ["measure", "topic", "word"]) this.role(role).addEventListener("change", () => this.update(role));
      document.addEventListener("modelchange", (event) => this.showModel(event.detail));
      for (const button of this.figure.querySelectorAll("[data-image]")) button.addEventListener("click", () => this.downloadImage(button.dataset.image));
    }

    showModel(name) {
      // The page's choice of a model; a map without numbers of it stays as it is.
      const { measures } = this.about, select = this.role("measure");
      const position = measures.findIndex((measure) => measure.model === name);
      if (position < 0 || measures[select.value]?.model === name) return;
      select.value = position;
      if (document.documentElement.dataset.theme) this.update("measure"); // the first time the page draws it
    }

    listWords() {
      const select = this.role("word"), topic = this.about.words.topics[this.role("topic").value];
      select.replaceChildren();
      if (this.words.hasMean(topic)) addOption(select, "", `all ${topic.words.length} words of it`);
      topic.words.forEach((position) => addOption(select, position, this.about.words.names[position]));
    }

    update(role) {
      if (role === "topic") this.listWords();
      this.hideChoosers();
      if (this.chosen) this.showPanel();
      return this.draw();
    }

    hideChoosers() {
      const isWords = this.role("measure").value === "words";
      for (const name of ["topic", "word"]) this.role(name).closest("label").hidden = !isWords;
      this.role("measure").closest("label").hidden = this.role("measure").length < 2;
    }

    shown() {
      // The measure on the map now: countries by code, each with value, interval and adjusted p-value.
      if (this.role("measure").value !== "words") return this.about.measures[this.role("measure").value];
      return this.words.measure(this.about.words.topics[this.role("topic").value], this.role("word").value, areHidden());
    }

    rank(shown) {
      // The countries with a value, the highest first, in words for tooltips, ranking and panel.
      const hasTests = Object.values(shown.countries).some((numbers) => numbers[3] !== null);
      const known = Object.entries(shown.countries).filter(([code, [value]]) => value !== null && code in this.about.countries);
      known.sort(([a, [x]], [b, [y]]) => y - x || this.about.countries[a].name.localeCompare(this.about.countries[b].name));
      const count = known.filter(([code]) => !this.about.countries[code].unranked).length;
      let place = 0;
      return known.map(([code, [value, low, high, p]]) => {
        const { name, unranked } = this.about.countries[code];
        const rank = unranked ? null : (place += 1), isSure = p !== null && p < SIGNIFICANT;
        const difference = isSure ? `differs from ${shown.baseline}` : `not distinguishable from ${shown.baseline}`;
        return {
          code, name, value, rank, isSure,
          isTested: p !== null,
          pale: hasTests && !isSure,
          text: short(value),
          hasInterval: low !== null,
          interval: low === null ? "none" : `${short(low)} to ${short(high)}`,
          place: rank === null ? `not ranked (${unranked})` : `${rank} of ${count}`,
          test: p === null ? "not tested" : `${difference} (${formatP(p)})`,
        };
      });
    }

    csv() {
      // What a spreadsheet would run is made plain text, as in the run's own tables.
      const shown = this.shown(), quoted = (text) => `"${String(text).replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;
      const ranks = new Map(this.rank(shown).map((entry) => [entry.code, entry.rank]));
      const rows = Object.entries(this.about.countries).map(([code, country]) => {
        const numbers = (shown.countries[code] ?? [null, null, null, null]).map((number) => number ?? "");
        return [code, quoted(country.name), quoted(country.continent), ...numbers, ranks.get(code) ?? ""];
      });
      return [["code", "country", "continent", quoted(shown.title), "low", "high", "p_adjusted", "rank"], ...rows].map((row) => row.join(",") + "\n").join("");
    }

    // The map

    makeSpec(width) {
      const shown = this.shown(), spec = copy(this.about.spec), ranked = this.rank(shown);
      const domain = ranked.length ? colourRange(ranked.map((entry) => entry.value), shown.centre, shown.is_ratio) : [0, 1];
      const colour = { domain, scheme: shown.scheme, clamp: true, reverse: Boolean(shown.is_reversed), ...(shown.is_ratio && { type: "log" }) };
      for (const layer of spec.layer) {
        if (layer.encoding?.color?.field) Object.assign(layer.encoding.color, { scale: colour, title: shown.legend });
        if (layer.encoding?.color?.legend && shown.is_ratio) layer.encoding.color.legend.values = [domain[0], shown.centre, domain[1]].filter((value) => value !== null);
        if (layer.mark.type === "circle") layer.mark.size *= Math.min(1, width / FULL_SIZE);
      }
      const entries = new Map(ranked.map((entry) => [entry.code, entry]));
      const absent = { value: null, text: "no data", interval: "none", rank: "none", test: "not tested" };
      const describe = (code, name) => {
        const entry = entries.get(code), { text, interval, place, test, value, pale } = entry ?? {};
        return { code, name: this.about.countries[code]?.name ?? name, ...(entry ? { value, pale, text, interval, rank: place, test } : absent) };
      };
      const shapes = features.map((shape) => ({ type: "Feature", geometry: shape.geometry, ...describe(shape.code, shape.name) }));
      const dots = data.dots.map((dot) => ({ x: dot.x, y: dot.y, ...describe(dot.code, dot.name) }));
      spec.datasets = { shapes, dots };
      return Object.assign(spec, { width, height: Math.round(width * ASPECT), params: [{ name: "chosen", value: this.chosen }] });
    }

    async draw() {
      this.view = await embed(this.drawing, this.makeSpec(this.drawing.clientWidth));
      this.view.addEventListener("click", (_event, item) => { const code = item?.datum?.code; if (code in this.about.countries) { this.open(code, false); this.panel.focus(); } });
      this.describe();
    }

    describe() {
      const shown = this.shown();
      this.role("legend").textContent = `${shown.title}. ${shown.reading}`;
      const key = this.role("key");
      key.replaceChildren();
      for (const [text, fill, opacity] of this.listKeys(shown)) {
        const item = make("li", undefined, key), swatch = make("i", undefined, item);
        Object.assign(swatch.style, { background: fill, opacity });
        item.append(text);
      }
      this.ranking.show();
    }

    listKeys(shown) {
      const ranked = this.rank(shown), sure = ranked.filter((entry) => entry.isSure).length, total = Object.keys(this.about.countries).length;
      const middle = "#2a788e", empty = "var(--line)", keys = [];
      if (ranked.some((entry) => entry.pale) || sure) {
        keys.push([`Full colour: differs from ${shown.baseline}, adjusted p < 0.05 (${sure} of ${ranked.length})`, middle, 1]);
        const untested = ranked.some((entry) => !entry.isTested) ? ", or not tested" : "";
        keys.push([`Pale: not distinguishable from ${shown.baseline}${untested} (${ranked.length - sure})`, middle, 0.3]);
      } else keys.push(["Not tested: the colours show values, not evidence", middle, 1]);
      keys.push([total > ranked.length ? `Grey: no data (${total - ranked.length} countries of this run, and places outside it)` : "Grey: not in this run", empty, 1]);
      return keys;
    }

    async downloadImage(format) {
      // The map as it is shown, with what it says in words, on the page's background.
      const shown = this.shown(), holder = make("div"), { backgroundColor, color } = getComputedStyle(document.body);
      const sentences = [`${shown.title}. ${shown.reading}`, ...this.listKeys(shown).map(([text]) => text), this.about.caution];
      const lines = sentences.flatMap((sentence) => sentence.match(/.{1,130}(?:\s|$)/g) ?? []);
      const text = find("h2", this.figure.closest("section")).textContent;
      const spec = Object.assign(this.makeSpec(IMAGE_WIDTH), {
        title: { text, subtitle: lines, subtitleColor: color, anchor: "start", fontSize: 18, offset: 12 },
        background: backgroundColor,
        padding: 16,
      });
      const view = await embed(holder, spec);
      const svg = async () => URL.createObjectURL(new Blob([await view.toSVG()], { type: "image/svg+xml" }));
      const link = make("a");
      link.href = format === "svg" ? await svg() : await view.toImageURL("png", 2);
      link.download = `${this.figure.id}.${format}`;
      link.click();
      if (format === "svg") setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }

    // A country

    open(code, byArrow) {
      // The focus stays where it is, so that arrow keys go on from country to country.
      this.chosen = code;
      this.view?.signal("chosen", code).runAsync();
      this.ranking.select(code, byArrow);
      this.panel.hidden = !code;
      if (!code) return;
      this.showPanel();
      if (!byArrow) this.panel.scrollIntoView({ block: "nearest" });
    }

    showPanel() {
      const code = this.chosen, country = this.about.countries[code];
      this.panel.replaceChildren();
      const close = make("button", "Close", this.panel, "close");
      close.type = "button";
      close.addEventListener("click", () => { this.open("", false); this.role("country").focus(); });
      make("h4", `${country.name} (${country.continent})`, this.panel);
      const values = this.about.measures.map((measure) => {
        const entry = this.rank(measure).find((each) => each.code === code);
        const value = entry && `${entry.text}${measure.is_ratio ? " times" : ""}${entry.hasInterval ? `, 95 % interval ${entry.interval}` : ""}`;
        return `${measure.title}: ${entry ? `${value}, rank ${entry.place}; ${entry.test}` : "no data"}`;
      });
      makeList([...values, ...country.facts], this.panel);
      const columns = make("div", undefined, this.panel, "columns texts");
      if (this.about.words) {
        this.words.describe(columns, code, country.name);
        make("p", "Words are hidden by the switch at the top of the page.", this.panel, "hidden-texts");
      }
      if (country.cities.length) {
        make("h5", country.cities_title, this.panel);
        makeList(country.cities.map(([name, value]) => `${name}: ${value === null ? "no data" : short(value)}`), this.panel);
      }
    }
  }

  return [...document.querySelectorAll(".world")].map((figure) => new World(figure));
}
