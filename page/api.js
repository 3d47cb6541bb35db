const storageName = "transferd-key";
/** The most items that the service puts into a page of a list. */
const pageItemsMax = "200";

/** An answer that is no success: its status, and the problem document if it has one. */
export class Problem extends Error {
    constructor(status, details, retryAfter) {
        super(details?.detail ?? details?.title ?? `The service answered ${status}.`);
        this.status = status;
        this.code = details?.code ?? "";
        this.details = details ?? {};
        /** Seconds that the service asks to wait; 0 if it does not say. */
        this.retryAfter = retryAfter;
    }

    /** Whether the same request would be answered in the same way. */
    get isRefusal() {
        return this.status >= 400 && this.status < 500 && this.status !== 429;
    }

    /** The sentences for a reader, with what is wrong in the request and the missing scope. */
    get sentences() {
        const { title, detail, errors, scope } = this.details;
        return [
            title ?? this.message,
            detail,
            scope && `The key needs the scope “${scope}”.`,
            ...(errors ?? []).map((error) => error.detail),
        ].filter(Boolean);
    }
}

/** The service cannot be reached. */
export class Unreachable extends Error {
    constructor() {
        super("The service cannot be reached.");
    }
}

/** The public API as this page uses it. The key is kept for this tab alone. */
export class API extends EventTarget {
    #key = sessionStorage.getItem(storageName);

    get hasKey() {
        return this.#key !== null;
    }

    /** Takes a key once the service has accepted it, and answers with the tenant that it is for. */
    async signIn(key) {
        // No key has other characters, and browsers refuse to send them without saying so.
        if (!/^[!-~]+$/.test(key)) throw new Error("This is no API key.");
        const response = await this.#fetch("v1/tenant", {}, key);
        const tenant = await this.#json(response);
        this.#key = key;
        sessionStorage.setItem(storageName, key);
        return tenant;
    }

    signOut() {
        this.#key = null;
        sessionStorage.removeItem(storageName);
    }

    /** Requests a document. */
    async get(path, { query, headers, signal } = {}) {
        return this.#json(await this.#fetch(withQuery(path, query), { headers, signal }));
    }

    /** Requests all items of a list, page by page; only for those that the service keeps short. */
    async list(path, { query, signal } = {}) {
        const items = [];
        let cursor;
        do {
            const page = await this.get(path, {
                query: { ...query, cursor, limit: pageItemsMax },
                signal,
            });
            items.push(...page.items);
            cursor = page.has_more ? page.next_cursor : null;
        } while (cursor);
        return items;
    }

    /** Requests a change; an answer without a body is null. */
    async send(method, path, { query, body } = {}) {
        const init = { method };
        if (body !== undefined) {
            init.body = JSON.stringify(body);
            init.headers = { "Content-Type": "application/json" };
        }
        return this.#json(await this.#fetch(withQuery(path, query), init));
    }

    /** Opens a stream of events; answers with its frames. */
    async open(path, { query, lastEventID, signal }) {
        const headers = { Accept: "text/event-stream" };
        if (lastEventID) headers["Last-Event-ID"] = lastEventID;
        const response = await this.#fetch(withQuery(path, query), { headers, signal });
        if (!response.ok) await this.#json(response);
        return frames(response.body);
    }

    async #fetch(path, init, key = this.#key) {
        // Relative to the page, which a proxy may offer beneath a path of its own.
        const url = new URL(path, document.baseURI);
        const headers = { ...init.headers, Authorization: `Bearer ${key}` };
        try {
            return await fetch(url, {
                ...init,
                headers,
                cache: "no-store",
                credentials: "same-origin",
                redirect: "error",
            });
        } catch (error) {
            if (init.signal?.aborted) throw error;
            throw new Unreachable();
        }
    }

    async #json(response) {
        const text = await response.text();
        if (response.ok) return text === "" ? null : JSON.parse(text);
        let details = null;
        try {
            details = JSON.parse(text);
        } catch {
            // A proxy's own page; its status says enough.
        }
        const retryAfter = Number(response.headers.get("Retry-After")) || 0;
        const problem = new Problem(response.status, details, retryAfter);
        if (response.status === 401) {
            this.dispatchEvent(new CustomEvent("refused", { detail: problem }));
        }
        throw problem;
    }
}

function withQuery(path, query) {
    const entries = Object.entries(query ?? {}).filter(([, value]) => value);
    return entries.length === 0 ? path : `${path}?${new URLSearchParams(entries)}`;
}

/** A path of the API, its segments percent-encoded. */
export function path(...segments) {
    return ["v1", ...segments.map(encodeURIComponent)].join("/");
}

/**
 * Whether a session can be asked for by its name. URLs in browsers resolve the segments `.` and
 * `..`, however they are encoded.
 */
export function isAddressable(identifier) {
    return identifier !== "." && identifier !== "..";
}

/**
 * Reads Server-Sent Events (WHATWG HTML, section 9.2) from the body of an answer. `EventSource`
 * cannot send a key.
 *
 * Yields, for each piece that arrives, the list of its frames: `id`, and `data` as parsed JSON for
 * those that carry an event.
 */
async function* frames(body) {
    // 204, once the session has ended and all of its events are known.
    if (!body) return;
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            const blocks = (rest + value).split("\n\n");
            rest = blocks.pop();
            const read = blocks.map(frame);
            if (read.length > 0) yield read;
        }
    } finally {
        // Frees the connection also when the reader has lost interest; a browser has six of them.
        await reader.cancel().catch(() => {});
    }
}

/** The service ends lines with line feeds and writes each field in one line. */
function frame(block) {
    const read = { id: null, event: null };
    for (const line of block.split("\n")) {
        if (line.startsWith("id: ")) read.id = line.slice(4);
        if (line.startsWith("data: ")) read.event = JSON.parse(line.slice(6));
    }
    return read;
}
