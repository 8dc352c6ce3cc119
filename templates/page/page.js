"use strict";
// Shortcuts: every page works without them. Only the place in a list is stored, for a tab.
(() => {
  const $ = (what, where = document) => where.querySelector(what);
  const policy = window.trustedTypes?.createPolicy("mdmem", { createHTML: (text) => text });
  // DOMParser makes a document in which nothing runs or loads.
  const parse = (text) =>
    new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");

  // Parts of another page, shown in this one. The newest answer wins.
  let newest, waiting;
  const show = (address, part, then = () => {}) => {
    newest?.abort();
    clearTimeout(waiting);
    const { signal } = (newest = new AbortController());
    waiting = setTimeout(async () => {
      try {
        const page = parse(await (await fetch(address, { signal })).text());
        const nodes = [...$(part, page).childNodes].map((node) => document.importNode(node, true));
        if (signal.aborted) return;
        const isOpen = $(`${part} details`)?.open;
        $(part).replaceChildren(...nodes);
        if (isOpen) $(`${part} details`)?.setAttribute("open", "");
        document.title = page.title;
        history.replaceState(null, "", address);
        then(page);
      } catch {
        if (!signal.aborted) location.assign(address);
      }
    }, 60);
  };
  const here = (name, value) => {
    const address = new URL(location);
    address.searchParams.delete("done");
    address.searchParams.delete(name);
    if (value) address.searchParams.set(name, value);
    return address;
  };

  const search = $("input[type=search]");
  if ($("#hits")) search?.addEventListener("input", () => show(here("q", search.value), "#hits"));

  const slider = $("#slider input[type=range]");
  slider?.addEventListener("input", () => {
    show(here("at", slider.value === slider.max ? "" : slider.value), "#version", (page) => {
      const words = $("#slider input[type=range]", page).getAttribute("aria-valuetext");
      slider.setAttribute("aria-valuetext", words);
      $("#slider output").textContent = $("#slider output", page).textContent;
    });
  });
  if (slider) $("#slider button").hidden = true;
  const slide = (step) => {
    if (!slider) return $(step < 0 ? "main a[rel=prev]" : "main a[rel=next]")?.click();
    slider.value = Number(slider.value) + step;
    slider.dispatchEvent(new Event("input"));
  };

  // Focus moves between the rows that are links and the items to decide on.
  const things = () => [...document.querySelectorAll("main .row:has(a), main [data-item]")];
  let at = -1;
  const find = () => things().findIndex((thing) => thing.contains(document.activeElement));
  const thing = () => things()[find()];
  const move = (step) => {
    const all = things();
    const now = find() < 0 ? at : find();
    at = Math.min(Math.max(now + step, 0), all.length - 1);
    const target = all[at]?.matches("[data-item]") ? all[at] : all[at] && $("a", all[at]);
    target?.focus();
    target?.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("focusin", () => {
    for (const each of things()) each.classList.toggle("focus", each === thing());
  });

  // After a form, its result has the focus; the next key continues where the form was.
  const PLACE = `mdmem ${location.pathname}`;
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (event.target.dataset.sent) return event.preventDefault();
    event.target.dataset.sent = "1";
    sessionStorage.setItem(PLACE, find());
  });
  addEventListener("pageshow", () => {
    for (const form of document.forms) delete form.dataset.sent;
  });
  if ($("#done")) {
    at = Number(sessionStorage.getItem(PLACE) ?? 0) - 1;
    $("#done").focus();
  }

  const help = $("#keys");
  if (help) $("button", help).addEventListener("click", () => help.close());

  // The keys of `mdmem review` decide here too.
  const decide = (key) => thing() && $(`[data-key~="${key}"]`, thing())?.click();
  const KEYS = {
    "/": () => search?.select(),
    j: () => move(1),
    k: () => move(-1),
    y: decide,
    n: decide,
    1: decide,
    2: decide,
    b: decide,
    "[": () => slide(-1),
    "]": () => slide(1),
    u: () => $("#done button")?.click(),
    "?": () => help?.showModal(),
  };
  const FIELDS = "input:not([type=range]), textarea";
  let isGoing = false;
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (key === "Escape") return target.blur();
    if (target.matches(FIELDS) || $("dialog[open]")) return;
    if (key === "Enter" && target.matches("[data-item]")) $("a", target)?.click();
    const wasGoing = isGoing;
    isGoing = key === "g" && !wasGoing;
    const tab = wasGoing && "tdmrn".includes(key) && $(`.tabs a:nth-of-type(${"tdmrn".indexOf(key) + 1})`);
    const act = tab ? () => tab.click() : Object.hasOwn(KEYS, key) && KEYS[key];
    if (!act) return;
    event.preventDefault();
    act(key);
  });
})();
