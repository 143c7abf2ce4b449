"""Has speedscope read traces, in a headless Chromium: a program that is not ours. It says what it has read: for each
lane of each process a profile with its name.

    speedscope.py FOLDER TRACE.json ...     FOLDER: of the npm package, with dist/release/index.html

Exits with 1 unless it has read each, without a word on its console, and has as many lanes as the trace.
"""

import base64
import json
import os
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

SWITCHES = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
            "--allow-file-access-from-files", "--enable-unsafe-swiftshader"]


def open_browser(home):
    options = Options()
    for switch in SWITCHES + ["--user-data-dir=" + home]:
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def lanes_of(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return len({(event["pid"], event["tid"]) for event in events if event["ph"] == "X"})


def read(browser, folder, path, work):
    script = os.path.join(work, "profile.js")
    with open(path, "rb") as file, open(script, "w", encoding="utf-8") as out:
        out.write("speedscope.loadFileFromBase64('trace.json', '%s')" % base64.b64encode(file.read()).decode())
    browser.get("about:blank")
    browser.get("file://%s/dist/release/index.html#localProfilePath=%s" % (os.path.abspath(folder), script))
    wanted = "(1/%d)" % lanes_of(path) # "(1/39)": the first of so many profiles, one a lane.
    text = ""
    for _ in range(100):
        time.sleep(0.2)
        text = browser.find_element("tag name", "body").text
        if wanted in text or "Something went wrong" in text:
            break
    said = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    if wanted not in text or said:
        print("speedscope.py: %s: no %s, but %r; the console: %s" % (path, wanted, text[:300], said[:3]))
        sys.exit(1)
    print("%s: %d lanes" % (path, lanes_of(path)))


def main():
    with tempfile.TemporaryDirectory() as work:
        browser = open_browser(os.path.join(work, "home"))
        try:
            for path in sys.argv[2:]:
                read(browser, sys.argv[1], path, work)
        finally:
            browser.quit()


main()
