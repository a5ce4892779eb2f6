"use strict";
// One stored text, and every country's answers on one line. Nothing is asked of a model.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent).tries, box = document.getElementById("try");
  if (!box || !data.length) return;
  const part = (name) => box.querySelector(`[data-try=${name}]`);
  const fill = (select, names) => select.replaceChildren(...names.map((name, k) => new Option(name, k)));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const chosen = (name) => Number(part(name).value) || 0;
  const escape = (text) => text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
  const shorten = (text) => (text.length > 64 ? `${text.slice(0, 62)}…` : text);

  const current = () => data[chosen("mode")];
  function changedText(text, country) {
    if (text.versions) return text.versions[country];
    const { prefixes, names } = current();
    return `${prefixes[text.wordings[country]].split("{region}").join(names[country])} ${text.text}`;
  }

  function markNew(original, changed) {
    const words = new Set(original.split(/\s+/));
    return changed.split(/(\s+)/).map((word) => (word.trim() && !words.has(word) ? `<mark class="is">${escape(word)}</mark>` : escape(word))).join("");
  }

  function start() {
    // The country whose mean is farthest from the average of all.
    const { texts } = current(), means = texts[chosen("text")].scores[chosen("model")].map(mean), average = mean(means);
    return means.reduce((best, value, k) => (Math.abs(value - average) > Math.abs(means[best] - average) ? k : best), 0);
  }

  function fillMode() {
    const { texts, models, countries } = current();
    fill(part("text"), texts.map((text, k) => `${k + 1}. ${shorten(text.text)}`));
    fill(part("model"), models.map((model) => model.name));
    fill(part("country"), countries);
    part("model").closest("label").hidden = models.length < 2;
    part("country").value = start();
    show();
  }

  function show() {
    const { texts, models, countries } = current(), text = texts[chosen("text")], m = chosen("model"), country = chosen("country");
    const model = models[m], scores = text.scores[m], own = mean(scores[country]), all = mean(scores.map(mean)), unit = model.low ? "" : " %";
    const say = (value) => `${model.low && value > 0 ? "+" : ""}${Math.round(value)}${unit}`.replace("-", "−");
    part("sentence").innerHTML = markNew(text.text, changedText(text, country));
    part("answer").textContent = `${countries[country]}: ${say(own)}${scores[country].length > 1 ? `, the mean of ${scores[country].length} names` : ""}. The average country: ${say(all)}. The original text: ${say(text.originals[m])}.`;
    draw(model, scores, country, text.originals[m], say);
  }

  function draw(model, scores, country, original, say) {
    const { countries } = current(), width = Math.max(300, Math.min(980, part("line").clientWidth)), radius = 3.4, place = (value) => 8 + ((value - model.low) / (model.high - model.low)) * (width - 16);
    const piles = new Map(), dots = scores.flatMap((values, k) => values.map((value) => ({ value, k })));
    dots.sort((a, b) => (a.k === country) - (b.k === country));
    let top = 0;
    for (const dot of dots) {
      const slot = Math.round(place(dot.value) / (2 * radius)), height = piles.get(slot) ?? 0;
      piles.set(slot, height + 1);
      Object.assign(dot, { x: slot * 2 * radius, y: Math.min(height, 24) * 2 * radius });
      top = Math.max(top, dot.y);
    }
    const base = top + 14, middle = (model.low + model.high) / 2;
    const ticks = [model.low, middle, model.high].map((value, k) => `<line class="grid" x1="${place(value)}" x2="${place(value)}" y1="0" y2="${base + 6}"/><text font-size="12" x="${place(value)}" y="${base + 22}" text-anchor="${["start", "middle", "end"][k]}">${say(value)}</text>`);
    const marks = dots.map((dot) => `<circle class="${dot.k === country ? "neutral" : "open"}" r="${dot.k === country ? radius + 1.4 : radius}" cx="${dot.x}" cy="${base - dot.y - radius}" data-country="${dot.k}"><title>${escape(countries[dot.k])}: ${say(dot.value)}</title></circle>`);
    const ends = `<text font-size="12" x="0" y="${base + 42}">← ${escape(model.ends[0])}</text><text font-size="12" x="${width}" y="${base + 42}" text-anchor="end">${escape(model.ends[1])} →</text>`;
    const line = `<line class="ink" stroke-width="1.4" stroke-dasharray="3 3" x1="${place(original)}" x2="${place(original)}" y1="0" y2="${base + 6}"><title>The original text: ${say(original)}</title></line>`;
    part("line").innerHTML = `<svg viewBox="0 -8 ${width} ${base + 58}" role="img" aria-label="The answers for all countries; dashed: the original text.">${ticks.join("")}${line}${marks.join("")}${ends}</svg>`;
  }

  fill(part("mode"), data.map((each) => each.title));
  part("mode").closest("label").hidden = data.length < 2;
  part("mode").addEventListener("change", fillMode);
  for (const name of ["text", "model"]) part(name).addEventListener("change", () => { part("country").value = start(); show(); });
  part("country").addEventListener("change", show);
  part("line").addEventListener("click", (event) => {
    const country = event.target.closest("[data-country]");
    if (country) { part("country").value = country.dataset.country; show(); }
  });
  box.hidden = false;
  fillMode();
})();
