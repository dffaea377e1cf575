// The script of all pages: local times and clocks, the stream of updates, the scrubber and the
// chart. Without it the pages work as plain links and forms.
'use strict';
(() => {
  const base = document.body.dataset.base; // path of the pages
  const $ = (id) => document.getElementById(id);
  const all = (selector) => document.querySelectorAll(selector);
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;

  // ---- times ----
  // 2026-11-29 10:04 CET, as the server shows times, in the zone of the reader
  const form = new Intl.DateTimeFormat('en-GB', { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' });
  function localTime(at) {
    const part = Object.fromEntries(form.formatToParts(at).map((p) => [p.type, p.value]));
    return `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute} ${part.timeZoneName}`;
  }

  function localTimes() {
    for (const t of all('time[datetime]:not(.clock, .left, .until)')) {
      const at = new Date(t.dateTime);
      if (isNaN(at)) continue;
      const text = localTime(at);
      if (t.textContent !== text) t.textContent = text;
      t.title = at.toLocaleString();
    }
    tick();
  }

  function tick() {
    for (const t of all('time.clock')) {
      const s = Math.max(0, Math.round((Date.now() - new Date(t.dateTime)) / 1000));
      const text = s < 60 ? s + ' s' : s < 3600 ? Math.floor(s / 60) + ' min ' + (s % 60) + ' s' : Math.floor(s / 3600) + ' h ' + Math.floor(s / 60) % 60 + ' min';
      if (t.textContent !== text) t.textContent = text;
    }
    for (const t of all('time.until')) {
      const s = Math.max(0, Math.round((new Date(t.dateTime) - Date.now()) / 1000)), two = (n) => String(n).padStart(2, '0');
      const text = s >= 172800 ? Math.floor(s / 86400) + ' days' : (s >= 3600 ? Math.floor(s / 3600) + ':' + two(Math.floor(s / 60) % 60) : Math.floor(s / 60)) + ':' + two(s % 60);
      if (t.textContent !== text) t.textContent = text;
    }
    for (const t of all('time.left')) {
      const min = Math.max(0, Math.round((new Date(t.dateTime) - Date.now()) / 60000));
      const text = min < 1 ? 'less than a minute' : min < 60 ? 'about ' + min + ' min' : 'about ' + Math.floor(min / 60) + ' h ' + min % 60 + ' min';
      if (t.textContent !== text) t.textContent = text;
    }
  }
  setInterval(() => document.hidden || tick(), 1000);

  // ---- the stream of updates ----
  const connection = $('connection');
  let stream = null, retry = 0, last = document.body.dataset.version || '', over = document.body.hasAttribute('data-over');

  function status(name, text) {
    connection.className = 'connection ' + name;
    connection.textContent = text;
    connection.hidden = !text;
  }

  function follow() {
    const league = $('league');
    const isLive = league && league.dataset.round === '' && $('standings');
    if (stream && (!isLive || document.hidden || over)) stopStream();
    if (over) status('', 'finished');
    else if (!isLive) status('', league && league.dataset.round ? 'replay' : '');
    else if (!stream && !document.hidden) startStream();
  }

  function stopStream() {
    clearTimeout(retry);
    if (stream) stream.close();
    stream = null;
  }

  function startStream() {
    stopStream();
    status('', 'connecting');
    stream = new EventSource(base + '/events?after=' + encodeURIComponent(last));
    stream.onopen = () => { status('live', 'live'); answered(true); };
    stream.addEventListener('over', () => { over = true; follow(); });
    stream.onerror = () => {
      status('lost', 'connection lost, trying again');
      answered(false);
      if (stream.readyState !== EventSource.CLOSED) return; // the browser tries again
      stopStream();
      retry = setTimeout(follow, 2000 + Math.random() * 3000);
    };
    const shown = new Map(); // by id, what this stream has sent
    stream.addEventListener('update', (e) => {
      last = e.lastEventId || last;
      const parsed = document.createElement('template');
      parsed.innerHTML = e.data;
      for (const part of parsed.content.children) {
        if (shown.get(part.id) === part.outerHTML) continue;
        waiting.size || requestAnimationFrame(flush);
        shown.set(part.id, part.outerHTML);
        waiting.set(part.id, part.outerHTML);
      }
    });
  }

  // The manager has gone if it does not answer twice in a row. A page without a stream asks it.
  let misses = 0;
  function answered(yes) {
    misses = yes ? 0 : misses + 1;
    $('gone').hidden = misses < 2;
  }
  setInterval(() => {
    if (stream || document.hidden) return;
    fetch(base + '/events?after=' + encodeURIComponent(last), { method: 'HEAD', cache: 'no-store' })
      .then((r) => answered(r.status < 500 || r.status === 503), () => answered(false));
  }, 5000);

  let whole = false; // a long table is shown in full
  function shorten() {
    const more = $('all-rows');
    if (!more) return;
    more.hidden = whole;
    more.onclick = () => { whole = true; shorten(); if (latestRows) updateRows(latestRows); };
    document.querySelector('#standings table').classList.toggle('short', !whole);
  }

  // The fragments of an update are put into the page together.
  const waiting = new Map();
  let flushing = false;

  async function flush() {
    const parts = [...waiting];
    waiting.clear();
    flushing = true;
    const swaps = [];
    for (const [id, html] of parts) {
      if (!$(id) || $('league').dataset.round !== '') continue;
      if (id === 'timeline') updateTimeline(html);
      else if (id !== 'standings' || !updateRows(html)) swaps.push(htmx.swap({ target: '#' + id, text: html, swap: 'outerMorph' }));
    }
    await Promise.all(swaps);
    flushing = false;
    over = over || $('progress') && $('progress').dataset.state === 'over'; // the server ends the stream
    refresh();
  }

  // updateTimeline makes room for a new round. It waits for somebody who moves the scrubber.
  let moved = 0;
  function updateTimeline(html) {
    const parsed = document.createElement('template');
    parsed.innerHTML = html;
    const form = $('timeline'), fresh = parsed.content.querySelector('form');
    if (Date.now() - moved < 1500 || form.round.matches(':active')) {
      setTimeout(() => $('league').dataset.round === '' && updateTimeline(html), 1600);
      return;
    }
    form.dataset.total = fresh.dataset.total;
    form.hidden = fresh.hidden;
    if ('over' in fresh.dataset) form.dataset.over = '';
    const max = Math.max(Number(form.round.max), Number(fresh.elements.round.max));
    form.round.disabled = false;
    form.round.value = form.round.max = max;
    showPosition();
  }

  // updateRows updates a long table: only cells that differ, and rows that moved, and no rows
  // that are not shown. It returns false for a table that is short or has other columns.
  let latestRows = '';
  function updateRows(html) {
    const section = $('standings'), body = section.querySelector('tbody');
    if (!body || body.rows.length < 50) return false;
    const parsed = document.createElement('template');
    parsed.innerHTML = html;
    const fresh = parsed.content.querySelector('tbody');
    if (!fresh || parsed.content.querySelector('thead').innerHTML !== section.querySelector('thead').innerHTML) return false;
    latestRows = html;
    const known = new Map(Array.from(body.rows, (row) => [row.id, row]));
    let place = body.firstElementChild;
    for (const row of Array.from(fresh.rows).slice(0, whole ? undefined : 50)) {
      const mine = known.get(row.id) || row;
      known.delete(row.id);
      if (mine !== row && mine.outerHTML !== row.outerHTML) {
        mine.className = row.className;
        const cells = Array.from(mine.cells);
        Array.from(row.cells).forEach((cell, i) => { if (cell.outerHTML !== cells[i].outerHTML) cells[i].replaceWith(cell); });
      }
      if (mine === place) place = place.nextElementSibling;
      else if (body.moveBefore && mine.parentNode === body) body.moveBefore(mine, place); // keeps the focus
      else body.insertBefore(mine, place);
    }
    if (whole) known.forEach((row) => row.remove());
    section.querySelector('caption').textContent = parsed.content.querySelector('caption').textContent;
    return true;
  }

  let announced = null;
  function announce() {
    const title = $('progress') && $('progress').dataset.title;
    if (title) document.title = title + ' · ' + document.querySelector('.bar .league').textContent;
    const text = $('progress') && $('progress').dataset.announce;
    if (!text || text === announced) return;
    if (announced !== null) {
      $('announcer').textContent = text;
      htmx.trigger(document.body, 'roundended');
    }
    announced = text;
  }

  document.addEventListener('visibilitychange', follow);
  addEventListener('pagehide', stopStream);
  addEventListener('pageshow', follow);

  // ---- the scrubber ----
  let playing = 0;

  function label(value, form) {
    const last = value === Number(form.round.max);
    if (last) return 'over' in form.dataset ? 'End' : 'Live';
    return value === 0 ? 'Start' : 'Round ' + value + ' of ' + form.dataset.total;
  }

  function moveTo(value) {
    const form = $('timeline'), input = form.round;
    value = Math.min(Math.max(value, 0), Number(input.max));
    if (value === Number(input.value)) return false;
    input.value = value;
    input.dispatchEvent(new Event('input', { bubbles: true }));
    return true;
  }

  function showPosition() {
    const form = $('timeline');
    if (!form) return;
    const value = Number(form.round.value), text = label(value, form);
    form.live.disabled = value !== Number(form.round.max);
    form.querySelector('output').textContent = text;
    form.querySelector('output').classList.toggle('live', text === 'Live');
    form.round.setAttribute('aria-valuetext', text);
    for (const b of form.querySelectorAll('.step')) {
      b.hidden = form.round.max === '0';
      if (b.dataset.step) b.disabled = value + Number(b.dataset.step) < 0 || value + Number(b.dataset.step) > Number(form.round.max);
    }
    const play = form.querySelector('[data-play]');
    play.textContent = playing ? '❚❚' : '▶';
    play.setAttribute('aria-label', playing ? 'Stop' : 'Play the rounds');
  }

  function play(start) {
    clearInterval(playing);
    playing = 0;
    if (start) {
      const input = $('timeline').round;
      if (input.value === input.max) moveTo(0);
      playing = setInterval(() => moveTo(Number($('timeline').round.value) + 1) || play(false), calm ? 2500 : 1200);
    }
    showPosition();
  }

  document.addEventListener('click', (e) => {
    const b = e.target.closest && e.target.closest('#timeline .step');
    if (!b) return;
    if ('play' in b.dataset) return play(!playing);
    play(false);
    moveTo(Number($('timeline').round.value) + Number(b.dataset.step));
  });
  document.addEventListener('keydown', (e) => {
    if (!$('timeline') || e.altKey || e.ctrlKey || e.metaKey || e.target.closest('input, select, textarea, .scroll, summary')) return;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (by && moveTo(Number($('timeline').round.value) + by)) { play(false); e.preventDefault(); }
  });
  document.addEventListener('input', (e) => {
    if (e.target.id !== 'round') return;
    if (e.isTrusted) play(false);
    moved = Date.now();
    showPosition();
  });
  // The last position is the page without a round.
  document.addEventListener('htmx:after:swap', () => {
    if (flushing) return;
    latestRows = '';
    const league = $('league');
    if (league) {
      const params = new URLSearchParams(location.search);
      params.delete('live');
      league.dataset.round ? params.set('round', league.dataset.round) : params.delete('round');
      const query = params.toString();
      const url = location.pathname + (query ? '?' + query : '');
      if (url !== location.pathname + location.search) history.replaceState(history.state, '', url);
    }
    refresh();
  });

  // ---- the player of ?follow= ----
  const player = (/^P\d{2,6}$/.exec(new URLSearchParams(location.search).get('follow')) || [''])[0];

  function markFollowed() {
    if (!player) return;
    let name = player;
    for (const e of all('[data-of="' + player + '"]')) {
      e.dataset.followed = '';
      if (!e.matches('.who')) continue;
      name = e.textContent;
      const row = e.closest('tr, li, .line');
      if (row) row.dataset.followed = '';
    }
    const line = $('line-' + player), button = document.querySelector('[data-line="' + player + '"]');
    if (line) line.dataset.followed = '';
    if (button) button.setAttribute('aria-pressed', true);
    for (const a of all('a[href^="' + base + '/"]')) {
      const to = new URL(a.href);
      if (!to.searchParams.has('follow')) to.searchParams.set('follow', player);
      a.href = to.pathname + to.search;
    }
    for (const form of all('form')) {
      if (!form.elements.follow) form.insertAdjacentHTML('beforeend', '<input type="hidden" name="follow" value="' + player + '">');
    }
    const off = document.createElement('a'), here = new URL(location);
    here.searchParams.delete('follow');
    off.href = here.pathname + here.search;
    off.textContent = '✕';
    off.setAttribute('aria-label', 'Follow nobody');
    $('followed').replaceChildren('Following ' + name, off);
    $('followed').hidden = false;
  }

  // ---- all ----
  function refresh() {
    markFollowed();
    localTimes();
    showPosition();
    shorten();
    announce();
    dispatchEvent(new Event('refreshed'));
    follow();
  }
  refresh();
})();
