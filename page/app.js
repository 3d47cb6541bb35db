import { API } from "./api.js";
import { address, button, fill, h, setText } from "./dom.js";
import { closeQuestions, failure } from "./parts.js";
import { visible } from "./format.js";
import "./background.js";
import "./hosts.js";
import "./session.js";
import "./sessions.js";
import "./subscriptions.js";
import "./table.js";
import "./task.js";
import "./tenant.js";

/** The views by the first part of their address; the parts that follow are their parameters. */
const views = {
    sessions: { title: "Sessions", element: "transfer-sessions", detail: "transfer-session" },
    tasks: { element: "transfer-tasks", detail: "transfer-task", within: "sessions" },
    hosts: { title: "Hosts", element: "transfer-hosts", detail: "transfer-host" },
    subscriptions: {
        title: "Subscriptions",
        element: "transfer-subscriptions",
        detail: "transfer-subscription",
    },
    background: { title: "Background", element: "transfer-background" },
    tenant: { title: "Tenant", element: "transfer-tenant" },
};

/** `<transfer-app>`: asks for a key, then shows the view that the address names. */
class TransferApp extends HTMLElement {
    #api = new API();
    #main = h("main", { id: "main" });
    #state = h("span", { class: "live-state", role: "status" });
    #links = Object.entries(views)
        .filter(([, view]) => view.title)
        .map(([name, view]) => h("a", { href: address(name) }, view.title));

    connectedCallback() {
        this.#api.addEventListener("refused", ({ detail }) => {
            // The answer to a key that is being tried is shown beside it.
            if (this.#api.hasKey) this.#askForKey(detail);
        });
        addEventListener("hashchange", () => this.#api.hasKey && this.#open(true));
        addEventListener("live", ({ detail }) => this.#tellState(detail));
        if (this.#api.hasKey) this.#showViews();
        else this.#askForKey();
    }

    #askForKey(refusal) {
        closeQuestions();
        this.#api.signOut();
        document.title = "transferd";
        fill(this, h("transfer-sign-in"));
        this.firstChild.begin(this.#api, refusal, () => this.#showViews());
    }

    #showViews() {
        const leave = button("Sign out", () => this.#askForKey(), { class: "plain" });
        const skip = h("a", { class: "skip", href: "#main" }, "Skip to the content");
        skip.addEventListener("click", (event) => {
            // The address is that of the view.
            event.preventDefault();
            this.#main.querySelector("h1")?.focus();
        });
        const header = h(
            "header",
            null,
            skip,
            h("a", { class: "brand", href: address("sessions") }, "transferd"),
            h("nav", { "aria-label": "Views" }, this.#links),
            this.#state,
            leave,
        );
        fill(this, header, this.#main, h("div", { id: "notices", role: "status" }));
        this.#open(false);
    }

    #open(isMove) {
        closeQuestions();
        const [name = "", ...parts] = location.hash.replace(/^#\/?/, "").split("/");
        const view = Object.hasOwn(views, name) ? views[name] : views.sessions;
        this.#links.forEach((link) => {
            const isCurrent = link.hash === address(view.within ?? (name || "sessions"));
            if (isCurrent) link.setAttribute("aria-current", "page");
            else link.removeAttribute("aria-current");
        });
        this.#tellState("quiet");
        const tag = parts.length > 0 && view.detail ? view.detail : view.element;
        try {
            const element = h(tag);
            fill(this.#main, element);
            element.open(this.#api, parts.map(decodeURIComponent));
        } catch (error) {
            fill(this.#main, h("h1", { tabindex: "-1" }, "Nothing here"), failure(error));
        }
        const title = this.#main.querySelector("h1");
        document.title = `${visible(title?.textContent ?? "", 60)} · transferd`;
        scrollTo(0, 0);
        // Whoever hears the page hears where they are now.
        if (isMove) title?.focus({ preventScroll: true });
    }

    /** Says whether what is shown is live: `live`, `sampled`, `quiet`, or `lost`. */
    #tellState(state) {
        const texts = { live: "Live", sampled: "Live, sampled", lost: "Connection lost" };
        setText(this.#state, texts[state] ?? "");
        this.#state.dataset.state = state;
    }
}

/** `<transfer-sign-in>`: asks for a key and tries it. */
class TransferSignIn extends HTMLElement {
    begin(api, refusal, done) {
        const key = h("input", {
            id: "key",
            type: "password",
            autocomplete: "off",
            autocapitalize: "off",
            spellcheck: "false",
            required: true,
            "aria-describedby": "key-help",
        });
        const problem = h("div");
        if (refusal) fill(problem, failure(refusal));
        const form = h(
            "form",
            null,
            h("h1", null, "transferd"),
            h("label", { for: "key" }, "API key"),
            key,
            h("p", { id: "key-help", class: "quiet" },
                "Operators make keys with ", h("code", null, "transferd keys create"), "; ",
                h("code", null, "make key"), " prints that of ", h("code", null, "make run"), ". ",
                "It is kept until this tab is closed, and sent to this service alone."),
            problem,
            h("button", { type: "submit", class: "primary" }, "Sign in"),
        );
        form.addEventListener("submit", async (event) => {
            event.preventDefault();
            fill(problem);
            try {
                await api.signIn(key.value.trim());
                done();
            } catch (error) {
                fill(problem, failure(error));
                key.focus();
                key.select();
            }
        });
        fill(this, h("main", null, form));
        key.focus();
    }
}

customElements.define("transfer-sign-in", TransferSignIn);
customElements.define("transfer-app", TransferApp);
