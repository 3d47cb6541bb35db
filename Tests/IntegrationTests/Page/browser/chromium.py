"""The browser of these tests: Debian's Chromium, driven by chromedriver."""

import base64
import importlib.util
import json
import os
import shutil
import time
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service as DriverService
from selenium.webdriver.common.by import By

PATIENCE = 30
FIND = """
    const [selector, text] = arguments;
    const all = [...document.querySelectorAll(selector)];
    return all.find((e) => text === null || e.textContent.includes(text)) ?? null;
"""


class Chromium:
    """One browser for all tests; each begins with an empty tab."""

    def __init__(self, service, screenshots):
        self.service = service
        self.screenshots = Path(screenshots)
        self.screenshots.mkdir(parents=True, exist_ok=True)
        options = Options()
        options.binary_location = shutil.which("chromium")
        for option in ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage"]:
            options.add_argument(option)
        # What the browser asks its maker for is no request of the page.
        for option in ["--disable-background-networking", "--disable-sync", "--no-first-run"]:
            options.add_argument(option)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(
            options=options, service=DriverService(shutil.which("chromedriver"))
        )
        # `find_spec` does not import the package, which would need Playwright.
        package = importlib.util.find_spec("axe_playwright_python").origin
        self.axe = (Path(package).parent / "axe.min.js").read_text()

    def quit(self):
        self.driver.quit()

    # Moving about

    def open(self, address=""):
        """Opens a view in the state of a signed-in tab."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.service.address}/{address}")
        if self.driver.find_elements(By.ID, "key"):
            self.sign_in(self.service.key)

    def move(self, address):
        """Opens another view of the page that is there."""
        self.driver.execute_script("location.hash = arguments[0]", address)

    def forget(self):
        """Forgets the key, as a new tab has none."""
        self.driver.get(f"{self.service.address}/page/icon.svg")
        self.driver.execute_script("sessionStorage.clear()")

    def sign_in(self, key):
        field = self.wait("#key")
        field.clear()
        field.send_keys(key + "\n")

    def wait(self, selector, text=None, gone=False, patience=PATIENCE):
        """Waits until an element is there, with a text in it, and answers with it."""
        end = time.monotonic() + patience
        while True:
            found = self.driver.execute_script(FIND, selector, text)
            if gone and found is None:
                return None
            if not gone and found is not None:
                return found
            if time.monotonic() > end:
                page = self.driver.find_element(By.TAG_NAME, "body").text
                verb = "is still there" if gone else "is not there"
                raise AssertionError(f"{selector} with {text!r} {verb}:\n{page[:3000]}")
            time.sleep(0.05)

    def click(self, selector, text=None):
        """Clicks on an element that may be made again meanwhile."""
        for _ in range(20):
            try:
                element = self.wait(selector, text)
                self.driver.execute_script(
                    "arguments[0].scrollIntoView({block: 'center'})", element
                )
                element.click()
                return
            except StaleElementReferenceException:
                continue
        raise AssertionError(f"{selector} does not stay")

    def texts(self, selector):
        script = """
            return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)
        """
        return self.driver.execute_script(script, selector)

    # Looking

    def look(self, width, height=900, scheme="light"):
        """Sets the width of the window and the colours that the user prefers."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1}
        # A telephone's bars for scrolling take no room.
        size["mobile"] = width < 600
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def disconnect(self):
        """Lets no request reach the service, until `connect` is called."""
        self.driver.set_network_conditions(offline=True, latency=0, throughput=1 << 20)

    def connect(self):
        self.driver.delete_network_conditions()

    def hide(self, selector="body", text=""):
        """Makes the page believe that its tab is hidden, as soon as an element has a text."""
        self.driver.execute_async_script(
            """
            const [selector, text, done] = arguments;
            const timer = setInterval(() => {
                const all = [...document.querySelectorAll(selector)];
                if (!all.some((element) => element.textContent.includes(text))) return;
                clearInterval(timer);
                Object.defineProperty(document, "hidden", { get: () => true, configurable: true });
                document.dispatchEvent(new Event("visibilitychange"));
                done();
            }, 10);
            """,
            selector,
            text,
        )

    def show(self):
        """Makes the page believe that its tab is seen again."""
        self.driver.execute_script(
            """
            delete document.hidden;
            document.dispatchEvent(new Event("visibilitychange"));
            """
        )

    def refuse_once(self, path, status, title):
        """Answers the next request for the document at a path with a problem."""
        self.driver.execute_script(
            """
            const [path, status, title] = arguments;
            const send = fetch;
            window.fetch = (url, init) => {
                const isMeant = new URL(url).pathname === path && !init.method;
                if (!isMeant) return send(url, init);
                window.fetch = send;
                const headers = { "Retry-After": "1" };
                return Promise.resolve(
                    new Response(JSON.stringify({ status, title }), { status, headers }));
            };
            """,
            path,
            status,
            title,
        )

    def photograph(self, name):
        """Keeps a picture of the whole page."""
        content = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "scale": 1, **{k: content[k] for k in ("width", "height")}}
        clip["height"] = min(clip["height"], 4000)
        picture = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
        (self.screenshots / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))

    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self.driver.execute_script(
            "return document.documentElement.scrollWidth - innerWidth"
        )

    def faults(self, rules=None):
        """What axe finds against WCAG 2.2 at the level AA, or against some rules alone."""
        if not self.driver.execute_script("return 'axe' in window"):
            self.driver.execute_script(self.axe)
        found = self.driver.execute_async_script(
            """
            const [rules, done] = arguments;
            const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
            const only = rules ? { type: "rule", values: rules } : { type: "tag", values: tags };
            axe.run(document, { runOnly: only, resultTypes: ["violations"] })
                .then((result) => done(result.violations), (error) => done([String(error)]));
            """,
            rules,
        )
        return [
            f if isinstance(f, str) else (f["id"], [n["html"][:200] for n in f["nodes"]])
            for f in found
        ]

    # What must not happen

    def complaints(self):
        """What the browser has written to its console, except about an icon: it asks for one by
        itself for the bare file on which `forget` works, and is refused at any time later."""
        messages = [entry["message"] for entry in self.driver.get_log("browser")]
        return [message for message in messages if "/favicon.ico" not in message]

    def hosts(self):
        """The origins that requests have gone to since the last time."""
        return {"/".join(url.split("/")[:3]) for url in self.requests()}

    def requests(self):
        """The addresses of the requests since the last time."""
        urls = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] != "Network.requestWillBeSent":
                continue
            url = message["params"]["request"]["url"]
            if not url.startswith(("data:", "about:", "blob:")):
                urls.append(url)
        return urls
