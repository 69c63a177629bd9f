// What comes from the observer, and what the reader does.
let mark = root.dataset.mark, source = null, heard = Date.now(), tried = 0, gone = 0, again = 0;

document.addEventListener('mouseover', (event) => {
  const time = event.target.closest('time'), cut = event.target.closest('.name a, #rows small'), context = event.target.closest('td.c-context'), row = event.target.closest('#rows tr[id]');
  if (row) row.title = $('.watching') ? '' : row.dataset.notices;
  if (time) time.title = clock(new Date(time.dateTime));
  else if (context) context.title = $('title', context)?.textContent ?? '';
  else if (cut) cut.title = cut.scrollWidth > cut.clientWidth ? cut.innerText : '';
});

let place = 0; // where the list was scrolled to
const open = (id, push = true) => {
  if (id === chosen.session) return;
  const was = chosen.session, named = (key) => items.findIndex((a) => a.key && (a.id === key || a.name === key));
  chosen.session = id;
  if (push) history.pushState(null, '', address());
  detailNow = '';
  if (!was) place = scrollY;
  const covered = !table.checkVisibility();
  if (id) begin(items[named(id)]?.name ?? id);
  else hide();
  arrange();
  listen();
  if (id) return;
  if (covered) scrollTo(0, place);
  if (named(was) >= 0) reach(named(was));
  else table.focus({ preventScroll: true });
};
addEventListener('popstate', () => {
  const was = chosen.session;
  readAddress();
  const now = chosen.session;
  chosen.session = was;
  sortBy(chosen.sort, chosen.down);
  find.value = chosen.find;
  density();
  pressed();
  if (now !== was) open(now, false);
  arrange(true);
});

const take = (news) => {
  if (news.page && news.page !== root.dataset.page) return location.reload();
  if (news.head) {
    summaryNow = summary.cloneNode(false);
    summaryNow.append(part(news.head));
  }
  for (const row of news.rows || []) learn(row);
  if (news.keys) {
    const known = new Set(news.keys);
    for (const key of agents.keys()) if (!known.has(key)) agents.delete(key);
  }
  attend(mark !== '0'); // before the first mark some may not have come yet
  entitle();
  mark = news.mark || mark;
  redraw();
};
const live = (on) => {
  const sign = $('#live');
  sign.classList.toggle('on', on);
  sign.classList.toggle('off', !on);
  put(sign.lastElementChild, on ? 'live' : 'not live');
  document.body.classList.toggle('stale', !on);
  entitle();
};
const alive = () => {
  heard = Date.now();
  gone = 0;
  live(true);
  $('#gone').hidden = true;
};
const lost = (runs) => {
  if (!gone) gone = heard;
  const at = clock(new Date(gone)), notice = $('#gone');
  put(notice, runs
    ? 'The observer runs, but has no news for this page: too many pages may be open. Close one; this page connects by itself. What follows is from ' + at + '.'
    : 'The observer is gone. Its last answer was at ' + at + ': what follows is from then. Start it again with sm observe; this page connects by itself.');
  notice.hidden = false;
  live(false);
};
// The error of an event source has no reason.
const runs = () => fetch('-/healthy', { cache: 'no-store', signal: AbortSignal.timeout(5000) }).then((answer) => answer.ok, () => false);
const listen = () => {
  clearTimeout(again);
  source?.close();
  tried = Date.now();
  const query = new URLSearchParams({ since: mark });
  if (chosen.session) query.set('session', chosen.session);
  if (root.dataset.view) query.set('prometheus', root.dataset.view);
  const es = source = new EventSource('events?' + query);
  const on = (name, f) => es.addEventListener(name, (event) => {
    if (es !== source) return;
    alive();
    f(event.data && JSON.parse(event.data));
  });
  on('state', take);
  on('detail', (news) => {
    if (!chosen.session) return;
    detailNow = news.html;
    redraw();
  });
  on('beat', () => {});
  es.onerror = () => {
    if (es !== source) return;
    es.close(); // what the browser would ask for again is out of date
    runs().then((yes) => {
      if (es !== source) return;
      lost(yes);
      again = setTimeout(listen, 1500);
    });
  };
};
addEventListener('pagehide', () => source?.close());
addEventListener('pageshow', (event) => { if (event.persisted) listen(); });

