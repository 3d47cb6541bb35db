import { path } from "./api.js";
import { fill, h } from "./dom.js";
import { duration, foreignShort, number, words } from "./format.js";
import { View, badge, time } from "./parts.js";
import { Repeat, backoff, sleep, whenVisible } from "./repeat.js";
import { tellState } from "./sessions.js";

const pause = 10_000;
const runsMax = 25;
const lifecycleLooks = {
    active: "live", background: "good", suspended: "rest", terminated: "gone", force_quit: "bad",
};
const runLooks = {
    launched: "wait", running: "live", succeeded: "good", failed: "bad", expired: "bad",
    not_accepted: "wait", client_force_quit: "gone",
};

/** `<transfer-background>`: a client's life, its background tasks and its assertions. */
class TransferBackground extends View {
    #api;
    #client = h("select", { id: "client" });
    #life = h("p");
    #repeat;
    #stream = new AbortController();
    #requests = h("transfer-table");
    #runs = h("transfer-table");
    #handlers = h("transfer-table");
    #assertions = h("transfer-table");

    async open(api) {
        this.#api = api;
        this.#define();
        this.lay(
            "Background",
            h("div", { class: "filter" }, h("label", { for: "client" }, "Client"), this.#client),
            this.#life,
            h("h2", null, "Pending requests"), this.#requests,
            h("h2", null, "Runs"), this.#runs,
            h("h2", null, "Assertions"), this.#assertions,
            h("h2", null, "Handlers"), this.#handlers,
        );
        this.#client.addEventListener("change", () => {
            this.#stream.abort();
            this.#repeat.now();
            this.#follow();
        });
        this.#repeat = new Repeat(
            () => pause,
            () => this.#look(),
            (error) => tellState(error ? "lost" : "live"),
        );
        this.signal.addEventListener("abort", () => this.#stream.abort());
        fill(this.#client, h("option", { value: "default" }, "default"));
        this.#repeat.run(this.signal);
        this.#follow();
    }

    /** Looks again whenever something happens to the client, from its last event on. */
    async #follow() {
        const stop = new AbortController();
        this.#stream = stop;
        const name = this.#client.value;
        const clientPath = path("clients", name);
        let after = null;
        for (let failures = 0; !stop.signal.aborted && !this.signal.aborted; ) {
            await whenVisible(stop.signal);
            let retryAfter = 0;
            try {
                if (after === null) {
                    const client = await this.#api.get(clientPath, { signal: stop.signal });
                    after = `${client.id}:${client.last_event_sequence}`;
                }
                const stream = await this.#api.open(`${clientPath}/events`, {
                    query: { after },
                    signal: stop.signal,
                });
                failures = 0;
                for await (const read of stream) {
                    after = read.findLast(({ id }) => id !== null)?.id ?? after;
                    if (read.some(({ event }) => event !== null)) this.#repeat.now();
                }
            } catch (error) {
                if (stop.signal.aborted) return;
                // The next events are no longer kept, or another client has the name now.
                if (error.code === "events_expired") after = null;
                failures += 1;
                retryAfter = error.retryAfter;
            }
            await sleep(backoff(failures, retryAfter), stop.signal);
        }
    }

    async #look() {
        const { signal } = this;
        const client = this.#client.value;
        const query = { client };
        const get = (...segments) => this.#api.get(path(...segments), { query, signal });
        const [clients, requests, runs, assertions, handlers] = await Promise.all([
            this.#api.list(path("clients"), { signal }),
            get("background-tasks", "requests"),
            this.#api.get(path("background-tasks", "runs"), {
                query: { client, limit: runsMax },
                signal,
            }),
            get("assertions"),
            get("background-tasks", "handlers"),
        ]);
        if (client !== this.#client.value) return;
        this.#showClients(clients, client);
        this.#requests.show(requests.items);
        this.#runs.show(runs.items);
        this.#assertions.show(assertions.items);
        this.#handlers.show(handlers.items);
    }

    #showClients(clients, current) {
        const names = clients.map(({ identifier }) => identifier);
        // The view shows another client only when its user says so.
        if (!names.includes(current)) names.unshift(current);
        const shown = [...this.#client.options].map(({ value }) => value);
        if (names.join() !== shown.join()) {
            const option = (name) => h("option", { value: name, selected: name === current }, name);
            fill(this.#client, names.map(option));
        }
        const client = clients.find(({ identifier }) => identifier === current);
        if (!client) return;
        const { lifecycle, kind } = client;
        fill(this.#life,
            badge(lifecycle, lifecycleLooks[lifecycle] ?? "rest"),
            ` ${kind}, since `,
            time(client.lifecycle_changed_at));
    }

    #define() {
        const name = {
            title: "Identifier",
            class: "wide",
            cell: ({ identifier, kind, title }) => [
                foreignShort(identifier),
                h("div", { class: "quiet" },
                    words(kind),
                    title ? [" · ", foreignShort(title)] : null),
            ],
        };
        this.#requests.define({
            label: "Pending requests",
            none: "No requests are pending.",
            key: ({ id }) => id,
            columns: [
                name,
                {
                    title: "Waits for",
                    class: "why",
                    cell: ({ waits_for: wait }) => [
                        words(wait.reason),
                        h("div", { class: "quiet" },
                            wait.until ? time(wait.until) : "no date known"),
                    ],
                },
                { title: "Not before", cell: (request) => time(request.earliest_begin_at) },
                {
                    title: "Needs",
                    cell: (request) =>
                        [
                            request.requires_network_connectivity ? "network" : null,
                            request.requires_external_power ? "idle capacity" : null,
                        ].filter(Boolean).join(", ") || "nothing",
                },
                { title: "Submitted", cell: (request) => time(request.submitted_at) },
            ],
        });
        this.#runs.define({
            label: "Runs",
            none: "Nothing has been launched.",
            key: ({ id }) => id,
            columns: [
                name,
                {
                    title: "State",
                    cell: ({ state, reason }) => [
                        badge(state, runLooks[state] ?? "rest"),
                        reason ? h("div", { class: "quiet" }, words(reason)) : null,
                    ],
                },
                {
                    title: "Progress",
                    cell: ({ progress }) => (progress ? progressText(progress) : "–"),
                },
                { title: "Transfers", class: "number", cell: ({ transfers }) => number(transfers) },
                { title: "Launched", cell: (run) => time(run.launched_at) },
                {
                    title: "Deadline",
                    cell: (run) => (run.ended_at ? "–" : time(run.deadline_at)),
                },
            ],
        });
        this.#assertions.define({
            label: "Assertions",
            none: "The client holds no assertions.",
            key: ({ id }) => id,
            columns: [
                { title: "Name", class: "wide", cell: (assertion) => foreignShort(assertion.name) },
                {
                    title: "State",
                    cell: ({ state }) => badge(state, state === "held" ? "live" : "rest"),
                },
                { title: "Began", cell: (assertion) => time(assertion.began_at) },
                {
                    title: "Remaining",
                    cell: ({ remaining_seconds: seconds, expires_at: end }) =>
                        seconds === null
                            ? "as long as the client is active"
                            : [duration(seconds), " · ends ", time(end)],
                },
            ],
        });
        this.#handlers.define({
            label: "Handlers",
            none: "The client has registered no handlers.",
            key: ({ identifier }) => identifier,
            columns: [
                name,
                {
                    title: "At expiry",
                    cell: (handler) =>
                        handler.has_expiration_handler ? "is warned" : "ends without warning",
                },
                { title: "Registered", cell: (handler) => time(handler.registered_at) },
            ],
        });
    }
}

function progressText({ completed_unit_count: done, total_unit_count: total }) {
    return `${number(done)} of ${number(total)}`;
}

customElements.define("transfer-background", TransferBackground);
