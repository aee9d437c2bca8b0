// The part "Word": the topics of a word.

draw.word = () => {
  const panel = $('word'), w = now.word;
  if (w === null) {
    const chips = el('div', { class: 'chips' });
    const seen = new Set(range(K).sort((a, b) => topics.prevalence[b] - topics.prevalence[a]).slice(0, 40).map(k => first(k)[0]).filter(i => i != null));
    for (const i of [...seen].slice(0, 24)) chips.append(el('button', { type: 'button', class: 'chip', 'data-word': i, title: words.text[i] }, el('bdi', {}, words.text[i])));
    chips.onclick = event => { const b = event.target.closest('button'); if (b) chooseWord(+b.dataset.word); };
    panel.replaceChildren(el('h2', {}, 'Word'), el('p', {}, 'Search for a word at the top to see its topics, or start with one of these.'), chips);
    return;
  }
  const ks = data.lives[w], shares = data.livesP[w];
  const rest = 1 - shares.reduce((a, b) => a + b, 0);
  panel.replaceChildren(
    el('h2', { dir: 'auto', class: 'clip', title: words.text[w] }, words.text[w]),
    el('p', { class: 'quiet' }, `${rate(words.share[w])} in 10,000 words. `, ks.length === 1 ? 'It occurs in one topic.' : `It occurs in ${ks.length === 10 ? 'ten topics or more' : ks.length + ' topics'}.`),
    el('h3', {}, 'Its topics'),
    el('p', { class: 'quiet small' }, 'Distribution of the occurrences of the word over topics, also shown by the circles on the map.'),
    topicBars(el('ol', { class: 'bars topicbars', 'aria-label': 'Topics of the word' }), ks, shares, rest));
};
