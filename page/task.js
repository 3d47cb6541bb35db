import { path } from "./api.js";
import { fill, h, facts } from "./dom.js";
import { bytes, decoded, duration, foreign, foreignLine, number, rate } from "./format.js";
import { View, empty, endedStates, failure, taskBadge, taskProgress, time } from "./parts.js";
import { SessionFollower } from "./follow.js";
import { Demand, backoff, sleep, whenVisible } from "./repeat.js";
import { FollowedState, sessionLink } from "./sessions.js";
import { changeButton, taskActions } from "./actions.js";
import "./timeline.js";

/** The least time between two reads of the task because of events, in milliseconds. */
const readPause = 1500;
/** How long the service holds a request until the task changes its state, in seconds; at first. */
const waitSecondsMin = 2;
/** The same once nothing has changed for long. */
const waitSecondsMax = 50;
/** How much of a response to a data task is shown, in characters. */
const shownMax = 20_000;

/** `<transfer-task>`: one task with its attempts. */
class TransferTask extends View {
    #api;
    #id;
    #task = null;
    #readAt = 0;
    /** Reads the task. */
    #demand;
    #liveState = new FollowedState();
    #attempt = null;
    /** What the buttons are about. */
    #offered = "";
    #isFollowed = false;
    #isWatched = false;
    #head = h("div");
    #problem = h("div");
    #actions = h("div");
    #facts = h("div");
    #attempts = h("section", { "aria-label": "Attempts" });
    #details = h("div");

