// The part "Topic": facts, words by relevance, typical documents and similar topics.

const fillWords = wordList($('words')), fillOne = wordList($('oneWords')), fillTwo = wordList($('twoWords'));
const settleTypical = documentList($('typical')), settleHits = documentList($('hits'));
const FACTS = [
  ['prevalence', 'of all words', 'Share of all words that the training assigned to the topic.', percent],
  ['coherence', 'coherence', 'How often its top words occur together; higher is better.', figure],
  ['exclusivity', 'exclusivity', 'How specific its words are to it; 1 is the maximum.', figure],
].filter(f => topics[f[0]]);

function drawWords() {
  const k = now.topic;
  // Bars are shares of the topic, scaled to its longest one; the marker is the share of all words.
  const rows = ranked(k, now.lambda).map(i => {
    const word = data.top[k][i], all = words.share[word], part = Math.min(topics.prevalence[k] * data.topP[k][i], all);
    const value = percent(all ? part / all : 0), p = data.topP[k][i];
    return { word, all, part: p, value, says: `${rate(p)} in 10,000 words of topic ${k}, ${rate(all)} in 10,000 of all words; ${value} of its occurrences are in the topic` };
  });
  const most = Math.max(...rows.map(r => r.part), 1e-300);
  for (const r of rows) {
    r.all /= most;
    r.part /= most;
  }
  fillWords(rows);
  $('lambda').value = now.lambda;
  $('lambdaIs').textContent = 'λ = ' + now.lambda.toFixed(2);
}

// Draws a part; one function per part.
const draw = {};

draw.topic = () => {
  const k = now.topic;
  $('number').textContent = `Topic ${k}`;
  if (document.activeElement !== $('name') || $('name').dataset.topic !== String(k)) $('name').value = nameOf(k);
  $('name').dataset.topic = k;
  $('facts').replaceChildren(...FACTS.map(([key, name, meaning, form]) =>
    el('div', {}, el('dd', {}, form(topics[key][k])), el('dt', {}, name), el('dd', { class: 'quiet small' }, meaning))));
  $('suspect').hidden = !suspect[k];
  $('suspect').textContent = suspect[k] ? SUSPECT : '';
  drawWords();
  const typical = documents && data.typical && data.typical[k] || [];
  $('typicals').hidden = !typical.length;
  if (typical.length) { $('typical').replaceChildren(...typical.map(d => documentRow(d, shareIn(d, k)))); settleTypical(); }
  $('wheres').hidden = !labels;
  if (labels) { $('wheres').firstElementChild.textContent = times ? 'Over time' : 'By label'; drawWhere(); }
  const near = topics.near && topics.near[k] || [];
  $('nears').hidden = !near.length;
  $('near').replaceChildren(...near.map((j, i) => el('li', {}, el('button', { type: 'button', tabindex: -1, 'data-topic': j },
    el('span', { class: 'n' }, String(j)), foreign('span', called(j, 6), 'w' + (nameOf(j) ? ' named' : '')),
    el('span', { class: 'v quiet', title: 'distance' }, topics.apart ? figure(topics.apart[k][i]) : '')))));
  settleNear();
};
