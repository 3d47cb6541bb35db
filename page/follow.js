import { path } from "./api.js";
import { Demand, backoff, sleep, whenVisible } from "./repeat.js";

/** More events than these nobody can read; the stream is then left, and the counts are sampled. */
const eventsPerSecondMax = 100;
/** The least time between two reads of the session's document, in milliseconds. */
const samplePause = 2000;
/** The time after which the document of a session with tasks is read again without an event. */
const quietPauseMin = 4000;
/** The same once nothing has changed for long. */
const quietPauseMax = 60000;

/** Whether an error says that there is no such session, or none any more. */
export function isEnd(error) {
    return ["unknown_session", "unknown_client"].includes(error.code);
}

/**
 * Follows a session while a view shows it.
 *
 * As long as little happens, it reads the session's events as they come, and the session's document
 * after some of them. When much happens it leaves the stream and reads the document alone, so that
 * a session of 100,000 tasks costs the service a request every two seconds, and one at rest
 * nothing. No event tells that a task has started to run, so the document of a session with tasks
 * that have not ended is also read without one, ever later while nothing changes.
 *
 * Its events: `session` with the document, `events` with those that arrived together, `mode` with
 * `stream`, `sample` or `ended`, and `failure` with an error, or with null once it works again.
 * Events before a `mode` are not told: whoever depends on single ones looks again then.
 */
export class SessionFollower extends EventTarget {
    #api;
    #path;
    #query;
    #session = null;
    #readAt = 0;
    #mode = null;
    #refresh = null;
    #quiet = null;
    #quietPause = quietPauseMin;

    constructor(api, client, identifier) {
        super();
        this.#api = api;
        this.#path = path("sessions", identifier);
        this.#query = { client };
    }

    /** What was last told as `mode`; null at first, and while following fails. */
    get mode() {
        return this.#mode;
    }

    /** Follows until `signal` is aborted. */
    async run(signal) {
        const pause = () => this.#readAt + samplePause - performance.now();
        this.#refresh = new Demand(signal, pause, () => this.#read(signal), (error) => {
            // The loop tells of the end: the stream ends with the session.
            if (!error || !isEnd(error)) this.#tell("failure", error);
        });
        for (let failures = 0; !signal.aborted; ) {
            await whenVisible(signal);
            if (signal.aborted) return;
            try {
                const rate = await this.#read(signal);
                this.#tell("failure", null);
                failures = 0;
                if (rate > eventsPerSecondMax / 2) {
                    this.#tellMode("sample");
                    await sleep(samplePause, signal);
                } else {
                    await this.#stream(signal);
                }
            } catch (error) {
                if (signal.aborted) return;
                if (isEnd(error)) return this.#tellMode("ended");
                failures += 1;
                this.#mode = null;
                this.#tell("failure", error);
                await sleep(backoff(failures, error.retryAfter), signal);
            }
        }
    }

    /** Reads the document at once, because the caller has changed something. */
    refresh() {
        this.#refresh.now();
    }

    /** Reads the document, and returns the events per second since the last time. */
    async #read(signal) {
        const previous = this.#session;
        const previousAt = this.#readAt;
        const session = await this.#api.get(this.#path, { query: this.#query, signal });
        this.#session = session;
        this.#readAt = performance.now();
        this.#tell("session", session);
        this.#readAfterQuiet(signal, previous);
        if (!previous || previous.id !== session.id) return 0;
        const count = session.last_event_sequence - previous.last_event_sequence;
        return (count * 1000) / Math.max(this.#readAt - previousAt, 1);
    }

    /** Reads events until there are too many of them, or the stream breaks off. */
    async #stream(signal) {
        const stop = new AbortController();
        const end = () => stop.abort();
        const onHidden = () => document.hidden && end();
        signal.addEventListener("abort", end);
        document.addEventListener("visibilitychange", onHidden);
        try {
            const { id, last_event_sequence: sequence } = this.#session;
            const stream = await this.#api.open(`${this.#path}/events`, {
                query: { ...this.#query, after: `${id}:${sequence}` },
                signal: stop.signal,
            });
            this.#tellMode("stream");
            let count = 0;
            let since = performance.now();
            for await (const read of stream) {
                const events = read.map((frame) => frame.event).filter((event) => event !== null);
                if (events.length === 0) continue;
                const now = performance.now();
                if (now - since > 1000) [count, since] = [0, now];
                count += events.length;
                this.#tell("events", events);
                this.#refresh.soon();
                if (count > eventsPerSecondMax) break;
            }
            // Also before a stream that broke off is opened again.
            if (!signal.aborted) await sleep(samplePause, signal);
        } catch (error) {
            // A hidden page has left its stream; it asks again when it is seen.
            if (!stop.signal.aborted || signal.aborted) throw error;
        } finally {
            end();
            signal.removeEventListener("abort", end);
            document.removeEventListener("visibilitychange", onHidden);
        }
    }

    /** Plans a read for the case that no event causes one before. */
    #readAfterQuiet(signal, previous) {
        clearTimeout(this.#quiet);
        if (!this.#session?.outstanding) return;
        const [counts, before] = [this.#session, previous].map((session) =>
            JSON.stringify(session?.task_counts));
        const isChanged = counts !== before;
        this.#quietPause = isChanged
            ? quietPauseMin
            : Math.min(2 * this.#quietPause, quietPauseMax);
        this.#quiet = setTimeout(() => {
            // A page that is seen again reads the document anyway.
            if (!signal.aborted && !document.hidden) this.#refresh.soon();
        }, this.#quietPause);
    }

    #tellMode(mode) {
        this.#mode = mode;
        this.#tell("mode", mode);
    }

    #tell(type, detail) {
        this.dispatchEvent(new CustomEvent(type, { detail }));
    }
}
