// Notifications of the browser, where the reader asked for them: an agent has begun to wait for a person.
const bell = $('#bell');
const waits = new Map(); // by key: the notification of an agent that waits, if there is one
let wanted = kept('notify') === 'on';
const ring = (text) => {
  const allowed = window.Notification?.permission, on = wanted && allowed === 'granted';
  const blocked = !allowed ? 'This browser has no notifications' : allowed === 'denied' ? 'Notifications are blocked for this address: allow them in the settings of the browser' : '';
  bell.setAttribute('aria-pressed', String(on));
  bell.setAttribute('aria-disabled', String(blocked !== ''));
  bell.title = text || blocked || (on ? 'Notifications are on: an agent begins to wait for you' : 'Notify me when an agent begins to wait for me');
};
const toggleBell = async () => {
  wanted = bell.ariaPressed !== 'true';
  if (wanted && window.Notification?.permission === 'default') await Notification.requestPermission();
  keep('notify', wanted ? 'on' : '');
  ring();
  say(bell.title);
};
// Another page may have changed the choice.
addEventListener('storage', () => {
  wanted = kept('notify') === 'on';
  ring();
});
// attend remembers which agents wait, notifies of those that have just begun to, and ends the notifications of those that
// wait no more. An agent that has gone may come back with the next observer, and still wait.
const attend = (notify) => {
  for (const [key, note] of waits) {
    const state = agents.get(key)?.state;
    if (state !== 'waiting') note?.close();
    if (state && state !== 'waiting') waits.delete(key);
  }
  for (const a of agents.values()) {
    if (a.state !== 'waiting' || waits.has(a.key)) continue;
    waits.set(a.key, null);
    if (!notify || bell.ariaPressed !== 'true') continue;
    try {
      const note = new Notification((a.project && a.project + ': ') + a.name + ' waits' + (a.waits ? ': ' + a.waits : ' for you'), { tag: a.key });
      waits.set(a.key, note);
      note.onclick = () => {
        window.focus();
        open(a.id);
        note.close();
      };
    } catch { // some browsers leave them to service workers
      wanted = false;
      ring('This browser does not let a page notify');
    }
  }
};
ring();

