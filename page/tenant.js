import { path } from "./api.js";
import { fill, facts, h } from "./dom.js";
import { bytes, duration, foreign, number, rate, visible } from "./format.js";
import { View, badge, taskBadge, taskStates, time } from "./parts.js";
import { Repeat } from "./repeat.js";
import { tellState } from "./sessions.js";

const pause = 5000;

/** `<transfer-tenant>`: what the tenant may use, what it uses, and the instance that answers. */
class TransferTenant extends View {
    open(api) {
        const limits = h("div", { class: "limits" });
        const states = h("div");
        const work = h("div");
        const instance = h("div");
        this.lay(
            "Tenant",
            h("h2", null, "Limits"), limits,
            h("h2", null, "Tasks by state"), states,
            h("h2", null, "Background work"), work,
            h("h2", null, "This instance"), instance,
        );
        const look = async () => {
            const { signal } = this;
            const [tenant, settings, health] = await Promise.all([
                api.get(path("tenant"), { signal }),
                api.get(path("tenant", "background-settings"), { signal }),
                api.get("health", { signal }),
            ]);
            const title = this.querySelector("h1");
            if (title.textContent !== visible(tenant.name)) fill(title, foreign(tenant.name));
            fill(limits, this.#limits(tenant));
            const counts = Object.keys(taskStates).map((state) =>
                [taskBadge(state), number(tenant.task_counts[state] ?? 0)]);
            fill(states, facts(counts));
            fill(work, facts([
                ["Background tasks", settings.enabled ? "accepted and launched" : "off"],
                ["Capacity", settings.capacity],
                ["Permitted", settings.permitted_identifiers.join(", ") || "no identifiers"],
                ["Assertions", duration(settings.assertion_budget_seconds)],
                ["App refresh", duration(settings.app_refresh_seconds)],
                ["Processing", duration(settings.processing_seconds)],
            ]));
            fill(instance, this.#instance(health));
        };
        const told = (error) => tellState(error ? "lost" : "live");
        new Repeat(() => pause, look, told).run(this.signal);
    }

    #limits(tenant) {
        const row = (name, used, most, write) => {
            const whole = most === undefined ? "no limit" : write(most);
            const isMeasured = used !== null && most !== undefined;
            const join = isMeasured ? " of " : ", ";
            const now = used === null ? whole : `${write(used)}${join}${whole}`;
            const bar = document.createElement("transfer-bar");
            const look = used >= most ? "bad" : "live";
            return h("div", null, h("p", null, h("strong", null, name), ` ${now}`),
                isMeasured ? bar.show([[look, Math.min(used, most)]], most, now) : null);
        };
        return [
            row("Stored bytes", tenant.stored_bytes, tenant.stored_bytes_max, bytes),
            row("Bytes in flight", tenant.in_flight_bytes, tenant.in_flight_bytes_max, bytes),
            row("Outstanding tasks", tenant.outstanding, tenant.outstanding_tasks_max, number),
            row("Running tasks", tenant.task_counts.running, tenant.running_tasks_max, number),
            row("Bytes per second", null, tenant.total_bytes_per_second_max, rate),
            facts([
                ["Received", bytes(tenant.bytes_received)],
                ["Sent", bytes(tenant.bytes_sent)],
                ["Paused", tenant.pauses.map(pauseText).join("; ")],
                ["Created", time(tenant.created_at)],
            ]),
        ];
    }

    #instance(health) {
        const looks = { pass: "good", warn: "wait", fail: "bad" };
        return [
            h("p", null, badge(health.status, looks[health.status] ?? "rest")),
            facts([
                ["Version", health.version],
                ["Roles", health.roles.join(", ")],
                ["Workers", health.workers],
                ["Lacks", health.shortages.join(", ").replaceAll("_", " ")],
                ["Database", health.database.reason && foreign(health.database.reason)],
                ["libcurl", `${health.libcurl.version}, ${health.libcurl.tls}`],
                ["Up for", duration(health.uptime_seconds)],
            ]),
        ];
    }
}

/** What a pause covers, and who ends it. */
function pauseText(pause) {
    return `${pause.host ?? "all hosts"} by the ${pause.paused_by}`;
}

customElements.define("transfer-tenant", TransferTenant);
