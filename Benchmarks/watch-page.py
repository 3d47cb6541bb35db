"""Watches a session on the page in Chromium until its input ends: `watch-page.py URL IDENTIFIER`.

The first line of the input is the key. Prints `open` once the view is live, and in the end how many
requests the page has made and what the browser has complained of.
"""

import json
import os
import shutil
import sys

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

LIVE = "return document.querySelector('.live-state')?.textContent.includes('Live')"
REQUESTS = "return performance.getEntriesByType('resource').length"


def main():
    url, identifier = sys.argv[1:]
    key = sys.stdin.readline().strip()
    options = Options()
    options.binary_location = shutil.which("chromium")
    for option in ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]:
        options.add_argument(option)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.get(f"{url}/#/sessions/default/{identifier}")
        wait = WebDriverWait(driver, 60)
        wait.until(lambda d: d.find_elements("id", "key"))[0].send_keys(key + "\n")
        wait.until(lambda d: d.execute_script(LIVE))
        print("open", flush=True)
        sys.stdin.read()
        requests = driver.execute_script(REQUESTS)
        complaints = [entry["message"] for entry in driver.get_log("browser")]
        print(json.dumps({"requests": requests, "complaints": complaints}), flush=True)
    finally:
        driver.quit()


main()
