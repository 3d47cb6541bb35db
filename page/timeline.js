import { h } from "./dom.js";
import { bytes, duration, foreign, number } from "./format.js";
import { badge, time } from "./parts.js";

/** The phases of a request, each from the end of the previous one that was reached. */
const phases = [
    ["dns", "DNS", "domain_lookup_end"],
    ["connect", "Connect", "connect_end"],
    ["tls", "TLS", "secure_connection_end"],
    ["request", "Request", "request_end"],
    ["wait", "First byte", "response_start"],
    ["body", "Bytes", "response_end"],
];

const outcomeLooks = {
    completed: "good",
    failed: "bad",
    retried: "wait",
    lost: "wait",
    released: "rest",
    suspended: "rest",
    cancelled: "gone",
};

/** The phases of an attempt as `{ look, name, start, end }` in seconds. */
function spans(metrics) {
    const found = [];
    let start = 0;
    // A connection that is used again was made by an earlier request.
    const own = metrics?.is_reused_connection ? phases.slice(3) : phases;
    for (const [look, name, key] of own) {
        const end = metrics?.[key];
        // A phase may not be reached, or end within another.
        if (end === undefined || end <= start) continue;
        found.push({ look, name, start, end });
        start = end;
    }
    return found;
}

/** `<transfer-timeline>`: the attempts of a task, one below the other on one scale of seconds. */
class TransferTimeline extends HTMLElement {
    show(attempts) {
        const all = attempts.map((attempt) => ({ attempt, spans: spans(attempt.metrics) }));
        const scale = Math.max(...all.flatMap((one) => one.spans.map(({ end }) => end)), 0);
        this.replaceChildren(
            h("ul", { class: "legend", "aria-hidden": "true" },
                phases.map(([look, name]) =>
                    h("li", null, h("span", { class: `mark ${look}` }), name))),
            h("ol", null, all.map((one) => this.#row(one, scale))),
        );
        return this;
    }

    #row({ attempt, spans: parts }, scale) {
        const { metrics, error } = attempt;
        const bar = h("div", { class: "spans", "aria-hidden": "true" });
        for (const { look, start, end } of parts) {
            const span = h("span", { class: look });
            span.style.insetInlineStart = `${(100 * start) / scale}%`;
            span.style.inlineSize = `${(100 * (end - start)) / scale}%`;
            bar.append(span);
        }
        const times = parts
            .map(({ name, start, end }) => `${name} ${duration(end - start)}`)
            .join(" · ");
        const took = (Date.parse(attempt.ended_at) - Date.parse(attempt.started_at)) / 1000;
        const resumed = attempt.resumed_at_offset;
        const peer = metrics?.remote_address;
        const details = [
            `${bytes(attempt.count_of_bytes_received)} received`,
            attempt.count_of_bytes_sent > 0 ? `${bytes(attempt.count_of_bytes_sent)} sent` : null,
            resumed > 0 ? `resumed at ${bytes(resumed)}` : null,
            metrics?.count_of_connections > 1
                ? `${number(metrics.count_of_connections)} connections` : null,
            metrics?.redirect_count > 0 ? `${number(metrics.redirect_count)} redirects` : null,
            metrics?.is_reused_connection ? "connection used again" : null,
            metrics?.network_protocol_name,
            peer ? `${peer}:${metrics.remote_port}` : null,
        ];
        return h(
            "li",
            null,
            h("div", { class: "head" },
                h("strong", null, `Attempt ${number(attempt.number)}`),
                badge(attempt.outcome, outcomeLooks[attempt.outcome] ?? "rest"),
                attempt.http_status ? h("span", null, `HTTP ${attempt.http_status}`) : null,
                h("span", { class: "quiet" },
                    time(attempt.started_at), `, took ${duration(took)}`)),
            bar,
            h("p", null, times || "No phase was measured."),
            h("p", { class: "quiet" }, foreign(details.filter(Boolean).join(" · "))),
            error
                ? h("p", { class: "error" }, foreign(error.message), ` (${error.code})`)
                : null,
        );
    }
}

customElements.define("transfer-timeline", TransferTimeline);
