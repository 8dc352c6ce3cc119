// Pages work without this.
const $ = (what, where = document) => where.querySelector(what);
const $$ = (what, where = document) => [...where.querySelectorAll(what)];
const on = (name, act) => document.addEventListener(name, act);
const copy = (node) => document.importNode(node, true);
const topOf = (node) => node.getBoundingClientRect().top;
const state = document.body.dataset;
const policy = window.trustedTypes?.createPolicy("mdmem", { createHTML: (text) => text });
// Nothing runs or loads in a document of DOMParser.
const read = async (answer) => {
	const text = await answer.text();
	return new DOMParser().parseFromString(policy?.createHTML(text) ?? text, "text/html");
};
const fill = (node, from) => node.replaceChildren(...[...from.childNodes].map(copy));
const words = (node) => node.textContent.trim().replace(/\s+/g, " ");
const here = (name, value) => {
	const address = new URL(location);
	const asked = address.searchParams;
	asked.delete("done");
	value ? asked.set(name, value) : asked.delete(name);
	return address;
};

// A part of another page, shown in this one. The newest answer wins.
let newest, waiting;
const show = (address, part, into, then) => {
	newest?.abort();
	clearTimeout(waiting);
	const { signal } = (newest = new AbortController());
	waiting = setTimeout(async () => {
		try {
			const page = await read(await fetch(address, { signal }));
			if (signal.aborted) return;
			const isOpen = $(`${into} [open]`);
			fill($(into), $(part, page));
			if (isOpen) $(`${into} details`).open = true;
			then?.(page);
		} catch {
			if (!signal.aborted) location.assign(address);
		}
	}, 60);
};
const turn = (address, part, then) =>
	show(address, part, part, (page) => {
		document.title = title = page.title;
		history.replaceState(null, "", address);
		then?.(page);
	});
const search = $("[type=search]");
const slider = (page) => $("[type=range]", page);
on("input", ({ target }) => {
	const { value } = target;
	if (target === search && $("#hits")) turn(here("q", value), "#hits");
	if (target.id === "to") show("/go?q=" + encodeURIComponent(value), "#places", "#go ul");
	if (target !== slider()) return;
	turn(here("at", value !== target.max && value), "#version", (page) => {
		target.ariaValueText = slider(page).ariaValueText;
		fill($("#slider output"), $("#slider output", page));
	});
});
const slide = (step) => {
	if (!slider()) return $(`main a[rel=${step < 0 ? "prev" : "next"}]`)?.click();
	slider().stepUp(step);
	slider().dispatchEvent(new Event("input", { bubbles: true }));
};

const things = (more = "") => $$(`main :is(.row:has(a), .entry, [data-item]${more})`);
const find = () => things().findIndex((each) => each.contains(document.activeElement));
const thing = () => things()[find()];
const focus = (target) => {
	(target?.matches("[data-item]") ? target : target && $("a", target))?.focus();
	target?.scrollIntoView({ block: "nearest" });
};
// Back goes on from where one was.
const entry = window.navigation?.currentEntry.key ?? Date();
on("focusin", () => find() < 0 || (sessionStorage[entry] = find()));
const move = (step) => {
	const all = things();
	let at = find();
	if (at < 0) at = +(sessionStorage[entry] ?? all.findIndex((each) => topOf(each) > 50) - (step > 0));
	focus(all[Math.min(Math.max(at + step, 0), all.length - 1)]);
};

// The page as it is now; place, focus and what is open stay.
const isBusy = () =>
	$("dialog[open], [data-sent]") ||
	$$("main :is(textarea, input:not([type=range]))").some(
		(field) => field.value !== field.defaultValue || field.checked,
	);
const nameOf = (node) => node.id || node.getAttribute("href") || words(node);
const swap = (page) => {
	const before = things().map(words);
	const next = (node) => $(`#${node.id} ~ [data-item]`)?.id;
	const decided = $$("main .decided").map((node) => [node, next(node), node.closest(".card")?.id]);
	const active = document.activeElement;
	const focused = active.closest("main *") && nameOf(active);
	const opened = $$("main [open] > summary").map(words);
	const seen = things(", h2").find((each) => topOf(each) > 30);
	const [text, top] = seen ? [words(seen), topOf(seen)] : [];
	for (const part of ["main", ".tabs"]) fill($(part), $(part, page));
	heard = state.stamp = page.body.dataset.stamp;
	for (const [node, id, card] of decided) {
		$(`[id="${id}"]`)?.before(node);
		node.isConnected || ($(`#${card} ul`) ?? $("main")).append(node);
	}
	for (const each of $$("main summary")) each.parentNode.open ||= opened.includes(words(each));
	const place = things(", h2").find((each) => words(each) === text);
	if (place) scrollBy(0, topOf(place) - top);
	const again = $$("main :is(a, button, summary, [tabindex])").find((each) => nameOf(each) === focused);
	again?.focus({ preventScroll: true });
	return things().filter((each) => !before.includes(words(each)));
};

// One stream for all tabs tells of moves; it never connects again by itself.
let { title } = document,
	unseen = 0,
	heard = state.stamp,
	asks;
