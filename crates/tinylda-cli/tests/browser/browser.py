#!/usr/bin/env python3
"""Tests of reports in a browser.

    browser.py [REPORT.html ...]

Each report named is opened in a headless Chromium and used; then made-up reports with what is rare: a thousand topics, strings that
would be markup, a model alone. Needs selenium (pip install selenium), Chromium and its driver (CHROMIUM and CHROMEDRIVER name
others than those of the path). Exits with 1 when anything failed, and says what.

    --pictures FOLDER   also writes pictures of the pages: desktop and phone, light and dark
    --click-ms N        the most that a click on the map may take (100)
"""

import argparse
import base64
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
import traceback

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import made_up

PARTS = ["topic", "compare", "word", "documents", "list", "run"]


class Failed(Exception):
    pass


def check(true, message):
    if not true:
        raise Failed(message)


def same(found, expected, what):
    check(found == expected, f"{what}: found {found!r}, expected {expected!r}")


class Page:
    """One report in the browser, and its data as Python reads it from the file."""

    def __init__(self, driver, path, downloads):
        self.driver, self.path, self.downloads = driver, path, downloads
        text = path.read_text(encoding="utf-8")
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
        check(found, f"{path}: there is no data element")
        self.data = json.loads(found[1])
        self.K = len(self.data["topics"]["prevalence"])

    def open(self, state="", width=1440, height=900, dark=False):
        self.size(width, height)
        self.media(dark=dark)
        self.driver.get("about:blank")
        self.driver.get(self.path.as_uri() + (f"#{state}" if state else ""))
        self.wait("return document.querySelectorAll('#circles circle').length", "the map is drawn")

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def media(self, dark=False, kind=""):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": kind, "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, what, seconds=10):
        end = time.time() + seconds
        while True:
            value = self.js(script)
            if value:
                return value
            check(time.time() < end, f"waited {seconds} s, and still not: {what}")
            time.sleep(0.02)

    def settle(self):
        """Two frames later."""
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")

    def at(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0]).textContent", selector)

    def shown(self, selector):
        return self.js("const e = document.querySelector(arguments[0]); return !!e && e.getClientRects().length > 0", selector)

    def keys(self, *keys):
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def topic(self):
        """The chosen topic, as the map says."""
        return self.js("return +document.querySelector('#circles .chosen').dataset.topic")

    def free_topic(self, other_than):
        """A topic whose circle's middle is under nothing smaller, so that a click there must choose it."""
        return self.js(
            """
            const all = [...document.querySelectorAll('#circles circle')].map(c => [+c.dataset.topic, +c.getAttribute('cx'), +c.getAttribute('cy'), +c.getAttribute('r')]);
            const free = all.find(([t, x, y, r]) => t !== arguments[0] && !all.some(([u, a, b, s]) => u !== t && s <= r + 0.11 && Math.hypot(a - x, b - y) <= s + 1));
            return free ? free[0] : null""",
            other_than,
        )

    def words(self):
        """Numbers of the words in the topic's list, in order."""
        return self.js("return [...document.querySelectorAll('#words li:not([hidden]) button')].map(b => +b.dataset.word)")


# ---- What every report must do ----


def map_is_drawn(p):
    p.open()
    same(p.js("return document.querySelectorAll('#circles circle').length"), p.K, "circles")
    wrong = p.js(
        """
        const { width, height } = document.getElementById('plot').getBoundingClientRect();
        return [...document.querySelectorAll('#circles circle')].filter(c => {
          const [x, y, r] = ['cx', 'cy', 'r'].map(a => +c.getAttribute(a));
          return !(x >= 0 && x <= width && y >= 0 && y <= height && r > 0);
        }).length"""
    )
    same(wrong, 0, "circles outside the map")
    ordered = p.js("return [...document.querySelectorAll('#circles circle')].map(c => [+c.dataset.topic, +c.getAttribute('r')])")
    prevalence = p.data["topics"]["prevalence"]
    for (a, r), (b, s) in zip(ordered, ordered[1:]):
        check(r >= s - 0.11, f"topic {a} has {prevalence[a]} of the words and radius {r}, topic {b} {prevalence[b]} and {s}")


