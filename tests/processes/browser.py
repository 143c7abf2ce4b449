"""Looks at pages in a headless Chromium, as people do: on large and small screens, light and dark, printed, by
keyboard and one figure alone; and takes pictures of what it saw. Exits with 1, and says what is wrong, unless all is
well.

    browser.py PICTURES NAME=report.html ...     each page, its pictures as PICTURES/NAME-390-dark.png and so on
    browser.py --spoilt report.html              spoils the page in every way that it looks for, and exits with 1
                                                 unless each is found

What must hold: no page scrolls sideways, nothing is cut, no two texts of a figure overlap, no text is smaller than 11
pixels or stands out from its ground by less than 4.5 to 1, switches change what is drawn, the read-out works by
keyboard, a saved figure is whole, nothing is asked for from outside, and the console is empty.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

SCREENS = [(1280, "light"), (1280, "dark"), (768, "light"), (390, "light"), (390, "dark")]
SWITCHES = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
            "--hide-scrollbars"]

# All that is measured in the page at once: a list of complaints.
MEASURE = r"""
const faults = [], least = matchMedia('print').matches ? 9 : 11, contrast = 4.5, slack = 1.5;
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
    let ground = ground_of(text.ownerSVGElement);
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
    if (!node.data.trim() || element.closest('title, style, script, option, .read-out') || !shown(element)) continue;
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
/* Labels of one figure. */
for (const figure of document.querySelectorAll('.frame > svg')) {
    const labels = [...figure.querySelectorAll('text')].filter(text => shown(text) && !text.closest('.read-out'))
        .map(text => ({text, box: text.getBoundingClientRect()}));
    labels.forEach((a, i) => labels.slice(i + 1).forEach(b => {
        const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        if (across > 1 && down > 4) say('overlaps "' + b.text.textContent + '"', a.text);
    }));
}
/* A table that is wider than its box can be scrolled to its end. */
for (const box of document.querySelectorAll('.wide')) {
    const kind = getComputedStyle(box).overflowX;
    if (box.scrollWidth > box.clientWidth + slack && kind !== 'auto' && kind !== 'scroll') say('cut table', box);
    if (box.getBoundingClientRect().right > innerWidth + slack) say('table beyond the screen', box);
}
if (seen < (document.querySelectorAll('figure').length > 1 ? 50 : 20)) faults.push('there is hardly any text: ' + seen);
return faults;
"""

# Every switch once: what the figure says and draws before and after.
SWITCHED = r"""
const faults = [], of = name => document.querySelector('#' + name);
const drawn = () => (of('curves').querySelector('.frame').textContent + of('curves').querySelector('.frame svg').innerHTML);
for (const input of document.querySelectorAll('#curves .choice input:not(:checked)')) {
    const before = drawn(), fieldset = input.closest('fieldset'), chosen = fieldset.querySelector(':checked');
    if (fieldset.hidden) continue;
    input.click();
    if (drawn() === before) faults.push('the switch to ' + input.nextSibling.textContent + ' changes nothing');
    chosen.click();
    if (drawn() !== before) faults.push('the switch back from ' + input.nextSibling.textContent + ' shows something else');
}
return faults;
"""

# A figure as a file: well-formed, with its title, and with looks of its own.
SAVED = r"""
const faults = [];
for (const name of figures.keys()) {
    if (!figures.get(name).frame.querySelector('svg')) continue;
    const text = new XMLSerializer().serializeToString(standalone(name)), read = new DOMParser().parseFromString(text, 'image/svg+xml');
    const title = document.querySelector('#' + name + ' h3').textContent.split(' ')[0];
    if (read.querySelector('parsererror')) faults.push(name + ' is no SVG');
    if (!read.querySelector('text').textContent.includes(title)) faults.push(name + ' is saved without its title');
    if (text.includes('var(--')) faults.push(name + ' is saved without its colours');
}
return faults;
"""

ALONE = "return [...document.querySelectorAll('figure')].filter(one => one.checkVisibility()).map(one => one.id)"


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
        self.pages += ("file://" + path.split("#")[0],)
        self.driver.get("about:blank") # Or another #figure is no new page.
        self.driver.get("file://" + path)

    def ask(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def check(self, where, script):
        self.faults += [f"{where}: {what}" for what in self.ask(script)]

    def picture(self, path):
        size = self.tell("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
        data = self.tell("Page.captureScreenshot", captureBeyondViewport=True, optimizeForSpeed=True,
                         clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    # --- what is looked at ---------------------------------------------------------------------

    def screens(self, name, path, pictures):
        for width, scheme in SCREENS:
            self.open(path, width, scheme)
            where = f"{name} at {width} px, {scheme}"
            self.check(where, MEASURE)
            if pictures:
                self.picture(f"{pictures}/{name}-{width}-{scheme}.png")
        for eyes in ["protanopia", "deuteranopia"] if pictures else []:
            self.open(path, 1280, "light")
            self.tell("Emulation.setEmulatedVisionDeficiency", type=eyes)
            self.picture(f"{pictures}/{name}-{eyes}.png")
        self.tell("Emulation.setEmulatedVisionDeficiency", type="none")

    def figures(self, name, path):
        self.open(path, 1280, "light")
        self.check(name, SAVED)
        if self.ask("return [...document.querySelectorAll('h3')].some(one => / for –|NaN/.test(one.innerText))"):
            self.fault(name, "a title has no number")
        if self.ask("const curves = document.getElementById('curves'); return !curves || curves.textContent.includes('no data yet')"):
            return
        self.check(name, SWITCHED)
        self.ask("document.querySelector('#curves .frame svg').focus()")
        self.tell("Input.dispatchKeyEvent", type="keyDown", key="ArrowLeft", code="ArrowLeft")
        if not self.ask("return document.querySelector('#curves .read-out').getAttribute('visibility') === 'visible'"):
            self.fault(name, "there is no read-out by keyboard")
        self.open(path + "#figure=curves", 1280, "light")
        if self.ask(ALONE) != ["curves"]:
            self.fault(name, f"curves alone are {self.ask(ALONE)}")

    def paper(self, name, path, pictures):
        """A4 with margins of 1 cm at 96 pixels an inch."""
        self.open(path, 718, "dark", media="print")
        self.check(f"{name} on paper", MEASURE)
        if self.ask("return [...document.querySelectorAll('.controls, .tools')].some(one => one.checkVisibility())"):
            self.fault(f"{name} on paper", "there is something to press")
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
            look.figures(name, path)
            look.paper(name, path, pictures)
        look.said()
    finally:
        look.close()
    return look.faults


# --- live ----------------------------------------------------------------------------------------

PRESS = "[...document.querySelectorAll('main button, main label')].find(one => one.textContent === arguments[0]).click()"


def shows(look, expected):
    """Waits for a text on the page; a fault where it does not come."""
    for _ in range(300):
        if re.search(expected, look.ask("return document.body.innerText")):
            return True
        time.sleep(0.2)
    look.fault("live", "does not say " + expected)


def follow(pictures, url, steps):
    """The page of a run under way: after each command, by and by, a text. Measured at the end."""
    look = Look()
    try:
        look.driver.get(url)
        for step, (command, expected) in enumerate(zip(steps[::2], steps[1::2])):
            if command.startswith("press "):
                look.ask(PRESS, command[6:])
            elif command == "reload": # Its token is out of the address by then.
                look.driver.get(look.driver.current_url)
            else:
                subprocess.run(command, shell=True, check=True)
            if not shows(look, expected):
                return look.faults
            look.picture(f"{pictures}/live-{step}.png")
        if look.driver.current_url != url.split("#")[0]:
            look.fault("live", "the token stays in the address")
        for width, scheme in SCREENS:
            look.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            look.tell("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
            look.check(f"live at {width} px, {scheme}", MEASURE)
            look.picture(f"{pictures}/live-{width}-{scheme}.png")
    finally:
        look.close()
    return look.faults


# --- whether it would be found -------------------------------------------------------------------

def put(html):
    return lambda page: page.replace("</body>", f"<div style='position:relative'>{html}</div></body>", 1)


def style(rules):
    return lambda page: page.replace("</style>", rules + "</style>", 1)


def take(text, other=""):
    """From the script, as it is shipped, without blanks: it has another hash then, and is let run by it."""
    text = re.sub(r" *([^\w$ ]) *", r"\1", text)

    def spoil(page):
        page = page.replace(text, other)
        script = page[page.rindex("<script>") + 8:page.rindex("</script>")]
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        return re.sub("sha256-[^']*", "sha256-" + digest, page)
    return spoil


SPOILS = [
    ("scrolls sideways", put('<div style="width:3000px;height:1px"></div>')),
    ("cut by the screen", put('<p style="position:absolute;left:-20px">cut</p>')),
    ("cut by its box", put('<p style="overflow:hidden;width:40px;white-space:nowrap">cut in the middle</p>')),
    ("cut by its picture", put('<svg viewBox="0 0 100 20" width="100"><text x="80" y="15">beyond it</text></svg>')),
    ("overlaps", put('<div class="frame"><svg width="200" height="40"><text x="8" y="25">one</text><text x="14" y="25">two</text></svg></div>')),
    ("small text", put('<p style="font-size:10px">small</p>')),
    ("small text", put('<svg viewBox="0 0 900 40" width="300"><text x="8" y="25">small here</text></svg>')),
    ("faint text", put('<p style="color:#888">faint</p>')),
    ("faint text", put('<svg viewBox="0 0 90 40" width="90"><rect width="90" height="40" fill="#555"/>'
                       '<text x="8" y="25">faint</text></svg>')),
    ("changes nothing", take("chosen[name] = value;")),
    ("shows something else", take("chosen[name] = value;", "chosen[name] = value; chosen.times = (chosen.times || 0) + 1;"
                                  "all.target.value = 1 + chosen.times / 10;")),
    ("by keyboard", take("addEventListener('keydown'", "addEventListener('keyup'")),
    ("curves alone", style(".alone figure { display: block !important; }")),
    ("without its title", take("words = lines.map", "words = [].map")),
    ("without its colours", take("part.setAttribute(property, looks.getPropertyValue(property))", "part.setAttribute(property, 'var(--ink)')")),
    ("to press", style("@media print { .tools { display: inline !important; } }")),
    ("asked for", lambda page: put('<img alt="" src="http://127.0.0.1:9/outside.png"/>')(page.replace("img-src", "img-src http:"))),
    ("console", take("'use strict';", "'use strict'; console.error('wrong');")),
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
            look.check("spoilt", MEASURE)
            look.figures("spoilt", spoilt)
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
    if sys.argv[1] == "--live":
        faults = follow(sys.argv[2], sys.argv[3], sys.argv[4:])
        print(*faults, sep="\n")
        return 1 if faults else 0
    pages = [argument.split("=", 1) for argument in sys.argv[2:]]
    faults = look_at([(name, os.path.abspath(path)) for name, path in pages], sys.argv[1])
    for fault in faults[:40]:
        print(fault)
    print(f"{len(pages)} pages looked at, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
