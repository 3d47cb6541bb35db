/** The longest pause between two attempts to reach a service that does not answer. */
const pauseMax = 30_000;

/** Waits, and returns early when `signal` is aborted. */
export function sleep(milliseconds, signal) {
    return new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const timer = setTimeout(end, milliseconds);
        signal?.addEventListener("abort", end, { once: true });
        function end() {
            clearTimeout(timer);
            signal?.removeEventListener("abort", end);
            resolve();
        }
    });
}

/** Waits until somebody can see the page: one that nobody sees asks for nothing. */
export function whenVisible(signal) {
    return new Promise((resolve) => {
        if (!document.hidden || signal.aborted) return resolve();
        const end = () => {
            if (document.hidden && !signal.aborted) return;
            document.removeEventListener("visibilitychange", end);
            signal.removeEventListener("abort", end);
            resolve();
        };
        document.addEventListener("visibilitychange", end);
        signal.addEventListener("abort", end);
    });
}

/** The pause after a number of failures in a row, with chance in it so that pages spread. */
export function backoff(failures, retryAfter = 0) {
    const pause = Math.min(1000 * 2 ** failures, pauseMax) * (0.5 + Math.random() / 2);
    return Math.max(pause, retryAfter * 1000);
}

/** Work that is repeated while a view is shown, and at once when `now` is called. */
export class Repeat {
    #pause;
    #work;
    #onFailure;
    #nap = new AbortController();
    #isAsked = false;

    /**
     * @param pause the milliseconds between the end of one round and the start of the next.
     * @param work one round.
     * @param onFailure told the error of a failed round, and null after one that succeeded.
     */
    constructor(pause, work, onFailure) {
        this.#pause = pause;
        this.#work = work;
        this.#onFailure = onFailure;
    }

    async run(signal) {
        signal.addEventListener("abort", () => this.#nap.abort());
        for (let failures = 0; !signal.aborted; ) {
            await whenVisible(signal);
            if (signal.aborted) return;
            this.#isAsked = false;
            let pause = this.#pause();
            try {
                await this.#work(signal);
                failures = 0;
                this.#onFailure(null);
            } catch (error) {
                if (signal.aborted) return;
                failures += 1;
                pause = Math.max(pause, backoff(failures, error.retryAfter));
                this.#onFailure(error);
            }
            if (this.#isAsked) continue;
            this.#nap = new AbortController();
            await sleep(pause, this.#nap.signal);
        }
    }

    /** Ends the current pause; a round that is running is followed by another. */
    now() {
        this.#isAsked = true;
        this.#nap.abort();
    }
}

/**
 * Work that is done when somebody asks for it, one round at a time. What is asked for while the
 * page is hidden is done once it is seen, and what has failed is done again, unless it was refused.
 */
export class Demand {
    #signal;
    #pause;
    #work;
    #onFailure;
    #nap = new AbortController();
    #isDue = false;
    #isHurried = false;
    #isRunning = false;

    /**
     * @param signal ends all of it.
     * @param pause the milliseconds until the next round may start.
     * @param work one round.
     * @param onFailure told the error of a failed round, and null after one that succeeded.
     */
    constructor(signal, pause, work, onFailure) {
        this.#signal = signal;
        this.#pause = pause;
        this.#work = work;
        this.#onFailure = onFailure;
        signal.addEventListener("abort", () => this.#nap.abort());
    }

    /** Asks for a round after the pause; all who ask before it starts get the same one. */
    soon() {
        this.#isDue = true;
        if (!this.#isRunning) this.#run();
    }

    /** Asks for a round at once, also after a failure. */
    now() {
        this.#isHurried = true;
        this.#nap.abort();
        this.soon();
    }

    async #run() {
        this.#isRunning = true;
        let pause = this.#pause();
        for (let failures = 0; this.#isDue; ) {
            if (!this.#isHurried) {
                this.#nap = new AbortController();
                await sleep(pause, this.#nap.signal);
            }
            await whenVisible(this.#signal);
            if (this.#signal.aborted) return;
            this.#isDue = this.#isHurried = false;
            try {
                await this.#work();
                failures = 0;
                pause = this.#pause();
                this.#onFailure(null);
            } catch (error) {
                if (this.#signal.aborted) return;
                failures += 1;
                this.#isDue ||= !error.isRefusal;
                pause = backoff(failures, error.retryAfter);
                this.#onFailure(error);
            }
        }
        this.#isRunning = false;
    }
}
