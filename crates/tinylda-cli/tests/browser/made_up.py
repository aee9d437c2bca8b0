"""Made-up reports, for the tests and for work on the page.

    made_up.py OUT.html [--topics K] [--kind plain|bare|hostile|years]

The page's files are put together as `tinylda report` does it; the data has the form of docs/REPORT.md and is invented.
"""

import argparse
import base64
import hashlib
import json
import math
import pathlib
import random
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "src/page"

THEMES = """
gas power energy pipeline california price utilities electricity market supply generation megawatt
meeting agenda schedule call office tuesday conference attend calendar morning room available
court law case judge legal claim defendant trial appeal counsel ruling settlement
protein cell gene expression dna sequence binding mutation receptor kinase tissue enzyme
species forest climate temperature ocean carbon habitat population ecology rainfall soil biodiversity
patient treatment clinical disease therapy trial dose symptoms hospital diagnosis cohort chronic
king queen castle lord sword battle throne crown knight realm army horse
ship sea captain sailor voyage island harbour storm sail deck whale crew
school teacher student learning classroom education pupils curriculum lesson university degree exam
music song orchestra piano symphony melody concert violin composer opera rhythm choir
election vote party minister parliament campaign government policy reform president coalition senate
bank credit loan interest debt investment fund stock bond capital risk equity
network server software code database user system interface data computer file memory
star galaxy telescope planet orbit light radiation universe solar cosmic dust comet
church god faith prayer bishop holy priest saint scripture soul gospel monastery
food bread wine kitchen flavour recipe sugar butter salt meat fruit vegetable
team game player season coach league score match goal ball tournament win
river mountain valley village road bridge stone hill path winter snow field
love heart tears eyes hand smile night kiss dream tender sorrow letter
army war soldier enemy attack general troops weapon front invasion peace treaty
""".split("\n")
THEMES = [t.split() for t in THEMES if t.strip()]
COMMON = "time new people make good way year work day part found known great small long first second place use high".split()

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "<img src=x onerror=alert(2)>",
    "<svg onload=alert(3)>",
    '"><script>alert(4)</script>',
    "' onmouseover='alert(5)",
    "<!--",
    "]]>",
    "{{DATA}}{{SCRIPT}}",
    "&lt;b&gt;&amp;",
    "javascript:alert(6)",
    "שלום",
    "مرحبا",
    "\u202eright to left override",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "quote\"quote'quote`",
    "x" * 10_000,
    "a b\tc\nd",
    "\u2028\u2029",
    "constructor",
    "__proto__",
    "${alert(7)}",
    "%3Cscript%3E",
    "中文词语",
    "é\u0301\u0301\u0301",
    "\u200b",
]


def four(value):
    return float(f"{value:.4g}")


def relevance(p, share, weight):
    """The relevance of a word: weight log p(w|k) + (1 - weight) log(p(w|k) / p(w))."""
    return weight * math.log(p) + (1 - weight) * math.log(p / share)


def lists(rows, shares):
    """Per topic, every word that is among the 30 most relevant for some weight in 0, 0.01 ... 1."""
    top, top_p = [], []
    for row in rows:
        kept = {}
        held = list(row.items())
        for step in range(0, 101, 5):
            held.sort(key=lambda e: -relevance(e[1], shares[e[0]], step / 100))
            kept.update(held[:30])
        order = sorted(kept, key=lambda w: -kept[w])
        top.append(order)
        top_p.append([four(kept[w]) for w in order])
    return top, top_p


