"use strict";
(() => {
  // Definitions beside their terms, on hover and focus. Screen readers have them without this, by aria-describedby.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("aria-hidden", "true");
  tip.hidden = true;
  document.body.append(tip);
  let shown = null;

  function show(term) {
    shown = term;
    tip.textContent = document.getElementById(term.getAttribute("aria-describedby")).textContent;
    tip.hidden = false;
    const place = term.getClientRects()[0], margin = 8;
    const left = Math.max(margin, Math.min(place.left, document.documentElement.clientWidth - tip.offsetWidth - margin));
    const above = place.top - tip.offsetHeight;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above < margin ? place.bottom : above) + scrollY}px`;
  }

  function hide() {
    shown = null;
    tip.hidden = true;
  }

  for (const term of document.querySelectorAll("dfn[aria-describedby]")) {
    term.addEventListener("mouseenter", () => show(term));
    term.addEventListener("focus", () => show(term));
    term.addEventListener("click", () => show(term));
    term.addEventListener("blur", hide);
  }
  // The tip stays while the pointer is on it, so that it can be read enlarged.
  document.addEventListener("mouseover", (event) => {
    if (shown && shown !== document.activeElement && !shown.contains(event.target) && !tip.contains(event.target)) hide();
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
})();
