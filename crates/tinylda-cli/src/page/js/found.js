// The part "Documents": documents by name, label or first lines.

draw.documents = () => {
  if (!built.documents) { built.documents = true; hits(); }
  for (const b of $('hits').querySelectorAll('button')) b.setAttribute('aria-current', +b.dataset.doc === now.doc);
  const d = now.doc, box = $('document');
  if (d === null) { box.replaceChildren(el('p', { class: 'quiet' }, 'Choose a document to see its topics.')); return; }
  const shares = documents.topicsP[d];
  box.replaceChildren(el('h3', { dir: 'auto', class: 'clip', title: titleOf(d) }, titleOf(d)));
  const line = el('p', { class: 'quiet small' }, documents.name && documents.name[d] ? `Document ${documents.number[d] + 1}` : '');
  for (const tag of tagsOf(d)) line.append(' ', foreign('span', tag, 'tag'));
  box.append(line);
  if (documents.text && documents.text[d]) box.append(el('blockquote', { dir: 'auto' }, documents.text[d]));
  box.append(el('h4', {}, 'Its topics'),
    topicBars(el('ol', { class: 'bars topicbars', 'aria-label': 'Topics of the document' }), documents.topics[d], shares, 1 - shares.reduce((a, b) => a + b, 0)));
};

// Documents found by name, label or first lines.
let foldedDocs = null;
function hits() {
  foldedDocs ||= documents.number.map((n, d) => fold([titleOf(d), n + 1, ...tagsOf(d), documents.text && documents.text[d] || ''].join('\n')));
  const asked = fold($('seek').value.trim()), found = [];
  for (let d = 0; d < foldedDocs.length; d++) if (foldedDocs[d].includes(asked)) found.push(d);
  const shown = found.slice(0, 60), all = (run.corpus || []).some(c => c[0] === "this report's documents") ? null : (run.corpus || []).find(c => c[0] === 'documents');
  $('held').textContent = (asked ? `${whole(found.length)} found` : all && all[1] === whole(found.length) ? `All ${all[1]} documents` : `The report contains ${whole(found.length)}${all ? ` of ${all[1]}` : ''} documents: typical ones and an even sample`) +
    (shown.length < found.length ? `; the first ${shown.length} are shown.` : '.');
  $('hits').replaceChildren(...shown.map(d => documentRow(d)));
  settleHits();
}
