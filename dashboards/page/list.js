// The list of agents. All of them are kept as figures and text; only those rows are drawn that are seen, and some above
// and below, so that thousands cost what a screenful does.
const agents = new Map(); // by key: Data of the server, with html
const drawn = new Map(); // by key: the row in the page, the HTML that it was made of, and the same as an element
const heads = new Map(); // by project: the row above its agents
const summary = $('#head'); // above the list: counts, chips, notices
let summaryWas = summary.cloneNode(true), summaryNow = summaryWas; // as drawn, and as to be drawn
let detailNow = ''; // the HTML of the detail that is to be drawn
let order = []; // the agents that are listed
let items = [], tops = null; // these and their groups; tops of the items where groups make them uneven
let stride = 57, head = 36, wide = 8, waiting = 0; // heights of the rows, and how many columns there are
let current = ''; // the key of the row that the keyboard is at
const drawAll = 150, around = 16; // as many are drawn in any case, and so many beyond what is seen

const learn = (row) => {
  const old = agents.get(row.data.key);
  agents.set(row.data.key, Object.assign(row.data, { html: row.html ?? old?.html ?? '' }));
};
const isOpen = (agent) => chosen.session !== '' && (agent.id === chosen.session || agent.name === chosen.session);

// Which agents, and in which order.
const fits = () => {
  const words = chosen.find.toLowerCase().split(/\s+/).filter(Boolean);
  return (a) => kinds.every((kind) => !chosen[kind] || a[kind] === chosen[kind]) && (!chosen.pressure || a.state === 'work') && words.every((w) => a.find.includes(w));
};
const compare = (a, b) => {
  const x = a[chosen.sort], y = b[chosen.sort];
  const first = x < y ? -1 : x > y ? 1 : 0;
  return (chosen.down ? -first : first) || b.ratio - a.ratio || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id < b.id ? -1 : 1);
};
// While the pointer or the focus of the keyboard is in the list its order stays, so that no row moves away: figures
// change, agents that have left are grey, new ones come later. A minute without a movement ends that.
let over = false, active = 0;
const held = () => (over || $('#agents:focus-visible, #agents :focus-visible')) && Date.now() - active < 60000;
const list = (apply) => {
  const now = [...agents.values()].filter(fits()).sort(compare);
  if (apply || !held()) order = now;
  else order = order.map((a) => agents.get(a.key) ?? a);
  const listed = new Set(order), fresh = now.filter((a) => !listed.has(a)).length, notice = $('#held');
  const changed = now.length !== order.length || now.some((a, i) => a !== order[i]);
  if (changed && notice.hidden && !over) say('The order has changed. Press o to apply it.');
  notice.hidden = !changed;
  put(notice.firstElementChild, fresh ? 'order changed, ' + fresh + ' new' : 'order changed');
  items = order;
  tops = null;
  if (chosen.group) { // a project takes the place of its first agent
    const groups = new Map();
    for (const a of order) groups.has(a.project) ? groups.get(a.project).push(a) : groups.set(a.project, [a]);
    items = [];
    for (const [name, members] of groups) items.push({ group: name, members }, ...members);
    tops = [0];
    for (const item of items) tops.push(tops.at(-1) + (item.members ? head : stride));
  }
  const filtered = chosen.find.trim() !== '' || kinds.some((kind) => chosen[kind]);
  if (!order.some((a) => a.key === current)) current = '';
  put($('#shown'), filtered ? order.length + ' of ' + agents.size + ' agents shown' : '');
  put($('.sums b', summary), (filtered ? order.length + ' of ' : '') + agents.size);
  $('#none').hidden = order.length > 0 || agents.size === 0;
  document.body.classList.toggle('bare', agents.size === 0);
  document.body.classList.toggle('grouped', chosen.group);
  table.classList.toggle('drifts', items.some((a) => a.drift > 1));
  table.classList.toggle('hosts', items.some((a) => a.host));
  wide = [...table.tHead.rows[0].cells].filter((cell) => cell.checkVisibility()).length;
  table.setAttribute('aria-rowcount', items.length + 1);
};
const entitle = () => {
  const urgent = [0, 0];
  for (const a of agents.values()) {
    urgent[0] += a.state === 'waiting';
    urgent[1] += a.state === 'work' && a.pressure === 'imminent';
  }
  const words = [urgent[0] && urgent[0] + ' waiting', urgent[1] && urgent[1] + ' imminent'].filter(Boolean).join(', ');
  document.title = document.body.matches('.stale') ? 'sm – not live' : (words ? '(' + words + ') ' : '') + 'sm';
};

