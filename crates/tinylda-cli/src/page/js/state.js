// What is selected, and its copy in the address. `choose` is the only way to change it.

const TABS = ['topic', 'compare', 'word', 'documents', 'list', 'run'].filter(tab =>
  !(tab === 'documents' && !(documents && documents.number.length)) && !(tab === 'compare' && K < 2) && !(tab === 'run' && !data.run));
const now = { tab: 'topic', topic: opening, other: null, lambda: 0.6, word: null, doc: null };
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
  now.topic = number('topic', 0, K) ?? opening;
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
