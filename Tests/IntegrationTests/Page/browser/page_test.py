"""The page at `/` in a real browser: `page_test.py PORT KEY-FILE SCREENSHOTS`."""

import sys
import time
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

from chromium import Chromium
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from servers import Origin, Receiver
from service import Service

# Texts that would do something if any of them became markup, an address or a template.
CORPUS = [
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "'><svg onload=window.hacked=1>",
    "</title></textarea></style><iframe srcdoc='<script>top.hacked=1</script>'>",
    "javascript:window.hacked=1",
    "{{constructor.constructor('window.hacked=1')()}} ${window.hacked=1}",
    "&lt;b&gt; &#60;script&#62; %3Cscript%3E \\u003cscript\\u003e",
    "<a href=//evil.example/><style>@import'//evil.example/x'</style><base href=//evil.example/>",
]
HTML = "".join(text for text in CORPUS if "\\" not in text)


def setUpModule():
    global service, browser
    port, key_file, screenshots = ARGUMENTS
    service = Service(port, Path(key_file).read_text().strip())
    browser = Chromium(service, screenshots)


def tearDownModule():
    browser.quit()


class PageTest(unittest.TestCase):
    """Every test also holds that the console is silent and no other host is asked."""

    expected_complaint = None

    def setUp(self):
        # Each test has a host of its own, whose connections nobody else takes.
        global origin
        origin = Origin()
        self.addCleanup(origin.stop)
        self.addCleanup(origin.release)
        browser.forget()
        browser.look(1280)
        browser.complaints()
        browser.hosts()

    def tearDown(self):
        complaints = browser.complaints()
        if self.expected_complaint:
            complaints = [c for c in complaints if self.expected_complaint not in c]
        self.assertEqual(complaints, [])
        self.assertLessEqual(browser.hosts(), {service.address})
        self.assertFalse(browser.driver.execute_script("return 'hacked' in window"))

    def await_state(self, task, state):
        end = time.monotonic() + 30
        while (found := service.task(task)["state"]) != state:
            self.assertLess(time.monotonic(), end, f"{found} instead of {state}")
            time.sleep(0.05)

    def await_figure(self, name, value):
        browser.wait(".figure", f"{name}{value}")

    def await_attempts(self, subscription, count):
        end = time.monotonic() + 30
        path = f"/v1/subscriptions/{subscription}/deliveries"
        while len(service.send("GET", path)["items"][0]["attempts"]) < count:
            self.assertLess(time.monotonic(), end, f"no {count} attempts to deliver")
            time.sleep(0.05)


class SigningInTests(PageTest):
    expected_complaint = "401 (Unauthorized)"

    def test_a_wrong_key_is_refused_and_the_right_one_kept_for_the_tab(self):
        browser.driver.get(service.address)
        browser.photograph("sign-in")
        self.assertEqual(browser.faults(), [])
        browser.sign_in("trf_wrong_key")
        browser.wait(".failure", "key")
        self.assertEqual(browser.driver.find_elements(By.CSS_SELECTOR, "header nav"), [])
        browser.sign_in(service.key)
        browser.wait("h1", "Sessions")
        browser.driver.refresh()
        browser.wait("h1", "Sessions")
        kept = browser.driver.execute_script(
            "return [document.cookie, localStorage.length, sessionStorage.length]"
        )
        self.assertEqual(kept, ["", 0, 1])
        browser.click("header button", "Sign out")
        browser.wait("#key")
        left = browser.driver.execute_script("return sessionStorage.length")
        self.assertEqual(left, 0)

    def test_what_can_be_no_key_is_said_to_be_none(self):
        browser.driver.get(service.address)
        # The first cannot be sent in a field, the others would be refused as broken or wrong.
        for text in ["trf_\u043a\u043b\u044e\u0447", "trf_\u00e9", "trf a", "  "]:
            browser.sign_in(text)
            browser.wait(".failure", "This is no API key.")
            browser.driver.refresh()
        browser.sign_in(f" {service.key} ")
        browser.wait("h1", "Sessions")

    def test_a_key_that_has_ended_is_asked_for_again(self):
        keys = service.send("POST", "/v1/keys", {"name": "page", "scopes": ["read"]})
        browser.driver.get(service.address)
        browser.sign_in(keys["key"])
        browser.wait("h1", "Sessions")
        service.send("DELETE", f"/v1/keys/{keys['id']}")
        browser.wait("#key")
        browser.wait(".failure", "key")

    def test_a_key_that_may_only_read_is_told_so(self):
        keys = service.send("POST", "/v1/keys", {"name": "reader", "scopes": ["read"]})
        self.expected_complaint = "403 (Forbidden)"
        service.session("only-read")
        task = service.submit("only-read", [{"url": origin.url("/held/1")}])[0]
        browser.driver.get(f"{service.address}/#/tasks/{task}")
        browser.sign_in(keys["key"])
        browser.click("button", "Suspend")
        browser.wait(".notice.bad", "The key needs the scope “control”")
        origin.release()


