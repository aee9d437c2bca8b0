// The order of the words of a topic.

const logs = Float64Array.from(words.share, s => Math.log(Math.max(s, 1e-12)));
const relevance = (k, i, lambda) => Math.log(Math.max(data.topP[k][i], 1e-300)) - (1 - lambda) * logs[data.top[k][i]];
/** Places in top[k] of its most relevant words. */
function ranked(k, lambda) {
  const score = data.top[k].map((_, i) => relevance(k, i, lambda));
  return range(score.length).sort((a, b) => score[b] - score[a]).slice(0, SHOWN);
}
const firsts = []; // per topic, its top words at the default lambda
function first(k) {
  if (!firsts[k]) {
    const best = [];
    for (let i = 0; i < data.top[k].length; i++) {
      const score = relevance(k, i, 0.6);
      if (best.length === 6 && score <= best[5][0]) continue;
      let at = best.length;
      while (at && best[at - 1][0] < score) at--;
      best.splice(at, 0, [score, data.top[k][i]]);
      best.length = Math.min(best.length, 6);
    }
    firsts[k] = best.map(b => b[1]);
  }
  return firsts[k];
}
const gist = (k, n) => first(k).slice(0, n).map(w => clip(words.text[w], 24)).join(', ');