    open(api, [id]) {
        this.#api = api;
        this.#id = id;
        this.lay(
            "Task",
            this.#problem,
            this.#head,
            this.#actions,
            this.#facts,
            h("h2", null, "Attempts"),
            this.#attempts,
            this.#details,
        );
        const pause = () => this.#readAt + readPause - performance.now();
        this.#demand = new Demand(this.signal, pause, () => this.#read(), (error) => {
            this.#liveState.take("task", error);
            if (error) fill(this.#problem, failure(error));
        });
        this.#demand.now();
    }

    /** Reads the task, and its attempts if they may have changed. */
    async #read() {
        const options = { signal: this.signal };
        const task = await this.#api.get(path("tasks", this.#id), options);
        const sign = `${task.attempt} ${task.state}`;
        if (sign !== this.#attempt) {
            const attempts = await this.#api.get(path("tasks", this.#id, "attempts"), options);
            this.#attempt = sign;
            this.#showAttempts(attempts);
        }
        this.#readAt = performance.now();
        fill(this.#problem);
        this.#show(task);
        this.#follow(task);
        this.#watch();
    }

    /** Follows the events of the task's session; progress is shown from them alone. */
    #follow(task) {
        if (this.#isFollowed) return;
        this.#isFollowed = true;
        const follower = new SessionFollower(this.#api, task.client, task.session_identifier);
        let isSampled = false;
        const on = (type, work) => follower.addEventListener(type, ({ detail }) => work(detail));
        on("mode", (mode) => {
            isSampled = mode === "sample";
            // What has happened before it, perhaps while nobody saw the page, no event tells.
            if (mode === "stream") this.#demand.soon();
        });
        on("session", () => isSampled && this.#demand.soon());
        this.#liveState.follow(follower);
        on("events", (events) => {
            for (const { type, data } of events) {
                if (data.task?.id !== this.#id) continue;
                if (type === "task.progress") this.#show({ ...this.#task, ...moved(data.task) });
                else this.#demand.soon();
            }
        });
        follower.run(this.signal);
    }

    /** Waits for the end of the current state; no event tells that a task has started to run. */
    async #watch() {
        if (this.#isWatched) return;
        this.#isWatched = true;
        let failures = 0;
        // What changes between a read and the wait after it is seen at the end of the wait.
        let seconds = waitSecondsMin;
        while (!this.signal.aborted && !this.#isEnded) {
            await whenVisible(this.signal);
            const { state } = this.#task;
            try {
                const task = await this.#api.get(path("tasks", this.#id), {
                    headers: { Prefer: `wait=${seconds}` },
                    signal: this.signal,
                });
                failures = 0;
                if (task.state === state) {
                    seconds = Math.min(2 * seconds, waitSecondsMax);
                } else {
                    seconds = waitSecondsMin;
                    await this.#read();
                }
            } catch (error) {
                if (this.signal.aborted) return;
                failures += 1;
                await sleep(backoff(failures, error.retryAfter), this.signal);
            }
        }
        // A task that is retried has events, and is read and watched again.
        this.#isWatched = false;
    }

    get #isEnded() {
        return this.#task !== null && endedStates.includes(this.#task.state);
    }

    #show(task) {
        const previous = this.#task;
        this.#task = task;
        const session = { client: task.client, identifier: task.session_identifier };
        const title = this.querySelector("h1");
        if (previous?.url !== task.url) fill(title, foreign(task.url));
        fill(this.#head,
            h("p", { class: "state" }, taskBadge(task.state), taskProgress(task)),
            task.reason || task.until
                ? h("p", null, task.reason ? foreign(task.reason) : null, " ", time(task.until))
                : null,
            task.error
                ? h("p", { class: "error" }, foreign(task.error.message), ` (${task.error.code})`)
                : null);
        const sign = [task.state, task.priority, task.earliest_begin_at].join(" ");
        if (this.#offered !== sign) {
            this.#offered = sign;
            const read = () => this.#demand.now();
            const leave = () => location.replace(sessionLink(session).href ?? "#/sessions");
            const change = changeButton(this.#api, task, read);
            fill(this.#actions, taskActions(this.#api, task, read, leave, change));
        }
        fill(this.#facts, facts([
            ["Session", sessionLink(session)],
            ["Client", task.client],
            ["Kind", `${task.kind}, ${task.method}`],
            ["Client string", text(task.client_persisted_string)],
            ["Waits for", task.waits_for?.replaceAll("_", " ")],
            ["Attempts", number(task.attempt)],
            ["Priority", number(task.priority)],
            ["Limit", task.bytes_per_second_max && rate(task.bytes_per_second_max)],
            ["Remaining", task.estimated_time_remaining && duration(task.estimated_time_remaining)],
            ["Not before", time(task.earliest_begin_at)],
            ["Destination", task.destination && text(task.destination.path)],
            ["Content", text(task.content)],
            ["Created", time(task.created_at)],
            ["Finished", time(task.finished_at)],
            ["Kept until", time(task.expires_at)],
            ["Identifier", task.id],
        ]));
        const isNew = !previous || previous.state !== task.state;
        if (isNew) fill(this.#details, this.#sections(task));
    }

    #sections({ response, error, original_request: request, effective_configuration: options }) {
        const raw = (title, value) =>
            value === undefined ? null : h("details", null, h("summary", null, title), value);
        return [
            response ? this.#response(response) : null,
            error?.response_body
                ? [h("h2", null, "What the origin answered"),
                    h("pre", { tabindex: "0" }, foreignLines(decoded(error.response_body)))]
                : null,
            raw("What was asked for", request && json(request)),
            raw("What holds for the task", options && json(options)),
        ];
    }

    #response(response) {
        const { headers, ...rest } = response;
        return [
            h("h2", null, "Response"),
            facts([
                ["Status", String(rest.status)],
                ["Type", text(rest.content_type)],
                ["ETag", text(rest.etag)],
                ["Final URL", text(rest.final_url)],
                ["File name", text(rest.suggested_filename)],
                ["Length", rest.is_length_verified ? "as announced" : "not announced"],
                ...Object.entries(rest.checksums ?? {}).map(([name, value]) => [name, text(value)]),
            ]),
            rest.body === undefined
                ? null
                : h("pre", { tabindex: "0" }, foreignLines(decoded(rest.body).slice(0, shownMax))),
            headers && Object.keys(headers).length > 0
                ? h("details", null,
                    h("summary", null, `${number(Object.keys(headers).length)} header fields`),
                    facts(Object.entries(headers).map((pair) => pair.map((one) => foreign(one)))))
                : null,
        ];
    }

    #showAttempts({ items }) {
        fill(this.#attempts, items.length === 0
            ? empty("No attempt has ended yet.")
            : document.createElement("transfer-timeline").show(items));
    }
}

/** What an event tells of a task's progress. */
function moved(task) {
    const names = [
        "state", "attempt", "count_of_bytes_received", "count_of_bytes_expected_to_receive",
        "count_of_bytes_sent", "count_of_bytes_expected_to_send",
    ];
    return Object.fromEntries(Object.entries(task).filter(([name]) => names.includes(name)));
}

function text(value) {
    return value === undefined || value === "" ? null : foreign(value);
}

function json(value) {
    return h("pre", { tabindex: "0" }, foreignLines(JSON.stringify(value, null, 4)));
}

/** Text of strangers with its lines. */
function foreignLines(value) {
    return value.split(/\r?\n/).flatMap((line) => [foreignLine(line), "\n"]);
}

/** `<transfer-tasks>`: a task by its identifier, when the address names none. */
class TransferTasks extends View {
    open() {
        this.lay("Tasks", empty("Tasks are listed in their sessions."));
    }
}

customElements.define("transfer-task", TransferTask);
customElements.define("transfer-tasks", TransferTasks);
