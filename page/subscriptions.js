import { path } from "./api.js";
import { address, button, fill, facts, h } from "./dom.js";
import { duration, foreign, foreignShort, number, visible, words } from "./format.js";
import { View, ask, attempt, badge, failure, time } from "./parts.js";
import { Repeat, sleep } from "./repeat.js";
import { tellState } from "./sessions.js";

const pause = 5000;
const rowsMax = 25;
const deliveryLooks = { waiting: "wait", delivered: "good", dead: "bad", expired: "gone" };

function told(error) {
    tellState(error ? "lost" : "live");
}

function enabledBadge({ enabled, disabled }) {
    return enabled
        ? badge("enabled", "good")
        : [badge("disabled", "bad"), ` ${words(disabled?.reason ?? "")}`];
}

/** What a subscription is for, in words. */
function scope({ client, session_identifier: session }) {
    if (session !== undefined) return ["session ", foreignShort(session)];
    return client === undefined ? "all sessions" : `client ${client}`;
}

/** `<transfer-subscriptions>`: the receivers of webhooks. */
class TransferSubscriptions extends View {
    open(api) {
        const pages = h("transfer-pages");
        pages.define({
            label: "Subscriptions",
            none: "No subscriptions: nobody is told of events by webhooks.",
            key: ({ id }) => id,
            limit: rowsMax,
            read: (cursor, limit) =>
                api.get(path("subscriptions"), { query: { cursor, limit }, signal: this.signal }),
            columns: [
                {
                    title: "Receiver",
                    class: "wide",
                    cell: (subscription) => [
                        h("a", { href: address("subscriptions", subscription.id) },
                            foreignShort(subscription.url)),
                        subscription.description
                            ? h("div", { class: "quiet" }, foreignShort(subscription.description))
                            : null,
                    ],
                },
                { title: "State", cell: enabledBadge },
                { title: "For", cell: scope },
                {
                    title: "Events",
                    class: "why",
                    cell: ({ event_types: types }) => types?.join(", ") ?? "all but progress",
                },
                { title: "Created", cell: (subscription) => time(subscription.created_at) },
            ],
        });
        this.lay("Subscriptions", pages);
        new Repeat(() => pause, () => pages.look(), told).run(this.signal);
    }
}

/** `<transfer-subscription>`: one receiver, and the messages that it did not accept at once. */
class TransferSubscription extends View {
    #api;
    #id;
    #head = h("div");
    #actions = h("div", { class: "buttons" });
    #isEnabled = null;
    #url = "";
    #state = h("select", { id: "delivery-state" });
    #pages = h("transfer-pages");
    #repeat;

    open(api, [id]) {
        this.#api = api;
        this.#id = id;
        const states = ["", ...Object.keys(deliveryLooks)];
        fill(this.#state,
            states.map((value) => h("option", { value }, value === "" ? "all" : words(value))));
        this.#state.addEventListener("change", () => this.#pages.restart());
        this.#pages.define({
            label: "Deliveries",
            none: "Every message was accepted at its first attempt.",
            key: (delivery) => delivery.id,
            limit: rowsMax,
            read: (cursor, limit) =>
                api.get(path("subscriptions", id, "deliveries"), {
                    query: { cursor, limit, state: this.#state.value },
                    signal: this.signal,
                }),
            columns: this.#columns(),
        });
        this.lay(
            "Subscription",
            this.#head,
            this.#actions,
            h("h2", null, "Deliveries"),
            h("p", { class: "quiet" },
                "Messages that were not accepted at the first attempt, newest first."),
            h("div", { class: "filter" },
                h("label", { for: "delivery-state" }, "State"), this.#state),
            this.#pages,
        );
        this.#repeat = new Repeat(() => pause, () => this.#look(), told);
        this.#repeat.run(this.signal);
    }

