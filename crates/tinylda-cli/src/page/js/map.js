// The map of topics: circles, labels, zoom, pointer and keyboard.

const map = (() => {
  const plot = $('plot'), ring = $('ring'), field = plot.parentElement, tip = $('tip');
  const order = range(K).sort((a, b) => topics.prevalence[b] - topics.prevalence[a]);
  const circles = [];
  let width = 600, height = 600;
  let zoom = 1, panX = 0, panY = 0; // screen = position * zoom + pan
  let baseX, baseY, unit; // positions at zoom 1, and pixels of the length 1 of a radius
  let spread = 0; // radius of a topic that has all occurrences of the word
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
  /** Radius on the screen: of the layout, or by the shares of a word. */
  const radius = k => {
    const grow = Math.sqrt(Math.min(zoom, 16));
    if (!weights) return Math.max(1, topics.mapR[k] * unit * grow);
    const w = weights.get(k) || 0;
    return w ? Math.max(2.5, spread * Math.sqrt(w) * grow) : 2;
  };
  const screenX = k => baseX[k] * zoom + panX;
  const screenY = k => baseY[k] * zoom + panY;

  /**
   * Places at zoom 1. The layout is made for a square field without overlaps; radii follow the
   * shorter side, so that stretching it to the shape of the field brings no circles together.
   */
  function fit() {
    const left = 6, top = 6, w = width - 12, h = height - 26; // space for a label at the bottom
    unit = Math.max(1, Math.min(w, h));
    baseX = topics.mapX.map(x => left + x * w);
    baseY = topics.mapY.map(y => top + (1 - y) * h);
    fitWord();
  }
  /** The largest circles for the shares of a word that do not overlap. */
  function fitWord() {
    if (!weights || !baseX) return;
    const at = [...weights.keys()], root = k => Math.sqrt(weights.get(k));
    spread = 0.2 * unit / Math.max(...at.map(root), 0.1);
    at.forEach((k, i) => at.slice(0, i).forEach(j => {
      const apart = Math.hypot(baseX[k] - baseX[j], baseY[k] - baseY[j]);
      spread = Math.min(spread, apart / (root(k) + root(j)));
    }));
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
    const others = seen.map(k => [k, screenX(k), screenY(k), radius(k) + 2]);
    /** No circle of another topic under this text. */
    const clear = (of, x, y, w, h) => !others.some(([k, cx, cy, r]) => k !== of && cx + r > x && cx - r < x + w && cy + r > y && cy - r < y + h);
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
      const r = radius(k), x = screenX(k), y = screenY(k), on = inkOn(k) || (k === now.topic ? ' on' : '');
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
      // A label at the edge of the map is moved inwards, but stays attached to its circle.
      if (at === undefined || Math.abs(x - screenX(k)) > Math.max(r, w / 2)) continue;
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
  /** Zooms around the pointer while it is on the map, otherwise around the chosen topic, which moves towards the middle. */
  function zoomBy(factor, pointed) {
    if (pointed && pointer) { zoomTo(zoom * factor, ...pointer); return; }
    const x = screenX(now.topic), y = screenY(now.topic);
    if (!(x >= 0 && x <= width && y >= 0 && y <= height)) { zoomTo(zoom * factor); return; }
    if (factor > 1 && zoom < 60) { panX += (width / 2 - x) * 0.5; panY += (height / 2 - y) * 0.5; }
    zoomTo(zoom * factor, screenX(now.topic), screenY(now.topic));
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

  /** The topic under a place: of the circles that hold it, the one with the nearest centre; otherwise the nearest circle within a finger's breadth. */
  function under(x, y, slack) {
    let best = null, least = Infinity;
    for (let k = 0; k < K; k++) {
      const d = Math.hypot(screenX(k) - x, screenY(k) - y), r = radius(k);
      const cost = d <= r ? d : d <= r + slack ? 1e6 + d - r : Infinity;
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
  let moved = false, apart = 0, pointer = null; // pointer: where the mouse is on the map
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
    if (fingers.size === 2) { apart = span()[0]; moved = true; }
  });
  plot.addEventListener('pointermove', event => {
    const [x, y] = local(event), last = fingers.get(event.pointerId);
    pointer = event.pointerType === 'touch' ? null : [x, y];
    if (!last) {
      if (event.pointerType !== 'touch') point(under(x, y, 5));
      return;
    }
    if (fingers.size === 2) {
      const [, wasX, wasY] = span();
      fingers.set(event.pointerId, [x, y]);
      const [wide, midX, midY] = span();
      panX += midX - wasX;
      panY += midY - wasY;
      zoomTo(zoom * wide / (apart || wide), midX, midY);
      apart = wide;
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
  plot.addEventListener('pointerleave', event => { pointer = null; if (!fingers.has(event.pointerId)) point(null); });
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
    } else if (event.key === '+' || event.key === '=') zoomBy(1.5, true);
    else if (event.key === '-') zoomBy(1 / 1.5, true);
    else if (event.key === '0') zoomTo(1);
    else if (event.key === 'Home') chooseTopic(opening, false);
    else return;
    event.preventDefault();
  });
  $('in').onclick = () => zoomBy(1.6, false);
  $('out').onclick = () => zoomBy(1 / 1.6, false);
  $('fit').onclick = () => zoomTo(1);

  function setWeights() {
    const w = preview ?? now.word;
    weights = w === null ? null : new Map(data.lives[w].map((k, i) => [k, data.livesP[w][i]]));
    fitWord();
    plot.classList.remove('still');
    $('legend').textContent = weights
      ? 'Area: share of the word that belongs to the topic. Dots: less than 1%.'
      : 'Each circle is a topic. Area: prevalence. Topics with similar words are near each other; circles are moved apart where they would overlap.';
    frame();
  }

  // Colour by a value: viridis without its darkest quarter, which would vanish on a dark page. It is
  // distinguishable without red and green.
  const RAMP = [[59, 82, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37]];
  const shade = t => {
    const at = clamp(t, 0, 1) * (RAMP.length - 1), i = Math.min(Math.floor(at), RAMP.length - 2);
    return RAMP[i].map((c, j) => Math.round(c + (RAMP[i + 1][j] - c) * (at - i)));
  };
  const ramp = t => `rgb(${shade(t).join()})`;
  const scaled = []; // per topic: its value on the scale from 0 to 1, if it has one
  /** Class of text inside a circle, so that it can be read on the colour. */
  const inkOn = k => scaled[k] == null ? '' : scaled[k] > 0.3 ? ' onbright' : ' ondeep';
  function paint() {
    const values = topics[$('paint').value];
    let low = Infinity, high = -Infinity;
    for (const v of values || []) if (v != null) { low = Math.min(low, v); high = Math.max(high, v); }
    circles.forEach((c, k) => {
      const v = values && values[k];
      scaled[k] = v == null ? null : high > low ? (v - low) / (high - low) : 0.5;
      c.style.fill = v == null ? '' : ramp(scaled[k]);
    });
    plot.classList.toggle('painted', !!values);
    $('scale').hidden = !values;
    if (!values) { if (baseX) write(); return; }
    const [from, bar, to] = $('scale').children;
    const form = $('paint').value === 'prevalence' ? percent : figure;
    from.textContent = `${$('paint').value} ${form(low)}`;
    to.textContent = form(high);
    bar.replaceChildren(...range(24).map(i => svg('rect', { x: 4 * i, width: 4.5, height: 10, fill: ramp(i / 23) })));
    if (baseX) write();
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
