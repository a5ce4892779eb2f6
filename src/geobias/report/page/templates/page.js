"use strict";
(() => {
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const root = document.documentElement, data = JSON.parse(find("#data").textContent);

  // Light or dark, texts shown or hidden, printing, and quotes

  const dark = matchMedia("(prefers-color-scheme: dark)");
  function setTheme(isDark) {
    root.dataset.theme = isDark ? "dark" : "light";
    find("#theme").textContent = isDark ? "Light page" : "Dark page";
  }
  setTheme(dark.matches);
  dark.addEventListener("change", (event) => setTheme(event.matches));
  find("#theme").addEventListener("click", () => setTheme(root.dataset.theme !== "dark"));
  find("#hide-texts").addEventListener("change", (event) => document.body.classList.toggle("texts-hidden", event.target.checked));
  find("#print").addEventListener("click", () => print());
  for (const button of all("[data-copy]")) button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch { // pages from a disk may not write to the clipboard
      const area = document.createElement("textarea");
      area.value = button.dataset.copy;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied, with its limits";
  });

  // Choices: the same model in all of them

  function choose(name, value) {
    const choice = document.getElementById(name);
    for (const part of choice.children) if (part.dataset.option !== undefined) part.hidden = part.dataset.option !== value;
  }
  for (const field of all("fieldset.chooser")) {
    const inputs = all("input", field);
    choose(inputs[0].name, inputs[0].value);
    field.addEventListener("change", (event) => {
      for (const other of all("fieldset.chooser input")) if (other.value === event.target.value) { other.checked = true; choose(other.name, other.value); }
    });
  }

  // A link to what is folded opens it

  function unfold() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (target) target.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  unfold();

  // Pictures as files: the widest form, in light colours, with the headline above the picture it belongs to

  const MARGIN = 28;
  function copyPicture(figure) {
    const svg = find("svg", figure).cloneNode(true), [, , width, tall] = svg.getAttribute("viewBox").split(" ").map(Number), claim = find(".claim", svg);
    let height = tall;
    if (claim) {
      claim.removeAttribute("visibility");
      find(".all", svg).setAttribute("transform", `translate(0,${claim.dataset.height})`);
      height += Number(claim.dataset.height);
    }
    return finish(svg, -MARGIN, width + 2 * MARGIN, height + 2 * MARGIN);
  }

  function finish(svg, start, width, height) {
    // By itself: with its outlines and its style, on paper.
    for (const use of all("use", svg)) {
      const path = document.getElementById(use.getAttribute("href").slice(1)).cloneNode();
      path.removeAttribute("id");
      path.setAttribute("class", use.getAttribute("class"));
      use.replaceWith(path);
    }
    const values = { class: "picture", xmlns: "http://www.w3.org/2000/svg", viewBox: [start, start, width, height].join(" "), width, height };
    for (const [name, value] of Object.entries(values)) svg.setAttribute(name, value);
    svg.removeAttribute("style");
    svg.insertAdjacentHTML("afterbegin", `<style>${find("#figure-style").textContent}</style><rect x="${start}" y="${start}" width="100%" height="100%" fill="#fffefb"/>`);
    return [new XMLSerializer().serializeToString(svg), width, height];
  }

  function drawPng([text, width, height], scale = 2) {
    return new Promise((resolve, reject) => {
      const image = new Image();
      image.onerror = reject;
      image.onload = () => {
        const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
        [canvas.width, canvas.height] = [scale * width, scale * height];
        context.scale(scale, scale);
        context.drawImage(image, 0, 0, width, height);
        canvas.toBlob(resolve);
      };
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    });
  }

  function save(name, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // The rows of a table; text that a spreadsheet would run is made plain text.

  function listCells(figure) {
    const quote = (text) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
    return all("tr", figure).map((row) => `${[...row.cells].map((cell) => quote(cell.textContent.trim())).join(",")}\n`);
  }

  const files = {
    csv: (figure) => new Blob([data.csv[figure.id.replace(/-first$/, "")], ...listCells(figure)], { type: "text/csv" }),
    svg: (figure) => new Blob([copyPicture(figure)[0]], { type: "image/svg+xml" }),
    png: (figure) => drawPng(copyPicture(figure)),
  };
  for (const button of all("[data-download]")) button.addEventListener("click", async () => {
    const figure = button.closest("figure"), kind = button.dataset.download;
    save(`${figure.id}.${kind}`, await files[kind](figure));
  });
  find("#save-social")?.addEventListener("click", async () => {
    const card = finish(find("#social svg").cloneNode(true), 0, 1200, 630);
    save("card.png", await drawPng(card, 1));
  });
  root.dataset.drawn = "yes";
})();
