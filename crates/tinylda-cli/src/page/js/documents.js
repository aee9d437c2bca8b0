// Documents as rows of a list.

const titleOf = d => documents.name && documents.name[d] || `Document ${documents.number[d] + 1}`;
// Labels and date of a document, in the order of the label columns.
const tagsOf = d => {
  const at = labels && documents.label && documents.label[d] != null ? [].concat(documents.label[d]) : [];
  const date = documents.date && documents.date[d] ? [documents.date[d].slice(0, 10)] : [];
  return at.map(l => labels.text[l]).concat(date);
};
function documentRow(d, share) {
  const head = el('span', { class: 'h' }, foreign('span', titleOf(d), 't'));
  for (const tag of tagsOf(d)) head.append(foreign('span', tag, 'tag'));
  if (share != null) head.append(el('span', { class: 'v', title: 'proportion of this topic in the document' }, percent(share)));
  const button = el('button', { type: 'button', tabindex: -1, 'data-doc': d }, head);
  if (documents.text && documents.text[d]) button.append(el('span', { class: 'x', dir: 'auto' }, documents.text[d]));
  return el('li', {}, button);
}
function documentList(list) {
  list.addEventListener('click', event => { const b = event.target.closest('button'); if (b) chooseDocument(+b.dataset.doc); });
  return roving(list, 'button');
}
const shareIn = (d, k) => { const i = documents.topics[d].indexOf(k); return i < 0 ? null : documents.topicsP[d][i]; };
