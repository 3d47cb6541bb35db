import { path } from "./api.js";
import { address, fill, h, facts } from "./dom.js";
import { foreign, foreignShort, number } from "./format.js";
import { View, badge, empty, failure, time } from "./parts.js";
import { Repeat } from "./repeat.js";
import { tellState } from "./sessions.js";

const pause = 5000;
const rowsMax = 50;

/** What is true of a host now, as a sentence. */
function sentence({ state, connections, max_connections: most }) {
    if (state === "closed") return "Closed: one task at a time tries it, the others wait.";
    const limit = most === undefined ? "" : ` An operator allows ${number(most)}.`;
    if (connections === undefined) return `Gets as many connections as it may have.${limit}`;
    const noun = connections === 1 ? "connection" : "connections";
    return `Gets ${number(connections)} ${noun} until it answers well again.${limit}`;
}

function stateBadge({ state, connections }) {
    if (state === "closed") return badge("closed", "bad");
    return connections === undefined ? badge("open", "good") : badge("slowed", "wait");
}

/** `<transfer-hosts>`: the hosts about which the service has decided something. */
class TransferHosts extends View {
    open(api) {
        const pages = h("transfer-pages");
        pages.define({
            label: "Hosts",
            none: "No host has needed a decision: each gets as many connections as it may have.",
            key: ({ host }) => host,
            limit: rowsMax,
            read: (cursor, limit) =>
                api.get(path("hosts"), { query: { cursor, limit }, signal: this.signal }),
            columns: [
                {
                    title: "Host",
                    class: "wide",
                    cell: ({ host }) =>
                        h("a", { href: address("hosts", host) }, foreignShort(host)),
                },
                { title: "State", cell: stateBadge },
                {
                    title: "Connections",
                    class: "number",
                    cell: ({ state, connections }) =>
                        state === "closed" ? "0" : (connections ?? "maximum"),
                },
                { title: "Now", class: "why", cell: sentence },
                { title: "Decided", cell: (host) => time(host.changed_at) },
            ],
        });
        this.lay("Hosts", pages);
        new Repeat(() => pause, () => pages.look(), told).run(this.signal);
    }
}

/** `<transfer-host>`: one host with the decisions about it, each with its reason. */
class TransferHost extends View {
    open(api, [name]) {
        const head = h("div");
        const table = h("transfer-table").define({
            label: "Decisions",
            none: "No decisions are kept.",
            key: (decision) => JSON.stringify(decision),
            columns: [
                { title: "When", cell: (decision) => time(decision.decided_at) },
                {
                    title: "Connections",
                    class: "number",
                    cell: (decision) =>
                        `${decision.connections_before} → ${decision.connections_after}`,
                },
                { title: "Why", class: "wide", cell: ({ reason }) => foreign(reason) },
            ],
        });
        this.lay(foreign(name), head, h("h2", null, "Decisions"), table);
        const look = async () => {
            try {
                const host = await api.get(path("hosts", name), { signal: this.signal });
                fill(head,
                    h("p", null, stateBadge(host), " ", sentence(host)),
                    facts([
                        ["Allowed by an operator", host.max_connections],
                        ["Last decision", time(host.changed_at)],
                    ]));
                table.show(host.decisions ?? []);
            } catch (error) {
                if (error.code !== "unknown_host") throw error;
                fill(head, failure(error), empty("It may have recovered, and is then forgotten."));
            }
        };
        new Repeat(() => pause, look, told).run(this.signal);
    }
}

function told(error) {
    tellState(error ? "lost" : "live");
}

customElements.define("transfer-hosts", TransferHosts);
customElements.define("transfer-host", TransferHost);
