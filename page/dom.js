// Elements are built here and nowhere else. Text becomes a text node and is never parsed, so that
// URLs, client strings and error texts, which strangers write, stay text.

/**
 * Makes an element.
 *
 * `attributes` are strings, or booleans for those without a value; `on` holds listeners.
 * Children are nodes, texts, lists of these, or null for none.
 */
export function h(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (name === "on") {
            for (const [type, listener] of Object.entries(value)) {
                element.addEventListener(type, listener);
            }
        } else {
            element.setAttribute(name, value === true ? "" : String(value));
        }
    }
    element.append(...nodes(children));
    return element;
}

/** The children of a call, without those that are absent. */
function nodes(children) {
    return children.flat(Infinity).filter((child) => child !== null && child !== undefined);
}

/** Replaces what is in an element. */
export function fill(element, ...children) {
    element.replaceChildren(...nodes(children));
    return element;
}

/** Sets the text of an element, and leaves one that has it alone: a reader may have selected it. */
export function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

/** A button; `work` may be asynchronous, and the button is disabled until it has ended. */
export function button(title, work, attributes = {}) {
    const element = h("button", { type: "button", ...attributes }, title);
    element.addEventListener("click", async () => {
        if (element.getAttribute("aria-disabled") === "true") return;
        // Not `disabled`, which would take the focus away.
        element.setAttribute("aria-disabled", "true");
        try {
            await work(element);
        } finally {
            element.removeAttribute("aria-disabled");
        }
    });
    return element;
}

/** A list of terms with their values; pairs without a value are left out. */
export function facts(pairs) {
    return h(
        "dl",
        { class: "facts" },
        pairs
            .filter(([, value]) => value !== null && value !== undefined && value !== "")
            .map(([term, value]) => h("div", null, h("dt", null, term), h("dd", null, value))),
    );
}

/** The address of a view of this page. */
export function address(...parts) {
    return "#/" + parts.map(encodeURIComponent).join("/");
}

/** Whether the user works in an element that is about to be replaced, and a way back into it. */
export function focusWithin(element) {
    const focused = document.activeElement;
    const name = focused?.getAttribute("data-name");
    if (!name || !element.contains(focused)) return () => {};
    return () => {
        const again = [...element.querySelectorAll("[data-name]")];
        again.find((other) => other.getAttribute("data-name") === name)?.focus();
    };
}
