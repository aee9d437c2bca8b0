// Names of topics that the reader gives: kept in the browser, exported and imported as JSON.

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
