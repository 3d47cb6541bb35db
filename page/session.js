import { isAddressable, path } from "./api.js";
import { address, button, fill, h } from "./dom.js";
import { bytes, foreign, foreignShort, number, rate, visible, words } from "./format.js";
import {
    View, ask, attempt, countOf, endedStates, failure, figure, generationBar, taskBadge,
    taskProgress, taskStates, time, waitingStates,
} from "./parts.js";
import { SessionFollower, isEnd } from "./follow.js";
import { Demand } from "./repeat.js";
import { FollowedState } from "./sessions.js";
import { taskActions } from "./actions.js";

const rowsMax = 50;
/** The least time between two reads of the visible page of tasks, in milliseconds. */
const pagePause = 3000;
/** The pause between two looks at a bulk operation that runs, in milliseconds. */
const operationPause = 2000;
/** The states in which a task ends that an event tells of. */
const endings = {
    "task.completed": "completed",
    "task.failed": "failed",
    "task.cancelled": "cancelled",
};

/** `<transfer-session>`: one session, its tasks by state, and what can be done with all of them. */
class TransferSession extends View {
    #api;
    #client;
    #identifier;
    #follower;
    #liveState = new FollowedState();
    #session = null;
    #received = { ended: 0, running: new Map(), total: null, at: 0 };
    #summary = h("div");
    #actions;
    #operations = h("div", { class: "operations" });
    /** Reads the newest bulk operations. */
    #operationsDemand;
    #chart = h("transfer-chart");
    #figures = {
        running: figure("Running", "live"),
        waiting: figure("Waiting"),
        completed: figure("Completed", "good"),
        failed: figure("Failed", "bad"),
        cancelled: figure("Cancelled"),
        received: figure("Received"),
        speed: figure("Received per second"),
    };
    #state = h("select", { id: "state" });
    #order = h("select", { id: "order" });
    #string = h("input", { id: "string", type: "search", autocomplete: "off" });
    #pages = h("transfer-pages");
    #pageAt = 0;
    /** Reads the page of tasks that is shown. */
    #pageDemand;
    #isSampled = false;

    open(api, [client, identifier]) {
        this.#api = api;
        this.#client = client;
        this.#identifier = identifier ?? "";
        if (!isAddressable(this.#identifier)) throw new Error("Browsers cannot ask for this name.");
        this.#pages.define({
            label: "Tasks",
            none: "No such tasks.",
            key: (task) => task.id,
            limit: rowsMax,
            read: (cursor, limit) => this.#read(cursor, limit),
            columns: this.#columns(),
        });
        const speed = h("div", { class: "figure chart" }, this.#figures.speed, this.#chart);
        this.#actions = this.#bulk();
        this.lay(
            foreign(this.#identifier),
            this.#summary,
            h("section", { class: "figures", "aria-label": "Tasks of this session" },
                Object.values(this.#figures).slice(0, 6), speed),
            this.#actions,
            this.#operations,
            h("h2", null, "Tasks"),
            this.#filter(),
            this.#pages,
        );
        this.#demand();
        this.#follow();
        this.#pageDemand.now();
        this.#operationsDemand.now();
    }

    #demand() {
        const pause = () => {
            // Rows that change faster than they are read need not be read so often.
            const least = this.#isSampled ? 2 * pagePause : pagePause;
            return this.#pageAt + least - performance.now();
        };
        const look = async () => {
            await this.#pages.look();
            this.#pageAt = performance.now();
        };
        this.#pageDemand = new Demand(this.signal, pause, look, (error) =>
            this.#liveState.take("page", error));
        const show = () => this.#showOperations();
        this.#operationsDemand = new Demand(this.signal, () => operationPause, show, (error) => {
            this.#liveState.take("operations", error);
            // An ended session has none; the view says so elsewhere.
            if (error?.isRefusal && !isEnd(error)) fill(this.#operations, failure(error));
        });
    }

    #follow() {
        this.#follower = new SessionFollower(this.#api, this.#client, this.#identifier);
        const on = (type, work) =>
            this.#follower.addEventListener(type, ({ detail }) => work(detail));
        on("session", (session) => this.#show(session));
        on("events", (events) => this.#take(events));
        on("mode", (mode) => {
            this.#isSampled = mode === "sample";
            if (mode === "ended") this.#showEnd();
        });
        on("failure", (error) => error?.isRefusal && fill(this.#summary, failure(error)));
        this.#liveState.follow(this.#follower);
        this.#follower.run(this.signal);
    }

    /** Says that there is no such session: one that was shown has ended. */
    #showEnd() {
        const text = this.#session
            ? "This session has ended. Its tasks are kept a while."
            : "There is no session of this name, or none any more.";
        fill(this.#summary, h("p", null, text));
        // Nobody is left at a place that is gone.
        const isWithin = this.#actions.contains(document.activeElement);
        this.#actions.hidden = true;
        if (isWithin) this.querySelector("h1").focus();
    }

    #show(session) {
        const isOther = this.#session?.last_event_sequence !== session.last_event_sequence;
        if (this.#session && isOther) this.#pageDemand.soon();
        this.#session = session;
        const counts = session.task_counts;
        this.#figures.running.show(number(counts.running));
        this.#figures.waiting.show(number(countOf(counts, waitingStates)));
        for (const state of endedStates) this.#figures[state].show(number(counts[state]));
        this.#figures.received.show(bytes(session.bytes_received));
        this.#measure(session);
        const total =
            session.completed + session.failed + session.cancelled + session.outstanding;
        fill(
            this.#summary,
            h("p", { class: "quiet" },
                `client ${session.client} · ${session.kind}`,
                ` · generation ${number(session.generation)}`,
                session.is_finishing ? " · finishing" : null,
                ` · ${number(session.last_event_sequence)} events · created `,
                time(session.created_at)),
            total > 0 ? generationBar(session) : null,
            total > 0
                ? h("p", null,
                    `${number(total - session.outstanding)} of ${number(total)} `,
                    "tasks of this generation have ended.")
                : null,
        );
    }

    /**
     * Draws how fast bytes come: those of ended tasks, which the document counts, and those of
     * running ones, which their events tell.
     */
    #measure({ bytes_received: ended }) {
        const now = performance.now();
        const running = [...this.#received.running.values()].reduce((sum, count) => sum + count, 0);
        const total = ended + running;
        const { total: previous, at } = this.#received;
        this.#received.total = total;
        this.#received.at = now;
        if (previous === null) return;
        const speed = (Math.max(0, total - previous) * 1000) / Math.max(now - at, 1);
        this.#figures.speed.show(rate(speed));
        this.#chart.add(speed);
    }

    /** Takes events in: rows that are shown change at once, the page is read again later. */
    #take(events) {
        for (const { type, data } of events) {
            const { task } = data;
            if (!task) continue;
            if (type === "task.progress") {
                this.#received.running.set(task.id, task.count_of_bytes_received);
                this.#pages.table.change(task.id, {
                    state: task.state,
                    attempt: task.attempt,
                    count_of_bytes_received: task.count_of_bytes_received,
                    count_of_bytes_expected_to_receive: task.count_of_bytes_expected_to_receive,
                    count_of_bytes_sent: task.count_of_bytes_sent,
                    count_of_bytes_expected_to_send: task.count_of_bytes_expected_to_send,
                });
            } else if (type in endings) {
                this.#received.running.delete(task.id);
                this.#pages.table.change(task.id, {
                    state: endings[type],
                    attempt: task.attempt,
                    count_of_bytes_received: task.count_of_bytes_received,
                    reason: undefined,
                    until: undefined,
                    error: task.error,
                });
            }
        }
        if (events.some(({ type }) => type !== "task.progress")) this.#pageDemand.soon();
    }

    #read(cursor, limit) {
        return this.#api.get(path("sessions", this.#identifier, "tasks"), {
            query: {
                client: this.#client,
                cursor,
                limit,
                state: this.#state.value,
                order: this.#order.value,
                client_persisted_string: this.#string.value,
            },
            signal: this.signal,
        });
    }

    #columns() {
        return [
            {
                title: "Task",
                class: "wide",
                cell: (task) => [
                    h("a", { href: address("tasks", task.id), "data-name": `task ${task.id}` },
                        foreignShort(task.url)),
                    task.client_persisted_string
                        ? h("div", { class: "quiet" }, foreignShort(task.client_persisted_string))
                        : null,
                ],
            },
            { title: "State", cell: (task) => taskBadge(task.state) },
            { title: "Progress", class: "bar", cell: taskProgress },
            {
                title: "Why",
                class: "why",
                cell: (task) => [
                    task.reason ? foreignShort(task.reason) : null,
                    task.until ? h("div", { class: "quiet" }, time(task.until)) : null,
                    task.state === "failed" && task.error
                        ? foreignShort(task.error.message)
                        : null,
                ],
            },
            { title: "Attempt", class: "number", cell: (task) => number(task.attempt) },
            {
                title: "Actions",
                class: "actions",
                cell: (task) =>
                    taskActions(this.#api, task, () => {
                        this.#pageDemand.now();
                        this.#follower.refresh();
                    }),
            },
        ];
    }

    #filter() {
        const options = [
            ["", "all states"],
            [waitingStates.join(","), "waiting"],
            ...Object.keys(taskStates).map((state) => [state, words(state)]),
        ];
        fill(this.#state, options.map(([value, text]) => h("option", { value }, text)));
        fill(this.#order,
            h("option", { value: "oldest" }, "oldest first"),
            h("option", { value: "newest" }, "newest first"));
        for (const control of [this.#state, this.#order, this.#string]) {
            control.addEventListener("change", () => this.#pages.restart());
        }
        const form = h(
            "form",
            { class: "filter", role: "search" },
            h("label", { for: "state" }, "State"), this.#state,
            h("label", { for: "order" }, "Order"), this.#order,
            h("label", { for: "string" }, "Client string is"), this.#string,
        );
        form.addEventListener("submit", (event) => event.preventDefault());
        return form;
    }

    /** What can be done with all tasks at once, and with the session. */
    #bulk() {
        const name = `“${visible(this.#identifier, 60)}”`;
        const all = (verb, states) => this.#beginOperation({ verb, states });
        const end = (verb) =>
            attempt(
                () =>
                    this.#api.send("POST", path("sessions", this.#identifier, verb), {
                        query: { client: this.#client },
                    }),
                verb === "finish"
                    ? "The session ends with its last task."
                    : "The session has ended.",
            );
        return h(
            "div",
            { class: "buttons", role: "group", "aria-label": "All tasks of this session" },
            button("Suspend all", () => all("suspend")),
            button("Resume all", () => all("resume")),
            button("Retry failed", () => all("retry")),
            button("Cancel all…", async () => {
                const isSure = await ask(
                    `Cancel all outstanding tasks of ${name}?`,
                    "Their transfers stop and what has arrived is dropped. " +
                        "A task that is retried later starts over.",
                    "Cancel all tasks",
                );
                if (isSure) await all("cancel");
            }, { class: "danger" }),
            button("Finish…", async () => {
                const isSure = await ask(
                    `Finish ${name}?`,
                    "It accepts no further tasks, and ends with its last one.",
                    "Finish the session",
                );
                if (isSure) await end("finish");
            }),
            button("Invalidate…", async () => {
                const isSure = await ask(
                    `Invalidate ${name}?`,
                    "All its tasks are cancelled and the session ends.",
                    "Invalidate the session",
                );
                if (isSure) await end("invalidate");
            }, { class: "danger" }),
        );
    }

    async #beginOperation({ verb, states }) {
        const operation = await attempt(() =>
            this.#api.send("POST", path("sessions", this.#identifier, "bulk-operations"), {
                query: { client: this.#client },
                body: states ? { verb, states } : { verb },
            }),
        );
        if (!operation) return;
        this.#follower.refresh();
        this.#pageDemand.now();
        this.#operationsDemand.now();
    }

    /** Shows the newest bulk operations, and looks again while one runs. */
    async #showOperations() {
        const sessionPath = path("sessions", this.#identifier, "bulk-operations");
        const query = { client: this.#client };
        // The newest ones are at the end.
        const items = await this.#api.list(sessionPath, { query, signal: this.signal });
        const newest = items.slice(-3).reverse();
        fill(this.#operations, newest.map((operation) => this.#operation(operation)));
        if (newest.some(({ state }) => state === "running")) this.#operationsDemand.soon();
    }

    #operation(operation) {
        const { id, verb, state, tasks_changed: changed, tasks_matching: matching } = operation;
        const counts = `${number(changed)} of ${number(matching)} tasks changed`;
        const text = `${words(verb)}: ${counts}, ${state}`;
        const stop = async () => {
            const send = () => this.#api.send("DELETE", path("bulk-operations", id));
            await attempt(send, "Stopped.");
            this.#operationsDemand.now();
        };
        return h(
            "p",
            { class: "operation" },
            text,
            operation.reason ? ` (${words(operation.reason)})` : null,
            " · ",
            time(operation.created_at),
            " ",
            state === "running" ? button("Stop", stop) : null,
        );
    }
}

customElements.define("transfer-session", TransferSession);
