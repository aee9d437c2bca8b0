// Lists of words and of topics with bars.

/** Row of a word: a bar (`part`) and a marker (`all`), both from 0 to 1. */
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
      p.all.hidden = r.all == null;
      p.all.style.left = (100 * clamp(r.all || 0, 0, 1)).toFixed(2) + '%';
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