class WatchingTests(PageTest):
    def test_a_batch_is_watched_to_its_end(self):
        configuration = {"retry": {"attempts_max": 2, "delay_base": 0.1}}
        service.session("batch", configuration=configuration)
        browser.open("#/sessions/default/batch")
        browser.wait(".empty", "No such tasks")
        held = service.submit("batch", [{"url": origin.url("/held/1")}])[0]
        browser.wait("tbody tr", "/held/1")
        browser.wait("tbody .badge", "running")
        browser.wait("tbody tr", "195 KiB of 391 KiB")
        urls = [f"/file/{n}" for n in range(119)] + ["/missing/1"]
        service.submit("batch", [{"url": origin.url(url)} for url in urls])
        self.await_figure("Completed", 119)
        self.await_figure("Failed", 1)
        self.await_figure("Running", 1)
        browser.wait("transfer-bar[aria-label^='119 completed, 1 failed, 0 cancelled, 1 outst']")
        origin.release()
        self.await_state(held, "completed")
        self.await_figure("Completed", 120)
        browser.wait("p", "121 of 121 tasks of this generation have ended")
        # One page of rows is there, however many tasks there are.
        browser.wait("tbody tr:nth-child(50)")
        self.assertEqual(len(browser.texts("tbody tr")), 50)
        browser.photograph("session-light")
        self.assertEqual(browser.faults(), [])
        browser.click("button", "Next")
        browser.wait("[role=status]", "Page 2, 50 rows")
        browser.click("button", "Next")
        browser.wait("[role=status]", "Page 3, 21 rows")
        browser.wait("tbody tr", "/missing/1")
        browser.click("#state option[value=failed]")
        browser.wait("tbody tr", "status 404")
        browser.wait("tbody tr", "/file/", gone=True)
        browser.open("#/sessions")
        browser.wait("tbody tr", "batch")
        browser.wait("tbody tr", "121 of 121")

    def test_attempts_are_a_timeline(self):
        configuration = {"retry": {"attempts_max": 2, "delay_base": 0.1}}
        service.session("attempts", configuration=configuration)
        task = service.submit("attempts", [{"url": origin.url("/broken/1")}])[0]
        self.await_state(task, "failed")
        browser.open(f"#/tasks/{task}")
        browser.wait("transfer-timeline li .badge", "retried")
        browser.wait("transfer-timeline li .badge", "failed")
        rows = browser.texts("transfer-timeline ol > li")
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertIn("HTTP 503", row)
            self.assertIn("First byte", row)
        self.assertTrue(browser.texts("transfer-timeline .spans span"))
        browser.wait("pre", "Later.")
        # The host gets fewer connections for it, and says why.
        browser.open("#/hosts")
        browser.click("td a", str(origin.port))
        browser.wait("h1", str(origin.port))
        browser.wait("tbody td", "503")
        browser.photograph("host")

    def test_a_start_without_an_event_is_seen(self):
        service.session("starts")
        # Until the origin answers, no event follows.
        task = service.submit("starts", [
            {"url": origin.url("/mute/1"), "earliest_begin_at": "2099-01-01T00:00:00Z"},
        ])[0]
        browser.open("#/sessions/default/starts")
        self.await_figure("Waiting", 1)
        # The change of a date is no event either.
        soon = datetime.now(timezone.utc) + timedelta(seconds=1)
        service.send("PATCH", f"/v1/tasks/{task}", {"earliest_begin_at": soon.isoformat()})
        # The page looks at growing intervals: here for the third time after 28 seconds.
        browser.wait(".figure", "Running1", patience=60)

    def test_little_is_asked_for(self):
        """A session at rest costs nothing, and a busy one no more than a few requests."""
        service.session("calm")
        browser.open("#/sessions/default/calm")
        browser.wait(".live-state", "Live")
        script = "return performance.getEntriesByType('resource').length"
        end = time.monotonic() + 30
        before, count = None, browser.driver.execute_script(script)
        # What opening the page asks for may come late.
        while count != before:
            self.assertLess(time.monotonic(), end, "it asks for more and more")
            # Longer than the pause after which the page looks at a session with tasks again.
            time.sleep(5)
            before, count = count, browser.driver.execute_script(script)


class ConnectionTests(PageTest):
    expected_complaint = "ERR_INTERNET_DISCONNECTED"

    def test_a_list_says_that_it_is_no_longer_live(self):
        self.addCleanup(browser.connect)
        for view in ["hosts", "subscriptions"]:
            browser.open(f"#/{view}")
            browser.wait(".live-state", "Live")
            browser.disconnect()
            browser.wait(".live-state", "Connection lost")
            browser.wait(".failure", "The service cannot be reached.")
            browser.connect()
            browser.wait(".live-state", "Live")
            browser.wait(".failure", gone=True)


