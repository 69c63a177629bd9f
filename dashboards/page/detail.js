// One agent in full.
const parts = new Map(); // by name: the element that a part was made of
for (const x of detail.children) parts.set(x.dataset.part, x.cloneNode(true));
const show = (html) => {
  const made = [...part(html).children];
  const focused = detail.contains(document.activeElement), reading = document.activeElement?.matches('.reader');
  const old = new Map([...detail.children].map((x) => [x.dataset.part, x]));
  for (const [name, x] of old) if (!made.some((y) => y.dataset.part === name)) x.remove();
  made.forEach((x, i) => {
    const name = x.dataset.part, live = old.get(name);
    if (live && parts.has(name)) patch(live, parts.get(name), x);
    else if (live) live.replaceWith(x.cloneNode(true));
    else detail.insertBefore(x.cloneNode(true), detail.children[i] ?? null);
    parts.set(name, x);
  });
  age(detail);
  fit();
  read(reading);
  if (focused && !detail.contains(document.activeElement)) detail.focus({ preventScroll: true });
};
// fit makes the detail end where the window ends.
const fit = () => { detail.style.maxHeight = matchMedia('(min-width: 901px)').matches ? innerHeight - 8 - Math.max(8, detail.parentElement.getBoundingClientRect().top) + 'px' : ''; };
addEventListener('scroll', fit, { passive: true });
addEventListener('resize', fit);
fit();
// begin shows the name of an agent, which has the focus, until its details come.
const begin = (name) => {
  const title = part('<div class="title" data-part="title"><h2 id="who" tabindex="-1"><bdi></bdi></h2><a class="close" href="./" aria-label="Close">×</a></div>').firstChild;
  $('bdi', title).textContent = name;
  parts.clear();
  parts.set('title', title);
  detail.replaceChildren(title.cloneNode(true));
  detail.hidden = false;
  detail.scrollTop = 0;
  if (!table.checkVisibility()) scrollTo(0, 0);
  fit();
  $('#who').focus({ preventScroll: true });
};
const hide = () => {
  detail.hidden = true;
  detail.replaceChildren();
  parts.clear();
  pointer = null;
};

// The readout: the figures of the curve below the pointer, or where the arrow keys have gone.
let pointer = null, reader = -1; // where the pointer is, and the number of the point
const read = (keep) => {
  const plot = $('.plot', detail);
  if (!plot) return;
  const data = JSON.parse(plot.dataset.plot), place = $('.reader', plot), [hair, dot, text] = place.children;
  if (pointer !== null) {
    const box = place.getBoundingClientRect();
    const when = data.from + Math.max(0, Math.min(1, (pointer - box.left) / box.width)) * (data.to - data.from);
    reader = 0;
    data.points.forEach(([t], i) => { if (Math.abs(t - when) < Math.abs(data.points[reader][0] - when)) reader = i; });
  } else if (!keep) {
    for (const x of place.children) x.hidden = true;
    return;
  }
  reader = Math.max(0, Math.min(data.points.length - 1, reader));
  const [t, tokens] = data.points[reader];
  const x = (t - data.from) / (data.to - data.from), y = 1 - Math.min(1, tokens / data.top);
  const near = Math.max(1, (data.to - data.from) * 0.008);
  const short = (n) => (n < 1000 ? n : n < 9950 ? +(n / 1000).toFixed(1) + 'k' : n < 999500 ? Math.round(n / 1000) + 'k' : +(n / 1e6).toFixed(1) + 'M');
  const lines = [short(tokens) + ' tokens'];
  if (data.threshold) lines.push(Math.floor(100 * tokens / data.threshold) + '% of the way to compaction');
  lines.push(data.clocks[reader], ...data.marks.filter((m) => Math.abs(m.at - t) <= near).map((m) => m.text));
  text.replaceChildren(...lines.map((line, i) => Object.assign(document.createElement(i ? 'span' : 'b'), { textContent: line })));
  for (const e of place.children) e.hidden = false;
  hair.style.left = dot.style.left = 100 * x + '%';
  dot.style.top = 'calc(18px + (100% - 18px) * ' + y + ')'; // the reader begins above the curve, with the marks
  text.style.left = x < 0.5 ? 'calc(' + 100 * x + '% + 12px)' : '';
  text.style.right = x < 0.5 ? '' : 'calc(' + 100 * (1 - x) + '% + 12px)';
  place.setAttribute('aria-valuenow', reader);
  place.setAttribute('aria-valuetext', lines.join(', '));
};
detail.addEventListener('pointermove', (event) => {
  pointer = event.target.closest('.reader') ? event.clientX : null;
  read(document.activeElement?.matches('.reader'));
});
detail.addEventListener('pointerleave', () => {
  pointer = null;
  read(false);
});
detail.addEventListener('focusin', (event) => {
  if (!event.target.matches('.reader') || pointer !== null) return;
  reader = +event.target.getAttribute('aria-valuenow');
  read(true);
});
detail.addEventListener('focusout', (event) => { if (event.target.matches('.reader') && event.target.isConnected) read(false); });
detail.addEventListener('keydown', (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity }[event.key];
  if (!by || !event.target.matches('.reader')) return;
  event.preventDefault();
  event.stopPropagation();
  pointer = null;
  reader = Math.max(0, Math.min(+event.target.getAttribute('aria-valuemax'), reader + by));
  read(true);
});

// Copying.
const copy = (button) => {
  const done = (word) => {
    button.dataset.done = word;
    say(word === 'copied' ? 'Copied: ' + button.dataset.copy : 'The browser does not allow copying.');
    setTimeout(() => delete button.dataset.done, 1500);
  };
  const refused = () => { // what is selected can be copied by hand
    const text = button.parentElement.querySelector('code, bdi');
    if (text) getSelection().selectAllChildren(text);
    done('selected');
  };
  if (!navigator.clipboard) return refused();
  navigator.clipboard.writeText(button.dataset.copy).then(() => done('copied'), refused);
};

