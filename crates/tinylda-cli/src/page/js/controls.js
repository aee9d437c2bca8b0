// Buttons, keys, theme and print.

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
