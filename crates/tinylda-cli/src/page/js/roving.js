// Lists with one tab stop and arrow keys inside.

function roving(list, selector) {
  const items = () => [...list.querySelectorAll(selector)].filter(i => i.offsetParent);
  list.addEventListener('keydown', event => {
    const all = items(), at = all.indexOf(event.target.closest(selector));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const next = all[clamp(to, 0, all.length - 1)];
    all[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  list.addEventListener('focusin', event => {
    const item = event.target.closest(selector);
    if (!item) return;
    for (const other of list.querySelectorAll(selector + '[tabindex="0"]')) other.tabIndex = -1;
    item.tabIndex = 0;
  });
  /** After a redraw: the first one is the stop, unless one is. */
  return () => {
    const all = list.querySelectorAll(selector);
    let stop = list.querySelector(selector + '[tabindex="0"]');
    if (stop && stop.closest('[hidden]')) stop.tabIndex = -1, stop = null;
    all.forEach(item => { if (item !== stop) item.tabIndex = -1; });
    if (!stop && all.length) all[0].tabIndex = 0;
  };
}
