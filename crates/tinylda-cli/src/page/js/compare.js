// The part "Compare": two topics side by side.

draw.compare = () => {
  const near = topics.near && topics.near[now.topic] || [];
  if (now.other === null || now.other === now.topic) now.other = near[0] ?? (now.topic ? 0 : 1);
  const k = now.topic, j = now.other;
  if (!built.compare) {
    const options = () => range(K).map(i => el('option', { value: i }, clip(`${i}  ${called(i, 3)}`, 60)));
    $('one').replaceChildren(...options());
    $('two').replaceChildren(...options());
    built.compare = true;
  }
  $('one').value = k;
  $('two').value = j;
  $('nearest').replaceChildren(...near.length ? [el('span', { class: 'quiet small' }, `Nearest to ${k}`)] : [], ...near.map((o, i) => el('button',
    { type: 'button', class: 'chip', 'data-topic': o, 'aria-pressed': o === j, title: called(o, 6) },
    String(o), el('span', { class: 'quiet' }, topics.apart ? ' ' + figure(topics.apart[k][i]) : ''))));
  const mine = ranked(k, now.lambda), theirs = ranked(j, now.lambda);
  const ids = (t, list) => new Set(list.map(i => data.top[t][i]));
  const inMine = ids(k, mine), inTheirs = ids(j, theirs);
  const both = [...inMine].filter(w => inTheirs.has(w)).length;
  $('shared').textContent = `${both === 0 ? 'None' : both} of the ${SHOWN} most relevant words (λ = ${now.lambda.toFixed(2)}) ${both === 1 ? 'is' : 'are'} in both lists.`;
  const rows = (t, list, other) => {
    const most = Math.max(...list.map(i => data.topP[t][i]), 1e-12);
    return list.map(i => {
      const word = data.top[t][i], p = data.topP[t][i];
      return { word, all: null, part: p / most, value: percent(p), mark: other.has(word), says: `${percent(p)} of topic ${t}${other.has(word) ? '; in both lists' : ''}` };
    });
  };
  fillOne(rows(k, mine, inTheirs));
  fillTwo(rows(j, theirs, inMine));
};