document.addEventListener('click', (event) => {
  const hit = event.target.closest('a, button, #rows tr');
  if (!hit || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (hit.matches('[data-sort]')) {
    const name = hit.dataset.sort;
    sortBy(name, chosen.sort === name ? !chosen.down : downFirst.includes(name));
    choose({});
  } else if (hit.matches('.chip')) {
    const kind = kindOf(hit);
    choose({ [kind]: chosen[kind] === hit.dataset[kind] ? '' : hit.dataset[kind] });
  } else if (hit.matches('.copy')) {
    copy(hit);
  } else if (hit.id === 'group') {
    choose({ group: !chosen.group });
  } else if (hit.id === 'dense') {
    dense();
  } else if (hit.id === 'bell') {
    toggleBell();
  } else if (hit.id === 'theme') {
    turn();
  } else if (hit.id === 'menu') {
    menu(!document.body.matches('.menu'));
  } else if (hit.id === 'help') {
    help.showModal();
  } else if (hit.closest('#keys')) {
    help.close();
  } else if (hit.closest('#held')) {
    arrange(true);
  } else if (hit.id === 'clear') {
    unfilter();
    find.focus();
  } else if (hit.matches('.close')) {
    event.preventDefault();
    open('');
  } else if (hit.matches('.under a')) {
    event.preventDefault();
    open(new URL(hit.href).searchParams.get('session'));
  } else if (hit.matches('#rows tr[id], #rows a')) {
    if (hit.matches('tr') && String(getSelection())) return; // the user copies a text of the row
    event.preventDefault();
    const agent = agents.get(hit.closest('tr').id);
    if (!agent) return;
    current = agent.key;
    open(isOpen(agent) ? '' : agent.id);
  }
});
find.addEventListener('input', () => choose({ find: find.value }));

addEventListener('keydown', (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
  if (help.open) return;
  const typing = event.target === find;
  const keys = {
    ArrowDown: () => move(1), ArrowUp: () => move(-1),
    Escape: () => {
      if (typing && find.value) choose({ find: '' });
      else if (typing) { find.blur(); move(0); } else if (chosen.session) open('');
      else unfilter();
    },
  };
  if (!typing && table.checkVisibility()) {
    const page = Math.max(1, Math.floor(innerHeight / stride) - 2);
    Object.assign(keys, {
      j: keys.ArrowDown, k: keys.ArrowUp, t: () => turn(), g: () => choose({ group: !chosen.group }), c: () => dense(),
      o: () => arrange(true), '?': () => help.showModal(), '/': () => { menu(narrow.matches); find.focus(); find.select(); }, Home: () => move(-Infinity), End: () => move(Infinity),
    });
    if (document.activeElement === table || body.contains(document.activeElement)) Object.assign(keys, { PageDown: () => move(page), PageUp: () => move(-page) });
  } else if (typing) {
    keys.Enter = () => move(0);
  }
  if (detail.contains(event.target)) for (const key of ['ArrowDown', 'ArrowUp', 'Home', 'End']) delete keys[key]; // they scroll it
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// On a narrow window most of the header is behind a button.
const help = $('#keys');
const menu = (open) => {
  document.body.classList.toggle('menu', open);
  $('#menu').setAttribute('aria-expanded', String(open));
  arrange();
};

// Density, and light, dark, or as the system.
const dense = () => {
  chosen.density = compact() ? 'full' : 'compact';
  keep('density', chosen.density);
  density();
  choose({});
};
const themes = ['auto', 'light', 'dark'];
const paint = (theme) => {
  if (theme === 'auto') delete root.dataset.theme;
  else root.dataset.theme = theme;
  put($('#theme'), 'theme: ' + theme);
};
const turn = () => {
  const next = themes[(themes.indexOf(root.dataset.theme || 'auto') + 1) % themes.length];
  paint(next);
  keep('theme', next);
};
paint(themes.includes(kept('theme')) ? kept('theme') : 'auto');

readAddress();
density();
writeAddress();
sortBy(chosen.sort, chosen.down);
find.value = chosen.find;
pressed();
for (const data of JSON.parse(body.dataset.rows || '[]')) { // what the page was served with
  const row = document.getElementById(data.key);
  const html = row.outerHTML;
  learn({ data, html });
  drawn.set(data.key, { row, html, made: row.cloneNode(true) });
}
attend(false);
entitle();
age(document);
arrange();
listen();
setInterval(() => {
  age(document);
  if (!$('#held').hidden && !held()) redraw();
  if (Date.now() - Math.max(heard, tried) > 40000) { // two beats have been missed
    lost(false);
    listen();
  }
}, 1000);
