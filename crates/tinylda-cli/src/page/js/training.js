// The part "Training": command, curves, settings.

draw.run = () => {
  if (!built.run) { built.run = true; theRun(); }
};

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