def click_chooses(p):
    p.open()
    wanted = p.free_topic(p.topic())
    if p.K == 1 or wanted is None:
        return
    x, y = p.js("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]", f"#circles circle[data-topic='{wanted}']")
    click = ActionChains(p.driver)
    click.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    click.w3c_actions.pointer_action.click()
    click.perform()
    same(p.topic(), wanted, "topic after a click on the map")
    same(p.text("#number"), f"Topic {wanted}", "heading")
    check(f"topic={wanted}" in p.js("return location.hash"), "the topic is not in the address")
    tip = p.text("#tip")
    check(tip.startswith(f"Topic {wanted}"), f"the tip of the circle says {tip[:80]!r}")
    p.driver.back()
    p.wait(f"return document.getElementById('number').textContent !== 'Topic {wanted}'", "the back button goes to the topic before")


def circles_do_not_overlap(p):
    for width, height in ((1400, 900), (768, 1024), (390, 844)):
        p.open(width=width, height=height)
        worst, wrong, count = p.js(
            """
            const plot = document.getElementById('plot'), box = plot.getBoundingClientRect();
            const all = [...document.querySelectorAll('#circles circle')].map(c => [+c.dataset.topic, ...['cx', 'cy', 'r'].map(a => +c.getAttribute(a))]);
            let worst = 0;
            all.forEach(([, x, y, r], n) => all.slice(0, n).forEach(([, a, b, s]) => {
              // Positions and radii are rounded to tenths of a pixel.
              worst = Math.max(worst, (r + s - Math.hypot(a - x, b - y) - 0.3) / Math.min(r, s));
            }));
            const step = Math.ceil(all.length / 150), wrong = [];
            let count = 0;
            for (let n = 0; n < all.length; n += step, count++) {
              const [k, x, y] = all[n];
              plot.dispatchEvent(new MouseEvent('click', { bubbles: true, detail: 1, clientX: box.x + x, clientY: box.y + y }));
              if (+document.querySelector('#circles .chosen').dataset.topic !== k) wrong.push(k);
            }
            return [worst, wrong, count]"""
        )
        check(worst <= 0.1, f"at {width}: two circles overlap by {worst:.2f} of the smaller radius")
        same(wrong, [], f"at {width}: topics whose circle does not choose them, of {count}")
    p.size(1440, 900)


def bars_are_proportional(p):
    p.open()
    k = p.topic()
    share, of = p.data["words"]["share"], dict(zip(p.data["top"][k], p.data["topP"][k]))
    rows = p.js(
        """
        return [...document.querySelectorAll('#words li:not([hidden])')].map(l => {
          const track = l.querySelector('.track').getBoundingClientRect(), mark = l.querySelector('.all').getBoundingClientRect();
          return [+l.firstChild.dataset.word, l.querySelector('.in').getBoundingClientRect().width / track.width, (mark.x + mark.width / 2 - track.x) / track.width];
        })"""
    )
    most = max(of[w] for w, _, _ in rows)
    check(abs(max(length for _, length, _ in rows) - 1) < 0.002, "the longest bar does not have the full width")
    for w, length, mark in rows:
        check(abs(length - of[w] / most) < 0.002, f"the bar of word {w} is {length:.3f} long, expected {of[w] / most:.3f}")
        check(abs(mark - min(1, share[w] / most)) < 0.01, f"the marker of word {w} is at {mark:.3f}, expected {share[w] / most:.3f}")
    for width in (1400, 390):
        p.open("part=list", width=width, height=844)
        bars = p.js("return [...document.querySelectorAll('#rows tr')].map(r => [+r.dataset.topic, r.querySelector('td.prevalence i').getBoundingClientRect().width])")
        prevalence = p.data["topics"]["prevalence"]
        longest, most = max(length for _, length in bars), max(prevalence)
        check(longest > 40, f"at {width} the longest bar of the table is {longest} wide")
        for topic, length in bars:
            check(abs(length - longest * prevalence[topic] / most) < 0.1, f"at {width} the bar of topic {topic} is {length} wide")
    p.size(1440, 900)


def codes_are_suspect(p):
    p.open("part=list")
    found = set(p.js("return [...document.querySelectorAll('#rows tr[data-suspect]')].map(r => +r.dataset.topic)"))
    words = p.data["words"]["text"]
    for k in range(p.K):
        best = sorted(zip(p.data["topP"][k], p.data["top"][k]), key=lambda e: -e[0])[:10]
        codes = sum(1 for _, w in best if any(c.isdigit() for c in words[w]))
        check(codes * 2 < len(best) or k in found, f"topic {k} has {codes} words with digits and is not marked")
    p.open()
    check(len(found) == p.K or p.topic() not in found, "the page opens with a topic that may be noise")


