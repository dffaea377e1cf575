// The page of a person: it opens the board by the code of its address, takes states from a stream, and sends moves by
// mouse and keyboard.
'use strict';
(() => {
  const $ = (id) => document.getElementById(id);

  // The mode has browsers name the origin of the request.
  const post = (path, body) => fetch('/play/' + path, {
    method: 'POST', mode: 'cors', cache: 'no-store', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  });

  // The code is in the fragment, which no request has. It leaves the address and the history before anything else.
  const code = location.hash.slice(1);
  if (code) history.replaceState(null, '', location.pathname);

  if ($('door')) {
    const say = (title, text) => { $('door-title').textContent = title; $('door-text').textContent = text; };
    post('open', { code }).then(async (r) => {
      if (r.ok) location.replace('/play');
      else say('This board is not open here', await r.text());
    }, () => say('The program does not answer', 'Start it again, and reload this page.'));
    return;
  }

  // ---- the clock ----
  let ends = 0; // of the time for the move, by performance.now()
  function tick() {
    const at = document.querySelector('[data-left]');
    if (!at) return;
    const s = Math.max(0, Math.ceil((ends - performance.now()) / 1000));
    const text = (s >= 3600 ? Math.floor(s / 3600) + ':' + String(Math.floor(s / 60) % 60).padStart(2, '0') : Math.floor(s / 60)) + ':' + String(s % 60).padStart(2, '0');
    if (at.textContent !== text) at.textContent = text;
    at.parentNode.classList.toggle('short', s <= 10);
  }
  setInterval(tick, 250);

  // ---- states ----
  let said = '', title = document.title;
  function shown() {
    const play = $('play'), left = document.querySelector('[data-left]');
    if (left) ends = performance.now() + Number(left.dataset.left);
    tick();
    const headline = play.dataset.headline;
    document.title = (play.dataset.state === 'due' ? '● ' : '') + headline + ' · ' + title;
    if (headline !== said) $('announcer').textContent = said = headline;
    const made = document.querySelector('.made');
    if (made) made.scrollTop = made.scrollHeight;
  }

  function status(name, text) {
    $('connection').className = 'connection ' + name;
    $('connection').textContent = text;
    $('connection').hidden = !text;
  }

  const stream = new EventSource('/play/events');
  stream.onopen = () => status('live', 'connected');
  stream.onerror = () => {
    status('lost', 'connection lost, trying again');
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 2000); // it was refused
  };
  stream.addEventListener('update', async (e) => {
    await htmx.swap({ target: '#play', text: e.data, swap: 'outerMorph' });
    for (const b of document.querySelectorAll('[aria-busy]')) b.removeAttribute('aria-busy');
    shown();
  });
  stream.addEventListener('closed', () => { stream.close(); location.reload(); });
  stream.addEventListener('over', () => { stream.close(); status('', 'finished'); });
  addEventListener('pagehide', () => stream.close());
  addEventListener('pageshow', (e) => e.persisted && location.reload());

  // ---- moves ----
  async function send(path, body) {
    $('refusal').hidden = true;
    $('play').setAttribute('aria-busy', true);
    const refused = await post(path, body).then((r) => (r.ok ? '' : r.text()), () => 'The program does not answer.');
    if (!refused) return;
    $('play').removeAttribute('aria-busy');
    $('refusal').textContent = refused;
    $('refusal').hidden = false;
  }

  const options = () => [...document.querySelectorAll('#options button')];
  document.addEventListener('click', (e) => {
    const b = e.target.closest('[data-move], [data-again]');
    if (!b || $('play').hasAttribute('aria-busy')) return;
    if ('again' in b.dataset) send('again', {});
    else send('move', { question: Number($('options').dataset.question), move: b.dataset.move });
  });
  document.addEventListener('submit', (e) => {
    e.preventDefault();
    send('move', { question: Number(e.target.dataset.question), move: e.target.word.value });
  });

  // aim marks the cells of the move that has the focus.
  document.addEventListener('focusin', (e) => {
    const move = e.target.closest('#options button') && e.target.dataset.move;
    for (const b of document.querySelectorAll('.grid button')) b.parentNode.classList.toggle('aimed', b.dataset.move === move);
  });

  let typed = '', last = 0;
  document.addEventListener('keydown', (e) => {
    const all = options();
    if (!all.length || e.altKey || e.ctrlKey || e.metaKey || e.target.closest('input, summary, pre')) return;
    const at = all.indexOf(document.activeElement);
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[e.key];
    let to = by && (at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length);
    if (e.key === 'Home') to = 0;
    if (e.key === 'End') to = all.length - 1;
    if (e.key.length === 1 && e.key !== ' ') {
      typed = (Date.now() - last < 1000 ? typed : '') + e.key.toLowerCase();
      last = Date.now();
      const starts = (text) => text.toLowerCase().startsWith(typed);
      to = all.findIndex((b) => starts(b.dataset.move));
      if (to < 0) to = all.findIndex((b) => starts(b.textContent));
    }
    if (to === undefined || to < 0) return;
    e.preventDefault();
    all[to].focus();
  });
  shown();
})();
