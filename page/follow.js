import { path } from "./api.js";
import { backoff, sleep, whenVisible } from "./repeat.js";

/** More events than these nobody can read; the stream is then left, and the counts are sampled. */
const eventsPerSecondMax = 100;
/** The least time between two reads of the session's document, in milliseconds. */
const samplePause = 2000;
/** The time after which the document of a session with tasks is read again without an event. */
const quietPauseMin = 4000;
/** The same once nothing has changed for long. */
const quietPauseMax = 60000;

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
 */
export class SessionFollower extends EventTarget {
    #api;
    #path;
    #query;
    #session = null;
    #readAt = 0;
    #refresh = null;
    #quiet = null;
    #quietPause = quietPauseMin;

    constructor(api, client, identifier) {
        super();
        this.#api = api;
        this.#path = path("sessions", identifier);
        this.#query = { client };
    }

    /** Follows until `signal` is aborted. */
    async run(signal) {
        for (let failures = 0; !signal.aborted; ) {
            await whenVisible(signal);
            if (signal.aborted) return;
            try {
                const rate = await this.#read(signal);
                this.#tell("failure", null);
                failures = 0;
                if (rate > eventsPerSecondMax / 2) {
                    this.#tell("mode", "sample");
                    await sleep(samplePause, signal);
                } else {
                    await this.#stream(signal);
                }
            } catch (error) {
                if (signal.aborted) return;
                if (error.code === "unknown_session") return this.#tell("mode", "ended");
                failures += 1;
                this.#tell("failure", error);
                await sleep(backoff(failures, error.retryAfter), signal);
            }
        }
    }

    /** Reads the document soon, because the caller has changed something. */
    refresh(signal) {
        this.#refreshSoon(signal, 0);
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
            this.#tell("mode", "stream");
            let count = 0;
            let since = performance.now();
            for await (const read of stream) {
                const events = read.map((frame) => frame.event).filter((event) => event !== null);
                if (events.length === 0) continue;
                const now = performance.now();
                if (now - since > 1000) [count, since] = [0, now];
                count += events.length;
                this.#tell("events", events);
                this.#refreshSoon(signal, samplePause);
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

    #refreshSoon(signal, pause) {
        if (this.#refresh) return;
        const elapsed = performance.now() - this.#readAt;
        this.#refresh = setTimeout(async () => {
            this.#refresh = null;
            if (signal.aborted) return;
            try {
                await this.#read(signal);
            } catch (error) {
                // The loop tells of the end: the stream ends with the session.
                if (signal.aborted || error.code === "unknown_session") return;
                this.#tell("failure", error);
                this.#readAfterQuiet(signal, this.#session);
            }
        }, Math.max(0, pause - elapsed));
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
            if (!signal.aborted && !document.hidden) this.#refreshSoon(signal, 0);
        }, this.#quietPause);
    }

    #tell(type, detail) {
        this.dispatchEvent(new CustomEvent(type, { detail }));
    }
}
