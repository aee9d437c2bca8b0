// Shows the report.

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
