"use strict";
// The search and the ranking of countries beside the world map.
function makeElement(name, text, parent, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  if (parent) parent.append(element);
  return element;
}

class Ranking {
  static ENDS = 5; // countries of each end that are shown first

  constructor(figure, countries, listRanked, open) {
    // `listRanked` gives the countries with a value, the highest first; `open` is called with the code of a country.
    Object.assign(this, { countries, listRanked, open, chosen: "", query: "", isTyping: false, isComplete: false, prefix: figure.id });
    const role = (name) => figure.querySelector(`[data-role=${name}]`);
    [this.input, this.list, this.order, this.button] = ["country", "ranking", "order", "all"].map(role);
    this.total = Object.keys(countries).length;
    this.names = Object.entries(countries).map(([code, country]) => ({ code, names: [country.name, code, ...country.other_names].map(Ranking.fold) }));
    this.input.addEventListener("input", () => { this.query = this.input.value; this.isTyping = true; this.show(); });
    for (const element of [this.input, this.list]) element.addEventListener("keydown", (event) => this.handleKey(event));
    this.list.addEventListener("click", (event) => { const item = event.target.closest("[data-code]"); if (item) this.open(item.dataset.code, false); });
    this.button.addEventListener("click", () => { this.isComplete = !this.isComplete; this.show(); });
  }

  static fold(text) {
    // As geobias compares names of countries: without case, accents, punctuation and "the".
    const letters = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/['’`ʻ.]/g, "").replaceAll("&", " and ");
    return letters.split(/[^\p{L}\p{N}]+/u).filter((word) => word && word !== "the").map((word) => (word === "st" ? "saint" : word)).join(" ");
  }

  search(text) {
    // Codes by how well a name matches: the whole of it, its beginning, the beginning of a word, anywhere.
    const wanted = Ranking.fold(text), grades = new Map();
    const grade = (name) => (name === wanted ? 0 : name.startsWith(wanted) ? 1 : ` ${name}`.includes(` ${wanted}`) ? 2 : name.includes(wanted) ? 3 : 4);
    for (const { code, names } of this.names) {
      const best = Math.min(...names.map(grade));
      if (best < 4) grades.set(code, best);
    }
    return grades;
  }

  listEntries() {
    // The countries to show now: those that match, all, or both ends with the chosen one between them.
    const ranked = this.listRanked(), known = new Set(ranked.map((entry) => entry.code));
    const absent = Object.entries(this.countries).filter(([code]) => !known.has(code)).map(([code, { name }]) => ({ code, name, rank: null, text: "no data", interval: "", pale: true }));
    if (Ranking.fold(this.query)) {
      const grades = this.search(this.query), matches = [...ranked, ...absent].filter((entry) => grades.has(entry.code));
      return { entries: matches.sort((a, b) => grades.get(a.code) - grades.get(b.code)), kind: "search" };
    }
    if (ranked.length <= 2 * Ranking.ENDS + 1) return { entries: [...ranked, ...absent], kind: "short" };
    if (this.isComplete) return { entries: [...ranked, ...absent], kind: "complete" };
    const last = ranked.length - Ranking.ENDS, isShown = (entry, k) => k < Ranking.ENDS || k >= last || entry.code === this.chosen;
    return { entries: [...ranked.filter(isShown), ...absent.filter((entry) => entry.code === this.chosen)], kind: "ends" };
  }

  show() {
    const { entries, kind } = this.listEntries(), count = entries.length;
    this.list.replaceChildren();
    entries.forEach((entry, k) => {
      const above = entries[k - 1]?.rank;
      if (kind === "ends" && above && entry.rank > above + 1) makeElement("li", "…", this.list, "gap").setAttribute("role", "presentation");
      this.addItem(entry);
    });
    const matches = `${count || "No"} ${count === 1 ? "country matches" : "countries match"}.`;
    const ends = `The ${Ranking.ENDS} highest and the ${Ranking.ENDS} lowest.`;
    const bold = entries.some((entry) => entry.isSure) ? " Bold: full colour on the map." : "";
    this.order.textContent = (kind === "search" ? matches : kind === "ends" ? ends : "The highest first.") + bold;
    this.button.hidden = kind === "search" || kind === "short";
    this.button.textContent = kind === "complete" ? "Both ends only" : `All ${this.total} countries`;
    this.mark();
  }

  addItem(entry) {
    const item = makeElement("li", undefined, this.list, entry.pale ? "pale" : entry.isSure ? "sure" : "");
    item.id = `${this.prefix}-${entry.code}`;
    item.dataset.code = entry.code;
    item.setAttribute("role", "option");
    makeElement("span", entry.rank ?? "–", item, "rank");
    makeElement("span", entry.name, item, "name");
    const value = makeElement("span", entry.text, item, "value");
    if (entry.hasInterval) makeElement("span", entry.interval, value, "interval");
  }

  select(code, byArrow) {
    // By arrow the list stays as it is; else it starts again around the country.
    this.chosen = code;
    this.isTyping = false;
    if (!byArrow) this.query = "";
    if (!this.query) this.input.value = code ? this.countries[code].name : "";
    if (byArrow) this.mark();
    else this.show();
  }

  mark() {
    const items = [...this.list.querySelectorAll("[data-code]")], chosen = items.find((item) => item.dataset.code === this.chosen);
    for (const item of items) item.setAttribute("aria-selected", String(item === chosen));
    for (const element of [this.list, this.input]) {
      if (chosen) element.setAttribute("aria-activedescendant", chosen.id);
      else element.removeAttribute("aria-activedescendant");
    }
    if (!chosen) return;
    const top = chosen.offsetTop - this.list.offsetTop; // scrolls the list, never the page
    this.list.scrollTop = Math.max(Math.min(this.list.scrollTop, top), top + chosen.offsetHeight - this.list.clientHeight);
  }

  handleKey(event) {
    // Arrows go from country to country, Enter opens the best match, Escape starts again.
    const codes = [...this.list.querySelectorAll("[data-code]")].map((item) => item.dataset.code), last = codes.length - 1;
    const place = this.isTyping ? -1 : codes.indexOf(this.chosen); // a country chosen before the search is no match of it
    const ends = event.currentTarget === this.input ? { Enter: Math.max(place, 0) } : { Home: 0, End: last };
    const targets = { ArrowDown: Math.min(place + 1, last), ArrowUp: Math.max(place - 1, 0), ...ends };
    if (event.key === "Escape") this.open("", false);
    if (!(event.key in targets) || last < 0) return;
    event.preventDefault();
    this.open(codes[targets[event.key]], event.key !== "Enter");
  }
}