// Where the items are.
const topOf = (i) => (tops ? tops[i] : i * stride);
const at = (y) => { // the number of the item at a height
  if (!tops) return Math.max(0, Math.min(items.length - 1, Math.floor(y / stride)));
  let low = 0, high = items.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle] <= y) low = middle; else high = middle - 1;
  }
  return Math.max(0, low);
};
const start = () => table.getBoundingClientRect().top + table.tHead.offsetHeight; // of the first item, in the window
const measure = () => {
  const style = getComputedStyle(body);
  stride = parseFloat(style.getPropertyValue('--row')) + parseFloat(style.getPropertyValue('--gap'));
  head = parseFloat(style.getPropertyValue('--head'));
};

const groupRow = (item) => {
  const busy = item.members.filter((a) => a.state === 'work').length, waits = item.members.filter((a) => a.state === 'waiting').length;
  const row = heads.get(item.group) ?? part('<tr role="row" class="group"><th role="rowheader" scope="colgroup"><bdi></bdi> <small></small></th></tr>').firstChild;
  heads.set(item.group, row);
  row.firstChild.colSpan = wide;
  put($('bdi', row), item.group || 'no project');
  put($('small', row), [item.members.length + (item.members.length === 1 ? ' agent' : ' agents'), busy && busy + ' at work', waits && waits + ' waiting'].filter(Boolean).join(', '));
  return row;
};

// draw puts those rows in place that are seen. Only rows in the wrong place are moved, and rows that are drawn stay.
let from = 0, to = 0;
const draw = (anew) => {
  let first = 0, last = items.length;
  if (items.length > drawAll) {
    const top = -start(), one = at(top), end = at(top + innerHeight);
    if (!anew && (from === 0 || one - 4 >= from) && (to === items.length || end + 4 < to)) return;
    first = Math.max(0, one - around);
    last = Math.min(items.length, end + around + 1);
  }
  from = first;
  to = last;
  const focused = body.contains(document.activeElement), want = items.slice(first, last);
  for (const item of want) {
    const old = drawn.get(item.key);
    if (!item.key || old?.html === item.html) continue;
    const made = part(item.html).firstElementChild, row = old?.row ?? made.cloneNode(true);
    if (old) patch(row, old.made, made);
    age(row);
    drawn.set(item.key, { row, html: item.html, made });
  }
  const rows = want.map((item) => (item.members ? groupRow(item) : drawn.get(item.key).row));
  for (const row of body.querySelectorAll('.group')) if (!rows.includes(row)) row.remove();
  const kept = new Set(want.map((item) => item.key));
  for (const [key, { row }] of drawn) {
    if (kept.has(key)) continue;
    row.remove();
    drawn.delete(key);
  }
  let place = body.firstElementChild;
  want.forEach((item, i) => {
    const row = rows[i];
    if (place && place !== row && place.nextElementSibling === row) {
      const late = place; // it belongs further down, and finds its place in its turn
      place = row;
      body.append(late);
    }
    if (place === row) place = row.nextElementSibling;
    else body.insertBefore(row, place);
    row.setAttribute('aria-rowindex', first + i + 2);
    if (!item.key) return;
    row.classList.toggle('open', isOpen(item));
    $('a', row).setAttribute('aria-current', String(isOpen(item)));
    row.classList.toggle('past', !agents.has(item.key));
  });
  space('#above', topOf(first));
  space('#below', topOf(items.length) - topOf(last));
  rove(focused || document.activeElement === table);
};
const space = (id, height) => {
  const pad = $(id);
  pad.hidden = height <= 0;
  pad.firstElementChild.firstElementChild.style.height = height + 'px';
};
// Once for all that comes before the next frame. Nothing moves while a mouse
// button is down: the click would go to what the pointer was not pressed on.
const redraw = () => {
  if (waiting) return;
  waiting = requestAnimationFrame(() => {
    waiting = 0;
    if (root.matches(':active')) redraw();
    else arrange();
  });
};
const arrange = (apply = false) => {
  cancelAnimationFrame(waiting);
  waiting = 0;
  if (detailNow) show(detailNow);
  detailNow = '';
  if (summaryNow !== summaryWas) {
    patch(summary, summaryWas, summaryNow);
    summaryWas = summaryNow;
    age(summary);
    pressed();
  }
  list(apply);
  draw(true);
};
const lists = $('#list');
for (const name of ['pointermove', 'pointerdown', 'wheel', 'keydown', 'focusin']) {
  lists.addEventListener(name, () => { active = Date.now(); }, { passive: true });
}
lists.addEventListener('pointerover', (event) => { over ||= event.pointerType === 'mouse'; }); // also where a row moves below it
lists.addEventListener('pointerleave', () => {
  over = false;
  redraw();
});
lists.addEventListener('focusout', () => redraw());