    async #look() {
        try {
            const subscription = await this.#api.get(path("subscriptions", this.#id), {
                signal: this.signal,
            });
            this.#show(subscription);
            await this.#pages.refresh();
        } catch (error) {
            if (error.code !== "unknown_subscription") throw error;
            fill(this.#head, failure(error));
        }
    }

    #show(subscription) {
        const { enabled, disabled, url } = subscription;
        this.#url = url;
        fill(this.querySelector("h1"), foreign(url));
        fill(this.#head,
            h("p", null, enabledBadge(subscription), " ", disabled ? time(disabled.since) : null),
            subscription.description ? h("p", null, foreign(subscription.description)) : null,
            facts([
                ["For", scope(subscription)],
                ["Events", subscription.event_types?.join(", ") ?? "all but progress"],
                ["Header fields", subscription.header_names?.join(", ")],
                ["Messages at once", subscription.concurrency],
                ["Messages per second", subscription.rate_limit],
                ["Acknowledged within", duration(subscription.ack_timeout_seconds)],
                ["Identifier", subscription.id],
            ]));
        if (this.#isEnabled === enabled) return;
        this.#isEnabled = enabled;
        fill(this.#actions,
            button("Send a test", () => this.#test()),
            button(enabled ? "Disable" : "Enable", () => this.#change(!enabled)),
            button("Recover dead…", () => this.#recover()));
    }

    #columns() {
        return [
            {
                title: "Message",
                class: "wide",
                cell: (delivery) => [
                    delivery.event_type ?? "expired events",
                    delivery.event_count ? ` (${number(delivery.event_count)})` : null,
                    h("div", { class: "quiet" },
                        delivery.session_identifier === undefined
                            ? null
                            : [foreignShort(delivery.session_identifier), " · "],
                        `event ${number(delivery.sequence)}`),
                ],
            },
            {
                title: "State",
                cell: (delivery) => [
                    badge(delivery.state, deliveryLooks[delivery.state] ?? "rest"),
                    delivery.next_attempt_at
                        ? h("div", { class: "quiet" }, "again ", time(delivery.next_attempt_at))
                        : null,
                ],
            },
            { title: "Attempts", class: "why", cell: (delivery) => attempts(delivery.attempts) },
            {
                title: "Actions",
                class: "actions",
                cell: (delivery) => {
                    if (delivery.state === "expired") return null;
                    return button("Replay", () => this.#replay(delivery), {
                        "data-name": `replay ${delivery.id}`,
                        "aria-label": `Replay ${delivery.event_type} ${delivery.sequence}`,
                    });
                },
            },
        ];
    }

    async #replay(delivery) {
        const sent = await attempt(
            () => this.#api.send("POST", path("deliveries", delivery.id, "replay")),
            "The message is sent again.",
        );
        // Its attempts show what came of it, mostly within a second.
        for (let looks = 0; sent && looks < 3 && !this.signal.aborted; looks += 1) {
            await sleep(700, this.signal);
            await this.#pages.refresh();
        }
    }

    async #test() {
        await attempt(
            () => this.#api.send("POST", path("subscriptions", this.#id, "test")),
            ({ delivered, status, reason, duration_ms: took }) =>
                delivered
                    ? `Accepted with ${status} after ${number(took)} ms.`
                    : `Not accepted: ${status ?? ""} ${words(reason ?? "")}.`,
        );
    }

    async #change(enabled) {
        await attempt(
            () => this.#api.send("PATCH", path("subscriptions", this.#id), { body: { enabled } }),
            enabled ? "Enabled." : "Disabled; events wait and keep their order.",
        );
        this.#repeat.now();
    }

    async #recover() {
        const isSure = await ask(
            `Send all dead messages to “${visible(this.#url, 60)}” again?`,
            "At most 10,000 messages that were given up are sent once more, the oldest first.",
            "Send them again",
        );
        if (!isSure) return;
        await attempt(
            () =>
                this.#api.send("POST", path("subscriptions", this.#id, "recover"), {
                    body: { since: "1970-01-01T00:00:00Z" },
                }),
            ({ replays }) => `${number(replays)} messages are sent again.`,
        );
        this.#repeat.now();
    }
}

/** The attempts of a message, the newest first; the older ones are folded. */
function attempts(all) {
    const lines = [...all].reverse().map((one) =>
        h("li", null,
            one.delivered ? "accepted" : words(one.reason ?? "not accepted"),
            one.status ? `, ${one.status}` : null,
            `, ${number(one.duration_ms)} ms`,
            one.replay ? ", a replay" : null,
            " · ",
            time(one.attempted_at),
            one.answer ? h("div", { class: "quiet" }, foreignShort(one.answer)) : null),
    );
    if (lines.length <= 2) return h("ul", { class: "attempts" }, lines);
    return [
        h("ul", { class: "attempts" }, lines.slice(0, 1)),
        h("details", null,
            h("summary", null, `${number(lines.length - 1)} earlier`),
            h("ul", { class: "attempts" }, lines.slice(1))),
    ];
}

customElements.define("transfer-subscriptions", TransferSubscriptions);
customElements.define("transfer-subscription", TransferSubscription);
