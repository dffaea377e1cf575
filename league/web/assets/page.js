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
  let stream = null, retry = 0, over = document.body.hasAttribute('data-over');

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
    stream = new EventSource('/events');
    stream.onopen = () => status('live', 'live');
    stream.onerror = () => {
      status('lost', 'connection lost, trying again');
      if (stream.readyState !== EventSource.CLOSED) return; // the browser tries again
      stopStream();
      retry = setTimeout(follow, 2000 + Math.random() * 3000);
    };
    for (const name of ['progress', 'timeline', 'standings', 'running', 'results', 'decisions', 'chart']) {
      stream.addEventListener(name, (e) => swap(name, e.data));
    }
    stream.addEventListener('over', () => { over = true; follow(); });
  }

  async function swap(id, html) {
    if (!$(id) || $('league').dataset.round !== '') return;
    if (id === 'timeline' && $('timeline').contains(document.activeElement) && playing) return;
    await htmx.swap({ target: '#' + id, text: html, swap: 'outerMorph' });
    refresh();
  }

  let announced = null;
  function announce() {
    const text = $('progress') && $('progress').dataset.announce;
    if (!text || text === announced) return;
    if (announced !== null) $('announcer').textContent = text;
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
    showPosition();
  });
  // The last position is the page without a round.
  document.addEventListener('htmx:after:swap', () => {
    const league = $('league');
    if (league) {
      const params = new URLSearchParams(location.search);
      league.dataset.round ? params.set('round', league.dataset.round) : params.delete('round');
      const query = params.toString();
      const url = location.pathname + (query ? '?' + query : '');
      if (url !== location.pathname + location.search) history.replaceState(history.state, '', url);
    }
    refresh();
  });

  // ---- the chart ----
  let plot = null, plotted = '', shown = null;
  const dashes = [[], [6, 4], [2, 3], [10, 4, 2, 4]];

  function color(i) { return getComputedStyle(document.documentElement).getPropertyValue('--s' + (i % 10)).trim(); }
  function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

  function chart() {
    const data = $('chart-data'), box = $('plot');
    if (!data || !box || !window.uPlot) return;
    const text = data.textContent, width = box.clientWidth;
    if (text === plotted) return;
    plotted = text;
    const c = JSON.parse(text);
    if (c.rounds.length < 2) return;
    box.hidden = $('legend').hidden = false;
    if (!shown) shown = new Set(c.series.filter((s) => s.shown).map((s) => s.id));
    legend(c);
    if (plot) plot.destroy();
    plot = new uPlot(options(c, box.clientWidth || width), [c.rounds, ...c.series.map((s) => s.points)], box);
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
        { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200], values: (u, ticks) => ticks.map((t) => t === 0 ? 'Start' : t) },
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

  function redraw() { plotted = ''; chart(); }
  let resized = 0;
  addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(redraw, 150); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);

  // ---- all ----
  function refresh() {
    localTimes();
    showPosition();
    announce();
    chart();
    follow();
  }
  refresh();
})();