// One link is in the order of the Tab key; the others are reached from it. When the row that has the focus is no more
// drawn, the table has it, and gives it back.
const link = (key) => drawn.get(key) && $('a', drawn.get(key).row);
const rove = (focused) => {
  let key = current;
  if (!drawn.has(key)) {
    const rows = items.slice(from, to), seen = items.length <= drawAll ? 0 : -start();
    key = (rows.find((a) => a.key && isOpen(a)) ?? rows.find((a, i) => a.key && topOf(from + i) >= seen))?.key ?? '';
    current ||= key;
  }
  for (const a of body.querySelectorAll('a[tabindex="0"]')) if (a !== link(key)) a.tabIndex = -1;
  if (link(key)) link(key).tabIndex = 0;
  if (!focused) return;
  const now = link(current);
  if (now && document.activeElement !== now) now.focus({ preventScroll: true });
  else if (!now && document.activeElement !== table) table.focus({ preventScroll: true });
};
const reach = (i) => { // goes to an item
  const item = items[i];
  if (!item) return;
  current = item.key;
  const y = start() + topOf(i), below = table.tHead.offsetHeight + 4;
  if (y < below) scrollBy({ top: y - below, behavior: 'instant' });
  else if (y + stride > innerHeight - 4) scrollBy({ top: y + stride - innerHeight + 4, behavior: 'instant' });
  draw(true);
  link(current)?.focus({ preventScroll: true });
};
const move = (by) => {
  const listed = items.map((item, i) => [item, i]).filter(([item]) => item.key);
  if (!listed.length) return;
  const now = listed.findIndex(([a]) => a.key === current), inside = document.activeElement === table || [body, detail].some((x) => x.contains(document.activeElement));
  const next = inside && now >= 0 ? now + by : Math.max(0, now);
  reach(listed[Math.max(0, Math.min(listed.length - 1, next))][1]);
};
body.addEventListener('focusin', (event) => {
  const row = event.target.closest('tr');
  if (row?.id) current = row.id;
});
addEventListener('scroll', () => draw(false), { passive: true });
addEventListener('resize', () => {
  density();
  arrange();
});

const sortBy = (name, down) => {
  chosen.sort = name;
  chosen.down = down;
  for (const button of document.querySelectorAll('[data-sort]')) {
    const th = button.closest('th');
    if (button.dataset.sort === name) th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    else th.removeAttribute('aria-sort');
  }
};
const kindOf = (chip) => kinds.find((kind) => chip.dataset[kind]);
const pressed = () => {
  for (const chip of document.querySelectorAll('.chip')) {
    const kind = kindOf(chip);
    chip.setAttribute('aria-pressed', String(chip.dataset[kind] === chosen[kind]));
  }
  $('#group').setAttribute('aria-pressed', String(chosen.group));
};
const choose = (change) => {
  Object.assign(chosen, change);
  if (find.value !== chosen.find) find.value = chosen.find;
  pressed();
  writeAddress();
  arrange(true);
};
const unfilter = () => choose({ find: '', pressure: '', state: '', client: '' });
const density = () => {
  document.body.classList.toggle('compact', compact());
  $('#dense').setAttribute('aria-pressed', String(compact()));
  measure();
};

