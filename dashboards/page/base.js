// What the other parts use: short names, what the reader has chosen, and ages.
const $ = (selector, from = document) => from.querySelector(selector);
const root = document.documentElement;
const table = $('#agents'), body = $('#rows'), detail = $('#detail'), find = $('#find');
const keep = (name, value) => { try { localStorage.setItem('sm-' + name, value); } catch { /* not allowed: not kept */ } };
const kept = (name) => { try { return localStorage.getItem('sm-' + name); } catch { return null; } };
const part = (html) => { const t = document.createElement('template'); t.innerHTML = html; return t.content; };
// patch changes live where the HTML that it was made of changed. What the script
// has changed itself stays, as do focus and selection, and the element that the
// mouse was pressed on: without that element there is no click.
const patch = (live, was, now) => {
  if (was.isEqualNode(now)) return;
  if (was.nodeName !== now.nodeName) return live.replaceWith(now.cloneNode(true));
  if (now.nodeType === Node.TEXT_NODE) return put(live, now.data);
  for (const { name } of was.attributes) if (!now.hasAttribute(name)) live.removeAttribute(name);
  for (const { name, value } of now.attributes) if (was.getAttribute(name) !== value) live.setAttribute(name, value);
  const had = [...was.childNodes], has = [...live.childNodes];
  now.childNodes.forEach((child, i) => (had[i] ? patch(has[i], had[i], child) : live.append(child.cloneNode(true))));
  for (const child of has.slice(now.childNodes.length)) child.remove();
};
const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };
const say = (text) => put($('#said'), text);

// The reader's choice is in the address, so that it can be kept and passed on.
const downFirst = ['ratio', 'used', 'compactions', 'seen', 'drift'];
const kinds = ['state', 'pressure', 'client']; // of chips
const chosen = { sort: 'order', down: false, find: '', pressure: '', state: '', client: '', group: false, density: '', session: '' };
const readAddress = () => {
  const query = new URLSearchParams(location.search), sort = query.get('sort') || '';
  const name = sort.replace(/^-/, '');
  const known = [...document.querySelectorAll('[data-sort]')].some((b) => b.dataset.sort === name);
  chosen.sort = known ? name : 'order';
  chosen.down = known && sort.startsWith('-');
  for (const name of ['session', 'find', ...kinds]) chosen[name] = query.get(name) || '';
  chosen.group = query.get('group') === 'project';
  const density = query.get('density') || kept('density');
  chosen.density = ['compact', 'full'].includes(density) ? density : '';
};
// Where there is little room rows are compact, unless the reader has chosen.
const narrow = matchMedia('(max-width: 900px)');
const compact = () => (chosen.density ? chosen.density === 'compact' : narrow.matches);
const address = () => {
  const query = new URLSearchParams();
  if (root.dataset.view) query.set('prometheus', root.dataset.view);
  for (const name of ['session', 'find', ...kinds]) if (chosen[name]) query.set(name, chosen[name]);
  if (chosen.sort !== 'order' || chosen.down) query.set('sort', (chosen.down ? '-' : '') + chosen.sort);
  if (chosen.group) query.set('group', 'project');
  if (chosen.density && compact() !== narrow.matches) query.set('density', chosen.density);
  return location.pathname + (query.size ? '?' + query : '');
};
const writeAddress = () => {
  const to = address();
  if (to !== location.pathname + location.search) history.replaceState(null, '', to);
};

// Ages: the server sends times, and their ages change by themselves.
const span = (seconds) => {
  for (const [size, unit] of [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']]) {
    if (seconds >= size) return Math.floor(seconds / size) + ' ' + unit;
  }
  return 'no time';
};
const ago = (seconds) => (seconds < 10 ? 'now' : span(seconds) + ' ago');
const clock = (date) => date.toDateString().slice(4, 10) + ', ' + date.toTimeString().slice(0, 8);
const age = (from) => {
  const now = Date.now() / 1000;
  for (const time of from.querySelectorAll('time[data-at]')) put(time, ago(now - time.dataset.at));
  for (const time of from.querySelectorAll('time[data-until]')) put(time, 'in ' + span(time.dataset.until - now));
};

