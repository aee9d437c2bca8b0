// Elements, numbers as text, and storage in the browser.

/** An element: attributes by setAttribute, children by append (a string becomes a text node). */
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const name in attributes) if (attributes[name] != null) made.setAttribute(name, attributes[name]);
  made.append(...children.filter(c => c != null));
  return made;
}
function svg(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  if (text != null) made.textContent = text;
  return made;
}
/** A stranger's text: its own direction, in full when pointed at. */
const foreign = (tag, text, kind) => el(tag, { dir: 'auto', title: text, class: kind }, text);
const range = n => Array.from({ length: n }, (_, i) => i);
const clamp = (v, low, high) => Math.min(high, Math.max(low, v));
const clip = (text, most) => {
  if (text.length <= most) return text;
  const points = Array.from(text.slice(0, 2 * most));
  return points.length <= most && text.length <= 2 * most ? text : points.slice(0, most - 1).join('') + '…';
};
const fold = text => text.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');
const whole = n => Math.round(n).toLocaleString('en');
const percent = p => p >= 0.0995 ? Math.round(100 * p) + '%' : p >= 0.00995 ? (100 * p).toFixed(1) + '%' : p >= 0.00005 ? (100 * p).toFixed(2) + '%' : p > 0 ? '<0.01%' : '0%';
const figure = v => v == null || !isFinite(v) ? '–' : v.toFixed(2).replace('-', '−');
const bytes = b => {
  const unit = b >= 2 ** 30 ? 3 : b >= 2 ** 20 ? 2 : 1;
  const v = b / 1024 ** unit;
  return (v >= 100 ? whole(v) : String(+v.toPrecision(3))) + ' ' + ['', 'KiB', 'MiB', 'GiB'][unit];
};
const say = text => { $('said').textContent = text; };

// A file opened from disk may have no local storage.
const store = {
  works: true,
  get(key) { try { return localStorage.getItem(key); } catch { store.works = false; return null; } },
  set(key, value) { try { localStorage.setItem(key, value); } catch { store.works = false; } },
};
