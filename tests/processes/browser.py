"""Looks at report.html in a headless Chromium, as people do: on large and small screens, light and dark, printed,
and without scripts; and takes pictures of what it saw. Exits with 1, and says what is wrong, unless all is well.

    browser.py PICTURES NAME=report.html ...     each page, its pictures as PICTURES/NAME-390-dark.png and so on
    browser.py --spoilt report.html              spoils the page in every way that it looks for, and exits with 1
                                                 unless each is found

What must hold: no page scrolls sideways, nothing is cut, no text is smaller than 11 pixels or stands out from its
ground by less than 4.5 to 1, the switch shows what it says with scripts and without, arms that are ticked stand out,
on paper there are the curves against seconds, nothing is asked for from outside, and the console is empty.
"""

import base64
import json
import os
import shutil
import sys
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

SCREENS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
SCALES = ["seconds", "updates", "examples", "bytes"]
SWITCHES = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
            "--hide-scrollbars"]

# All that is measured in the page at once: a list of complaints.
MEASURE = r"""
const faults = [], least = 11, contrast = 4.5, slack = 1.5;
const say = (what, element) => {
    if (faults.length < 20) faults.push(what + ': ' + (element.textContent || '').trim().slice(0, 60));
};
const shown = element => element.checkVisibility({visibilityProperty: true, opacityProperty: false});
const channels = text => {
    const found = (text.match(/[\d.]+/g) || []).map(Number);
    return {rgb: found.slice(0, 3), alpha: text === 'transparent' || text === 'none' ? 0 : found.length > 3 ? found[3] : 1};
};
const over = (colour, alpha, ground) => colour.map((c, i) => c * alpha + ground[i] * (1 - alpha));
const light = rgb => {
    const [r, g, b] = rgb.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
};
const ground_of = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
        const colour = channels(getComputedStyle(at).backgroundColor);
        layers.push(colour);
        if (colour.alpha === 1) break;
    }
    return layers.reverse().reduce((ground, colour) => over(colour.rgb, colour.alpha, ground), [255, 255, 255]);
};
/* Behind a text of a picture: the boxes that are drawn before it. */
const ground_in_picture = text => {
    const box = text.getBoundingClientRect(), x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
    let ground = [255, 255, 255];
    for (const shape of text.ownerSVGElement.querySelectorAll('rect')) {
        if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
        const at = shape.getBoundingClientRect(), style = getComputedStyle(shape), fill = channels(style.fill);
        if (at.left <= x && x <= at.right && at.top <= y && y <= at.bottom)
            ground = over(fill.rgb, fill.alpha * Number(style.fillOpacity), ground);
    }
    return ground;
};
const check_text = (element, size, colour, ground) => {
    if (size < least) say('small text (' + size.toFixed(1) + ' px)', element);
    const found = ratio(over(colour.rgb, colour.alpha, ground), ground);
    if (found < contrast) say('faint text (' + found.toFixed(1) + ' : 1)', element);
};

const wide = document.documentElement.scrollWidth;
if (wide > innerWidth) faults.push('scrolls sideways: ' + wide + ' > ' + innerWidth);
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const range = document.createRange();
let seen = 0;
while (texts.nextNode()) {
    const node = texts.currentNode, element = node.parentElement;
    if (!node.data.trim() || element.closest('title, desc, style, script') || !shown(element)) continue;
    seen++;
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect(), style = getComputedStyle(element);
    const picture = element.closest('svg');
    if (picture) {
        const frame = picture.getBoundingClientRect(), own = element.getBoundingClientRect();
        const scale = element.getScreenCTM().a;
        if (own.left < frame.left - slack || own.right > frame.right + slack || own.top < frame.top - slack ||
            own.bottom > frame.bottom + slack)
            say('cut by its picture', element);
        if (frame.left < -slack || frame.right > innerWidth + slack) say('cut by the screen', element);
        check_text(element, parseFloat(style.fontSize) * Math.abs(scale || 1), channels(style.fill),
                   ground_in_picture(element));
        continue;
    }
    const scroller = element.closest('.wide');
    if (!scroller && (box.left < -slack || box.right > innerWidth + slack)) say('cut by the screen', element);
    for (let at = element; at && at !== document.body; at = at.parentElement) {
        const of = getComputedStyle(at);
        if ((of.overflowX === 'hidden' || of.overflowX === 'clip') && at.scrollWidth > at.clientWidth + slack)
            say('cut by its box', element);
    }
    check_text(element, parseFloat(style.fontSize), channels(style.color), ground_of(element));
}
/* A table that is wider than its box can be scrolled to its end. */
for (const box of document.querySelectorAll('.wide')) {
    const kind = getComputedStyle(box).overflowX;
    if (box.scrollWidth > box.clientWidth + slack && kind !== 'auto' && kind !== 'scroll') say('cut table', box);
    if (box.getBoundingClientRect().right > innerWidth + slack) say('table beyond the screen', box);
}
if (seen < 50) faults.push('there is hardly any text: ' + seen);
return faults;
"""