def slider_orders_words(p):
    p.open()
    k = p.topic()
    top, top_p, share = p.data["top"][k], p.data["topP"][k], p.data["words"]["share"]
    slider = p.at("#lambda")
    same(float(slider.get_property("value")), 0.6, "lambda at the start")

    def right(weight):
        score = {w: made_up.relevance(max(q, 1e-300), max(share[w], 1e-12), weight) for w, q in zip(top, top_p)}
        expected = sorted(score.values(), reverse=True)[:30]
        words = p.words()
        found = [score[w] for w in words]
        same(len(found), min(30, len(top)), f"words at lambda {weight}")
        for n, (f, e) in enumerate(zip(found, expected)):
            check(abs(f - e) < 1e-9, f"lambda {weight}: word {n + 1} of topic {k} has relevance {f}, expected {e}")
        texts = p.js("return [...document.querySelectorAll('#words li:not([hidden]) .w')].map(w => w.textContent)")
        same(texts, [p.data["words"]["text"][w] for w in words], "texts of the words")
        return words

    orders = {0.6: right(0.6)}
    slider.send_keys(Keys.HOME)
    orders[0.0] = right(0)
    slider.send_keys(Keys.END)
    orders[1.0] = right(1)
    slider.send_keys(Keys.ARROW_LEFT)
    right(0.99)
    for weight in (0.25, 0.5):
        p.js("const s = arguments[0]; s.value = arguments[1]; s.dispatchEvent(new Event('input')); s.dispatchEvent(new Event('change'))", slider, weight)
        right(weight)
    check("lambda=0.5" in p.js("return location.hash"), "lambda is not in the address")
    if p.K > 1 and len(top) > 40:
        check(orders[0.0] != orders[1.0], "the order of words at lambda 0 and 1 is the same")
    p.driver.refresh()
    p.wait("return document.querySelectorAll('#circles circle').length", "the map is drawn again")
    same(float(p.at("#lambda").get_property("value")), 0.5, "lambda after a reload")
    right(0.5)


def word_is_found(p):
    p.open()
    texts = p.data["words"]["text"]
    w = max((w for w in p.data["top"][0] if p.data["lives"][w] and texts[w].strip() and "\n" not in texts[w] and len(texts[w]) < 40), key=lambda w: p.data["words"]["share"][w])
    find = p.at("#find")
    find.send_keys(texts[w] if texts[w].isascii() else "")
    if not texts[w].isascii():
        p.js("const f = arguments[0]; f.value = arguments[1]; f.dispatchEvent(new Event('input'))", find, texts[w])
    check(p.shown("#found"), "no suggestions")
    first = p.text("#found li .w")
    same(first.lower(), texts[w].lower(), "first suggestion")
    exact = p.js("return [...document.querySelectorAll('#found li')].findIndex(l => l.querySelector('.w').textContent === arguments[0])", texts[w])
    check(exact >= 0, f"{texts[w]!r} is not suggested")
    p.keys(*[Keys.ARROW_DOWN] * exact, Keys.ENTER)
    same(p.text("#word h2"), texts[w], "heading of the word")
    found = p.js("return [...document.querySelectorAll('#word .topicbars button')].map(b => +b.dataset.topic)")
    same(found, p.data["lives"][w], "topics of the word")
    p.settle()
    dim = p.js("return document.querySelectorAll('#circles .dim').length")
    same(dim, p.K - len(p.data["lives"][w]), "circles without the word")
    if len(p.data["lives"][w]) > 1:
        first, last = p.data["lives"][w][0], p.data["lives"][w][-1]
        size = lambda k: float(p.js("return document.querySelector(arguments[0]).getAttribute('r')", f"#circles [data-topic='{k}']"))
        check(size(first) >= size(last), "the circle with most of the word is not the largest")
    p.driver.refresh()
    p.wait("return document.querySelector('#word h2')", "the word's part after a reload")
    same(p.text("#word h2"), texts[w], "word after a reload")
    p.keys(Keys.ESCAPE)
    check(not p.shown("#chip"), "Escape does not let go of the word")
    p.settle()
    same(p.js("return document.querySelectorAll('#circles .dim').length"), 0, "dimmed circles without a word")
    p.at("#find").send_keys("no such word zzzzqq")
    check("Nothing found" in p.text("#found"), "nothing is said when nothing is found")


