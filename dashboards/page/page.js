'use strict';
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const root = document.documentElement, body = $('#rows'), detail = $('#detail'), find = $('#find');
  const keep = (name, value) => { try { localStorage.setItem('sm-' + name, value); } catch { /* not allowed: not kept */ } };
  const kept = (name) => { try { return localStorage.getItem('sm-' + name); } catch { return null; } };

  // What the reader has chosen. At first the rows stand as the server has ordered them.
  const chosen = { sort: 'level', down: true, level: '', session: new URLSearchParams(location.search).get('session') || '' };
  let mark = root.dataset.mark, source = null, heard = Date.now(), tried = 0, gone = 0, again = 0, current = '';

  const rows = () => [...body.children];
  const visible = () => rows().filter((row) => !row.hidden);
  const link = (row) => row && $('a', row);
  const part = (html) => { const t = document.createElement('template'); t.innerHTML = html; return t.content; };

  // Ages: the server tells times, and how long ago that is changes by itself.
  const ago = (seconds) => {
    if (seconds < 10) return 'now';
    for (const [size, unit] of [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']]) {
      if (seconds >= size) return Math.floor(seconds / size) + ' ' + unit + ' ago';
    }
  };
  const age = (from) => {
    const now = Date.now() / 1000;
    for (const time of from.querySelectorAll('time[data-at]')) {
      const text = ago(now - time.dataset.at);
      if (time.textContent !== text) time.textContent = text;
    }
  };

  document.addEventListener('mouseover', (event) => {
    const time = event.target.closest('time');
    if (time) time.title = new Date(time.dateTime).toLocaleString();
  });

  // Order and filter.
  const value = (row, name) => (name === 'name' ? row.dataset.name.toLowerCase() : +row.dataset[name]);
  const compare = (a, b) => {
    const x = value(a, chosen.sort), y = value(b, chosen.sort);
    const first = x < y ? -1 : x > y ? 1 : 0;
    return (chosen.down ? -first : first) || b.dataset.used - a.dataset.used || (a.dataset.name < b.dataset.name ? -1 : 1);
  };
  // Only what stands wrong is moved: a table of hundreds is slow to lay out anew.
  const place = (after) => {
    let at = body.firstElementChild;
    for (const row of after) {
      if (at && at !== row && at.nextElementSibling === row) {
        body.append(at); // it belongs further down, and finds its place in its turn
        at = row;
      }
      if (at === row) at = row.nextElementSibling;
      else body.insertBefore(row, at);
    }
  };
  const arrange = () => {
    const focused = document.activeElement && body.contains(document.activeElement) ? document.activeElement : null;
    const before = rows(), after = [...before].sort(compare);
    if (after.some((row, i) => row !== before[i])) {
      place(after);
      if (focused) focused.focus({ preventScroll: true });
    }
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of after) {
      const fits = (!chosen.level || row.classList.contains('l-' + chosen.level)) && words.every((w) => row.dataset.find.includes(w));
      if (row.hidden === fits) row.hidden = !fits;
      shown += fits;
      row.classList.toggle('open', isOpen(row));
    }
    const filtered = words.length > 0 || chosen.level !== '';
    const said = filtered ? shown + ' of ' + after.length + ' agents shown' : '';
    if ($('#shown').textContent !== said) $('#shown').textContent = said;
    $('#none').hidden = shown > 0 || after.length === 0;
    document.body.classList.toggle('bare', after.length === 0);
    rove();
  };
  // One link is in the order of the Tab key; the others are reached from it.
  const rove = (to) => {
    const list = visible();
    const now = to || list.find((row) => row.id === current) || list.find(isOpen) || list[0];
    for (const a of body.querySelectorAll('a[tabindex="0"]')) if (a !== link(now)) a.tabIndex = -1;
    if (!now) return;
    current = now.id;
    link(now).tabIndex = 0;
  };
  const sortBy = (name, down) => {
    chosen.sort = name;
    chosen.down = down;
    for (const button of document.querySelectorAll('[data-sort]')) {
      const th = button.closest('th');
      if (button.dataset.sort === name) th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else th.removeAttribute('aria-sort');
    }
    arrange();
  };
  const pressed = () => {
    for (const chip of document.querySelectorAll('.chip')) chip.setAttribute('aria-pressed', String(chip.dataset.level === chosen.level));
  };
  const unfilter = () => {
    find.value = '';
    chosen.level = '';
    pressed();
    arrange();
  };

  // One agent.
  const session = (a) => new URL(a.href).searchParams.get('session') || '';
  const isOpen = (row) => chosen.session !== '' && session(link(row)) === chosen.session;
  const open = (id, push = true) => {
    if (id === chosen.session) return;
    const was = chosen.session;
    chosen.session = id;
    if (push) history.pushState(null, '', id ? '/?session=' + encodeURIComponent(id) : '/');
    if (!id) {
      detail.hidden = true;
      detail.replaceChildren();
    }
    arrange();
    listen();
    if (!id && was) link(rows().find((row) => session(link(row)) === was) || visible()[0])?.focus();
  };
  addEventListener('popstate', () => open(new URLSearchParams(location.search).get('session') || '', false));

  // News.
  const draw = (news) => {
    if (news.page && news.page !== root.dataset.page) return location.reload();
    if (news.head) {
      const focused = document.activeElement?.dataset?.level;
      $('#head').replaceChildren(part(news.head));
      pressed();
      if (focused !== undefined && document.activeElement === document.body) $('.chip[data-level="' + focused + '"]')?.focus();
      const count = (level) => +($('.chip[data-level="' + level + '"]')?.dataset.count || 0);
      document.title = (count('critical') ? '(' + count('critical') + ' critical) ' : '') + 'sm';
    }
    const focused = body.contains(document.activeElement) ? document.activeElement.closest('tr').id : '';
    for (const [key, html] of news.rows || []) {
      const fresh = part(html).firstElementChild, old = document.getElementById(key);
      if (old && old.parentNode === body) old.replaceWith(fresh);
      else body.append(fresh);
      age(fresh);
    }
    if (news.keys) {
      const known = new Set(news.keys);
      for (const row of rows()) if (!known.has(row.id)) row.remove();
    }
    mark = news.mark || mark;
    arrange();
    if (focused && !body.contains(document.activeElement)) link(document.getElementById(focused))?.focus({ preventScroll: true });
  };
  const show = (html) => {
    const opened = detail.hidden;
    const focused = !opened && detail.contains(document.activeElement);
    detail.replaceChildren(part(html));
    detail.hidden = false;
    age(detail);
    if (focused) detail.focus({ preventScroll: true });
    if (opened) detail.scrollIntoView({ block: 'nearest' });
  };
  const live = (on) => {
    const text = on ? 'live' : 'not live', sign = $('#live');
    sign.classList.toggle('on', on);
    sign.classList.toggle('off', !on);
    if (sign.lastElementChild.textContent !== text) sign.lastElementChild.textContent = text;
    for (const x of [$('#agents'), detail]) x.classList.toggle('stale', !on);
  };
  const alive = () => {
    heard = Date.now();
    gone = 0;
    live(true);
    $('#gone').hidden = true;
  };
  const lost = (runs) => {
    if (!gone) gone = heard;
    const at = new Date(gone).toLocaleTimeString(), notice = $('#gone');
    const text = runs
      ? 'The observer runs, but has no news for this page: too many pages may be open. Close one; this page connects by itself. What follows is from ' + at + '.'
      : 'The observer is gone. Last heard of at ' + at + ': what follows is from then. Start it again with sm observe; this page connects by itself.';
    if (notice.textContent !== text) notice.textContent = text;
    notice.hidden = false;
    live(false);
  };
  // An event source does not say why it fails.
  const runs = () => fetch('/-/healthy', { cache: 'no-store', signal: AbortSignal.timeout(5000) }).then((answer) => answer.ok, () => false);
  const listen = () => {
    clearTimeout(again);
    source?.close();
    tried = Date.now();
    const query = new URLSearchParams({ since: mark });
    if (chosen.session) query.set('session', chosen.session);
    const es = source = new EventSource('/events?' + query);
    const on = (name, f) => es.addEventListener(name, (event) => {
      if (es !== source) return;
      alive();
      f(event.data && JSON.parse(event.data));
    });
    on('state', draw);
    on('detail', (news) => show(news.html));
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

  // A hand on the page.
  document.addEventListener('click', (event) => {
    const at = event.target.closest('a, button, tbody tr');
    if (!at || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (at.matches('[data-sort]')) {
      const name = at.dataset.sort, same = chosen.sort === name;
      sortBy(name, same ? !chosen.down : !['name', 'turns'].includes(name));
      keep('sort', chosen.sort + (chosen.down ? ' down' : ' up'));
    } else if (at.matches('.chip')) {
      chosen.level = chosen.level === at.dataset.level ? '' : at.dataset.level;
      pressed();
      arrange();
    } else if (at.id === 'theme') {
      turn();
    } else if (at.id === 'clear') {
      unfilter();
      find.focus();
    } else if (at.matches('.close')) {
      event.preventDefault();
      open('');
    } else if (at.matches('#rows tr, #rows a')) {
      if (String(getSelection())) return; // somebody copies a name
      event.preventDefault();
      const row = at.closest('tr');
      rove(row);
      link(row).focus({ preventScroll: true });
      open(isOpen(row) ? '' : session(link(row)));
    }
  });
  find.addEventListener('input', arrange);

  const move = (by) => {
    const list = visible();
    if (!list.length) return;
    const at = list.findIndex((row) => row.contains(document.activeElement));
    const from = at >= 0 ? at + by : Math.max(0, list.findIndex((row) => row.id === current));
    const row = list[Math.max(0, Math.min(list.length - 1, from))];
    rove(row);
    link(row).focus();
    row.scrollIntoView({ block: 'nearest' });
  };
  addEventListener('keydown', (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
    const typing = event.target === find;
    const keys = {
      ArrowDown: () => move(1), ArrowUp: () => move(-1),
      Escape: () => {
        if (typing && find.value) { find.value = ''; arrange(); } else if (typing) { find.blur(); move(0); } else if (chosen.session) open('');
        else unfilter();
      },
    };
    if (!typing) {
      Object.assign(keys, {
        j: keys.ArrowDown, k: keys.ArrowUp, t: () => turn(), '/': () => { find.focus(); find.select(); },
        Home: () => move(-Infinity), End: () => move(Infinity),
      });
    } else {
      keys.Enter = () => move(0);
    }
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  // Light, dark, or as the system.
  const themes = ['auto', 'light', 'dark'];
  const paint = (theme) => {
    if (theme === 'auto') delete root.dataset.theme;
    else root.dataset.theme = theme;
    $('#theme span').textContent = theme;
    $('#theme').setAttribute('aria-label', 'Theme: ' + (theme === 'auto' ? 'as the system' : theme));
  };
  const turn = () => {
    const next = themes[(themes.indexOf(root.dataset.theme || 'auto') + 1) % themes.length];
    paint(next);
    keep('theme', next);
  };
  paint(themes.includes(kept('theme')) ? kept('theme') : 'auto');

  const [sort, way] = (kept('sort') || 'level down').split(' ');
  sortBy($('[data-sort="' + CSS.escape(sort) + '"]') ? sort : 'level', way !== 'up');
  if (chosen.session) link(rows().find(isOpen))?.setAttribute('aria-current', 'true');
  age(document);
  listen();
  setInterval(() => {
    age(document);
    if (Date.now() - Math.max(heard, tried) > 40000) { // two beats have been missed
      lost(false);
      listen();
    }
  }, 1000);
})();
