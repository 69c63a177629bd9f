// Notifications of the browser, where the reader asked for them: an agent has begun to wait for a person.
const bell = $('#bell');
const waits = new Set(); // keys of the agents that wait
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
// attend remembers who waits, and notifies of those who have just begun to.
const attend = (notify) => {
  for (const key of waits) if (agents.get(key)?.state !== 'waiting') waits.delete(key);
  for (const a of agents.values()) {
    if (a.state !== 'waiting' || waits.has(a.key)) continue;
    waits.add(a.key);
    if (!notify || bell.ariaPressed !== 'true') continue;
    try {
      const note = new Notification((a.project && a.project + ': ') + a.name + ' waits' + (a.waits ? ': ' + a.waits : ' for you'), { tag: a.key });
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