def document_is_found(p):
    held = p.data["documents"]
    if not held:
        return
    p.open("part=documents")
    d = len(held["number"]) // 2
    text = held["name"][d] if held["name"] else held["text"][d][:30] if held["text"] else str(held["number"][d] + 1)
    p.js("const s = document.getElementById('seek'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))", text)
    here = p.js("return [...document.querySelectorAll('#hits button')].map(b => +b.dataset.doc)")
    check(here, f"no document is found for {text[:60]!r}")
    chosen = d if d in here else here[0]
    p.js("document.querySelector(arguments[0]).click()", f"#hits button[data-doc='{chosen}']")
    found = p.js("return [...document.querySelectorAll('#document .topicbars button')].map(b => +b.dataset.topic)")
    same(found, held["topics"][chosen], "topics of the document")
    p.driver.refresh()
    p.wait("return document.querySelector('#document h3')", "the document after a reload")
    if held["name"] and held["name"][chosen]:
        same(p.text("#document h3"), held["name"][chosen], "name of the document")
    p.js("const s = document.getElementById('seek'); s.value = 'zzqq nothing'; s.dispatchEvent(new Event('input'))")
    same(p.js("return document.querySelectorAll('#hits li').length"), 0, "documents found for nonsense")
    # The typical documents of a topic lead here.
    p.open()
    k = p.topic()
    if p.data["typical"] and p.data["typical"][k]:
        same(p.js("return [...document.querySelectorAll('#typical button')].map(b => +b.dataset.doc)"), p.data["typical"][k], "typical documents")
        p.js("document.querySelector('#typical button').click()")
        check(p.shown("#document h3"), "a typical document does not open")


def table_sorts(p):
    p.open("part=list")
    topics = p.data["topics"]
    order = lambda: p.js("return [...document.querySelectorAll('#rows tr')].map(r => +r.dataset.topic)")
    by_prevalence = sorted(range(p.K), key=lambda k: (-topics["prevalence"][k], k))
    same(order(), by_prevalence, "topics in the table")
    p.at("[data-by=number]").click()
    same(order(), list(range(p.K)), "topics by number")
    for key in ("prevalence", "coherence", "exclusivity"):
        if topics[key] is None:
            check(not p.all(f"[data-by={key}]"), f"a column of {key} without figures")
            continue
        head = p.at(f"[data-by={key}]")
        head.click()
        doubt = set(p.js("return [...document.querySelectorAll('#rows tr[data-suspect]')].map(r => +r.dataset.topic)")) if key == "coherence" else set()
        value = lambda k: topics[key][k] if topics[key][k] is not None else float("-inf")
        same(order(), sorted(range(p.K), key=lambda k: (k in doubt, -value(k), k)), f"topics by {key}")
        same(p.at(f"th.{key}").get_attribute("aria-sort"), "descending", "aria-sort")
        head.click()
        value = lambda k: topics[key][k] if topics[key][k] is not None else float("inf")
        same(order(), sorted(range(p.K), key=lambda k: (k in doubt, value(k), k)), f"topics by {key}, least first")
    p.at("[data-by=number]").click()
    same(order(), list(range(p.K)), "topics by number")


def near_topics_compare(p):
    if p.K == 1:
        return
    p.open()
    k = p.topic()
    j = p.data["topics"]["near"][k][0]
    p.js("document.querySelector('#near button').click()")
    check(p.shown("#compare"), "a near topic does not open the comparison")
    lists = [p.js("return [...document.querySelectorAll(arguments[0] + ' li:not([hidden])')].map(l => [+l.firstChild.dataset.word, l.classList.contains('mark')])", s) for s in ("#oneWords", "#twoWords")]
    both = {w for w, _ in lists[0]} & {w for w, _ in lists[1]}
    for which, words in zip((k, j), lists):
        check({w for w, _ in words} <= set(p.data["top"][which]), f"words of topic {which}")
        same({w for w, marked in words if marked}, both, "words marked as shared")
    check(f"with={j}" in p.js("return location.hash"), "the other topic is not in the address")


def parts_without_data_are_left_out(p):
    p.open()
    d = p.data
    same(bool(p.all("#tab-documents")), bool(d["documents"] and d["documents"]["number"]), "documents part")
    same(p.shown("#wheres"), d["labels"] is not None, "labels part")
    same(bool(p.all("#tab-compare")), p.K > 1, "comparison part")
    same("coherence" in p.text("#facts"), d["topics"]["coherence"] is not None, "coherence shown")
    p.js("document.getElementById('tab-run')?.click()")
    run = d.get("run")
    if run:
        check(not run.get("command") or run["command"] in p.text("#run"), "the command is not in the part about the run")
        passes = run.get("passes") or []
        expected = 0
        for x, y in (("pass", "perplexity"), ("seconds", "perplexity"), ("seconds", "memory")):
            expected += sum(1 for q in passes if q.get(x) is not None and q.get(y) is not None) > 1
        same(p.js("return document.querySelectorAll('#run figure').length"), expected, "plots of the run")