class HiddenTests(PageTest):
    """A tab that nobody sees asks for nothing, and shows what is so once it is seen."""

    def test_an_ended_task_that_is_retried_meanwhile_is_read_again(self):
        service.session("unseen")
        task = service.submit("unseen", [{"url": origin.url("/file/1"), "autostart": False}])[0]
        service.send("POST", f"/v1/tasks/{task}/cancel")
        browser.open(f"#/tasks/{task}")
        browser.wait(".state .badge", "cancelled")
        browser.wait(".live-state", "Live")
        browser.hide()
        service.send("POST", f"/v1/tasks/{task}/retry")
        self.await_state(task, "completed")
        browser.show()
        browser.wait(".state .badge", "completed")

    def test_rows_that_were_due_are_read_when_it_is_seen(self):
        service.session("due")
        browser.open("#/sessions/default/due")
        browser.wait(".live-state", "Live")
        service.submit("due", [{"url": origin.url("/file/1"), "autostart": False}])
        browser.wait("tbody tr", "/file/1")
        service.submit("due", [{"url": origin.url("/file/2"), "autostart": False}])
        # The document is read before the rows.
        browser.hide(".figure", "Waiting2")
        # Longer than the pause after which rows are read.
        time.sleep(5)
        browser.show()
        browser.wait("tbody tr", "/file/2")

    def test_an_operation_that_runs_is_not_looked_at(self):
        service.session("unwatched")
        browser.open("#/sessions/default/unwatched")
        browser.wait(".live-state", "Live")
        path = service.path("unwatched", "/bulk-operations")
        # One that does not end.
        browser.driver.execute_script(
            """
            const [path] = arguments;
            const send = fetch;
            window.looks = 0;
            window.fetch = async (url, init) => {
                const response = await send(url, init);
                if (new URL(url).pathname !== path || init.method) return response;
                window.looks += 1;
                return new Response((await response.text()).replace(/"completed"/, '"running"'));
            };
            """,
            path,
        )
        browser.click("button", "Suspend all")
        browser.wait(".operation", "running")
        browser.hide()
        looks = browser.driver.execute_script("return looks")
        # Longer than the pause between two looks.
        time.sleep(5)
        self.assertLessEqual(browser.driver.execute_script("return looks"), looks + 1)
        browser.show()


class FailedRequestTests(PageTest):
    """A request that fails once leaves nothing behind."""

    def test_of_the_document_of_a_session(self):
        service.session("failing")
        browser.open("#/sessions/default/failing")
        browser.wait(".live-state", "Live")
        browser.refuse_once("/v1/sessions/failing", 429, "Too many requests")
        service.submit("failing", [{"url": origin.url("/file/1"), "autostart": False}])
        browser.wait(".live-state", "Connection lost")
        browser.wait(".live-state", "Live")
        self.await_figure("Waiting", 1)

    def test_of_the_rows_of_a_session(self):
        service.session("rows")
        browser.open("#/sessions/default/rows")
        browser.wait(".live-state", "Live")
        browser.refuse_once("/v1/sessions/rows/tasks", 503, "Unavailable")
        service.submit("rows", [{"url": origin.url("/file/1"), "autostart": False}])
        browser.wait(".failure", "Unavailable")
        browser.wait("tbody tr", "/file/1")
        browser.wait(".failure", gone=True)
        browser.wait(".live-state", "Live")

    def test_of_the_bulk_operations(self):
        service.session("failing-bulk")
        browser.open("#/sessions/default/failing-bulk")
        browser.wait(".live-state", "Live")
        path = service.path("failing-bulk", "/bulk-operations")
        browser.refuse_once(path, 503, "Unavailable")
        browser.click("button", "Suspend all")
        browser.wait(".live-state", "Connection lost")
        browser.wait(".operation", "suspend: 0 of 0 tasks changed, completed")
        browser.wait(".live-state", "Live")

    def test_of_a_task_that_is_opened(self):
        service.session("failing-task")
        tasks = [{"url": origin.url("/file/1"), "autostart": False}]
        task = service.submit("failing-task", tasks)[0]
        browser.open("#/sessions")
        browser.wait("tbody tr", "failing-task")
        browser.refuse_once(f"/v1/tasks/{task}", 503, "Unavailable")
        browser.move(f"#/tasks/{task}")
        browser.wait(".failure", "Unavailable")
        browser.wait(".state .badge", "suspended")
        browser.wait(".live-state", "Live")
        self.assertEqual(browser.texts(".failure"), [])

    def test_what_is_refused_is_shown(self):
        service.session("refused")
        browser.open("#/sessions")
        browser.wait("tbody tr", "refused")
        browser.refuse_once("/v1/sessions/refused", 403, "Not with this key")
        browser.move("#/sessions/default/refused")
        browser.wait("transfer-session .failure", "Not with this key")


