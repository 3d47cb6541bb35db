import { fill, h, setText } from "./dom.js";
import { Problem } from "./api.js";
import { bytes, date, duration, number, rate, visible, words } from "./format.js";

/** How long a message stays, in milliseconds: also for those who read slowly. */
const noticeDuration = 20_000;

/** The states of a task in the order of its life, and how each looks. */
export const taskStates = {
    suspended: "rest",
    scheduled: "rest",
    waiting_to_begin: "wait",
    queued: "rest",
    running: "live",
    waiting_for_retry: "wait",
    waiting_for_connectivity: "wait",
    waiting_for_authentication: "wait",
    completed: "good",
    failed: "bad",
    cancelled: "gone",
};

export const endedStates = ["completed", "failed", "cancelled"];
export const waitingStates = Object.keys(taskStates).filter(
    (state) => state !== "running" && !endedStates.includes(state),
);

/** A state as a mark and a word; the word alone says it. */
export function badge(state, look) {
    return h("span", { class: `badge ${look}` }, words(state));
}

export function taskBadge(state) {
    return badge(state, taskStates[state] ?? "rest");
}

/** How many of a document's tasks are in any of these states. */
export function countOf(counts, states) {
    return states.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
}

/** `<transfer-bar>`: a bar of parts, each with a look and its share of the whole. */
class TransferBar extends HTMLElement {
    /** Shows parts as `[look, amount]`; `label` says the same in words. */
    show(parts, total, label) {
        this.setAttribute("role", "img");
        this.setAttribute("aria-label", label);
        while (this.children.length < parts.length) this.append(h("span"));
        while (this.children.length > parts.length) this.lastChild.remove();
        parts.forEach(([look, amount], index) => {
            const part = this.children[index];
            part.className = look;
            // Set through the object model: attributes with styles are not allowed here.
            part.style.inlineSize = `${total > 0 ? (100 * amount) / total : 0}%`;
        });
        return this;
    }
}

customElements.define("transfer-bar", TransferBar);

/** A bar for a session's generation: how many of its tasks have ended, and how. */
export function generationBar(session) {
    const { completed, failed, cancelled, outstanding } = session;
    const total = completed + failed + cancelled + outstanding;
    const label =
        `${number(completed)} completed, ${number(failed)} failed, ` +
        `${number(cancelled)} cancelled, ${number(outstanding)} outstanding`;
    const parts = [["good", completed], ["bad", failed], ["gone", cancelled]];
    return document.createElement("transfer-bar").show(parts, total, label);
}

/** What has moved of a task: a bar if the whole is known, and the bytes. */
export function taskProgress(task) {
    const isUpload = task.kind === "upload";
    const done = isUpload ? task.count_of_bytes_sent : task.count_of_bytes_received;
    const known = isUpload
        ? task.count_of_bytes_expected_to_send
        : task.count_of_bytes_expected_to_receive;
    const total = known >= 0 ? known : (task.expected_size ?? -1);
    const text = total > 0 && done < total ? `${bytes(done)} of ${bytes(total)}` : bytes(done);
    const speed = task.state === "running" && task.bytes_per_second;
    const isMoving = total > 0 && !endedStates.includes(task.state);
    return h(
        "div",
        { class: "progress" },
        isMoving
            ? document.createElement("transfer-bar").show([["live", done]], total, text)
            : null,
        h("span", null, text, speed ? ` · ${rate(speed)}` : null),
    );
}

/** `<transfer-chart>`: a rate over the last minutes as a line. */
class TransferChart extends HTMLElement {
    #samples = [];

    static lengthMax = 90;

