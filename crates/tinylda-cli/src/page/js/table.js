// The part "All topics": a table that can be sorted and filtered.

draw.list = () => {
  if (!built.list) { built.list = true; table(); }
  for (const row of $('rows').querySelectorAll('[aria-current]')) row.removeAttribute('aria-current');
  const row = $('row' + now.topic);
  if (row) row.setAttribute('aria-current', 'true');
};

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
    const row = el('tr', { id: 'row' + k, 'data-topic': k, 'data-suspect': suspect[k] ? '' : null },
      el('td', {}, el('button', { type: 'button', class: 'go', tabindex: -1, 'aria-label': `Topic ${k}: ${called(k, 4)}` }, String(k))));
    const cell = el('td', { class: 'topic' });
    if (nameOf(k)) cell.append(foreign('div', nameOf(k), 'named'));
    cell.append(foreign('div', gist(k, 6), nameOf(k) ? 'gist quiet' : 'gist'));
    row.append(cell);
    for (const [key, , , form] of FACTS) {
      const doubtful = key === 'coherence' && suspect[k];
      const value = el('td', { class: 'value ' + key + (doubtful ? ' quiet' : ''), title: doubtful ? SUSPECT : null }, (doubtful ? '⚠ ' : '') + form(topics[key][k]));
      if (key === 'prevalence') {
        const bar = el('i', { 'aria-hidden': 'true' });
        bar.style.setProperty('--share', (topics.prevalence[k] / most).toFixed(4));
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
  // Topics that may be noise come last in the order of coherence, which is too high for them.
  const doubt = k => by === 'coherence' && suspect[k] ? 1 : 0;
  shown.sort((a, b) => { if (doubt(a) !== doubt(b)) return doubt(a) - doubt(b); const x = values[a] ?? last, y = values[b] ?? last; return x === y ? a - b : (x < y) === down ? 1 : -1; });
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