class QuestionTests(PageTest):
    """A question names what it is about, and ends with its view."""

    def test_it_ends_when_another_view_is_opened(self):
        for name in ["asked", "other"]:
            service.session(name)
        task = service.submit("asked", [{"url": origin.url("/file/1"), "autostart": False}])[0]
        browser.open("#/sessions/default/other")
        browser.move("#/sessions/default/asked")
        browser.wait("tbody tr", "/file/1")
        browser.click("button", "Cancel all")
        browser.wait("dialog[open] h2", "Cancel all outstanding tasks of “asked”?")
        browser.driver.back()
        browser.wait("h1", "other")
        browser.wait("dialog", gone=True)
        self.assertEqual(service.task(task)["state"], "suspended")

    def test_it_ends_with_the_key(self):
        self.expected_complaint = "401 (Unauthorized)"
        service.session("revoked")
        keys = service.send("POST", "/v1/keys", {"name": "asker", "scopes": ["read", "control"]})
        browser.driver.get(f"{service.address}/#/sessions/default/revoked")
        browser.sign_in(keys["key"])
        browser.wait(".live-state", "Live")
        browser.click("button", "Finish")
        browser.wait("dialog[open] h2", "Finish “revoked”?")
        service.send("DELETE", f"/v1/keys/{keys['id']}")
        browser.wait("#key")
        browser.wait("dialog", gone=True)


