import { isAddressable, path } from "./api.js";
import { address, h } from "./dom.js";
import { bytes, foreignShort, number, rate } from "./format.js";
import { View, badge, countOf, figure, generationBar, time, waitingStates } from "./parts.js";
import { Repeat } from "./repeat.js";

/** The pause between two looks while tasks are outstanding, and while none is, in milliseconds. */
const pauseBusy = 3000;
const pauseIdle = 10_000;
const rowsMax = 25;

/** Tells the page whether what it shows is live. */
export function tellState(state) {
    dispatchEvent(new CustomEvent("live", { detail: state }));
}

/** Tells the page whether a view is live that follows a session, and asks for more beside. */
export class FollowedState {
    #follower = null;
    #failing = new Set();

    /** Takes part in what a follower tells. */
    follow(follower) {
        this.#follower = follower;
        follower.addEventListener("mode", () => this.take("session", null));
        follower.addEventListener("failure", ({ detail }) => this.take("session", detail));
    }

    /** Takes how a request went: an error, or null. A refusal is shown in its place alone. */
    take(source, error) {
        if (error && !error.isRefusal) this.#failing.add(source);
        else this.#failing.delete(source);
        const states = { stream: "live", sample: "sampled", ended: "quiet" };
        const state = this.#failing.size > 0 ? "lost" : states[this.#follower?.mode];
        if (state) tellState(state);
    }
}

/** The address of a session's view. */
export function sessionAddress({ client, identifier }) {
    return address("sessions", client, identifier);
}

/** A session's name as a link to its view. */
export function sessionLink(session) {
    const name = foreignShort(session.identifier);
    if (isAddressable(session.identifier)) return h("a", { href: sessionAddress(session) }, name);
    const reason = "Browsers cannot ask for a session of this name.";
    return h("span", { title: reason }, name, h("span", { class: "unseen" }, ` ${reason}`));
}

/** `<transfer-sessions>`: the tenant's totals, and its sessions page by page. */
class TransferSessions extends View {
    #api;
    #isBusy = false;
    #last = null;
    #rates = new Map();
    #chart = h("transfer-chart");
    #figures = {
        running: figure("Running", "live"),
        waiting: figure("Waiting"),
        completed: figure("Completed", "good"),
        failed: figure("Failed", "bad"),
        received: figure("Received"),
        speed: figure("Received per second"),
    };
    #pages = h("transfer-pages");
    #prefix = h("input", { id: "prefix", type: "search", autocomplete: "off", maxlength: "255" });
    #outstanding = h("input", { id: "outstanding", type: "checkbox" });

    open(api) {
        this.#api = api;
        this.#pages.define({
            label: "Sessions",
            none: "No sessions. One appears here once a client has created it.",
            key: (session) => session.id,
            limit: rowsMax,
            read: (cursor, limit) => this.#read(cursor, limit),
            columns: this.#columns(),
        });
        const restart = () => this.#pages.restart();
        const filter = h(
            "form",
            { class: "filter", role: "search" },
            h("label", { for: "prefix" }, "Name begins with"),
            this.#prefix,
            h("span", { class: "choice" },
                this.#outstanding,
                h("label", { for: "outstanding" }, "Only with outstanding tasks")),
        );
        filter.addEventListener("submit", (event) => event.preventDefault());
        this.#prefix.addEventListener("change", restart);
        this.#outstanding.addEventListener("change", restart);
        const speed = h("div", { class: "figure chart" }, this.#figures.speed, this.#chart);
        this.lay(
            "Sessions",
            h("section", { class: "figures", "aria-label": "The tenant’s tasks" },
                Object.values(this.#figures).slice(0, 5), speed),
            h("p", { class: "quiet note" },
                "Bytes count when their task has ended. ",
                "A session’s own view shows those of running tasks, too."),
            filter,
            this.#pages,
        );
        const pause = () => (this.#isBusy ? pauseBusy : pauseIdle);
        new Repeat(pause, () => this.#look(), (error) => tellState(error ? "lost" : "live"))
            .run(this.signal);
    }

    #columns() {
        const count = (states) => ({ task_counts: counts }) => number(countOf(counts, states));
        return [
            {
                title: "Session",
                class: "wide",
                cell: (session) => [
                    sessionLink(session),
                    h("div", { class: "quiet" },
                        session.client === "default" ? null : `client ${session.client} · `,
                        session.kind === "ephemeral" ? "ephemeral · " : null,
                        session.is_finishing ? "finishing · " : null,
                        time(session.created_at)),
                ],
            },
            {
                title: "Generation",
                class: "bar",
                cell: (session) => {
                    const ended = session.completed + session.failed + session.cancelled;
                    const total = ended + session.outstanding;
                    return total === 0
                        ? h("span", { class: "quiet" }, "no tasks yet")
                        : [generationBar(session), `${number(ended)} of ${number(total)}`];
                },
            },
            { title: "Running", class: "number", cell: count(["running"]) },
            { title: "Waiting", class: "number", cell: count(waitingStates) },
            {
                title: "Failed",
                class: "number",
                cell: ({ task_counts: { failed } }) =>
                    failed > 0 ? badge(number(failed), "bad") : "0",
            },
            {
                title: "Received",
                class: "number",
                cell: (session) => [
                    bytes(session.bytes_received),
                    session.speed > 0 ? h("div", { class: "quiet" }, rate(session.speed)) : null,
                ],
            },
        ];
    }

    async #read(cursor, limit) {
        const page = await this.#api.get(path("sessions"), {
            query: {
                cursor,
                limit,
                prefix: this.#prefix.value,
                outstanding: this.#outstanding.checked ? "true" : "",
            },
            signal: this.signal,
        });
        const now = performance.now();
        for (const session of page.items) session.speed = this.#speed(session, now);
        return page;
    }

    /** The bytes per second of tasks that have ended since the previous look. */
    #speed({ id, bytes_received: received }, now) {
        const previous = this.#rates.get(id);
        this.#rates.set(id, { received, now });
        if (!previous || now - previous.now > 4 * pauseIdle) return 0;
        return Math.max(0, ((received - previous.received) * 1000) / (now - previous.now));
    }

    async #look() {
        const tenant = await this.#api.get(path("tenant"), { signal: this.signal });
        const counts = tenant.task_counts;
        this.#isBusy = tenant.outstanding > (counts.suspended ?? 0);
        this.#figures.running.show(number(counts.running));
        this.#figures.waiting.show(number(countOf(counts, waitingStates)));
        this.#figures.completed.show(number(counts.completed));
        this.#figures.failed.show(number(counts.failed));
        this.#figures.received.show(bytes(tenant.bytes_received));
        const now = performance.now();
        if (this.#last) {
            const moved = Math.max(0, tenant.bytes_received - this.#last.received);
            const speed = (moved * 1000) / (now - this.#last.now);
            this.#figures.speed.show(rate(speed));
            this.#chart.add(speed);
        }
        this.#last = { received: tenant.bytes_received, now };
        await this.#pages.refresh();
    }
}

customElements.define("transfer-sessions", TransferSessions);
