// Topics that probably are noise, and the topic with which the page opens.

/** Whether a word looks like a code: it has digits, or it is Latin and has no vowel or at most two letters. */
const isCode = word => /\d/.test(word) || /^[a-z]{1,2}$/i.test(word) || /^[b-df-hj-np-tv-xz'_.-]+$/i.test(word);
/** Per topic: whether at least half of its ten most frequent words look like codes. Their coherence is high, since such words occur in few documents and together. */
const suspect = data.top.map((list, k) => {
  const best = list.map((w, i) => [data.topP[k][i], w]).sort((a, b) => b[0] - a[0]).slice(0, 10);
  return best.length > 0 && best.filter(b => isCode(words.text[b[1]])).length * 2 >= best.length;
});
const SUSPECT = 'Half of its ten most frequent words look like codes, not like words: the topic may be noise.';
/** The largest topic of those that are not suspect and at least as coherent as the median. */
const opening = (() => {
  const all = range(K), good = all.filter(k => !suspect[k]);
  const known = good.map(k => topics.coherence ? topics.coherence[k] : null).filter(v => v != null).sort((a, b) => a - b);
  const median = known.length ? known[Math.floor((known.length - 1) / 2)] : -Infinity;
  const coherent = good.filter(k => !known.length || topics.coherence[k] != null && topics.coherence[k] >= median);
  const from = coherent.length ? coherent : good.length ? good : all;
  return from.reduce((best, k) => topics.prevalence[k] > topics.prevalence[best] ? k : best, from[0]);
})();