class LargeSessionTests(PageTest):
    """However many tasks a session has, the page holds one page of them and asks for little."""

    count = 100_000

    def await_count(self, name, value):
        browser.wait(".figure", f"{name}{value:,}", patience=240)

    def hold_that_it_is_small(self):
        self.assertEqual(len(browser.texts("tbody tr")), 50)
        script = "return document.getElementsByTagName('*').length"
        self.assertLess(browser.driver.execute_script(script), 2500)

    def requests(self):
        script = "return performance.getEntriesByType('resource').length"
        return browser.driver.execute_script(script)

    def test_100_000_tasks_stay_pages(self):
        service.session("large")
        batch = [{"url": origin.url("/file/1"), "autostart": False}] * 1000
        for _ in range(self.count // len(batch)):
            service.submit("large", batch)
        browser.open("#/sessions/default/large")
        self.await_count("Waiting", self.count)
        for page in range(1, 8):
            browser.wait("[role=status]", f"Page {page}, 50 rows")
            self.hold_that_it_is_small()
            browser.driver.execute_script("scrollTo(0, document.body.scrollHeight)")
            browser.click("button", "Next")
        browser.click("button", "First")
        browser.wait("[role=status]", "Page 1, 50 rows")
        # From one end to the other without the pages in between.
        browser.click("#order option[value=newest]")
        browser.wait("[role=status]", "Page 1, 50 rows")
        self.hold_that_it_is_small()
        # A filter looks at so many tasks for a page, and the page asks for so many pages.
        text = browser.wait("#string")
        text.send_keys("absent" + Keys.ENTER)
        browser.wait(".empty", "There are none in this part of the list.")
        browser.wait("[role=status]", "Page 1, 0 rows")
        text.clear()
        text.send_keys(Keys.ENTER)
        browser.wait("[role=status]", "Page 1, 50 rows")
        # As many events as there are tasks, while the page is open.
        before, since = self.requests(), time.monotonic()
        browser.click("button", "Cancel all")
        browser.click("dialog button", "Cancel all tasks")
        self.await_count("Cancelled", self.count)
        browser.wait(".operation", f"cancel: {self.count:,} of {self.count:,} tasks changed")
        self.assertLess(self.requests() - before, 20 + 3 * (time.monotonic() - since))
        self.hold_that_it_is_small()
        browser.photograph("session-large")


class ChangingTests(PageTest):
    def test_a_task_is_suspended_resumed_cancelled_retried_and_deleted(self):
        service.session("change")
        task = service.submit("change", [{"url": origin.url("/held/1")}])[0]
        browser.open(f"#/tasks/{task}")
        browser.wait(".state .badge", "running")
        browser.click("button", "Suspend")
        browser.wait(".state .badge", "suspended")
        browser.click("button", "Resume")
        browser.wait(".state .badge", "running")
        browser.click("button", "Cancel")
        browser.wait("dialog[open] h2", f"Cancel the task “{origin.url('/held/1')}”?")
        browser.photograph("question")
        self.assertEqual(browser.faults(), [])
        browser.click("dialog button", "Keep as it is")
        browser.wait("dialog", gone=True)
        self.assertEqual(service.task(task)["state"], "running")
        browser.click("button", "Cancel")
        browser.click("dialog button", "Cancel the task")
        browser.wait(".state .badge", "cancelled")
        self.await_state(task, "cancelled")
        origin.release()
        browser.click("button", "Retry")
        browser.wait(".state .badge", "completed")
        browser.click("button", "Delete")
        browser.click("dialog button", "Delete the task")
        browser.wait("h1", "change")
        browser.wait(".notice", "The task is deleted.")

    def test_a_waiting_task_is_answered_and_changed(self):
        service.session("asks")
        soon = datetime.now(timezone.utc) + timedelta(seconds=1)
        task = service.submit("asks", [{
            "url": origin.url("/file/1"),
            "asks_to_begin": True,
            "earliest_begin_at": soon.isoformat(),
        }])[0]
        browser.open(f"#/tasks/{task}")
        browser.wait(".state .badge", "waiting to begin")
        browser.click("button", "Begin")
        browser.wait(".state .badge", "completed")

        secret = {"kind": "bearer", "token": "open", "origins": [origin.url("")]}
        service.send("PUT", "/v1/credentials/opener", secret)
        locked = [{"url": origin.url(f"/locked/{n}")} for n in range(2)]
        refused, opened = service.submit("asks", locked)
        browser.open(f"#/tasks/{refused}")
        browser.wait(".state .badge", "waiting for authentication")
        browser.click("button", "Reject")
        browser.click("dialog button", "Fail the task")
        browser.wait(".state .badge", "failed")
        browser.open(f"#/tasks/{opened}")
        browser.click("button", "Use a credential")
        browser.wait("dialog option", "opener")
        browser.photograph("credential")
        self.assertEqual(browser.faults(), [])
        browser.click("dialog button", "Use it")
        browser.wait(".state .badge", "completed")

        later = service.submit("asks", [{
            "url": origin.url("/file/2"),
            "earliest_begin_at": "2099-01-01T00:00:30Z",
        }])[0]
        browser.open(f"#/tasks/{later}")
        browser.click("button", "Change")
        browser.wait("dialog #priority").clear()
        browser.wait("dialog #priority").send_keys("0.875")
        self.assertEqual(browser.faults(), [])
        browser.click("dialog button", "Change the task")
        browser.wait(".facts dd", "0.875")
        # What was not touched is not changed, also not by its seconds.
        begin = service.task(later)["earliest_begin_at"]
        self.assertEqual(begin, "2099-01-01T00:00:30.000000Z")
        browser.click("button", "Change")
        browser.wait("dialog #begin").clear()
        browser.click("dialog button", "Change the task")
        self.await_state(later, "completed")

    def test_all_tasks_of_a_session_are_changed_at_once(self):
        service.session("bulk", configuration={"retry": {"attempts_max": 1}})
        urls = [f"/held/{n}" for n in range(4)] + ["/missing/1"]
        service.submit("bulk", [{"url": origin.url(url)} for url in urls])
        browser.open("#/sessions/default/bulk")
        self.await_figure("Failed", 1)
        browser.click("button", "Suspend all")
        browser.wait(".operation", "suspend: 4 of 4 tasks changed, completed")
        self.await_figure("Waiting", 4)
        browser.click("button", "Resume all")
        browser.wait(".operation", "resume: 4 of 4 tasks changed, completed")
        self.await_figure("Running", 4)
        browser.click("button", "Cancel all")
        browser.click("dialog button", "Cancel all tasks")
        self.await_figure("Cancelled", 4)
        browser.click("button", "Retry failed")
        browser.wait(".operation", "retry: 1 of 1 tasks changed, completed")
        browser.click("button", "Invalidate")
        browser.click("dialog button", "Invalidate the session")
        browser.wait("p", "This session has ended")
        self.hold_that_nothing_can_be_done()
        # The stream of an ended session is not asked for again and again.
        self.expected_complaint = "404 (Not Found)"

    def test_a_session_that_never_was_is_not_said_to_have_ended(self):
        self.expected_complaint = "404 (Not Found)"
        # Neither the session nor, then, its client is known.
        for client in ["default", "nobody"]:
            browser.open(f"#/sessions/{client}/never")
            browser.wait("p", "There is no session of this name")
            self.hold_that_nothing_can_be_done()

    def hold_that_nothing_can_be_done(self):
        actions = browser.wait("[role=group]", "Invalidate")
        self.assertFalse(actions.is_displayed())

    def test_the_newest_of_many_operations_are_shown(self):
        service.session("operations")
        path = service.path("operations", "/bulk-operations")
        for _ in range(200):
            service.send("POST", path, {"verb": "suspend"})
        # One more than a page of the list holds.
        service.send("POST", path, {"verb": "cancel"})
        browser.open("#/sessions/default/operations")
        browser.wait(".operation", "cancel: 0 of 0 tasks changed")
        texts = browser.texts(".operation")
        self.assertEqual(len(texts), 3)
        self.assertIn("cancel", texts[0])

    def test_a_delivery_is_replayed(self):
        receiver = Receiver(500, answer=HTML.encode())
        hook = {"url": receiver.url("/hook"), "session_identifier": "hooks", "description": HTML}
        service.session("hooks")
        subscription = service.send("POST", "/v1/subscriptions", hook)["id"]
        service.submit("hooks", [{"url": origin.url("/file/1")}])
        browser.open("#/subscriptions")
        browser.wait("td", HTML[:40])
        browser.click("td a", receiver.url("/hook"))
        browser.wait("tbody .badge", "waiting")
        browser.wait("tbody td", "500")
        browser.wait("tbody td .foreign", CORPUS[0])
        browser.photograph("deliveries")
        self.assertEqual(browser.faults(), [])
        # The second attempt comes by itself, and the third one only after minutes.
        self.await_attempts(subscription, 2)
        receiver.status = 204
        browser.click("tbody button", "Replay")
        browser.wait(".notice", "The message is sent again.")
        browser.wait(".attempts li", "accepted, 204")
        identifiers = {identifier for identifier, _, _ in receiver.received}
        self.assertEqual(len(identifiers), 1)
        self.assertEqual(receiver.received[-1][2], 204)
        browser.click("button", "Send a test")
        browser.wait(".notice", "Accepted with 204")
        browser.click("button", "Disable")
        browser.wait(".badge", "disabled")
        self.assertFalse(service.send("GET", f"/v1/subscriptions/{subscription}")["enabled"])
        browser.click("button", "Enable")
        browser.wait(".badge", "enabled")
        receiver.stop()


class StrangersTests(PageTest):
    """Text of strangers stays text, wherever it is shown."""

    def look_for(self, identifier):
        field = browser.wait("#prefix")
        field.clear()
        field.send_keys(identifier[:6] + "\n")

    def test_sessions_tasks_and_responses(self):
        origin.missing = HTML.encode()
        origin.fields = {"X-Note": HTML, "Content-Type": "text/html", "ETag": '"<b>"'}
        identifiers = [text[:255] for text in CORPUS] + ["a/b?c#d%2F", "\u202egnp.exe"]
        tasks = []
        for index, identifier in enumerate(identifiers):
            service.session(identifier, configuration={"retry": {"attempts_max": 1}})
            tasks += service.submit(identifier, [
                {
                    "url": origin.url(f"/{kind}/{index}?q={CORPUS[1].replace(' ', '%20')}"),
                    "client_persisted_string": identifier + "\u202e\u0000\u2066",
                    "destination": {"path": f"<img src=x onerror=window.hacked=1> {kind} {index}"},
                }
                for kind in ("file", "missing")
            ])
        browser.open("#/sessions")
        for identifier in CORPUS:
            # All sessions of all tests do not fit on a page.
            self.look_for(identifier)
            browser.wait("td bdi", identifier)
        self.look_for("\u202egnp.exe")
        browser.wait("td bdi", "\\u{202e}gnp.exe")
        self.look_for("")
        browser.photograph("strangers-sessions")
        for identifier in [CORPUS[0], "a/b?c#d%2F", CORPUS[7]]:
            browser.open("#/sessions")
            self.look_for(identifier)
            browser.click("td a", identifier)
            browser.wait("h1 bdi", identifier)
            self.await_figure("Completed", 1)
            browser.wait("tbody td bdi", identifier + "\\u{202e}\\u{0}\\u{2066}")
            self.hold_that_nothing_is_markup()
        for task in tasks[:2]:
            self.await_state(task, "completed" if task == tasks[0] else "failed")
            browser.open(f"#/tasks/{task}")
            browser.wait(".facts dd", CORPUS[0])
            if task == tasks[0]:
                browser.wait("details .facts dd", CORPUS[1])
            else:
                browser.wait("pre", CORPUS[1])
            self.hold_that_nothing_is_markup()
            browser.photograph("strangers-task")
            self.assertEqual(browser.faults(), [])

    def test_no_two_names_look_the_same(self):
        hidden = ["3164", "115f", "34f", "fe0f", "2800"]
        # The last is cut, and its code point makes what is shown longer than the name is.
        names = [f"twin{chr(int(code, 16))}" for code in hidden] + ["twin\u202e" + "a" * 196]
        # Of spaces, one between other characters is shown as it is.
        spaces = {"twin  s": "twin \\u{20}s", "twin\u00a0s": "twin\\u{a0}s", "twin ": "twin\\u{20}"}
        names += ["twin s", *spaces]
        for name in names:
            service.session(name)
            self.addCleanup(service.send, "POST", service.path(name, "/invalidate"))
        browser.open("#/sessions")
        browser.wait("#prefix").send_keys("twin" + Keys.ENTER)
        for code in hidden:
            browser.wait("td bdi", f"twin\\u{{{code}}}")
        for shown in ["twin s", *spaces.values()]:
            browser.wait("td bdi", shown)
        browser.wait("td bdi", "twin\\u{202e}" + "a" * 195 + "…")
        browser.click("td a", "twin\\u{202e}")
        browser.click("button", "Invalidate")
        browser.wait("dialog[open] h2", "Invalidate “twin\\u{202e}" + "a" * 55 + "…”?")
        browser.click("dialog button", "Keep as it is")

    def test_a_name_of_spaces_can_be_opened(self):
        service.session("   ")
        self.addCleanup(service.send, "POST", service.path("   ", "/invalidate"))
        browser.open("#/sessions")
        browser.click("td a", "\\u{20}\\u{20}\\u{20}")
        browser.wait("h1", "\\u{20}\\u{20}\\u{20}")

    def test_marks_do_not_reach_into_other_lines(self):
        service.session("Z" + "\u0301" * 6)
        browser.open("#/sessions/default/Z" + "%CC%81" * 6)
        browser.wait("h1", "Z" + "\u0301" * 4 + "\\u{301}\\u{301}")

    def test_names_in_the_background(self):
        settings = {"permitted_identifiers": ["*"]}
        service.send("PATCH", "/v1/tenant/background-settings", settings)
        service.send("POST", "/v1/assertions", {"name": CORPUS[1], "client": "default"})
        name = "com.example.refresh"
        handler = {"kind": "processing", "has_expiration_handler": True}
        service.send("PUT", f"/v1/background-tasks/handlers/{name}", handler)
        service.send("POST", "/v1/background-tasks/requests", {
            "identifier": name,
            "earliest_begin_at": "2099-01-01T00:00:00Z",
        })
        browser.open("#/background")
        browser.wait("td bdi", CORPUS[1])
        browser.wait("td", "date")
        browser.wait("td bdi", name)
        browser.wait("#client option", "default")
        self.hold_that_nothing_is_markup()
        browser.photograph("background")
        self.assertEqual(browser.faults(), [])
        for address in ["#/sessions/%E0%A4%A", "#/tasks/<script>", "#/__proto__", "#/hosts/<b>"]:
            browser.open(address)
            browser.wait("h1")
        self.expected_complaint = "404 (Not Found)"

    def hold_that_nothing_is_markup(self):
        found = browser.driver.execute_script(
            """
            const all = [...document.querySelectorAll("*")];
            return [
                document.scripts.length,
                all.filter((e) => ["IMG", "IFRAME", "BASE", "OBJECT"].includes(e.tagName)).length,
                all.filter((e) => e.getAttributeNames().some((n) => n.startsWith("on"))).length,
                [...document.links].filter((a) => a.origin !== location.origin).length,
            ];
            """
        )
        self.assertEqual(found, [1, 0, 0, 0])


class ClientsTests(PageTest):
    def test_every_client_can_be_chosen_and_none_is_left_unasked(self):
        # With `default`, which comes behind them, two more than a page of the list holds.
        for number in range(201):
            service.send("PUT", f"/v1/clients/a{number:03}")
        browser.open("#/background")
        browser.wait("#client option", "a200")
        self.assertEqual(self.chosen(), "default")
        browser.click("#client option[value=a200]")
        self.assertEqual(self.chosen(), "a200")
        browser.wait("#client option", "default")

    def test_a_client_is_followed_from_its_last_event(self):
        service.send("PUT", "/v1/clients/lively")
        for verb in ["background", "launch"] * 3:
            service.send("POST", f"/v1/clients/lively/{verb}")
        client = service.send("GET", "/v1/clients/lively")
        log, last = client["id"], client["last_event_sequence"]
        browser.open("#/background")
        self.make_streams_breakable()
        browser.click("#client option[value=lively]")
        urls = self.await_requests("/v1/clients/lively/events")
        service.send("POST", "/v1/clients/lively/background")
        browser.wait(".badge", "background")
        browser.driver.execute_script("breakStreams()")
        service.send("POST", "/v1/clients/lively/launch")
        browser.wait(".badge", "active")
        urls += self.await_requests("/v1/clients/lively/events")
        for url in urls:
            self.assertRegex(url, f"after={log}%3A({last}|{last + 1})$")

    def make_streams_breakable(self):
        browser.driver.execute_script(
            """
            const send = fetch;
            const stop = new AbortController();
            window.fetch = (url, init) => {
                if (init.headers.Accept !== "text/event-stream") return send(url, init);
                return send(url, { ...init, signal: AbortSignal.any([init.signal, stop.signal]) });
            };
            window.breakStreams = () => {
                window.fetch = send;
                stop.abort();
            };
            """
        )

    def await_requests(self, path):
        end = time.monotonic() + 30
        found = []
        while not found:
            self.assertLess(time.monotonic(), end, f"no requests for {path}")
            found = [url for url in browser.requests() if path in url]
            time.sleep(0.05)
        return found

    def chosen(self):
        return browser.driver.execute_script("return document.querySelector('#client').value")


class LookingTests(PageTest):
    def test_every_view_fits_and_can_be_read(self):
        service.session("looks", configuration={"retry": {"attempts_max": 2, "delay_base": 0.1}})
        tasks = service.submit("looks", [
            {"url": origin.url("/held/1"), "client_persisted_string": "album 7"},
            {"url": origin.url("/file/" + "long-name-" * 30)},
            {"url": origin.url("/missing/1")},
            {"url": origin.url("/file/2"), "earliest_begin_at": "2099-01-01T00:00:00Z"},
            {"url": origin.url("/broken/1")},
        ])
        self.await_state(tasks[4], "failed")
        subscriptions = service.send("GET", "/v1/subscriptions")["items"]
        views = {
            "sessions": ("#/sessions", "tbody tr"),
            "session": ("#/sessions/default/looks", "tbody tr"),
            "task": (f"#/tasks/{tasks[4]}", "transfer-timeline li"),
            "hosts": ("#/hosts", "h1"),
            "subscriptions": ("#/subscriptions", "h1"),
            "background": ("#/background", "h2"),
            "tenant": ("#/tenant", ".facts"),
        }
        if subscriptions:
            views["deliveries"] = (f"#/subscriptions/{subscriptions[0]['id']}", ".facts")
        every, some = list(views), ["sessions", "session", "task"]
        contrast = ["color-contrast"]
        for width, scheme, names, rules in [
            (1600, "light", every, None),
            (1600, "dark", every, contrast),
            (320, "light", every, contrast),
            (320, "dark", some, contrast),
        ]:
            browser.look(width, scheme=scheme)
            for name in names:
                address, selector = views[name]
                browser.open(address)
                browser.wait(selector)
                browser.wait(".live-state", "Live")
                where = f"{name}-{scheme}-{width}"
                self.assertLessEqual(browser.overflow(), 0, where)
                browser.photograph(where)
                self.assertEqual(browser.faults(rules), [], where)

    def test_the_keyboard_reaches_everything_and_is_seen(self):
        service.session("keys")
        service.submit("keys", [{"url": origin.url("/held/1")}])
        browser.open("#/sessions/default/keys")
        browser.wait("tbody .badge", "running")
        active = browser.driver.switch_to.active_element
        reached = []
        for _ in range(30):
            active.send_keys(Keys.TAB)
            active = browser.driver.switch_to.active_element
            seen = browser.driver.execute_script(
                """
                const e = document.activeElement;
                const style = getComputedStyle(e);
                const label = e.labels?.[0]?.textContent;
                const name = e.getAttribute("aria-label") ?? label ?? e.textContent;
                return [e.tagName, name, style.outlineStyle, parseFloat(style.outlineWidth)];
                """
            )
            if seen[0] == "BODY":
                break
            reached.append(seen[1])
            self.assertNotEqual(seen[2], "none", seen)
            self.assertGreaterEqual(seen[3], 1, seen)
        begin = ["Skip to the content", "transferd", "Sessions", "Hosts", "Subscriptions"]
        self.assertEqual(reached[:5], begin)
        url = origin.url("/held/1")
        for name in ["Suspend all", "Invalidate…", "State", "Client string is", f"Suspend {url}"]:
            self.assertIn(name, reached)
        # A question takes the focus, Escape answers no, and the focus goes back.
        cancel = browser.wait(f"button[aria-label='Cancel {url}']")
        cancel.send_keys(Keys.ENTER)
        browser.wait("dialog[open]")
        focused = browser.driver.switch_to.active_element
        self.assertEqual(focused.text, "Keep as it is")
        focused.send_keys(Keys.ESCAPE)
        browser.wait("dialog", gone=True)
        label = browser.driver.switch_to.active_element.get_attribute("aria-label")
        self.assertEqual(label, f"Cancel {url}")
        # A change of the view moves the focus to its heading.
        browser.wait("header nav a", "Hosts").send_keys(Keys.ENTER)
        browser.wait("h1", "Hosts")
        self.assertEqual(browser.driver.switch_to.active_element.text, "Hosts")


if __name__ == "__main__":
    ARGUMENTS = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2, failfast=False)
