"use strict";
(() => {
  const FEWEST_TO_SEARCH = 15; // rows
  const collator = new Intl.Collator("en", { numeric: true });
  const textOf = (row, column) => row.cells[column].textContent.trim();

  function numberOf(text) {
    // The first number of "+1.2*", "−3 to 4", "< 0.001", "12,345": intervals are sorted by their lower ends.
    const match = /^[<>=~≈'\s]*([-+]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?)/i.exec(text.replaceAll("−", "-"));
    return match ? Number(match[1].replaceAll(",", "")) : NaN;
  }

  const isMissing = (text) => ["", "–", "-", "no data", "too few", "unknown"].includes(text);

  function sortRows(table, column, isDescending) {
    const body = table.tBodies[0], rows = [...body.rows], texts = new Map(rows.map((row) => [row, textOf(row, column)]));
    const known = rows.filter((row) => !isMissing(texts.get(row))), missing = rows.filter((row) => isMissing(texts.get(row)));
    const areNumbers = known.every((row) => !Number.isNaN(numberOf(texts.get(row))));
    const compare = areNumbers ? (a, b) => numberOf(texts.get(a)) - numberOf(texts.get(b)) : (a, b) => collator.compare(texts.get(a), texts.get(b));
    known.sort(isDescending ? (a, b) => compare(b, a) : compare);
    body.append(...known, ...missing);
  }

  function makeSortable(table) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      if (!button.textContent.trim()) button.setAttribute("aria-label", "Sort by this column");
      heading.append(button);
      button.addEventListener("click", () => {
        const isDescending = heading.getAttribute("aria-sort") === "ascending";
        for (const other of headings) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
        sortRows(table, column, isDescending);
      });
    });
  }

  function makeSearchable(table) {
    const rows = [...table.tBodies[0].rows], label = document.createElement("label"), input = document.createElement("input"), count = document.createElement("span");
    label.className = "search";
    input.type = "search";
    count.setAttribute("aria-live", "polite");
    label.append("Search ", input, " ", count);
    table.closest(".scroll").before(label);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) { const text = row.textContent.toLowerCase(); row.hidden = !words.every((word) => text.includes(word)); }
      count.textContent = words.length ? `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows` : "";
    });
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    makeSortable(table);
    if (table.tBodies[0].rows.length > FEWEST_TO_SEARCH) makeSearchable(table);
  }
})();
