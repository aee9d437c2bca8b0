// The labels of a topic: bars, or a time line if the labels are years.

// Number of the column of a label.
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
