// The search box at the top.

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