def light_and_dark(p):
    p.open(dark=True)
    ground = "return getComputedStyle(document.body).backgroundColor"
    bright = lambda: sum(int(n) for n in re.findall(r"\d+", p.js(ground))[:3])
    check(bright() < 200, "a system that is dark gets a light page")
    p.open(dark=False)
    check(bright() > 600, "a system that is light gets a dark page")
    p.at("#theme").click()
    check(bright() < 200, "the button does not make it dark")
    p.driver.refresh()
    check(bright() < 200, "dark is not kept on reload")
    p.at("#theme").click()
    check(bright() > 600, "the button does not make it light again")
    p.js("localStorage.removeItem('tinylda theme')")


def names_are_kept(p):
    p.open()
    k = p.topic()
    name = "Name <b>\"one\"</b> & 'two' é"
    box = p.at("#name")
    box.clear()
    box.send_keys(name)
    p.driver.refresh()
    p.wait("return document.querySelectorAll('#circles circle').length", "the map is drawn again")
    same(p.at("#name").get_property("value"), name, "name after a reload")
    check(name in p.at(f"#circles [data-topic='{k}']").get_attribute("aria-label"), "the map does not have the name")
    if p.all("#tab-list"):
        p.js("document.getElementById('tab-list').click()")
        same(p.text(f"#row{k} .named"), name, "name in the table")
    for old in p.downloads.iterdir():
        old.unlink()
    p.js("document.querySelector('#list [data-do=export]').click()")
    end = time.time() + 10
    while not (files := [f for f in p.downloads.iterdir() if f.suffix == ".json"]):
        check(time.time() < end, "no file of names was written")
        time.sleep(0.05)
    read = json.loads(files[0].read_text(encoding="utf-8"))
    same([(n["topic"], n["name"]) for n in read["names"]], [(k, name)], "names exported")
    # And read back, without what storage holds.
    p.js("localStorage.clear()")
    p.driver.refresh()
    same(p.at("#name").get_property("value"), "", "name after the storage was cleared")
    p.at("#file").send_keys(str(files[0]))
    p.wait(f"return document.querySelector('#circles [data-topic=\"{k}\"]').getAttribute('aria-label').includes('Name <b>')", "the names are read back")
    p.js("localStorage.clear()")


def storage_may_refuse(p):
    refuse = p.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } });"})
    try:
        p.open()
        box = p.at("#name")
        box.send_keys("only here")
        check("export" in p.text("#kept").lower() and "cannot save names" in p.text("#kept"), "the page does not say that names are not kept")
        p.at("#theme").click()
    finally:
        p.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": refuse["identifier"]})


def keyboard_alone(p):
    p.open()
    where = "return document.activeElement.id || document.activeElement.closest('[id]')?.id"
    seen = []
    for _ in range(40):
        p.keys(Keys.TAB)
        at = p.js(where)
        if at is None or at in ("", "skip") and seen:
            break
        seen.append(at)
        check(p.js("const s = getComputedStyle(document.activeElement); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1"), f"no visible focus on {at}")
    for wanted in ("skip", "find", "theme", "in", "plot", "tab-topic", "name", "lambda", "words"):
        check(wanted in seen, f"the tab key does not reach {wanted}: {seen}")
    check(seen.index("find") < seen.index("plot") < seen.index("tab-topic") < seen.index("name") < seen.index("words"), f"order of the tab key: {seen}")

    p.open()
    if p.K > 1:
        p.js("document.getElementById('plot').focus()")
        visited = {p.topic()}
        for key in (Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_LEFT, Keys.ARROW_UP):
            p.keys(key)
            visited.add(p.topic())
        check(len(visited) > 1, "arrow keys on the map go nowhere")
        same(p.at("#plot").get_attribute("aria-activedescendant"), f"c{p.topic()}", "aria-activedescendant")
        p.keys("+")
        p.settle()
        check(p.js("return document.getElementById('plot').classList.contains('zoomed')"), "plus does not zoom")
        p.keys("0")
        check(not p.js("return document.getElementById('plot').classList.contains('zoomed')"), "0 does not show the whole map")
    # Tabs.
    p.js("document.querySelector('[role=tab][aria-selected=true]').focus()")
    p.keys(Keys.ARROW_RIGHT)
    same(p.js("return document.activeElement.getAttribute('aria-selected')"), "true", "the tab with the focus is chosen")
    check(p.js("return document.activeElement.id") != "tab-topic", "the arrow key does not move along the tabs")
    p.keys(Keys.HOME)
    same(p.js("return document.activeElement.id"), "tab-topic", "Home on the tabs")
    # A list: arrows, then Enter opens the word.
    p.js("document.querySelector('#words button[tabindex=\"0\"]').focus()")
    p.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    words = p.words()
    same(p.js("return +document.activeElement.dataset.word"), words[min(1, len(words) - 1)], "word with the focus")
    same(len(p.all("#words button[tabindex='0']")), 1, "stops of the tab key in the list")
    p.keys(Keys.ENTER)
    same(p.text("#word h2"), p.data["words"]["text"][words[min(1, len(words) - 1)]], "Enter on a word")
    same(p.js("return document.activeElement.id"), "word", "the focus goes along with the word")
    p.keys(Keys.ESCAPE, "/")
    same(p.js("return document.activeElement.id"), "find", "the slash goes to the search box")


