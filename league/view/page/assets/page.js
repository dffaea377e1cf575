// The script of all pages: local times and clocks, the stream of updates, the scrubber and the
// chart. Without it the pages work as plain links and forms.
'use strict';
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector) => document.querySelectorAll(selector);
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;

  // ---- times ----
  const sameDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  const anyDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

  function localTimes() {
    const today = new Date().toDateString();
    for (const t of all('time[datetime]:not(.clock)')) {
      const at = new Date(t.dateTime);
      if (isNaN(at)) continue;
      const text = (at.toDateString() === today ? sameDay : anyDay).format(at);
      if (t.textContent !== text) t.textContent = text;
      t.title = at.toLocaleString();
    }
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if ($('zone') && zone) $('zone').textContent = 'your time zone (' + zone + ')';
    tick();
  }

  function tick() {
    for (const t of all('time.clock')) {
      const s = Math.max(0, Math.round((Date.now() - new Date(t.dateTime)) / 1000));
      const text = s < 60 ? s + ' s' : s < 3600 ? Math.floor(s / 60) + ' min ' + (s % 60) + ' s' : Math.floor(s / 3600) + ' h ' + Math.floor(s / 60) % 60 + ' min';
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
    stream = new EventSource('/events?after=' + encodeURIComponent(last));
    stream.onopen = () => status('live', 'live');
    stream.addEventListener('over', () => { over = true; follow(); });
    stream.onerror = () => {
      status('lost', 'connection lost, trying again');
      if (stream.readyState !== EventSource.CLOSED) return; // the browser tries again
      stopStream();
      retry = setTimeout(follow, 2000 + Math.random() * 3000);
    };
    for (const name of ['progress', 'timeline', 'standings', 'running', 'results', 'decisions', 'chart']) {
      stream.addEventListener(name, (e) => { last = e.lastEventId || last; waiting.size || requestAnimationFrame(flush); waiting.set(name, e.data); });
    }
  }

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

  // ---- the chart ----
  let plot = null, plotted = '', drawn = 0, later = 0, listed = '', shown = null;
  const dashes = [[], [6, 4], [2, 3], [10, 4, 2, 4]];

  const colors = new Map();

  function css(name) {
    if (!colors.has(name)) colors.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    return colors.get(name);
  }
  function color(i) { return css('--s' + (i % 10)); }

  function chart() {
    const data = $('chart-data'), box = $('plot');
    if (!data || !box || !window.uPlot) return;
    const text = data.textContent;
    if (text === plotted) return;
    const c = JSON.parse(text);
    if (c.rounds.length < 2) return;
    clearTimeout(later);
    if (plot && c.round < 0 && c.series.length > 20 && Date.now() - drawn < 4000) { later = setTimeout(chart, 4000); return; }
    plotted = text;
    drawn = Date.now();
    box.hidden = $('legend').hidden = false;
    if (!shown) shown = new Set(c.series.filter((s) => s.shown).map((s) => s.id));
    const ids = c.series.map((s) => s.id + s.name).join();
    if (listed !== ids) legend(c);
    listed = ids;
    if (plot) plot.destroy();
    plot = new uPlot(options(c, box.clientWidth), [c.rounds, ...c.series.map((s) => s.points)], box);
  }

  function options(c, width) {
    const quiet = css('--quiet'), line = css('--line'), font = '12px system-ui, Roboto, sans-serif';
    const axis = { stroke: quiet, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
    const series = c.series.map((s, i) => ({
      label: s.id, show: shown.has(s.id), stroke: color(i), width: 2.5, dash: dashes[Math.floor(i / 10) % 4],
      points: { show: c.rounds.length < 25, size: 6, fill: color(i) },
    }));
    return {
      width, height: Math.round(Math.max(240, Math.min(420, width * 0.45))), padding: [12, 46, 0, 0],
      legend: { show: false }, cursor: { y: false, drag: { x: false, y: false } }, scales: { x: { time: false } },
      axes: [
        { ...axis, size: 28, incrs: [1, 2, 5, 10, 20, 50, 100, 200], values: (u, ticks) => ticks.map((t) => t === 0 ? 'Start' : t) },
        { ...axis, incrs: [1, 2, 3, 5, 6, 10, 15, 20, 30, 50, 100, 200, 500], size: 44 },
      ],
      series: [{}, ...series], hooks: { draw: [(u) => drawLabels(u, c), (u) => drawMarker(u, c)] },
    };
  }

  // drawLabels writes the id of each player at the end of its line, without overlaps.
  function drawLabels(u, c) {
    const ctx = u.ctx, ratio = devicePixelRatio, gap = 13 * ratio;
    const ends = c.series.map((s, i) => ({ s, i, y: u.valToPos(s.points[s.points.length - 1], 'y', true) }))
      .filter((e) => shown.has(e.s.id)).sort((a, b) => a.y - b.y);
    ends.forEach((e, k) => { if (k && e.y < ends[k - 1].y + gap) e.y = ends[k - 1].y + gap; });
    ctx.save();
    ctx.font = 600 + ' ' + 11 * ratio + 'px system-ui, Roboto, sans-serif';
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    for (const e of ends) {
      if (e.y > u.bbox.top + u.bbox.height + gap) continue;
      ctx.fillStyle = color(e.i);
      ctx.fillText(e.s.id, u.bbox.left + u.bbox.width + 7 * ratio, e.y);
    }
    ctx.restore();
  }

  function drawMarker(u, c) {
    if (c.round < 0) return;
    const ctx = u.ctx, x = u.valToPos(c.round, 'x', true);
    ctx.save();
    ctx.strokeStyle = css('--odd');
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, u.bbox.top);
    ctx.lineTo(x, u.bbox.top + u.bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  function legend(c) {
    const list = $('legend'), focused = document.activeElement && document.activeElement.dataset.series;
    list.replaceChildren(...c.series.map((s, i) => {
      const item = document.createElement('li'), b = document.createElement('button');
      b.type = 'button';
      b.dataset.series = s.id;
      b.setAttribute('aria-pressed', shown.has(s.id));
      b.innerHTML = '<svg width="18" height="8" aria-hidden="true"><line class="c' + i % 10 + '" x1="0" y1="4" x2="18" y2="4" stroke-width="3" stroke-dasharray="' + dashes[Math.floor(i / 10) % 4].join(' ') + '"/></svg>';
      const name = document.createElement('bdi');
      name.textContent = s.name;
      b.append(name);
      b.title = s.name + ' (' + s.id + ')';
      b.addEventListener('click', () => {
        shown.has(s.id) ? shown.delete(s.id) : shown.add(s.id);
        b.setAttribute('aria-pressed', shown.has(s.id));
        plot.setSeries(i + 1, { show: shown.has(s.id) });
      });
      item.append(b);
      return item;
    }));
    if (focused) { const again = list.querySelector('[data-series="' + CSS.escape(focused) + '"]'); if (again) again.focus(); }
  }

  function redraw() { plotted = ''; drawn = 0; colors.clear(); chart(); }
  let resized = 0;
  addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(redraw, 150); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);

  // ---- all ----
  function refresh() {
    localTimes();
    showPosition();
    shorten();
    announce();
    chart();
    follow();
  }
  refresh();
})();
