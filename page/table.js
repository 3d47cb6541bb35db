import { button, fill, focusWithin, h, setText } from "./dom.js";
import { empty, failure } from "./parts.js";
import { number } from "./format.js";

/** What is said of a part of a list without rows that is not its end. */
const noneHere = "There are none in this part of the list. “Next” goes further.";
/** How many pages are read one after the other for one that a filter has left nearly empty. */
const lookAheadMax = 4;

/**
 * `<transfer-table>`: rows by key, of which only those that have changed are made again.
 *
 * A column has a `title`, a `cell` that makes the content for an item, and perhaps a `class`.
 */
export class TransferTable extends HTMLElement {
    #columns = [];
    #key;
    #body = h("tbody");
    #shown = new Map();
    #none;
    #noneText;

    /** Sets the columns, the key of an item, and what is said when there are none. */
    define({ label, columns, key, none }) {
        this.#columns = columns;
        this.#key = key;
        this.#noneText = none;
        this.#none = empty(none);
        this.#none.hidden = true;
        const head = columns.map(({ title, class: look }) =>
            h("th", { scope: "col", role: "columnheader", class: look }, title),
        );
        // The roles stay when a narrow screen lays rows out as cards.
        const table = h(
            "table",
            { role: "table", "aria-label": label },
            h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head)),
            this.#body,
        );
        this.#body.setAttribute("role", "rowgroup");
        fill(this, table, this.#none);
        return this;
    }

    /** Shows the items, in their order; `hasMore` says that others may follow them. */
    show(items, hasMore = false) {
        const restore = focusWithin(this);
        const kept = new Map();
        const rows = items.map((item) => {
            const key = this.#key(item);
            const text = JSON.stringify(item);
            const known = this.#shown.get(key);
            const row = known?.row ?? h("tr", { role: "row" });
            if (known?.text !== text) this.#fill(row, item);
            kept.set(key, { row, text, item });
            return row;
        });
        this.#shown = kept;
        if (!sameNodes([...this.#body.children], rows)) this.#body.replaceChildren(...rows);
        setText(this.#none, hasMore ? noneHere : this.#noneText);
        this.#none.hidden = items.length > 0;
        restore();
    }

    /** Changes one item, if it is shown. */
    change(key, change) {
        const known = this.#shown.get(key);
        if (!known) return false;
        const restore = focusWithin(known.row);
        const item = { ...known.item, ...change };
        this.#fill(known.row, item);
        this.#shown.set(key, { row: known.row, text: JSON.stringify(item), item });
        restore();
        return true;
    }

    /** The items that are shown. */
    get items() {
        return [...this.#shown.values()].map(({ item }) => item);
    }

    #fill(row, item) {
        const cells = this.#columns.map(({ title, class: look, cell }) => {
            const content = h("div", null, cell(item));
            const attributes = { role: "cell", class: look, "data-title": title };
            return h("td", attributes, content.firstChild ? content : null);
        });
        fill(row, cells);
    }
}

function sameNodes(left, right) {
    return left.length === right.length && left.every((node, index) => node === right[index]);
}

customElements.define("transfer-table", TransferTable);

/**
 * `<transfer-pages>`: a table that holds one page of a list and moves by the list's cursors,
 * however long the list is.
 */
export class TransferPages extends HTMLElement {
    #read;
    #limit;
    #table = document.createElement("transfer-table");
    #cursors = [""];
    #next = null;
    #reading = null;
    #isAskedAgain = false;
    #problem = h("div");
    #position = h("span", { class: "quiet", role: "status" });
    #first = button("First", () => this.#move([""]), { "data-name": "first" });
    #back = button("Previous", () => this.#move(this.#cursors.slice(0, -1)), {
        "data-name": "previous",
    });
    #forward = button("Next", () => this.#move([...this.#cursors, this.#next]), {
        "data-name": "next",
    });

    /** Sets the table, how many rows a page has, and `read(cursor, limit, signal)`. */
    define({ read, limit, ...table }) {
        this.#read = read;
        this.#limit = limit;
        this.#table.define(table);
        const move = h("nav", { class: "pages", "aria-label": `Pages: ${table.label}` },
            this.#first, this.#back, this.#forward, this.#position);
        fill(this, this.#problem, this.#table, move);
        return this;
    }

    get table() {
        return this.#table;
    }

    /** Goes to the first page, because what is asked for has changed. */
    restart() {
        return this.#move([""]);
    }

    /** The same as `refresh` for work that is repeated: throws what went wrong. */
    async look() {
        const error = await this.refresh();
        if (error) throw error;
    }

    /**
     * Reads the current page again; calls while it is read come to one. What goes wrong is shown,
     * and the answer; null if nothing does.
     */
    async refresh() {
        if (this.#reading) {
            this.#isAskedAgain = true;
            return this.#reading;
        }
        let error;
        do {
            this.#isAskedAgain = false;
            this.#reading = this.#show();
            error = await this.#reading;
            this.#reading = null;
        } while (this.#isAskedAgain && this.isConnected);
        return error;
    }

    async #move(cursors) {
        this.#cursors = cursors;
        await this.refresh();
    }

    async #show() {
        const cursors = this.#cursors;
        try {
            const { items, next } = await this.#page(cursors.at(-1));
            // The reader has moved on meanwhile.
            if (cursors !== this.#cursors) return null;
            this.#next = next;
            this.#table.show(items, next !== null);
            fill(this.#problem);
            this.#tellPosition(items.length);
            return null;
        } catch (error) {
            if (this.isConnected) fill(this.#problem, failure(error));
            return error;
        }
    }

    async #page(cursor) {
        const items = [];
        let next = cursor;
        for (let read = 0; read < lookAheadMax; read += 1) {
            const page = await this.#read(next || undefined, this.#limit - items.length);
            items.push(...page.items);
            next = page.has_more ? page.next_cursor : null;
            if (next === null || items.length >= this.#limit) break;
        }
        return { items, next };
    }

    #tellPosition(count) {
        const page = this.#cursors.length;
        const isAlone = page === 1 && this.#next === null;
        for (const element of [this.#first, this.#back, this.#forward]) element.hidden = isAlone;
        this.#first.disabled = this.#back.disabled = page === 1;
        this.#forward.disabled = this.#next === null;
        const text = isAlone ? "" : `Page ${number(page)}, ${number(count)} rows`;
        if (this.#position.textContent !== text) this.#position.textContent = text;
    }
}

customElements.define("transfer-pages", TransferPages);
