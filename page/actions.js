import { path } from "./api.js";
import { button, h } from "./dom.js";
import { visible } from "./format.js";
import { ask, askFor, attempt, endedStates } from "./parts.js";

/**
 * What the API can do with a task in its state, as buttons, and others beside them; `done` is told
 * the task after it.
 */
export function taskActions(api, task, done, onDeleted = done, ...others) {
    const isEnded = endedStates.includes(task.state);
    const name = visible(task.url, 80);
    const quoted = quotedName(task);
    const send = async (verb, body) => {
        const work = () => api.send("POST", path("tasks", task.id, verb), { body });
        const changed = await attempt(work);
        if (changed) done(changed);
    };
    const make = (title, work, look) =>
        button(title, work, {
            class: look,
            "aria-label": `${title.replace("…", "")} ${name}`,
            "data-name": `${title} ${task.id}`,
        });
    const cancel = async () => {
        const isSure = await ask(
            `Cancel the task ${quoted}?`,
            "What has arrived is dropped. If the task is retried later, it starts over.",
            "Cancel the task",
        );
        if (isSure) await send("cancel");
    };
    const useCredential = async () => {
        const { hash } = location;
        const credentials = await attempt(() => api.list(path("credentials")));
        // Nothing is asked in another view than that of the button.
        if (!credentials || location.hash !== hash || !api.hasKey) return;
        const names = credentials.map(({ name }) => h("option", { value: name }, name));
        const values = await askFor(
            `Which credential does the task ${quoted} use?`,
            "All tasks of the session that wait for the same origin continue with it.",
            { Credential: h("select", { id: "credential" }, names) },
            "Use it",
        );
        if (values) await send("credential", { disposition: "use", credential: values.Credential });
    };
    const reject = async () => {
        const isSure = await ask(
            `Give the task ${quoted} no credential?`,
            "It fails with the response of the origin.",
            "Fail the task",
        );
        if (isSure) await send("credential", { disposition: "reject" });
    };
    const remove = async () => {
        const isSure = await ask(
            `Delete the task ${quoted}?`,
            "It is removed with its result. A file at a destination stays.",
            "Delete the task",
        );
        if (!isSure) return;
        const sent = () => api.send("DELETE", path("tasks", task.id)).then(() => true);
        if (await attempt(sent, "The task is deleted.")) onDeleted();
    };
    return h(
        "div",
        { class: "buttons" },
        task.state === "suspended" ? make("Resume", () => send("resume")) : null,
        !isEnded && task.state !== "suspended" ? make("Suspend", () => send("suspend")) : null,
        task.state === "waiting_to_begin"
            ? make("Begin", () => send("begin", { disposition: "continue" }))
            : null,
        task.state === "waiting_for_authentication"
            ? [make("Use a credential…", useCredential), make("Reject…", reject, "danger")]
            : null,
        ["failed", "cancelled"].includes(task.state) ? make("Retry", () => send("retry")) : null,
        isEnded ? null : make("Cancel…", cancel, "danger"),
        isEnded ? make("Delete…", remove, "danger") : null,
        others,
    );
}

/** A button that asks how a task is to change, or null for one that has ended. */
export function changeButton(api, task, done) {
    if (endedStates.includes(task.state)) return null;
    return button("Change…", async () => {
        const range = { type: "number", min: 0, max: 1, step: "any", required: true };
        const begin = localTime(task.earliest_begin_at);
        const values = await askFor(
            `How is the task ${quotedName(task)} to change?`,
            "Until it has begun, a task begins no earlier than a date; without one, when it can.",
            {
                Priority: h("input", { id: "priority", value: task.priority, ...range }),
                "Not before": h("input", { id: "begin", type: "datetime-local", value: begin }),
            },
            "Change the task",
        );
        if (!values) return;
        const body = { priority: Number(values.Priority) };
        // The input has no seconds, which are lost only if somebody has set another time.
        const chosen = values["Not before"];
        if (chosen !== begin) {
            body.earliest_begin_at = chosen ? new Date(chosen).toISOString() : null;
        }
        const changed = await attempt(() => api.send("PATCH", path("tasks", task.id), { body }));
        if (changed) done(changed);
    });
}

/** A task as questions name it. */
function quotedName(task) {
    return `“${visible(task.url, 60)}”`;
}

/** A time as an input for local times has it; empty without one. */
function localTime(text) {
    if (!text) return "";
    const time = new Date(text);
    const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
    return local.toISOString().slice(0, 16);
}