# Which curves are shown: of each scale how many pictures, and their titles.
CURVES = r"""
const found = {};
for (const by of document.querySelectorAll('figure .by')) {
    const scale = [...by.classList].find(name => name.startsWith('by-')).slice(3);
    const pictures = [...by.querySelectorAll('svg')].filter(svg => svg.checkVisibility());
    found[scale] = (found[scale] || []).concat(pictures.map(svg => svg.querySelector('text').textContent));
}
return found;
"""

STANDING_OUT = r"""
return [...document.querySelectorAll('#loss .by-seconds .arm')].filter(arm => arm.checkVisibility())
    .map(arm => [arm.classList[1], Number(getComputedStyle(arm).opacity)]);
"""


class Look:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="syncopate-browser-")
        self.faults = []
        options = Options()
        options.binary_location = shutil.which("chromium") or ""
        for switch in SWITCHES + [f"--user-data-dir={self.folder}/profile"]:
            options.add_argument(switch)
        options.add_experimental_option("perfLoggingPrefs", {"enableNetwork": True, "enablePage": False})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.pages = ()

    def close(self):
        self.driver.quit()
        shutil.rmtree(self.folder, ignore_errors=True)

    def tell(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def fault(self, where, what):
        self.faults.append(f"{where}: {what}")

    def open(self, path, width, scheme, media=""):
        self.tell("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                  mobile=width < 500)
        self.pages += ("file://" + path,)
        self.driver.get(self.pages[-1])

    def ask(self, script):
        return self.driver.execute_script(script)

    def picture(self, path):
        size = self.tell("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
        data = self.tell("Page.captureScreenshot", captureBeyondViewport=True, optimizeForSpeed=True,
                         clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def click(self, name):
        """As a finger does it, so that it works without scripts: in the middle of the label."""
        self.ask(f"document.getElementById('{name}').scrollIntoView({{block: 'center'}})")
        box = self.ask(f"return document.getElementById('{name}').getBoundingClientRect().toJSON()")
        for kind in ("mousePressed", "mouseReleased"):
            self.tell("Input.dispatchMouseEvent", type=kind, x=box["x"] + box["width"] / 2,
                      y=box["y"] + box["height"] / 2, button="left", clickCount=1)

    # --- what is looked at ---------------------------------------------------------------------

    def screens(self, name, path, pictures):
        for width, scheme in SCREENS:
            self.open(path, width, scheme)
            where = f"{name} at {width} px, {scheme}"
            for fault in self.ask(MEASURE):
                self.fault(where, fault)
            if pictures:
                self.picture(f"{pictures}/{name}-{width}-{scheme}.png")
            if (width, scheme) in (SCREENS[0], SCREENS[-1]):
                self.switch(where)

    def switch(self, where):
        for scale in ["updates", "examples", "bytes", "seconds"]:
            self.click("x-" + scale)
            shown = self.ask(CURVES)
            others = [other for other in SCALES if other != scale and shown.get(other)]
            titles = [title for title in shown.get(scale, []) if title.endswith("against " + scale)]
            if others or len(titles) != 3 or len(shown[scale]) != 3:
                self.fault(where, f"the switch to {scale} shows {json.dumps(shown)}")

    def scripts_off(self, name, path):
        self.tell("Emulation.setScriptExecutionDisabled", value=True)
        self.open(path, 1280, "light")
        try:
            self.switch(f"{name} without scripts")
        finally:
            self.tell("Emulation.setScriptExecutionDisabled", value=False)

    def ticks(self, name, path):
        self.open(path, 1280, "light")
        if not self.ask("return document.getElementById('arm-1') !== null"):
            return
        self.click("arm-1")
        arms = self.ask(STANDING_OUT)
        if not arms or not all((opacity == 1) == (arm == "a1") for arm, opacity in arms):
            self.fault(name, f"of the arms a1 should stand out: {arms}")

    def paper(self, name, path, pictures):
        """A4 with margins of 1 cm at 96 pixels an inch."""
        self.open(path, 718, "dark", media="print")
        for chosen in (None, "bytes"):
            if chosen:
                self.ask(f"document.getElementById('x-{chosen}').checked = true")
            where = f"{name} on paper" + (f", {chosen} chosen" if chosen else "")
            shown = {scale: len(titles) for scale, titles in self.ask(CURVES).items()}
            if shown != {scale: 3 if scale in ("seconds", chosen) else 0 for scale in SCALES}:
                self.fault(where, f"there are {shown}")
        for fault in self.ask(MEASURE):
            self.fault(f"{name} on paper", fault)
        data = self.tell("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, marginTop=0.4, marginBottom=0.4,
                         marginLeft=0.4, marginRight=0.4, printBackground=True)["data"]
        pdf = base64.b64decode(data)
        if not pdf.startswith(b"%PDF-") or len(pdf) < 10000:
            self.fault(f"{name} on paper", f"a PDF of {len(pdf)} bytes")
        if pictures:
            with open(f"{pictures}/{name}.pdf", "wb") as file:
                file.write(pdf)

    def said(self):
        for line in self.driver.get_log("browser"):
            self.fault("console", line["message"][:120])
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] != "Network.requestWillBeSent":
                continue
            url = message["params"]["request"]["url"]
            ours = message["params"].get("documentURL") in self.pages and url not in self.pages
            if url.startswith(("http", "ws")) or (ours and not url.startswith(("data:", "about:"))):
                self.fault("asked for", url[:120])


def look_at(pages, pictures):
    look = Look()
    try:
        for name, path in pages:
            look.screens(name, path, pictures)
            look.scripts_off(name, path)
            look.ticks(name, path)
            look.paper(name, path, pictures)
        look.said()
    finally:
        look.close()
    return look.faults


# --- whether it would be found -------------------------------------------------------------------

def put(html):
    return lambda page: page.replace("<h1>", html + "<h1>", 1)


def take(text, other=""):
    return lambda page: page.replace(text, other)


SPOILS = [
    ("scrolls sideways", put('<div style="width:3000px;height:1px"></div>')),
    ("cut by the screen", put('<p style="position:absolute;left:-20px">cut</p>')),
    ("cut by its box", put('<p style="overflow:hidden;width:40px;white-space:nowrap">cut in the middle</p>')),
    ("cut by its picture", put('<svg viewBox="0 0 100 20" width="100"><text x="80" y="15">beyond it</text></svg>')),
    ("small text", put('<p style="font-size:10px">small</p>')),
    ("small text", put('<svg viewBox="0 0 900 40" width="300"><text x="8" y="25">small here</text></svg>')),
    ("faint text", put('<p style="color:#888">faint</p>')),
    ("faint text", put('<svg viewBox="0 0 90 40" width="90"><rect width="90" height="40" fill="#555"/>'
                       '<text x="8" y="25">faint</text></svg>')),
    ("the switch to updates", take(".by:not(.by-updates){display:none}")),
    ("without scripts", lambda page: put("<script>addEventListener('click', () => document.querySelectorAll('.by')"
                                         ".forEach(by => by.style.display = by.classList.contains(document."
                                         "querySelector('.against :checked').id.replace('x-', 'by-')) ? '' : 'none'))"
                                         "</script>")(take(".by:not(.by-updates){display:none}")(page))),
    ("should stand out", take(".arm.a1{opacity:1}", ".arm.a1{opacity:.5}")),
    ("on paper", take(".by.by-seconds.by{display:block!important}")),
    ("asked for", put('<img alt="" src="http://127.0.0.1:9/outside.png"/>')),
    ("console", put("<script>console.error('wrong')</script>")),
]


def find_spoilt(path):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    look, missed = Look(), 0
    try:
        for word, spoil in SPOILS:
            spoilt = f"{look.folder}/spoilt.html"
            with open(spoilt, "w", encoding="utf-8") as file:
                file.write(spoil(page))
            look.faults = [] if spoil(page) != page else ["nothing was spoilt"]
            look.open(spoilt, *SCREENS[0])
            for fault in look.ask(MEASURE):
                look.fault("spoilt", fault)
            look.switch("spoilt")
            look.scripts_off("spoilt", spoilt)
            look.ticks("spoilt", spoilt)
            look.paper("spoilt", spoilt, None)
            look.said()
            if not any(word in fault for fault in look.faults):
                missed += 1
                print(f"not found: {word}; but {look.faults[:3]}")
    finally:
        look.close()
    print(f"{len(SPOILS)} pages spoilt, {missed} not found")
    return missed


def main():
    if sys.argv[1] == "--spoilt":
        return 1 if find_spoilt(os.path.abspath(sys.argv[2])) else 0
    pages = [argument.split("=", 1) for argument in sys.argv[2:]]
    faults = look_at([(name, os.path.abspath(path)) for name, path in pages], sys.argv[1])
    for fault in faults[:40]:
        print(fault)
    print(f"{len(pages)} pages looked at, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