    /** Adds a sample, and draws the line again. */
    add(value) {
        this.#samples = [...this.#samples, value].slice(-TransferChart.lengthMax);
        if (this.#samples.length < 2) return;
        const top = Math.max(...this.#samples, 1);
        const points = this.#samples.map((sample, index) => {
            const x = 100 - (this.#samples.length - 1 - index) * (100 / TransferChart.lengthMax);
            return `${x.toFixed(2)},${(29 - 28 * (sample / top)).toFixed(2)}`;
        });
        if (!this.firstChild) this.append(drawing());
        const [area, line] = this.firstChild.children;
        const start = points[0].split(",")[0];
        area.setAttribute("d", `M${start},30 L${points.join(" L")} L100,30 Z`);
        line.setAttribute("d", `M${points.join(" L")}`);
        this.firstChild.setAttribute("aria-label", `Highest shown: ${rate(top)}`);
    }
}

function drawing() {
    const make = (name, attributes) => {
        const element = document.createElementNS("http://www.w3.org/2000/svg", name);
        for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
        return element;
    };
    const view = { viewBox: "0 0 100 30", preserveAspectRatio: "none", role: "img" };
    const svg = make("svg", view);
    svg.append(make("path", { class: "area" }), make("path", { class: "line" }));
    return svg;
}

customElements.define("transfer-chart", TransferChart);

/** A number with its name; `show` changes the number alone. */
export function figure(name, look = "") {
    const value = h("span", { class: "value" }, "–");
    const title = h("span", { class: "name" }, name);
    const element = h("div", { class: `figure ${look}` }, title, value);
    element.show = (text) => setText(value, text);
    return element;
}

/** What went wrong, where the content would be. */
export function failure(error) {
    const sentences = error instanceof Problem ? error.sentences : [error.message];
    const id = error.details?.request_id;
    return h(
        "div",
        { class: "failure", role: "alert" },
        sentences.map((sentence) => h("p", null, visible(sentence))),
        id ? h("p", { class: "quiet" }, `Request ${id}`) : null,
    );
}

/** A place that says that there is nothing, and what would be there. */
export function empty(text) {
    return h("p", { class: "empty" }, text);
}

/** A message that appears below everything, until the next one or for a while; also read out. */
export function notify(message, isFailure = false) {
    const place = document.querySelector("#notices");
    const notice = h("div", { class: isFailure ? "notice bad" : "notice" }, message);
    place?.replaceChildren(notice);
    setTimeout(() => notice.remove(), noticeDuration);
}

/** Does something that a user has asked for, and says how it went. */
export async function attempt(work, done) {
    try {
        const result = await work();
        if (done) notify(typeof done === "function" ? done(result) : done);
        return result;
    } catch (error) {
        const sentences = error instanceof Problem ? error.sentences : [error.message];
        notify(visible(sentences.join(" ")), true);
        return undefined;
    }
}

/** Asks before what cannot be undone. Answers whether to do it. */
export async function ask(question, consequence, verb) {
    return (await askFor(question, consequence, {}, verb, "danger")) !== null;
}

/**
 * Asks for values: `fields` are inputs by their labels. Answers with the values by these labels, or
 * with null.
 */
export function askFor(question, consequence, fields, verb, look = "") {
    return new Promise((resolve) => {
        const stay = { type: "submit", value: "no", formnovalidate: true };
        const no = h("button", stay, "Keep as it is");
        const yes = h("button", { type: "submit", value: "yes", class: look }, verb);
        const inputs = Object.entries(fields);
        const dialog = h(
            "dialog",
            { "aria-labelledby": "question", "aria-describedby": "consequence" },
            h("form", { method: "dialog" },
                h("h2", { id: "question" }, question),
                h("p", { id: "consequence" }, consequence),
                inputs.map(([label, input]) => h("label", null, h("span", null, label), input)),
                h("div", { class: "buttons" }, no, yes)),
        );
        dialog.addEventListener("close", () => {
            dialog.remove();
            const values = inputs.map(([label, input]) => [label, input.value]);
            resolve(dialog.returnValue === "yes" ? Object.fromEntries(values) : null);
        });
        document.body.append(dialog);
        dialog.showModal();
        (inputs[0]?.[1] ?? no).focus();
    });
}

/** Answers no to what is asked, because what it is about is no longer shown. */
export function closeQuestions() {
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close("no");
}

/** A view: its title, and what ends with it. */
export class View extends HTMLElement {
    #stop = new AbortController();

    get signal() {
        return this.#stop.signal;
    }

    disconnectedCallback() {
        this.#stop.abort();
    }

    /** Places the heading, which gets the focus when the view is opened, and the content. */
    lay(title, ...content) {
        fill(this, h("h1", { tabindex: "-1" }, title), ...content);
    }
}

const times = new Set();
let timer = null;
/** The seconds up to which a time is shown by its distance: two months. */
const distanceMax = 60 * 86_400;

/** One timer moves all times on the page, and none runs while there are none. */
function tick() {
    if (document.hidden) return;
    for (const element of times) element.update();
}

/** `<transfer-time>`: a time as its distance from now, which moves by itself. */
class TransferTime extends HTMLElement {
    connectedCallback() {
        this.title = date(this.getAttribute("at"));
        times.add(this);
        this.update();
        timer ??= setInterval(tick, 1000);
    }

    disconnectedCallback() {
        times.delete(this);
        if (times.size > 0) return;
        clearInterval(timer);
        timer = null;
    }

    update() {
        const seconds = Math.round((Date.parse(this.getAttribute("at")) - Date.now()) / 1000);
        if (Math.abs(seconds) < 2) return setText(this, "now");
        if (Math.abs(seconds) > distanceMax) return setText(this, this.title);
        const distance = duration(Math.abs(seconds));
        setText(this, seconds > 0 ? `in ${distance}` : `${distance} ago`);
    }
}

customElements.define("transfer-time", TransferTime);

/** An element for a time in RFC 3339 format; nothing without one. */
export function time(text) {
    if (!text) return null;
    const element = document.createElement("transfer-time");
    element.setAttribute("at", text);
    return element;
}