def circles(places, prevalence):
    """A layout without overlaps: rows of equal cells, in the order of the places. Returns x, y and radius of every topic."""
    K = len(places)
    rows = max(1, math.isqrt(K))
    columns = -(-K // rows)
    largest = max(prevalence)
    layout = [None] * K
    upwards = sorted(range(K), key=lambda k: places[k][1])
    for row in range(rows):
        here = sorted(upwards[row * columns : (row + 1) * columns], key=lambda k: places[k][0])
        for column, k in enumerate(here):
            radius = max(0.46 / columns * math.sqrt(prevalence[k] / largest), 0.1 / columns)
            layout[k] = ((column + 0.5) / columns, (row + 0.5) / rows, radius)
    return layout


def make(topics=20, kind="plain", seed=1):
    """Data of a report. Kinds: plain; bare (only a model); hostile (strings that would be markup); years (labels are years, documents have no names)."""
    rng = random.Random(seed)
    K = topics
    text, ids = [], {}

    def word(w):
        if w not in ids:
            ids[w] = len(text)
            text.append(w)
        return ids[w]

    rows = []
    prevalence = [rng.gammavariate(1.6, 1) for _ in range(K)]
    total = sum(prevalence)
    prevalence = [p / total for p in prevalence]
    syllables = [c + v for c in "b d f g k l m n p r s t v z br st tr".split() for v in "a e i o u ai ou".split()]
    for k in range(K):
        own = list(THEMES[k % len(THEMES)])
        if k >= len(THEMES):
            own = rng.sample(own, 5)
        while len(own) < 45:
            own.append("".join(rng.choice(syllables) for _ in range(rng.randint(2, 4))))
        own += rng.sample(COMMON, 8) + rng.sample(rng.choice(THEMES), 4)
        if kind == "hostile":
            own = HOSTILE + own[:20]
            rng.shuffle(own)
        own = list(dict.fromkeys(own))
        weights = [rng.gammavariate(2, 1) / (rank + 3) for rank in range(len(own))]
        whole = sum(weights)
        rows.append({word(w): 0.7 * v / whole for w, v in zip(own, weights)})
    shares = [0.0] * len(text)
    for k, row in enumerate(rows):
        for w, p in row.items():
            shares[w] += prevalence[k] * p
    shares = [four(s) for s in shares]
    lives = [[] for _ in text]
    for k, row in enumerate(rows):
        for w, p in row.items():
            lives[w].append((prevalence[k] * p / shares[w], k))
    for held in lives:
        held.sort(reverse=True)
    lives = [[e for e in held if e[0] >= 0.01][:10] for held in lives]
    top, top_p = lists(rows, shares)

    places = []
    groups = [(rng.uniform(-0.3, 0.3), rng.uniform(-0.25, 0.25)) for _ in THEMES]
    for k in range(K):
        gx, gy = groups[k % len(groups)]
        spread = 0.02 if K <= 20 else 0.06
        places.append((gx + rng.gauss(0, spread), gy + rng.gauss(0, spread)))
    layout = circles(places, prevalence)
    near, apart = [], []
    for k in range(K):
        others = sorted((math.dist(places[k], places[j]), j) for j in range(K) if j != k)[:5]
        near.append([j for _, j in others])
        apart.append([four(d) for d, _ in others])

    data = {
        "form": 1,
        "title": HOSTILE[0] if kind == "hostile" else "enron",
        "topics": {
            "prevalence": [four(p) for p in prevalence],
            "x": [float(f"{x:.5g}") for x, _ in places],
            "y": [float(f"{y:.5g}") for _, y in places],
            "mapX": [float(f"{x:.4f}") for x, _, _ in layout],
            "mapY": [float(f"{y:.4f}") for _, y, _ in layout],
            "mapR": [float(f"{r:.4f}") for _, _, r in layout],
            "coherence": None if kind == "bare" else [four(rng.gauss(0.12, 0.08)) for _ in range(K)],
            "exclusivity": [four(rng.uniform(0.2, 0.95)) for _ in range(K)],
            "near": near,
            "apart": apart,
        },
        "words": {"text": text, "share": shares},
        "top": top,
        "topP": top_p,
        "lives": [[k for _, k in held] for held in lives],
        "livesP": [[four(p) for p, _ in held] for held in lives],
        "documents": None,
        "typical": None,
        "labels": None,
        "run": {
            "command": "tinylda train enron.tlc -k %d --memory 2GiB -o enron.model" % K,
            "version": "0.1.0",
            "algorithm": "tbp",
            "seed": 0,
            "settings": [["alpha", "0.1"], ["beta", "0.01"], ["passes", "60"], ["threads", "2"]],
            "corpus": [["documents", "39,861"], ["words", "28,102"], ["tokens", "6,412,172"]],
            "passes": [{"pass": n, "seconds": None, "perplexity": four(2000 - 10 * n), "memory": None} for n in range(1, 31)] if K > 1 else None,
            "memory": None,
        },
    }
    if kind == "bare":
        data["run"]["corpus"] = []
        return data

    run = data["run"]
    run["memory"] = 2 << 30
    run["passes"] = [
        {"pass": n, "seconds": round(4.1 * n + rng.random(), 2), "perplexity": four(1400 + 2600 * math.exp(-n / 9) + rng.random() * 8), "memory": int((1.2 + 0.5 * (1 - math.exp(-n / 5))) * 2**30)}
        for n in range(1, 61)
    ]
    names = [str(y) for y in range(1981, 2003)] if kind == "years" else HOSTILE if kind == "hostile" else "letters reports invoices minutes contracts press memos notes research news trading personal".split()
    labels = []
    for _ in names:
        mix = [p * rng.gammavariate(0.8, 1) for p in prevalence]
        labels.append([four(m / sum(mix)) for m in mix])
    data["labels"] = {"text": names, "documents": [rng.randint(50, 4000) for _ in names], "share": labels}

    held = {"number": [], "name": [], "label": [], "text": [], "topics": [], "topicsP": []}
    typical = []
    def document(k, number):
        mix = {k: rng.uniform(0.5, 0.95)}
        for j in rng.sample(range(K), min(3, K)):
            if j != k:
                mix[j] = (1 - mix[k]) * rng.uniform(0.1, 0.3)
        order = [j for j in sorted(mix, key=lambda j: -mix[j]) if mix[j] >= 0.02]
        theme = THEMES[k % len(THEMES)]
        held["number"].append(number)
        held["name"].append(HOSTILE[number % len(HOSTILE)] if kind == "hostile" else f"maildir/{rng.choice(theme)}-{rng.choice(theme)}/{number}.txt")
        held["label"].append(rng.randrange(len(names)))
        held["text"].append(
            (HOSTILE[(number + 3) % len(HOSTILE)] * 3)[:300] if kind == "hostile"
            else ("The " + " ".join(rng.choice(theme + COMMON) for _ in range(40)) + ".")[:300]
        )
        held["topics"].append(order)
        held["topicsP"].append([four(mix[j]) for j in order])
        return len(held["number"]) - 1
    for k in range(K):
        typical.append([document(k, 17 * k + n + 3) for n in range(5)])
    for n in range(200):
        document(rng.randrange(K), 20_000 + 97 * n)
    if kind == "years":
        held["name"] = None  # documents that have only numbers
    data["documents"], data["typical"] = held, typical
    return data


def bundle(suffix):
    """The files of the script ("js") or the style ("css"), concatenated in the order of mod.rs."""
    files = re.findall(rf'include_str!\("({suffix}/[^"]+)"\)', (PAGE / "mod.rs").read_text())
    return "".join((PAGE / file).read_text() for file in files)


def assemble(data):
    """One HTML file of the page and its data, as the Rust side writes it."""
    style, script = bundle("css"), "'use strict';\n(() => {\n" + bundle("js") + "})();\n"
    said = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for c in "<>&\u2028\u2029":
        said = said.replace(c, "\\u%04x" % ord(c))
    sha = lambda part: "'sha256-" + base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() + "'"
    policy = f"default-src 'none'; script-src {sha(script)}; style-src {sha(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    parts = {"STYLE": style, "SCRIPT": script, "DATA": said, "POLICY": policy}
    # In one go: the data may hold a placeholder's text.
    return re.sub(r"\{\{(STYLE|SCRIPT|DATA|POLICY)\}\}", lambda m: parts[m[1]], (PAGE / "page.html").read_text())


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("out", type=pathlib.Path)
    asked.add_argument("--topics", type=int, default=20)
    asked.add_argument("--kind", choices=["plain", "bare", "hostile", "years"], default="plain")
    a = asked.parse_args()
    a.out.write_text(assemble(make(a.topics, a.kind)))


if __name__ == "__main__":
    main()
