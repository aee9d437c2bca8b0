'use strict';
// Script of the report page. docs/REPORT.md describes the data. Text of the data is inserted only with
// textContent and setAttribute. No string here contains markup, and the page's policy would block it.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const { topics, words, documents, labels } = data;
  const run = data.run || {};
  const K = topics.prevalence.length;
  const SHOWN = 30; // words in a list
  const PERIOD = 5; // passes of tbp after which over-relaxed and plain ones repeat
  const $ = id => document.getElementById(id);
  const SVG = 'http://www.w3.org/2000/svg';

  // ---- Helpers ----

  /** An element: attributes by setAttribute, children by append (a string becomes a text node). */
  function el(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const name in attributes) if (attributes[name] != null) made.setAttribute(name, attributes[name]);
    made.append(...children.filter(c => c != null));
    return made;
  }
  function svg(tag, attributes, text) {
    const made = document.createElementNS(SVG, tag);
    for (const name in attributes) made.setAttribute(name, attributes[name]);
    if (text != null) made.textContent = text;
    return made;
  }
  /** A stranger's text: its own direction, in full when pointed at. */
  const foreign = (tag, text, kind) => el(tag, { dir: 'auto', title: text, class: kind }, text);
  const range = n => Array.from({ length: n }, (_, i) => i);
  const clamp = (v, low, high) => Math.min(high, Math.max(low, v));
  const clip = (text, most) => {
    if (text.length <= most) return text;
    const points = Array.from(text.slice(0, 2 * most));
    return points.length <= most && text.length <= 2 * most ? text : points.slice(0, most - 1).join('') + '…';
  };
  const fold = text => text.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');
  const whole = n => Math.round(n).toLocaleString('en');
  const percent = p => p >= 0.0995 ? Math.round(100 * p) + '%' : p >= 0.00995 ? (100 * p).toFixed(1) + '%' : p >= 0.00005 ? (100 * p).toFixed(2) + '%' : p > 0 ? '<0.01%' : '0%';
  const figure = v => v == null || !isFinite(v) ? '–' : v.toFixed(2).replace('-', '−');
  const bytes = b => {
    const unit = b >= 2 ** 30 ? 3 : b >= 2 ** 20 ? 2 : 1;
    const v = b / 1024 ** unit;
    return (v >= 100 ? whole(v) : String(+v.toPrecision(3))) + ' ' + ['', 'KiB', 'MiB', 'GiB'][unit];
  };
  const say = text => { $('said').textContent = text; };

  // A file opened from disk may have no local storage.
  const store = {
    works: true,
    get(key) { try { return localStorage.getItem(key); } catch { store.works = false; return null; } },
    set(key, value) { try { localStorage.setItem(key, value); } catch { store.works = false; } },
  };

  // ---- Relevance ----

  const logs = Float64Array.from(words.share, s => Math.log(Math.max(s, 1e-12)));
  const relevance = (k, i, lambda) => Math.log(Math.max(data.topP[k][i], 1e-300)) - (1 - lambda) * logs[data.top[k][i]];
  /** Places in top[k] of its most relevant words. */
  function ranked(k, lambda) {
    const score = data.top[k].map((_, i) => relevance(k, i, lambda));
    return range(score.length).sort((a, b) => score[b] - score[a]).slice(0, SHOWN);
  }
  const firsts = []; // per topic, its top words at the default lambda
  function first(k) {
    if (!firsts[k]) {
      const best = [];
      for (let i = 0; i < data.top[k].length; i++) {
        const score = relevance(k, i, 0.6);
        if (best.length === 6 && score <= best[5][0]) continue;
        let at = best.length;
        while (at && best[at - 1][0] < score) at--;
        best.splice(at, 0, [score, data.top[k][i]]);
        best.length = Math.min(best.length, 6);
      }
      firsts[k] = best.map(b => b[1]);
    }
    return firsts[k];
  }
  const gist = (k, n) => first(k).slice(0, n).map(w => clip(words.text[w], 24)).join(', ');

  // ---- Topic names given by the reader ----

  const fingerprint = (() => {
    let h = 2166136261;
    const take = text => { for (let i = 0; i < Math.min(text.length, 64); i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619); };
    take(String(data.title) + K);
    for (let k = 0; k < K; k++) first(k).forEach(w => take(words.text[w]));
    return (h >>> 0).toString(16);
  })();
  let names = {};
  try { names = JSON.parse(store.get('tinylda names ' + fingerprint)) || {}; } catch { /* not ours */ }
  const given = Array.isArray(topics.names) ? topics.names : []; // names of seed words, which the reader may change
  const nameOf = k => typeof names[k] === 'string' ? names[k] : given[k] || '';
  const called = (k, n) => nameOf(k) || gist(k, n);
  function rename(k, name) {
    if (name) names[k] = name; else if (given[k]) names[k] = ''; else delete names[k];
    renamed();
  }
  function renamed() {
    store.set('tinylda names ' + fingerprint, JSON.stringify(names));
    map.names();
    built.list = built.compare = false;
    kept();
  }
  function kept() {
    $('kept').firstElementChild.textContent = store.works
      ? 'The name is saved in this browser.' : 'This browser cannot save names for local files: export them before you close the page.';
  }
  function exportNames() {
    const named = range(K).filter(nameOf).map(k => ({ topic: k, name: nameOf(k), words: first(k).map(w => words.text[w]) }));
    const text = JSON.stringify({ title: data.title, topics: K, names: named }, null, 1);
    const address = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    const a = el('a', { href: address, download: (String(data.title).replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 60) || 'topics') + '-names.json' });
    a.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    say(`${named.length} names exported`);
  }
  async function importNames(file) {
    try {
      const read = JSON.parse(await file.text());
      const good = read.names.filter(n => Number.isInteger(n.topic) && n.topic >= 0 && n.topic < K && typeof n.name === 'string');
      for (const n of good) names[n.topic] = n.name.slice(0, 200);
      renamed();
      show();
      $('sifted').textContent = `${good.length} names read.`;
    } catch {
      $('sifted').textContent = 'This file contains no topic names.';
    }
  }

  // ---- Selection, stored in the address ----

  const TABS = ['topic', 'compare', 'word', 'documents', 'list', 'run'].filter(tab =>
    !(tab === 'documents' && !(documents && documents.number.length)) && !(tab === 'compare' && K < 2) && !(tab === 'run' && !data.run));
  const largest = topics.prevalence.reduce((best, p, k) => p > topics.prevalence[best] ? k : best, 0);
  const now = { tab: 'topic', topic: largest, other: null, lambda: 0.6, word: null, doc: null };
  const built = {};
  let wordIndex = null;

  function fromAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const number = (name, least, most) => {
      const v = asked.get(name);
      return v !== null && /^\d{1,12}$/.test(v) && +v >= least && +v < most ? +v : null;
    };
    const lambda = parseFloat(asked.get('lambda'));
    if (asked.has('word')) wordIndex ||= new Map(words.text.map((w, i) => [w, i]));
    now.tab = TABS.includes(asked.get('part')) ? asked.get('part') : 'topic';
    now.topic = number('topic', 0, K) ?? largest;
    now.other = number('with', 0, K);
    now.lambda = lambda >= 0 && lambda <= 1 ? Math.round(100 * lambda) / 100 : 0.6;
    now.word = asked.has('word') ? wordIndex.get(asked.get('word')) ?? null : null;
    const doc = documents ? documents.number.indexOf(number('document', 1, Infinity) - 1) : -1;
    now.doc = doc >= 0 ? doc : null;
  }
  function toAddress(push) {
    const say = new URLSearchParams();
    if (now.tab !== 'topic') say.set('part', now.tab);
    say.set('topic', now.topic);
    if (now.lambda !== 0.6) say.set('lambda', now.lambda);
    if (now.other !== null && now.tab === 'compare') say.set('with', now.other);
    if (now.word !== null) say.set('word', words.text[now.word]);
    if (now.doc !== null && now.tab === 'documents') say.set('document', documents.number[now.doc] + 1);
    const hash = '#' + say;
    if (hash === location.hash) return;
    try { history[push ? 'pushState' : 'replaceState'](null, '', hash); } catch { /* too many, or refused: the page works without */ }
  }
  /** Chooses; `push` makes it a step that the browser's back button undoes. */
  function choose(change, push = true) {
    const was = { ...now }, inside = document.activeElement.closest('[role=tabpanel]');
    Object.assign(now, change);
    show();
    toAddress(push);
    const above = (id, edge) => $(id).getBoundingClientRect()[edge] < 0;
    if (now.tab !== was.tab) {
      if (above('tabs', 'top')) $('tabs').scrollIntoView();
      if (inside) $(now.tab).focus({ preventScroll: true }); // the focused element is hidden
    } else if (now.doc !== was.doc && above('document', 'bottom')) $('document').scrollIntoView();
  }
  function chooseTopic(k, push) {
    const stays = now.tab === 'topic' || now.tab === 'compare' && k !== now.other;
    choose({ topic: k, tab: stays ? now.tab : 'topic' }, push);
    say(`Topic ${k}: ${called(k, 5)}`);
  }
  const chooseWord = w => choose({ word: w, tab: 'word' });
  const chooseDocument = d => choose({ doc: d, tab: 'documents' });

  function show() {
    for (const tab of TABS) {
      const here = tab === now.tab;
      $('tab-' + tab).setAttribute('aria-selected', here);
      $('tab-' + tab).tabIndex = here ? 0 : -1;
      $(tab).hidden = !here;
    }
    draw[now.tab]();
    map.choose();
    const chip = $('chip');
    chip.hidden = now.word === null;
    if (now.word !== null) {
      const word = words.text[now.word];
      chip.querySelector('bdi').textContent = word;
      chip.title = word;
      chip.setAttribute('aria-label', `Clear the word ${clip(word, 60)}`);
    }
  }

  // ---- Lists: one tab stop, arrow keys inside ----

  function roving(list, selector) {
    const items = () => [...list.querySelectorAll(selector)].filter(i => i.offsetParent);
    list.addEventListener('keydown', event => {
      const all = items(), at = all.indexOf(event.target.closest(selector));
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
      if (to === undefined || at < 0) return;
      event.preventDefault();
      const next = all[clamp(to, 0, all.length - 1)];
      all[at].tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    list.addEventListener('focusin', event => {
      const item = event.target.closest(selector);
      if (!item) return;
      for (const other of list.querySelectorAll(selector + '[tabindex="0"]')) other.tabIndex = -1;
      item.tabIndex = 0;
    });
    /** After a redraw: the first one is the stop, unless one is. */
    return () => {
      const all = list.querySelectorAll(selector);
      let stop = list.querySelector(selector + '[tabindex="0"]');
      if (stop && stop.closest('[hidden]')) stop.tabIndex = -1, stop = null;
      all.forEach(item => { if (item !== stop) item.tabIndex = -1; });
      if (!stop && all.length) all[0].tabIndex = 0;
    };
  }

  // ---- The map ----

  const map = (() => {
    const plot = $('plot'), ring = $('ring'), field = plot.parentElement, tip = $('tip');
    const order = range(K).sort((a, b) => topics.prevalence[b] - topics.prevalence[a]);
    const circles = [];
    let width = 600, height = 600;
    let zoom = 1, panX = 0, panY = 0; // screen = position * zoom + pan
    let baseX, baseY, unit; // positions at zoom 1, and the radius of weight 1
    let hover = null, preview = null, weights = null, waiting = false;
    const pool = [], measured = new Map();
    const pen = document.createElement('canvas').getContext('2d');
    let family = null;

    for (const k of order) {
      circles[k] = svg('circle', { id: 'c' + k, 'data-topic': k, role: 'option', 'aria-selected': 'false' });
      $('circles').append(circles[k]);
    }
    if (K > 200) plot.classList.add('many');

    function widthOf(text, size) {
      const key = size + text;
      let w = measured.get(key);
      if (w === undefined) {
        family ||= getComputedStyle(document.body).fontFamily;
        pen.font = `${size}px ${family}`;
        measured.set(key, w = pen.measureText(text).width);
      }
      return w;
    }
    const radius = k => {
      const w = weights ? weights.get(k) || 0 : topics.prevalence[k];
      return w ? Math.max(2.5, unit * Math.sqrt(w * Math.min(zoom, 16) * (weights ? 0.55 : 1))) : 2;
    };
    const screenX = k => baseX[k] * zoom + panX;
    const screenY = k => baseY[k] * zoom + panY;

    /** Places at zoom 1: both axes alike, and space for the outermost circles. */
    function fit() {
      unit = Math.sqrt(0.13 * width * height / Math.PI);
      const finite = v => Number.isFinite(v) ? v : 0;
      const x = topics.x.map(finite), y = topics.y.map(finite);
      const reach = topics.prevalence.map(p => Math.max(2.5, unit * Math.sqrt(p)));
      const extent = (values, scale) => {
        let low = Infinity, high = -Infinity;
        values.forEach((v, k) => { low = Math.min(low, v * scale - reach[k]); high = Math.max(high, v * scale + reach[k]); });
        return [high - low, (low + high) / 2, Math.max(...values) - Math.min(...values)];
      };
      let low = 0, high = 2 * Math.max(width, height) / (Math.max(extent(x, 1)[2], extent(y, 1)[2]) || Infinity); // 0 if all positions are equal
      for (let i = 0; i < 40; i++) {
        const s = (low + high) / 2;
        if (extent(x, s)[0] <= width - 24 && extent(y, s)[0] <= height - 48) low = s; else high = s;
      }
      const s = low, midX = extent(x, s)[1], midY = extent(y, s)[1];
      baseX = x.map(v => width / 2 + v * s - midX);
      baseY = y.map(v => height / 2 - 4 - (v * s - midY));
    }
    function frame() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; place(); });
    }
    function place() {
      for (let k = 0; k < K; k++) {
        const c = circles[k];
        c.setAttribute('cx', screenX(k).toFixed(1));
        c.setAttribute('cy', screenY(k).toFixed(1));
        c.setAttribute('r', radius(k).toFixed(1));
        if (weights || c.classList.contains('dim')) c.classList.toggle('dim', !!weights && !weights.has(k));
      }
      around();
      write();
    }
    function around() {
      const other = now.tab === 'compare' ? now.other : null;
      for (const [mark, k] of [[ring, now.topic], [$('ring2'), other]]) {
        mark.setAttribute('r', k === null ? 0 : (radius(k) + 3).toFixed(1));
        if (k === null) continue;
        mark.setAttribute('cx', screenX(k).toFixed(1));
        mark.setAttribute('cy', screenY(k).toFixed(1));
      }
    }
    /** Numbers in circles, words beside them: as many as do not meet. */
    function write() {
      const taken = [];
      let used = 0;
      const free = (x, y, w, h) => x > 0 && x + w < width && y > 0 && y + h < height &&
        !taken.some(t => x < t[0] + t[2] && t[0] < x + w && y < t[1] + t[3] && t[1] < y + h);
      const put = (text, x, y, kind) => {
        const t = pool[used] || (pool[used] = $('texts').appendChild(svg('text')));
        used++;
        t.textContent = text;
        t.setAttribute('x', x.toFixed(1));
        t.setAttribute('y', y.toFixed(1));
        t.setAttribute('class', kind);
        t.removeAttribute('display');
      };
      const seen = [now.topic];
      for (const k of weights ? [...weights.keys()] : order) {
        const x = screenX(k), y = screenY(k);
        if (k !== now.topic && x > 0 && x < width && y > 0 && y < height) seen.push(k);
        if (seen.length > 400) break;
      }
      const small = order.filter(k => radius(k) < 18).map(k => [k, screenX(k), screenY(k), radius(k) * 0.8]);
      /** No small circle of another topic under this text. */
      const clear = (of, x, y, w, h) => !small.some(([k, cx, cy, r]) => k !== of && cx + r > x && cx - r < x + w && cy + r > y && cy - r < y + h);
      // Numbers come first: a name must not hide the number of another topic.
      const alone = new Set(), boxes = new Map();
      for (const k of seen) {
        const r = radius(k), size = r > 22 ? 14 : 11, w = widthOf(String(k), size);
        const box = [screenX(k) - w / 2 - 1, screenY(k) - size / 2 - 1, w + 2, size + 2];
        if (w / 2 + 2 < r && r > 7 && free(...box)) {
          taken.push(box);
          boxes.set(k, box);
        } else alone.add(k);
      }
      for (const [k, box] of boxes) {
        const r = radius(k), x = screenX(k), y = screenY(k), on = k === now.topic ? ' on' : '';
        const inside = r > 24 && named(k, 2 * r - 12, 11), half = inside ? widthOf(inside, 11) / 2 : 0;
        taken.splice(taken.indexOf(box), 1);
        const up = [box[0], box[1] - 7, box[2], box[3]];
        const lift = inside && free(...up) && free(x - half, y + 1, 2 * half, 12) && clear(k, x - half, y + 1, 2 * half, 12);
        taken.push(lift ? up : box);
        put(String(k), x, lift ? y - 7 : y, (r > 22 ? 'big' : 'num') + on);
        if (lift) {
          taken.push([x - half, y + 1, 2 * half, 13]);
          put(inside, x, y + 8, 'in' + on);
        } else alone.add(k);
      }
      let beside = 0;
      for (const k of seen) {
        if (!alone.has(k) || beside > 60) continue;
        const r = radius(k), y = screenY(k);
        const text = (boxes.has(k) ? '' : `${k} `) + named(k, 130, 11);
        const w = widthOf(text, 11), x = clamp(screenX(k), w / 2 + 5, width - w / 2 - 5);
        const low = y + r + 2, high = y - r - 15;
        const at = [low, high].find(t => free(x - w / 2 - 3, t, w + 6, 13) && (k === now.topic || clear(k, x - w / 2, t, w, 13)));
        if (at === undefined || Math.abs(x - screenX(k)) > r + 60) continue;
        taken.push([x - w / 2 - 3, at, w + 6, 13]);
        put(text, x, at + 7, k === now.topic ? 'by chosen' : 'by');
        beside++;
      }
      for (let i = used; i < pool.length; i++) pool[i].setAttribute('display', 'none');
    }
    /** A name, or as many words as fit. */
    function named(k, width, size) {
      const name = nameOf(k);
      if (name) {
        for (let n = Math.min(name.length, 40); n > 3; n--) { const t = clip(name, n); if (widthOf(t, size) <= width) return t; }
        return '';
      }
      for (let n = 2; n > 0; n--) {
        const t = first(k).slice(0, n).map(w => clip(words.text[w], 16)).join(', ');
        if (widthOf(t, size) <= width) return t;
      }
      return '';
    }

    // Zoom and pan.
    function zoomTo(wanted, x = width / 2, y = height / 2) {
      const next = clamp(wanted, 1, 60), ratio = next / zoom;
      panX = x - (x - panX) * ratio;
      panY = y - (y - panY) * ratio;
      zoom = next;
      bound();
    }
    function bound() {
      // The middle half of the map stays visible.
      const hold = (pan, size) => clamp(pan, size * (0.75 - zoom), size * 0.25);
      if (zoom === 1) panX = panY = 0;
      else { panX = hold(panX, width); panY = hold(panY, height); }
      plot.classList.toggle('zoomed', zoom > 1);
      plot.classList.add('still');
      point(null);
      frame();
    }
    function reveal(k) {
      const x = screenX(k), y = screenY(k), m = Math.min(40, width / 6);
      if (x > m && x < width - m && y > m && y < height - m) return;
      if (zoom === 1) return;
      panX += width / 2 - x;
      panY += height / 2 - y;
      bound();
    }

    /** The topic under a place: the smallest circle that holds it, or the nearest one within a finger's breadth. */
    function under(x, y, slack) {
      let best = null, least = Infinity;
      for (let k = 0; k < K; k++) {
        const d = Math.hypot(screenX(k) - x, screenY(k) - y), r = radius(k);
        const cost = d <= r ? r / 1e4 : d <= r + slack ? d - r + 1e4 : Infinity;
        if (cost < least) { least = cost; best = k; }
      }
      return best;
    }
    function point(k) {
      if (k === hover) return;
      if (hover !== null) circles[hover].classList.remove('hover');
      hover = k;
      plot.classList.toggle('points', k !== null);
      if (k === null) { tip.hidden = true; return; }
      circles[k].classList.add('hover');
      const share = weights ? `${percent(weights.get(k) || 0)} of the word` : `${percent(topics.prevalence[k])} of all words`;
      tip.replaceChildren(el('strong', {}, `Topic ${k}`), el('span', { class: 'quiet' }, ` ${share}`));
      if (nameOf(k)) tip.append(foreign('div', clip(nameOf(k), 80)));
      tip.append(foreign('div', gist(k, 6), 'gist'));
      tip.hidden = false;
      const x = screenX(k), y = screenY(k), r = radius(k);
      const box = tip.getBoundingClientRect();
      tip.style.left = clamp(x - box.width / 2, 4, Math.max(4, width - box.width - 4)) + 'px';
      tip.style.top = (y - r - box.height - 8 > 0 ? y - r - box.height - 8 : Math.min(y + r + 8, height - box.height - 2)) + 'px';
    }

    const fingers = new Map();
    let moved = false, spread = 0;
    const local = event => {
      const box = plot.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const span = () => {
      const [a, b] = [...fingers.values()];
      return [Math.hypot(a[0] - b[0], a[1] - b[1]), (a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    };
    plot.addEventListener('pointerdown', event => {
      if (event.button) return;
      if (!fingers.size) moved = false;
      fingers.set(event.pointerId, local(event));
      if (fingers.size === 2) { spread = span()[0]; moved = true; }
    });
    plot.addEventListener('pointermove', event => {
      const [x, y] = local(event), last = fingers.get(event.pointerId);
      if (!last) {
        if (event.pointerType !== 'touch') point(under(x, y, 5));
        return;
      }
      if (fingers.size === 2) {
        const [, wasX, wasY] = span();
        fingers.set(event.pointerId, [x, y]);
        const [apart, midX, midY] = span();
        panX += midX - wasX;
        panY += midY - wasY;
        zoomTo(zoom * apart / (spread || apart), midX, midY);
        spread = apart;
        return;
      }
      if (!moved && Math.hypot(x - last[0], y - last[1]) < 5) return;
      if (!moved) { moved = true; try { plot.setPointerCapture(event.pointerId); } catch { /* gone already */ } }
      fingers.set(event.pointerId, [x, y]);
      panX += x - last[0];
      panY += y - last[1];
      bound();
    });
    for (const end of ['pointerup', 'pointercancel']) plot.addEventListener(end, event => fingers.delete(event.pointerId));
    plot.addEventListener('pointerleave', event => { if (!fingers.has(event.pointerId)) point(null); });
    plot.addEventListener('touchstart', event => { if (event.touches.length > 1) event.preventDefault(); }, { passive: false });
    plot.addEventListener('click', event => {
      if (moved) { moved = false; return; }
      const direct = event.target.closest('[data-topic]');
      const k = event.detail ? under(...local(event), 10) : direct ? +direct.dataset.topic : null;
      if (k !== null) chooseTopic(k);
    });
    plot.addEventListener('dblclick', event => zoomTo(zoom * 2, ...local(event)));
    plot.addEventListener('wheel', event => {
      if (zoom === 1 && event.deltaY > 0 && !event.ctrlKey) return; // fully zoomed out: let the page scroll
      event.preventDefault();
      const step = event.deltaMode ? 30 : 1;
      zoomTo(zoom * Math.exp(-clamp(event.deltaY * step, -300, 300) * 0.002), ...local(event));
    }, { passive: false });
    plot.addEventListener('keydown', event => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (way && event.shiftKey) {
        panX -= way[0] * 60; panY -= way[1] * 60; bound();
      } else if (way) {
        let best = null, least = Infinity;
        for (let k = 0; k < K; k++) {
          const dx = screenX(k) - screenX(now.topic), dy = screenY(k) - screenY(now.topic);
          const along = dx * way[0] + dy * way[1], off = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
          if (k !== now.topic && along > 0 && along + 2 * off < least) { least = along + 2 * off; best = k; }
        }
        if (best !== null) { chooseTopic(best, false); reveal(best); }
      } else if (event.key === '+' || event.key === '=') zoomTo(zoom * 1.5);
      else if (event.key === '-') zoomTo(zoom / 1.5);
      else if (event.key === '0') zoomTo(1);
      else if (event.key === 'Home') chooseTopic(largest, false);
      else return;
      event.preventDefault();
    });
    $('in').onclick = () => zoomTo(zoom * 1.6);
    $('out').onclick = () => zoomTo(zoom / 1.6);
    $('fit').onclick = () => zoomTo(1);

    function setWeights() {
      const w = preview ?? now.word;
      weights = w === null ? null : new Map(data.lives[w].map((k, i) => [k, data.livesP[w][i]]));
      plot.classList.remove('still');
      $('legend').textContent = weights
        ? 'Area: share of the word that belongs to the topic. Dots: less than 1%.'
        : 'Each circle is a topic. Area: prevalence. Distance: similarity of words.';
      frame();
    }

    // Colour by a value: cividis, from dark to light, distinguishable without red and green.
    const RAMP = [[0, 42, 102], [64, 78, 107], [124, 123, 120], [180, 170, 112], [253, 229, 94]];
    const ramp = t => {
      const at = clamp(t, 0, 1) * (RAMP.length - 1), i = Math.min(Math.floor(at), RAMP.length - 2);
      return `rgb(${RAMP[i].map((c, j) => Math.round(c + (RAMP[i + 1][j] - c) * (at - i))).join()})`;
    };
    function paint() {
      const values = topics[$('paint').value];
      let low = Infinity, high = -Infinity;
      for (const v of values || []) if (v != null) { low = Math.min(low, v); high = Math.max(high, v); }
      circles.forEach((c, k) => {
        const v = values && values[k];
        c.style.fill = v == null ? '' : ramp(high > low ? (v - low) / (high - low) : 0.5);
      });
      plot.classList.toggle('painted', !!values);
      $('scale').hidden = !values;
      if (!values) return;
      const [from, bar, to] = $('scale').children;
      from.textContent = `${$('paint').value} ${figure(low)}`;
      to.textContent = figure(high);
      bar.replaceChildren(...range(24).map(i => svg('rect', { x: 4 * i, width: 4.5, height: 10, fill: ramp(i / 23) })));
    }
    if (!topics.coherence) $('paint').querySelector('[value=coherence]').remove();
    $('paint').onchange = paint;

    let chosen = null;
    return {
      choose() {
        if (chosen !== now.topic) {
          if (chosen !== null) { circles[chosen].classList.remove('chosen'); circles[chosen].setAttribute('aria-selected', 'false'); }
          chosen = now.topic;
          circles[chosen].classList.add('chosen');
          circles[chosen].setAttribute('aria-selected', 'true');
          plot.setAttribute('aria-activedescendant', 'c' + chosen);
          if (baseX) write();
        }
        if (baseX) around();
        if (preview !== null || (weights ? weights.of : null) !== now.word) { preview = null; setWeights(); if (weights) weights.of = now.word; }
      },
      preview(w) { if (w !== preview) { preview = w; setWeights(); if (weights) weights.of = w; } },
      names() {
        for (let k = 0; k < K; k++) circles[k].setAttribute('aria-label', `Topic ${k}: ${called(k, 4)}; ${percent(topics.prevalence[k])} of all words`);
        if (baseX) frame();
      },
      start() {
        const resize = () => {
          const box = plot.getBoundingClientRect();
          if (!box.width || printing()) return;
          width = box.width; height = box.height;
          plot.setAttribute('viewBox', `0 0 ${width.toFixed(1)} ${height.toFixed(1)}`);
          zoom = 1; panX = panY = 0;
          plot.classList.add('still');
          fit();
          place();
        };
        new ResizeObserver(resize).observe(plot);
        this.names();
        setWeights();
        resize();
      },
    };
  })();

  // ---- Rows with bars ----

  /** Row of a word: two bars behind one another, as shares of `most`. */
  function wordRow() {
    const name = el('bdi', { class: 'w' });
    const all = el('i', { class: 'all' }), part = el('i', { class: 'in' });
    const value = el('span', { class: 'v' });
    const button = el('button', { type: 'button', tabindex: -1 }, name, el('span', { class: 'track', 'aria-hidden': 'true' }, all, part), value);
    const row = el('li', {}, button);
    return { row, button, name, all, part, value };
  }
  function wordList(list) {
    const pool = [];
    list.addEventListener('click', event => { const b = event.target.closest('button'); if (b) chooseWord(+b.dataset.word); });
    const peek = event => { const b = event.target.closest('button'); map.preview(b ? +b.dataset.word : null); };
    list.addEventListener('pointerover', event => { if (event.pointerType === 'mouse') peek(event); });
    list.addEventListener('pointerleave', () => map.preview(null));
    list.addEventListener('focusin', event => { if (event.target.matches(':focus-visible')) peek(event); });
    list.addEventListener('focusout', () => map.preview(null));
    const settle = roving(list, 'button');
    /** rows: [{ word, all, part, value, says, mark }] */
    return rows => {
      rows.forEach((r, i) => {
        if (!pool[i]) { pool[i] = wordRow(); list.append(pool[i].row); }
        const p = pool[i], text = words.text[r.word];
        p.row.hidden = false;
        p.row.classList.toggle('mark', !!r.mark);
        p.button.dataset.word = r.word;
        p.button.title = `${text}\n${r.says}`;
        p.button.setAttribute('aria-label', `${clip(text, 100)}: ${r.says}`);
        p.name.textContent = text;
        p.all.style.width = (100 * clamp(r.all, 0, 1)).toFixed(2) + '%';
        p.part.style.width = (100 * clamp(r.part, 0, 1)).toFixed(2) + '%';
        p.value.textContent = r.value;
      });
      for (let i = rows.length; i < pool.length; i++) pool[i].row.hidden = true;
      settle();
    };
  }
  const rate = p => { const v = 1e4 * p; return v >= 10 ? whole(v) : v >= 0.1 ? v.toFixed(1) : 'fewer than 0.1'; };

  /** Topics with shares: of a word, of a document. Each is a button that chooses the topic. */
  function topicBars(list, ks, shares, rest) {
    const most = Math.max(...shares, 0.01);
    ks.forEach((k, i) => {
      const fill = el('i', { class: 'in' });
      fill.style.width = (100 * shares[i] / most).toFixed(2) + '%';
      const button = el('button', { type: 'button', tabindex: -1, 'data-topic': k, 'aria-label': `Topic ${k}, ${called(k, 4)}: ${percent(shares[i])}` },
        el('span', { class: 'n' }, String(k)), foreign('span', called(k, 5), 'w' + (nameOf(k) ? ' named' : '')),
        el('span', { class: 'track', 'aria-hidden': 'true' }, fill), el('span', { class: 'v' }, percent(shares[i])));
      list.append(el('li', {}, button));
    });
    if (rest > 0.005) {
      const fill = el('i', { class: 'all' });
      fill.style.width = Math.min(100, 100 * rest / most).toFixed(2) + '%';
      list.append(el('li', { class: 'rest' }, el('div', {}, el('span', { class: 'n' }), el('span', { class: 'w quiet' }, 'all other topics'),
        el('span', { class: 'track', 'aria-hidden': 'true' }, fill), el('span', { class: 'v' }, percent(rest)))));
    }
    list.addEventListener('click', event => { const b = event.target.closest('button'); if (b) chooseTopic(+b.dataset.topic); });
    roving(list, 'button')();
    return list;
  }

  // ---- Documents ----

  const titleOf = d => documents.name && documents.name[d] || `Document ${documents.number[d] + 1}`;
  // Labels and date of a document, in the order of the label columns.
  const tagsOf = d => {
    const at = labels && documents.label && documents.label[d] != null ? [].concat(documents.label[d]) : [];
    const date = documents.date && documents.date[d] ? [documents.date[d].slice(0, 10)] : [];
    return at.map(l => labels.text[l]).concat(date);
  };
  function documentRow(d, share) {
    const head = el('span', { class: 'h' }, foreign('span', titleOf(d), 't'));
    for (const tag of tagsOf(d)) head.append(foreign('span', tag, 'tag'));
    if (share != null) head.append(el('span', { class: 'v', title: 'proportion of this topic in the document' }, percent(share)));
    const button = el('button', { type: 'button', tabindex: -1, 'data-doc': d }, head);
    if (documents.text && documents.text[d]) button.append(el('span', { class: 'x', dir: 'auto' }, documents.text[d]));
    return el('li', {}, button);
  }
  function documentList(list) {
    list.addEventListener('click', event => { const b = event.target.closest('button'); if (b) chooseDocument(+b.dataset.doc); });
    return roving(list, 'button');
  }
  const shareIn = (d, k) => { const i = documents.topics[d].indexOf(k); return i < 0 ? null : documents.topicsP[d][i]; };

  // ---- Panels ----

  const fillWords = wordList($('words')), fillOne = wordList($('oneWords')), fillTwo = wordList($('twoWords'));
  const settleTypical = documentList($('typical')), settleHits = documentList($('hits'));
  const FACTS = [
    ['prevalence', 'of all words', 'Share of all words that the training assigned to the topic.', percent],
    ['coherence', 'coherence', 'How often its top words occur together; higher is better.', figure],
    ['exclusivity', 'exclusivity', 'How specific its words are to it; 1 is the maximum.', figure],
  ].filter(f => topics[f[0]]);

  function drawWords() {
    const k = now.topic;
    const rows = ranked(k, now.lambda).map(i => {
      const word = data.top[k][i], all = words.share[word], part = Math.min(topics.prevalence[k] * data.topP[k][i], all);
      return { word, all, part, value: percent(all ? part / all : 0) };
    });
    const most = Math.max(...rows.map(r => r.all), 1e-12);
    for (const r of rows) {
      r.says = `${rate(r.all)} in 10,000 words; ${r.value} of them in topic ${k}`;
      r.all /= most;
      r.part /= most;
    }
    fillWords(rows);
    $('lambda').value = now.lambda;
    $('lambdaIs').textContent = 'λ = ' + now.lambda.toFixed(2);
  }

  // Every label column has a list of its own.
  const columnOf = l => labels.column ? labels.column[l] : 0;
  const labelColumns = labels ? [...new Set(range(labels.text.length).map(columnOf))] : [];
  // Labels that look like years (1999, 1990s, 1999-05, 1999-05-17) are shown as a time line.
  const isTime = c => {
    const at = range(labels.text.length).filter(l => columnOf(l) === c);
    return at.length > 1 && at.every(l => /^\s*[12]\d{3}(s|([-/.]\d\d){0,2})\s*$/.test(labels.text[l]));
  };
  const times = labelColumns.length === 1 && isTime(labelColumns[0]);
  const wholeLists = new Set();
  function drawWhere() {
    $('where').replaceChildren();
    for (const c of labelColumns) {
      const box = el('div', {});
      if (labelColumns.length > 1) box.append(el('h4', { dir: 'auto' }, labels.columns[c]));
      const where = el('div', {});
      box.append(where);
      $('where').append(box);
      drawColumn(c, where);
    }
  }
  function drawColumn(c, where) {
    const k = now.topic;
    const of = l => labels.share[l][k];
    const says = l => `${labels.text[l]}: ${percent(of(l))} of ${whole(labels.documents[l])} documents`;
    const at = range(labels.text.length).filter(l => columnOf(l) === c && labels.documents[l] > 0);
    const most = Math.max(...at.map(of), 1e-9);
    if (isTime(c)) {
      at.sort((a, b) => labels.text[a].trim() < labels.text[b].trim() ? -1 : 1);
      const W = 400, H = 132, left = 38, base = 108, step = (W - left - 4) / at.length;
      const chart = svg('svg', { viewBox: `0 0 ${W} ${H}`, class: 'chart', role: 'img', 'aria-label': `Share of topic ${k} by time: ` + at.map(says).join('; ') });
      for (const t of [0, most / 2, most]) {
        const y = base - 96 * t / most;
        chart.append(svg('line', { x1: left, x2: W, y1: y, y2: y, class: t ? 'rule' : 'axis' }), svg('text', { x: left - 6, y: y + 4, class: 'right' }, percent(t)));
      }
      const every = Math.ceil(Math.max(...at.map(l => labels.text[l].trim().length)) * 7 / step + 0.4);
      at.forEach((l, i) => {
        const h = 96 * of(l) / most, x = left + i * step;
        const column = svg('rect', { x: x + step * 0.1, y: base - h, width: step * 0.8, height: Math.max(h, 0.5), class: 'column' });
        column.append(svg('title', {}, says(l)));
        chart.append(column);
        if (i % every === 0) chart.append(svg('text', { x: x + step / 2, y: base + 16, class: 'middle' }, labels.text[l].trim()));
      });
      where.replaceChildren(chart);
      return;
    }
    at.sort((a, b) => of(b) - of(a));
    const list = el('ol', { class: 'bars plainbars', 'aria-label': 'Labels' });
    for (const l of wholeLists.has(c) ? at : at.slice(0, 10)) {
      const fill = el('i', { class: 'in' });
      fill.style.width = (100 * of(l) / most).toFixed(2) + '%';
      list.append(el('li', {}, el('div', { title: says(l) }, el('bdi', { class: 'w', title: says(l) }, labels.text[l]),
        el('span', { class: 'track', 'aria-hidden': 'true' }, fill), el('span', { class: 'v' }, percent(of(l))))));
    }
    where.replaceChildren(list);
    if (at.length > 10) {
      const more = el('button', { type: 'button', class: 'link' }, wholeLists.has(c) ? 'Show the first ten' : `Show all ${at.length}`);
      more.onclick = () => {
        if (!wholeLists.delete(c)) wholeLists.add(c);
        drawColumn(c, where);
        where.querySelector('.link').focus();
      };
      where.append(more);
    }
  }

  const draw = {
    topic() {
      const k = now.topic;
      $('number').textContent = `Topic ${k}`;
      if (document.activeElement !== $('name') || $('name').dataset.topic !== String(k)) $('name').value = nameOf(k);
      $('name').dataset.topic = k;
      $('facts').replaceChildren(...FACTS.map(([key, name, meaning, form]) =>
        el('div', {}, el('dd', {}, form(topics[key][k])), el('dt', {}, name), el('dd', { class: 'quiet small' }, meaning))));
      drawWords();
      const typical = documents && data.typical && data.typical[k] || [];
      $('typicals').hidden = !typical.length;
      if (typical.length) { $('typical').replaceChildren(...typical.map(d => documentRow(d, shareIn(d, k)))); settleTypical(); }
      $('wheres').hidden = !labels;
      if (labels) { $('wheres').firstElementChild.textContent = times ? 'Over time' : 'By label'; drawWhere(); }
      const near = topics.near && topics.near[k] || [];
      $('nears').hidden = !near.length;
      $('near').replaceChildren(...near.map((j, i) => el('li', {}, el('button', { type: 'button', tabindex: -1, 'data-topic': j },
        el('span', { class: 'n' }, String(j)), foreign('span', called(j, 6), 'w' + (nameOf(j) ? ' named' : '')),
        el('span', { class: 'v quiet', title: 'distance' }, topics.apart ? figure(topics.apart[k][i]) : '')))));
      settleNear();
    },

    compare() {
      const near = topics.near && topics.near[now.topic] || [];
      if (now.other === null || now.other === now.topic) now.other = near[0] ?? (now.topic ? 0 : 1);
      const k = now.topic, j = now.other;
      if (!built.compare) {
        const options = () => range(K).map(i => el('option', { value: i }, clip(`${i}  ${called(i, 3)}`, 60)));
        $('one').replaceChildren(...options());
        $('two').replaceChildren(...options());
        built.compare = true;
      }
      $('one').value = k;
      $('two').value = j;
      $('nearest').replaceChildren(...near.length ? [el('span', { class: 'quiet small' }, `Nearest to ${k}`)] : [], ...near.map((o, i) => el('button',
        { type: 'button', class: 'chip', 'data-topic': o, 'aria-pressed': o === j, title: called(o, 6) },
        String(o), el('span', { class: 'quiet' }, topics.apart ? ' ' + figure(topics.apart[k][i]) : ''))));
      const mine = ranked(k, now.lambda), theirs = ranked(j, now.lambda);
      const ids = (t, list) => new Set(list.map(i => data.top[t][i]));
      const inMine = ids(k, mine), inTheirs = ids(j, theirs);
      const both = [...inMine].filter(w => inTheirs.has(w)).length;
      $('shared').textContent = `${both === 0 ? 'None' : both} of the ${SHOWN} most relevant words (λ = ${now.lambda.toFixed(2)}) ${both === 1 ? 'is' : 'are'} in both lists.`;
      const rows = (t, list, other) => {
        const most = Math.max(...list.map(i => data.topP[t][i]), 1e-12);
        return list.map(i => {
          const word = data.top[t][i], p = data.topP[t][i];
          return { word, all: 0, part: p / most, value: percent(p), mark: other.has(word), says: `${percent(p)} of topic ${t}${other.has(word) ? '; in both lists' : ''}` };
        });
      };
      fillOne(rows(k, mine, inTheirs));
      fillTwo(rows(j, theirs, inMine));
    },

    word() {
      const panel = $('word'), w = now.word;
      if (w === null) {
        const chips = el('div', { class: 'chips' });
        const seen = new Set(range(K).sort((a, b) => topics.prevalence[b] - topics.prevalence[a]).slice(0, 40).map(k => first(k)[0]).filter(i => i != null));
        for (const i of [...seen].slice(0, 24)) chips.append(el('button', { type: 'button', class: 'chip', 'data-word': i, title: words.text[i] }, el('bdi', {}, words.text[i])));
        chips.onclick = event => { const b = event.target.closest('button'); if (b) chooseWord(+b.dataset.word); };
        panel.replaceChildren(el('h2', {}, 'Word'), el('p', {}, 'Search for a word at the top to see its topics, or start with one of these.'), chips);
        return;
      }
      const ks = data.lives[w], shares = data.livesP[w];
      const rest = 1 - shares.reduce((a, b) => a + b, 0);
      panel.replaceChildren(
        el('h2', { dir: 'auto', class: 'clip', title: words.text[w] }, words.text[w]),
        el('p', { class: 'quiet' }, `${rate(words.share[w])} in 10,000 words. `, ks.length === 1 ? 'It occurs in one topic.' : `It occurs in ${ks.length === 10 ? 'ten topics or more' : ks.length + ' topics'}.`),
        el('h3', {}, 'Its topics'),
        el('p', { class: 'quiet small' }, 'Distribution of the occurrences of the word over topics, also shown by the circles on the map.'),
        topicBars(el('ol', { class: 'bars topicbars', 'aria-label': 'Topics of the word' }), ks, shares, rest));
    },

    documents() {
      if (!built.documents) { built.documents = true; hits(); }
      for (const b of $('hits').querySelectorAll('button')) b.setAttribute('aria-current', +b.dataset.doc === now.doc);
      const d = now.doc, box = $('document');
      if (d === null) { box.replaceChildren(el('p', { class: 'quiet' }, 'Choose a document to see its topics.')); return; }
      const shares = documents.topicsP[d];
      box.replaceChildren(el('h3', { dir: 'auto', class: 'clip', title: titleOf(d) }, titleOf(d)));
      const line = el('p', { class: 'quiet small' }, documents.name && documents.name[d] ? `Document ${documents.number[d] + 1}` : '');
      for (const tag of tagsOf(d)) line.append(' ', foreign('span', tag, 'tag'));
      box.append(line);
      if (documents.text && documents.text[d]) box.append(el('blockquote', { dir: 'auto' }, documents.text[d]));
      box.append(el('h4', {}, 'Its topics'),
        topicBars(el('ol', { class: 'bars topicbars', 'aria-label': 'Topics of the document' }), documents.topics[d], shares, 1 - shares.reduce((a, b) => a + b, 0)));
    },

    list() {
      if (!built.list) { built.list = true; table(); }
      for (const row of $('rows').querySelectorAll('[aria-current]')) row.removeAttribute('aria-current');
      const row = $('row' + now.topic);
      if (row) row.setAttribute('aria-current', 'true');
    },

    run() {
      if (!built.run) { built.run = true; theRun(); }
    },
  };

  // Documents found by name, label or first lines.
  let foldedDocs = null;
  function hits() {
    foldedDocs ||= documents.number.map((n, d) => fold([titleOf(d), n + 1, ...tagsOf(d), documents.text && documents.text[d] || ''].join('\n')));
    const asked = fold($('seek').value.trim()), found = [];
    for (let d = 0; d < foldedDocs.length; d++) if (foldedDocs[d].includes(asked)) found.push(d);
    const shown = found.slice(0, 60), all = (run.corpus || []).some(c => c[0] === "this report's documents") ? null : (run.corpus || []).find(c => c[0] === 'documents');
    $('held').textContent = (asked ? `${whole(found.length)} found` : all && all[1] === whole(found.length) ? `All ${all[1]} documents` : `The report contains ${whole(found.length)}${all ? ` of ${all[1]}` : ''} documents: typical ones and an even sample`) +
      (shown.length < found.length ? `; the first ${shown.length} are shown.` : '.');
    $('hits').replaceChildren(...shown.map(d => documentRow(d)));
    settleHits();
  }

  // The table of topics.
  const sorting = { by: 'prevalence', down: true };
  const COLUMNS = [['number', '#'], ['', 'Topic'], ...FACTS.map(f => [f[0], f[0][0].toUpperCase() + f[0].slice(1)]), ...topics.near && K > 1 ? [['', 'Nearest']] : []];
  function table() {
    if (!$('heads').children.length) {
      for (const [key, name] of COLUMNS) {
        const head = el('th', { scope: 'col', class: key || name.toLowerCase() });
        if (key) {
          const button = el('button', { type: 'button', 'data-by': key, 'aria-label': key === 'number' ? 'Number' : null }, name);
          button.onclick = () => {
            sorting.down = sorting.by === key ? !sorting.down : key !== 'number';
            sorting.by = key;
            arrange();
          };
          head.append(button);
        } else head.append(name);
        $('heads').append(head);
      }
      $('meaning').textContent = FACTS.map(f => f[0][0].toUpperCase() + f[0].slice(1) + ': ' + f[2][0].toLowerCase() + f[2].slice(1)).join(' ');
    }
    const most = Math.max(...topics.prevalence, 1e-9);
    rows = range(K).map(k => {
      const row = el('tr', { id: 'row' + k, 'data-topic': k },
        el('td', {}, el('button', { type: 'button', class: 'go', tabindex: -1, 'aria-label': `Topic ${k}: ${called(k, 4)}` }, String(k))));
      const cell = el('td', { class: 'topic' });
      if (nameOf(k)) cell.append(foreign('div', nameOf(k), 'named'));
      cell.append(foreign('div', gist(k, 6), nameOf(k) ? 'gist quiet' : 'gist'));
      row.append(cell);
      for (const [key, , , form] of FACTS) {
        const value = el('td', { class: 'value ' + key }, form(topics[key][k]));
        if (key === 'prevalence') {
          const bar = el('i', { 'aria-hidden': 'true' });
          bar.style.width = (100 * topics.prevalence[k] / most).toFixed(1) + '%';
          value.append(bar);
        }
        row.append(value);
      }
      if (topics.near && K > 1) {
        const j = topics.near[k][0];
        row.append(el('td', { class: 'nearest' }, j == null ? '' : el('button', { type: 'button', class: 'chip', tabindex: -1, 'data-with': j, 'aria-label': `Compare topic ${k} with topic ${j}` }, `${j}`)));
      }
      return row;
    });
    foldedTopics = null;
    arrange();
  }
  let rows = [], foldedTopics = null;
  function arrange() {
    const { by, down } = sorting, values = by === 'number' ? range(K) : topics[by];
    const asked = fold($('sift').value.trim());
    if (asked) foldedTopics ||= range(K).map(k => fold(`${k}\n${nameOf(k)}\n${data.top[k].map(w => words.text[w]).join('\n')}`));
    const shown = range(K).filter(k => !asked || foldedTopics[k].includes(asked));
    // A topic without a value comes last in both orders.
    const last = down ? -Infinity : Infinity;
    shown.sort((a, b) => { const x = values[a] ?? last, y = values[b] ?? last; return x === y ? a - b : (x < y) === down ? 1 : -1; });
    $('rows').replaceChildren(...shown.map(k => rows[k]));
    $('sifted').textContent = asked ? `${shown.length} of ${K} topics` : '';
    for (const button of $('heads').querySelectorAll('button')) {
      const here = button.dataset.by === by;
      if (here) button.parentElement.setAttribute('aria-sort', down ? 'descending' : 'ascending'); else button.parentElement.removeAttribute('aria-sort');
    }
    settleRows();
  }
  const settleRows = roving($('rows'), 'button.go');
  $('rows').addEventListener('click', event => {
    const row = event.target.closest('tr'), other = event.target.closest('[data-with]');
    if (!row || String(getSelection()) && !event.target.closest('button')) return;
    if (other) choose({ topic: +row.dataset.topic, other: +other.dataset.with, tab: 'compare' });
    else chooseTopic(+row.dataset.topic);
  });

  // ---- Training ----

  function ticks(low, high, about) {
    const rough = (high - low) / about || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough * 0.999);
    const out = [];
    for (let t = Math.ceil(low / step - 1e-6) * step; t <= high + step * 1e-6; t += step) out.push(+t.toPrecision(12));
    return out;
  }
  /** A line plot with axes. `level` is a line across with its name. */
  function linePlot({ title, note, xs, ys, dots, xName, formX, unitX, formY, zero, level }) {
    const W = 420, H = 210, left = 58, right = 12, top = 12, base = H - 38;
    const lowX = Math.min(...xs), highX = Math.max(...xs);
    let low = zero ? 0 : Math.min(...ys), high = Math.max(...ys, ...(dots || []), level ? level.at : -Infinity);
    const pad = (high - low || Math.abs(high) || 1) * 0.06;
    if (!zero) low -= pad;
    high += pad;
    const X = x => left + (highX > lowX ? (x - lowX) / (highX - lowX) : 0.5) * (W - left - right);
    const Y = y => base - (y - low) / (high - low) * (base - top);
    const last = ys.length - 1, says = i => `${formY(ys[i])} at ${formX(xs[i])}${unitX}`;
    const chart = svg('svg', { viewBox: `0 0 ${W} ${H}`, class: 'chart', role: 'img',
      'aria-label': `${title}: ${says(0)}, ${says(last)}` });
    for (const t of ticks(low, high, 4)) {
      chart.append(svg('line', { x1: left, x2: W - right, y1: Y(t), y2: Y(t), class: 'rule' }), svg('text', { x: left - 8, y: Y(t) + 4, class: 'right' }, formY(t)));
    }
    for (const t of ticks(lowX, highX, 5)) {
      chart.append(svg('line', { x1: X(t), x2: X(t), y1: base, y2: base + 4, class: 'axis' }), svg('text', { x: X(t), y: base + 17, class: 'middle' }, formX(t)));
    }
    chart.append(svg('line', { x1: left, x2: W - right, y1: base, y2: base, class: 'axis' }), svg('text', { x: (left + W - right) / 2, y: H - 4, class: 'middle' }, xName));
    if (level) {
      chart.append(svg('line', { x1: left, x2: W - right, y1: Y(level.at), y2: Y(level.at), class: 'level' }), svg('text', { x: W - right, y: Y(level.at) + 14, class: 'right levelname' }, level.name));
    }
    for (const i in dots || []) chart.append(svg('circle', { r: 1.6, class: 'each', cx: X(xs[i]).toFixed(1), cy: Y(dots[i]).toFixed(1) }));
    chart.append(svg('polyline', { points: xs.map((x, i) => `${X(x).toFixed(1)},${Y(ys[i]).toFixed(1)}`).join(' '), class: 'line' }));
    const dot = svg('circle', { r: 3.5, class: 'dot', cx: X(xs[last]), cy: Y(ys[last]) });
    chart.append(dot);
    const read = el('span', { class: 'read' }), at = i => {
      dot.setAttribute('cx', X(xs[i]));
      dot.setAttribute('cy', Y(ys[i]));
      read.textContent = says(i);
    };
    at(last);
    chart.addEventListener('pointermove', event => {
      const box = chart.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * W;
      let best = 0;
      xs.forEach((v, i) => { if (Math.abs(X(v) - x) < Math.abs(X(xs[best]) - x)) best = i; });
      at(best);
    });
    chart.addEventListener('pointerleave', () => at(last));
    return el('figure', {}, el('figcaption', {}, el('strong', {}, title), read), chart, note ? el('p', { class: 'quiet small' }, note) : null);
  }
  function pairs(title, list) {
    if (!list || !list.length) return null;
    const dl = el('dl', { class: 'pairs' });
    for (const [name, value] of list) dl.append(el('div', {}, el('dt', { dir: 'auto' }, String(name)), el('dd', { dir: 'auto' }, String(value))));
    return el('section', {}, el('h3', {}, title), dl);
  }
  function theRun() {
    const plots = el('div', { class: 'plots' });
    const passes = Array.isArray(run.passes) ? run.passes : [];
    const series = (x, y) => passes.filter(p => Number.isFinite(p[x]) && Number.isFinite(p[y]));
    const plotOf = (x, y, options) => {
      const points = series(x, y);
      if (points.length < 2) return;
      const ys = points.map(options.ys || (p => p[y])), xs = points.map(options.xs || (p => p[x]));
      // The perplexity of tbp oscillates: the line is the lowest of the last five passes, the dots are all passes.
      const settle = y === 'perplexity' && run.algorithm === 'tbp';
      plots.append(linePlot({ ...options, xs, ys: settle ? ys.map((_, i) => Math.min(...ys.slice(Math.max(0, i - PERIOD + 1), i + 1))) : ys, dots: settle ? ys : null }));
    };
    const plain = v => Math.abs(v) >= 100 ? whole(v) : String(+v.toPrecision(3));
    // One unit per axis, so that its ticks are round numbers.
    const longest = Math.max(...passes.map(p => p.seconds || 0), 0);
    const [second, clock] = longest < 180 ? [1, 's'] : longest < 10800 ? [60, 'min'] : [3600, 'h'];
    const highest = Math.max(run.memory || 0, ...passes.map(p => p.memory || 0));
    const [byte, size] = highest >= 2 ** 30 ? [2 ** 30, 'GiB'] : highest >= 2 ** 20 ? [2 ** 20, 'MiB'] : [1024, 'KiB'];
    const time = { xs: p => p.seconds / second, xName: 'time, ' + { s: 'seconds', min: 'minutes', h: 'hours' }[clock], formX: plain, unitX: ' ' + clock };
    const oscillation = run.algorithm === 'tbp' ? ' Dots are single passes: over-relaxed ones, which search for better topics, are above the line; the line is the lowest of the last five passes.' : '';
    plotOf('pass', 'perplexity', { title: 'Perplexity by pass', note: 'Measures how well the model predicts words: lower is better. A flat end of the line means that training has converged.' + oscillation, xName: 'passes over the documents', formX: whole, unitX: ' passes', formY: plain });
    plotOf('seconds', 'perplexity', { title: 'Perplexity by time', ...time, formY: plain });
    plotOf('seconds', 'memory', { title: 'Memory', note: run.memory ? 'Memory used by the training, and its limit.' : 'Memory used by the training.', ...time, ys: p => p.memory / byte, formY: v => `${plain(v)} ${size}`, zero: true,
      level: run.memory ? { at: run.memory / byte, name: `limit ${bytes(run.memory)}` } : null });
    const about = [];
    if (run.algorithm != null) about.push(['algorithm', run.algorithm]);
    about.push(['topics', whole(K)]);
    if (run.seed != null) about.push(['seed', run.seed]);
    if (run.memory != null) about.push(['memory limit', bytes(run.memory)]);
    if (run.version != null) about.push(['tinylda', run.version]);
    const known = new Set(about.map(a => a[0]));
    about.push(...(run.settings || []).filter(s => !known.has(s[0])));
    const panel = $('run');
    panel.replaceChildren(el('h2', {}, 'Training'));
    if (run.command) panel.append(el('p', { class: 'quiet small' }, 'Command that trained this model.'), el('pre', { tabindex: 0, 'aria-label': 'Command' }, el('code', {}, run.command)));
    if (plots.children.length) panel.append(plots);
    panel.append(el('div', { class: 'halves' }, pairs('Corpus', run.corpus), pairs('Settings', about)));
  }

  // ---- Search ----

  let foldedWords = null, options = [], active = -1;
  const find = $('find'), found = $('found');
  function search() {
    const asked = fold(find.value.trim());
    options = [];
    if (asked) {
      foldedWords ||= words.text.map(w => fold(w.slice(0, 400)));
      const hitsOf = [];
      for (let i = 0; i < foldedWords.length; i++) {
        const at = foldedWords[i].indexOf(asked);
        if (at >= 0) hitsOf.push([foldedWords[i] === asked ? 0 : at ? 2 : 1, i]);
      }
      hitsOf.sort((a, b) => a[0] - b[0] || words.share[b[1]] - words.share[a[1]]);
      for (const [, i] of hitsOf.slice(0, 8)) options.push({ text: words.text[i], kind: 'word', go: () => chooseWord(i) });
      let n = 0;
      for (let k = 0; k < K && n < 4; k++) {
        if (String(k) === asked || `topic ${k}` === asked || nameOf(k) && fold(nameOf(k)).includes(asked)) {
          options.push({ text: `${k}  ${called(k, 4)}`, kind: 'topic', go: () => chooseTopic(k) });
          n++;
        }
      }
      if (documents) {
        for (let d = 0, n = 0; d < documents.number.length && n < 4; d++) {
          if (documents.name && fold(documents.name[d] || '').includes(asked)) { options.push({ text: titleOf(d), kind: 'document', go: () => chooseDocument(d) }); n++; }
        }
      }
    }
    active = options.length ? 0 : -1;
    found.replaceChildren(...options.map((o, i) => {
      const item = el('li', { role: 'option', id: 'o' + i, 'aria-selected': 'false' }, foreign('span', o.text, 'w'), el('span', { class: 'quiet small' }, o.kind));
      item.onpointerdown = event => { event.preventDefault(); take(i); find.blur(); };
      return item;
    }));
    if (asked && !options.length) found.append(el('li', { class: 'none quiet', role: 'option', 'aria-disabled': 'true' }, 'Nothing found. The report does not contain rare words that no topic lists.'));
    open(!!asked);
    mark();
  }
  function open(yes) { found.hidden = !yes; find.setAttribute('aria-expanded', yes); if (!yes) find.removeAttribute('aria-activedescendant'); }
  function mark() {
    [...found.children].forEach((item, i) => { if (i < options.length) item.setAttribute('aria-selected', i === active); });
    if (active >= 0) { find.setAttribute('aria-activedescendant', 'o' + active); found.children[active].scrollIntoView({ block: 'nearest' }); } else find.removeAttribute('aria-activedescendant');
  }
  function take(i) {
    if (!options[i]) return;
    const go = options[i].go;
    open(false);
    find.value = '';
    go();
  }
  find.addEventListener('input', search);
  find.addEventListener('focus', () => { if (find.value.trim()) search(); });
  find.addEventListener('blur', () => open(false));
  find.addEventListener('keydown', event => {
    if (event.isComposing) return;
    if (event.key === 'Enter') take(active);
    else if (event.key === 'Escape') { if (found.hidden) find.value = ''; open(false); event.stopPropagation(); }
    else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && options.length) {
      if (found.hidden) open(true); else active = (active + (event.key === 'ArrowDown' ? 1 : -1) + options.length) % options.length;
      mark();
    } else return;
    event.preventDefault();
  });

  // ---- Controls ----

  const settleNear = roving($('near'), 'button');
  $('near').addEventListener('click', event => { const b = event.target.closest('button'); if (b) choose({ other: +b.dataset.topic, tab: 'compare' }); });
  $('nearest').addEventListener('click', event => {
    const b = event.target.closest('button');
    if (!b) return;
    const topic = b.dataset.topic;
    choose({ other: +topic });
    $('nearest').querySelector(`[data-topic="${topic}"]`)?.focus();
  });
  $('one').onchange = () => choose({ topic: +$('one').value });
  $('two').onchange = () => choose({ other: +$('two').value });
  $('before').onclick = () => chooseTopic((now.topic + K - 1) % K);
  $('after').onclick = () => chooseTopic((now.topic + 1) % K);
  $('name').addEventListener('input', () => rename(now.topic, $('name').value.trim()));
  $('name').addEventListener('keydown', event => { if (event.key === 'Enter' || event.key === 'Escape') { event.stopPropagation(); $('name').blur(); } });
  $('lambda').addEventListener('input', () => { now.lambda = +$('lambda').value; drawWords(); });
  $('lambda').addEventListener('change', () => toAddress(false));
  $('seek').addEventListener('input', () => { hits(); draw.documents(); });
  $('sift').addEventListener('input', arrange);
  $('chip').onclick = () => letGo();
  function letGo() {
    if (now.word === null) return;
    choose({ word: null, tab: now.tab === 'word' ? 'topic' : now.tab });
  }
  for (const b of document.querySelectorAll('[data-do=export]')) b.onclick = exportNames;
  document.querySelector('[data-do=import]').onclick = () => $('file').click();
  $('file').onchange = () => { if ($('file').files[0]) importNames($('file').files[0]); $('file').value = ''; };
  $('skip').onclick = () => $('tab-' + now.tab).focus();

  for (const tab of ['topic', 'compare', 'word', 'documents', 'list', 'run']) {
    const button = $('tab-' + tab);
    if (!TABS.includes(tab)) { button.remove(); $(tab).remove(); continue; }
    button.onclick = () => choose({ tab });
  }
  $('tabs').addEventListener('keydown', event => {
    const at = TABS.indexOf(now.tab), n = TABS.length;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: n - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose({ tab: TABS[(to + n) % n] });
    $('tab-' + now.tab).focus();
  });
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '/' && !event.target.closest('input, select, textarea')) { event.preventDefault(); find.focus(); find.select(); }
    if (event.key === 'Escape') letGo();
  });

  // Light and dark theme.
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let theme = store.get('tinylda theme');
  function dress() {
    const now = theme === 'dark' || theme === 'light' ? theme : dark.matches ? 'dark' : 'light';
    document.documentElement.dataset.theme = now;
    $('theme').textContent = now === 'dark' ? 'Light' : 'Dark';
    $('theme').setAttribute('aria-label', now === 'dark' ? 'Light colours' : 'Dark colours');
  }
  $('theme').onclick = () => {
    theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    store.set('tinylda theme', theme);
    dress();
  };
  dark.addEventListener('change', dress);

  // Print shows the map, the topic, the table and the training.
  const paper = matchMedia('print');
  function printing() { return paper.matches; }
  function ready() { for (const tab of ['topic', 'list', 'run']) if (TABS.includes(tab)) draw[tab](); }
  addEventListener('beforeprint', ready);
  paper.addEventListener('change', () => { if (paper.matches) ready(); });

  // ---- Start ----

  dress();
  const title = data.title == null || data.title === '' ? 'Topics' : String(data.title);
  document.title = title === 'Topics' ? title : `${clip(title, 80)}: topics`;
  $('title').textContent = title;
  $('title').title = title;
  const SAID = { documents: 'documents', words: 'distinct words', tokens: 'words in total' };
  const counts = (run.corpus || []).filter(c => Object.hasOwn(SAID, c[0])).map(c => `${c[1]} ${SAID[c[0]]}`);
  $('summary').textContent = [`${whole(K)} ${K === 1 ? 'topic' : 'topics'}`, ...counts].join('  ·  ');
  $('maker').textContent = `Created by tinylda${run.version ? ' ' + run.version : ''}.`;
  kept();
  fromAddress();
  addEventListener('popstate', () => { fromAddress(); show(); });
  map.start();
  show();
  if (location.hash) toAddress(false);
})();