def map_zooms_and_pans(p):
    if p.K == 1:
        return
    p.open()
    ends = p.js("const a = [...document.querySelectorAll('#circles circle')]; a.sort((s, t) => s.getAttribute('cx') - t.getAttribute('cx')); return [a[0].id, a[a.length - 1].id]")
    spread = lambda: p.js("return arguments[0].map(i => +document.getElementById(i).getAttribute('cx')).reduce((a, b) => b - a)", ends)
    place = lambda: p.js("return +document.getElementById(arguments[0]).getAttribute('cx')", ends[0])
    if spread() < 1:
        return
    start = spread()
    box = p.js("const b = document.getElementById('plot').getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]")
    p.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": box[0], "y": box[1], "deltaX": 0, "deltaY": -300})
    p.wait("return document.getElementById('plot').classList.contains('zoomed')", "the wheel zooms")
    p.settle()
    check(spread() > 1.3 * start, "the wheel does not spread the circles")
    was, chosen = place(), p.topic()
    drag = ActionChains(p.driver, duration=20)
    drag.w3c_actions.pointer_action.move_to_location(round(box[0]), round(box[1])).pointer_down().move_to_location(round(box[0]) + 40, round(box[1]) + 10).pointer_up()
    drag.perform()
    p.settle()
    check(abs(place() - was - 40) < 2, f"a drag of 40 moves the map by {place() - was:.1f}")
    same(p.topic(), chosen, "topic after a drag")
    p.at("#fit").click()
    p.settle()
    check(abs(spread() - start) < 1, "the whole map is not shown again")
    p.at("#in").click()
    p.settle()
    check(spread() > 1.2 * start, "the button does not zoom")
    p.at("#fit").click()
    # Two fingers.
    p.js(
        """
        const plot = document.getElementById('plot'), [x, y] = arguments;
        const send = (type, id, dx) => plot.dispatchEvent(new PointerEvent(type, { pointerId: id, pointerType: 'touch', clientX: x + dx, clientY: y, bubbles: true }));
        send('pointerdown', 11, -20); send('pointerdown', 12, 20);
        for (let d = 20; d <= 60; d += 10) { send('pointermove', 11, -d); send('pointermove', 12, d); }
        send('pointerup', 11, -60); send('pointerup', 12, 60);""",
        *box,
    )
    p.settle()
    check(spread() > 2 * start, "two fingers do not zoom")


def phone(p):
    for dark in (False, True):
        for part in PARTS:
            if not p.all(f"#tab-{part}") and part != "topic":
                continue
            p.open(f"part={part}", width=390, height=844, dark=dark)
            wide = p.js("return document.documentElement.scrollWidth")
            check(wide <= 390, f"{part} is {wide} wide on a phone of 390")
    p.open(width=320, height=640)
    check(p.js("return document.documentElement.scrollWidth") <= 320, "the page scrolls sideways at 320")
    p.size(1440, 900)


