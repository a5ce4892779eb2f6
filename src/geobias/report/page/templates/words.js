"use strict";
// The words of a map: what is shown for a word or a topic, and the lists of words of a country's panel.

function fillFrame(frame, region, word) {
  // In one go and by a function: what is put in may hold braces, or "$&".
  return frame.replace(/{region}|{description}/g, (place) => (place === "{region}" ? region : word));
}

function listWords(items, parent) {
  const list = makeElement("ul", undefined, parent);
  for (const [text, className] of items) makeElement("li", text, list, className);
}

class Likelihoods {
  // Of runs without associations of countries: the likelihood f of every sentence.
  constructor(words, scheme) { Object.assign(this, { words, scheme, title: "How likely words are" }); }

  hasMean() { return true; }

  measure(topic, word, areHidden) {
    const values = word === "" ? Object.entries(topic.values) : Object.entries(this.words.f).map(([code, f]) => [code, f[word]]);
    const countries = Object.fromEntries(values.map(([code, value]) => [code, [value, null, null, null]]));
    const several = `How likely the ${topic.words.length} words of “${topic.topic}” are`;
    const title = areHidden ? "How likely the chosen words are" : word === "" ? several : `How likely “${this.fill("…", word)}” is`;
    return { title, legend: "mean log-probability", reading: this.words.reading, baseline: "", centre: null, scheme: this.scheme, countries };
  }

  fill(region, position) { return fillFrame(this.words.template, region, this.words.names[position]); }

  describe(columns, code, name) {
    const { f, salient, reading } = this.words, words = salient[code], fixed = (value) => value.toFixed(2).replace("-", "−");
    if (!words) return void makeElement("p", "No likelihoods.", columns);
    makeElement("p", `f: ${reading} The second number is the difference from other countries, after the mean over all words of ${name} is subtracted. Not tested.`, columns, "reading");
    for (const [title, sentences] of [
      [`More likely of ${name} than of other countries`, words.likelier],
      [`Less likely of ${name} than of other countries`, words.less_likely],
    ]) {
      const column = makeElement("div", undefined, columns);
      makeElement("h5", title, column);
      listWords(sentences.map(([k, difference]) => [`“${this.fill(name, k)}” f\u00a0${fixed(f[code][k])}, ${difference < 0 ? "" : "+"}${fixed(difference)}`]), column);
    }
  }
}

class Associations {
  // How many times as likely every word is as of the average country, relative to other words.
  static SIGNIFICANT = 0.05;

  constructor(words) { Object.assign(this, { words, title: "A topic or a word" }); }

  hasMean(topic) { return Object.keys(topic.countries).length > 0; }

  measure(topic, word, areHidden) {
    const { reading, baseline, scheme, cells } = this.words;
    const countries = word === "" ? topic.countries : Object.fromEntries(Object.keys(cells).map((code) => [code, this.numbers(code, Number(word))]));
    const several = `The ${topic.words.length} words of “${topic.topic}”`;
    const title = areHidden ? "The chosen words" : word === "" ? several : `“${this.fill("…", word)}”`;
    return { title, legend: "times as likely", reading, baseline, centre: 1, is_ratio: true, scheme, countries };
  }

  numbers(code, position) {
    // Value, bounds and adjusted p-value; cells hold thousandths of a nat.
    const [value, low, high, p] = this.words.cells[code].slice(4 * position, 4 * position + 4);
    return [...[value, low, high].map((nats) => (nats === null ? null : Math.exp(nats / 1000))), p];
  }

  fill(region, position) { return fillFrame(this.words.frames[this.words.frame[position]], region, this.words.names[position]); }

  describe(columns, code, name) {
    const words = this.words.salient[code];
    if (!words) return void makeElement("p", "It was not compared: no sentence names its people.", columns);
    const isClear = (k) => { const p = this.numbers(code, k)[3]; return p !== null && p < Associations.SIGNIFICANT; };
    for (const [title, positions] of [
      [`Said more often of ${name} than of the average country, relative to other words`, words.more],
      ["Said less often", words.less],
    ]) {
      const column = makeElement("div", undefined, columns);
      makeElement("h5", title, column);
      listWords(positions.map((k) => [this.describeWord(code, k), isClear(k) ? "sure" : "pale"]), column);
      if (positions.length) makeElement("p", `For example: “${this.fill(this.words.people[code] ?? name, positions[0])}”`, column, "frame");
    }
    makeElement("p", `In brackets: 95 % interval of each word alone. ${this.describeTest(code, [...words.more, ...words.less], isClear)}`, columns, "reading");
  }

  describeTest(code, positions, isClear) {
    if (positions.every((k) => this.numbers(code, k)[3] === null)) return "Not tested against other places.";
    if (!positions.some(isClear)) return `None of these words is beyond what ${this.words.baseline} show.`;
    return positions.every(isClear) ? `All are beyond what ${this.words.baseline} show.` : `Bold words are beyond what ${this.words.baseline} show, pale ones are not.`;
  }

  describeWord(code, position) {
    const [value, low, high] = this.numbers(code, position), name = this.words.names[position];
    return `${name} ${this.round(value)} times${low === null ? "" : ` (${this.round(low)} to ${this.round(high)})`}`;
  }

  round(value) { const text = value.toPrecision(2); return text.includes("e") ? String(Number(text)) : text; }
}

const createWords = (words, scheme) => (words.cells ? new Associations(words) : new Likelihoods(words, scheme));