const refresh = async () => {
	if (asks || heard === state.stamp || end.signal.aborted || isBusy()) return;
	asks = true;
	try {
		const answer = await fetch(here(), { headers: { "Mdmem-Moved": 1 } });
		const page = await read(answer);
		if (answer.ok && !isBusy()) {
			const fresh = swap(page);
			const mark = (is) => fresh.forEach((each) => each.classList.toggle("new", is));
			setTimeout(mark, 5000, mark(true));
			unseen += document.hidden && fresh.length;
			title = page.title;
			document.title = unseen ? `(${unseen}) ${title}` : title;
		}
	} catch {
		tell("");
	}
	asks = false;
};
const channel = new BroadcastChannel("mdmem");
const end = new AbortController();
const hear = ({ data }) => {
	if (data) return refresh((heard = data));
	end.abort();
	$("#still").hidden = false;
};
channel.onmessage = hear;
const tell = (data) => hear({ data }, channel.postMessage(data));
const listen = () => {
	const stream = new EventSource("/moved");
	stream.onmessage = ({ data }) => tell(data);
	stream.onerror = () => tell("");
	stream.addEventListener("end", stream.onerror);
	return new Promise((over) => (end.signal.onabort = () => over(stream.close())));
};
if (heard) navigator.locks?.request("mdmem", { signal: end.signal }, listen).catch(() => {});
on("focusout", () => setTimeout(refresh));
on("visibilitychange", () => {
	if (!document.hidden) document.title = ((unseen = 0), title);
});

const send = async (form, submitter) => {
	const item = form.closest("[data-item], .entry, .card");
	const isItem = item?.matches("[data-item]");
	const all = $$("main [data-item]");
	const place = all.indexOf(item);
	const next = all[place + 1] ?? all[place - 1];
	const body = new URLSearchParams(new FormData(form, submitter));
	let page;
	try {
		page = await read(await fetch(form.action, { method: "POST", body }));
	} catch {
		return location.assign(here()); // it may have been done: nothing is sent twice
	}
	delete form.dataset.sent;
	item && $(".refused", item)?.remove();
	const done = $("#done", page);
	if (done) {
		const line = words(done.firstElementChild);
		done.remove();
		$(`.decided [value="${body.get("commit")}"]`)?.closest(".decided").remove();
		if (isItem) {
			fill(item, done);
			$("p", item).textContent = line.match(/^\w+( both)?/)[0] + ($("form", item) ? " · " : "");
			item.className = "decided";
			delete item.dataset.item;
		}
		swap(page);
		$("#toast")?.remove();
		done.id = "toast";
		// that beside the item is for everybody
		if (isItem) Object.assign($("button", done) ?? {}, { tabIndex: -1, ariaHidden: true });
		document.body.append(copy(done));
		focus($(`[id="${(isItem ? next : item)?.id}"]`));
	} else if (item) {
		const textContent = $$("main > p", page).slice(0, -1).map(words).join(" ") || page.title;
		item.append(Object.assign(document.createElement("p"), { textContent, className: "band refused", role: "alert" }));
	} else swap(page);
	history.replaceState(null, "", here());
};
on("submit", (event) => {
	const form = event.target;
	if (form.method !== "post") return;
	event.preventDefault();
	if (!form.dataset.sent) send(form, event.submitter, (form.dataset.sent = 1));
});
let last;
on("click", ({ target, shiftKey }) => {
	if (target.type !== "checkbox") return;
	const boxes = $$(`[form=${target.form.id}]`);
	const ends = [last, target].map((each) => boxes.indexOf(each)).sort((a, b) => a - b);
	if (shiftKey && ends[0] >= 0) boxes.slice(...ends).forEach((each) => (each.checked = target.checked));
	last = target;
	$("button", target.form).dataset.count = boxes.filter((each) => each.checked).length;
});
// A fact is edited in place, by the form of its page.
const edit = async () => {
	const item = thing();
	const link = item && $("a[href^='/fact/']", item);
	if (!link || $("textarea", item)) return $("main textarea")?.focus();
	const form = $("form[action='/do/replace']", await read(await fetch(link.href)));
	if (!form) return;
	item.append(copy(form));
	$("[name=back]", item).value = location.pathname + location.search;
	$("textarea", item).focus();
};

const press = (key) => thing()?.querySelector(`[data-key~="${key}"]`)?.click();
const KEYS = {
	"/": () => search?.select(),
	j: () => move(1),
	k: () => move(-1),
	e: edit,
	"[": () => slide(-1),
	"]": () => slide(1),
	f: () => $("[data-key=f]")?.focus(),
	u: () => ($("#toast button, #done button") ?? $("[data-key=u]"))?.click(),
	"?": () => $("#keys")?.showModal(),
};
for (const key of "yn12b") KEYS[key] = press;
let isGoing;
on("keydown", (event) => {
	const { key, target } = event;
	if (event.altKey || event.isComposing) return;
	let act = KEYS[key];
	if (event.ctrlKey || event.metaKey)
		act = { k: () => $("#go")?.showModal(), Enter: target.select && (() => target.form?.requestSubmit()) }[key];
	else if (key === "Escape") return target.blur();
	else if (key === "Enter" && target.id === "to") act = () => $("#go ul a")?.click();
	else if ((target.select && !/range|checkbox/.test(target.type)) || $("dialog[open]")) return;
	else {
		if (key === "Enter" && target.matches("[data-item]")) $("a", target)?.click();
		const tab = isGoing && $$(".tabs a")["tdmrn".indexOf(key)];
		isGoing = key === "g";
		if (tab) act = () => tab.click();
	}
	if (!act) return;
	event.preventDefault();
	act(key);
});