def prints(p):
    p.open("part=list", dark=True)
    p.media(dark=True, kind="print")
    p.settle()
    for part in ("#plot", "#topic", "#list", "#run"):
        check(not p.all(part) or p.shown(part), f"{part} is not on paper")
    for part in ("#tabs", "#theme", ".search", ".zoom"):
        check(not p.shown(part), f"{part} is on paper")
    same(p.js("return document.querySelectorAll('#rows tr').length"), p.K, "rows of the table on paper")
    check(p.js("return getComputedStyle(document.body).color") == "rgb(28, 34, 38)", "paper is not light")
    pdf = base64.b64decode(p.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"])
    check(pdf.startswith(b"%PDF") and len(pdf) > 10_000, "no PDF comes of it")
    p.media()
    p.settle()
    check(p.shown("#tabs"), "the screen does not come back after paper")


def text_is_never_markup(p):
    def look(where):
        made = p.js(
            """
            const bad = [...document.querySelectorAll('img, iframe, object, embed, video, audio, b, form, base')].map(e => e.outerHTML.slice(0, 80));
            for (const e of document.querySelectorAll('*')) for (const a of e.attributes) {
              if (/^on/i.test(a.name) || a.name === 'style' && !/^(width|left|top|fill|color|background|border|;|:|\\s|[-0-9.a-z%(),])*$/i.test(a.value) || /^\\s*javascript:/i.test(a.value) && /^(href|src|action|xlink:href)$/i.test(a.name)) bad.push(a.name + '=' + a.value.slice(0, 60));
            }
            if (document.scripts.length !== 2) bad.push(document.scripts.length + ' scripts');
            if (document.querySelectorAll('style').length !== 1) bad.push('styles');
            if (window.alerted) bad.push('alert called');
            return bad"""
        )
        same(made, [], f"elements made of text in {where}")

    for part in PARTS:
        p.open(f"part={part}")
        look(part)
    # Hover, search, choose: every road that text takes.
    p.open()
    for word in p.js("return [...document.querySelectorAll('#words li:not([hidden]) button')].slice(0, 30).map(b => b.dataset.word)"):
        p.js("document.getElementById('tab-topic').click(); document.querySelector(`#words button[data-word=\"${arguments[0]}\"]`)?.click()", word)
    look("word")
    for typed in ("<", "script", "alert", '"'):
        p.js("const f = document.getElementById('find'); f.focus(); f.value = arguments[0]; f.dispatchEvent(new Event('input'))", typed)
        look("suggestions")
    for k in range(min(p.K, 8)):
        p.js("document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', { bubbles: true }))", f"#circles [data-topic='{k}']")
        p.js(
            """
            const b = document.querySelector(arguments[0]).getBoundingClientRect();
            document.getElementById('plot').dispatchEvent(new PointerEvent('pointermove', { pointerType: 'mouse', clientX: b.x + b.width / 2, clientY: b.y + b.height / 2, bubbles: true }))""",
            f"#circles [data-topic='{k}']",
        )
        check(p.shown("#tip"), "a circle that is pointed at has no tip")
        look(f"topic {k}")
    if p.data["documents"]:
        p.open("part=documents")
        for n in range(min(10, len(p.all("#hits button")))):
            p.js("document.querySelectorAll('#hits button')[arguments[0]].click()", n)
        look("document")
    p.open("topic=%3Cimg%20src=x%3E&word=%3Cimg%20src=x%20onerror=alert(9)%3E&lambda=NaN&part=__proto__&with=1e9")
    look("address")
    title = p.data["title"]
    same(p.text("#title"), title, "title")


def policy_holds(p):
    p.open()
    policy = p.at("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    check("default-src 'none'" in policy and "unsafe" not in policy, f"policy: {policy}")
    ran = p.js(
        """
        const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.head.append(s);
        const d = document.createElement('div'); d.setAttribute('style', 'width: 7px'); document.body.append(d);
        const out = [window.ran, d.style.width]; s.remove(); d.remove(); return out"""
    )
    same(ran[0], None, "a script that is not the page's own")
    p.driver.get_log("browser")  # the refusals stand there, as they should


def click_is_fast(p, most):
    p.open()
    times, wrong = p.driver.execute_async_script(
        """
        const done = arguments[0], plot = document.getElementById('plot');
        const circles = [...document.querySelectorAll('#circles circle')].slice(0, 400);
        const times = [];
        let n = 0, wrong = 0;
        (function next() {
          if (n === 12) { done([times, wrong]); return; }
          const c = circles[Math.floor(n++ * circles.length / 12)], b = c.getBoundingClientRect();
          const start = performance.now(), before = location.hash;
          c.dispatchEvent(new MouseEvent('click', { bubbles: true, detail: 1, clientX: b.x + b.width / 2, clientY: b.y + b.height / 2 }));
          requestAnimationFrame(() => { const m = new MessageChannel(); m.port1.onmessage = () => {
            times.push(performance.now() - start);
            const said = document.getElementById('number').textContent, is = document.querySelector('#circles .chosen').dataset.topic;
            if (said !== 'Topic ' + is || location.hash === before && n > 2 && circles.length > 12) wrong++;
            setTimeout(next, 30);
          }; m.port2.postMessage(0); });
        })();"""
    )
    check(wrong < 3, f"{wrong} of {len(times)} clicks on the map chose nothing")
    times.sort()
    start = p.js("const n = performance.getEntriesByType('navigation')[0]; return n.domContentLoadedEventEnd - n.responseEnd")
    p.note = f"click to frame: best {times[0]:.0f} ms, middle {times[len(times) // 2]:.0f} ms; start {start:.0f} ms"
    check(times[len(times) // 4] < most, f"a click on the map takes {times[len(times) // 4]:.0f} ms at best of several, the most is {most}")


TESTS = [
    map_is_drawn, click_chooses, circles_do_not_overlap, bars_are_proportional, codes_are_suspect, slider_orders_words, word_is_found, document_is_found, table_sorts, near_topics_compare,
    parts_without_data_are_left_out, light_and_dark, names_are_kept, storage_may_refuse, keyboard_alone, map_zooms_and_pans, phone, prints,
    text_is_never_markup, click_is_fast, policy_holds,
]  # fmt: skip


# ---- The browser ----


def start(folder):
    options = webdriver.ChromeOptions()
    binary = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if binary:
        options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1440,900", "--disable-background-networking", "--disable-component-update"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    path = os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver")
    driver = webdriver.Chrome(options=options, service=Service(path) if path else None)
    driver.set_script_timeout(60)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": "window.alerted = 0; window.alert = window.confirm = window.prompt = () => { window.alerted++; };"})
    return driver


def quiet(driver):
    """What the browser logged since the last call: errors, and requests that are not the file itself."""
    wrong = [e["message"][:300] for e in driver.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:")):
                wrong.append(f"a request to {url[:200]}")
        elif message["method"] == "Page.javascriptDialogOpening":
            wrong.append("a dialog opened")
    return wrong


def pictures(page, folder, name):
    for width, height, size in ((1440, 900, "desktop"), (390, 844, "phone")):
        for dark in (False, True):
            page.open(width=width, height=height, dark=dark)
            page.settle()
            time.sleep(0.3)
            page.driver.save_screenshot(str(folder / f"{name}-{size}-{'dark' if dark else 'light'}.png"))


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("reports", nargs="*", type=pathlib.Path)
    asked.add_argument("--pictures", type=pathlib.Path)
    asked.add_argument("--click-ms", type=float, default=100)
    asked.add_argument("--only", help="tests whose name has this in it")
    asked.add_argument("--no-made-up", action="store_true", help="only the reports named")
    asked.add_argument("--quick", action="store_true", help="fewer made-up reports")
    a = asked.parse_args()
    failures = count = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        downloads = folder / "downloads"
        downloads.mkdir()
        cases = [(path.name, path.resolve()) for path in a.reports]
        if not a.no_made_up:
            made = [(1000, "plain"), (8, "hostile")]
            if not a.quick:
                made += [(2, "bare"), (20, "plain"), (100, "years"), (12, "bare"), (1, "bare")]
            for topics, kind in made:
                path = folder / f"{kind}-{topics}.html"
                path.write_text(made_up.assemble(made_up.make(topics, kind)), encoding="utf-8")
                cases.append((f"made up: {kind}, K = {topics}", path))
        driver = start(downloads)
        try:
            for title, path in cases:
                print(title)
                page = Page(driver, path, downloads)
                quiet(driver)
                for test in TESTS:
                    if a.only and a.only not in test.__name__:
                        continue
                    count += 1
                    page.note = ""
                    try:
                        if test is click_is_fast:
                            test(page, a.click_ms)
                        else:
                            test(page)
                        wrong = quiet(driver)
                        check(not wrong, "the browser says: " + "; ".join(wrong[:5]))
                        print(f"  ok      {test.__name__}" + (f": {page.note}" if page.note else ""))
                    except Failed as why:
                        failures += 1
                        print(f"  FAILED  {test.__name__}: {why}")
                        quiet(driver)
                    except Exception:
                        failures += 1
                        print(f"  FAILED  {test.__name__}:")
                        traceback.print_exc(file=sys.stdout)
                        quiet(driver)
                if a.pictures:
                    a.pictures.mkdir(parents=True, exist_ok=True)
                    pictures(page, a.pictures, path.stem)
        finally:
            driver.quit()
    print(f"{count - failures} of {count} passed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
