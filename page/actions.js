import { path } from "./api.js";
import { button, h } from "./dom.js";
import { ask, attempt, endedStates } from "./parts.js";

/** What the API can do with a task in its state, as buttons; `done` is told the task after it. */
export function taskActions(api, task, done, onDeleted = done) {
    const isEnded = endedStates.includes(task.state);
    const name = task.url.slice(0, 80);
    const send = async (verb) => {
        const changed = await attempt(() => api.send("POST", path("tasks", task.id, verb)));
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
            "Cancel this task?",
            "What has arrived is dropped. If the task is retried later, it starts over.",
            "Cancel the task",
        );
        if (isSure) await send("cancel");
    };
    const remove = async () => {
        const isSure = await ask(
            "Delete this task?",
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
        ["failed", "cancelled"].includes(task.state) ? make("Retry", () => send("retry")) : null,
        isEnded ? null : make("Cancel…", cancel, "danger"),
        isEnded ? make("Delete…", remove, "danger") : null,
    );
}
