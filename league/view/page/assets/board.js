// Steps through the positions of a match: by buttons, slider, list, arrow keys, Home and End. The
// address has the move. Without this script the list has links.
'use strict';
(() => {
  const board = document.getElementById('board');
  const stepper = board && board.querySelector('.stepper');
  if (!stepper) return;
  const positions = [...board.querySelectorAll('.position')], links = [...board.querySelectorAll('.moves a')];
  const slider = stepper.querySelector('input'), output = stepper.querySelector('output');
  const button = (name) => stepper.querySelector('[data-to="' + name + '"]');
  const last = positions.length - 1;
  let at = Number(slider.value), playing = 0, late = 0;

  function show() {
    const title = positions[at].dataset.title;
    positions.forEach((position, i) => { position.hidden = i !== at; });
    links.forEach((link, i) => { i + 1 === at ? link.setAttribute('aria-current', 'true') : link.removeAttribute('aria-current'); });
    const link = links[at - 1], list = links.length > 0 && links[0].closest('ol');
    if (link && list.scrollHeight > list.clientHeight) list.scrollTop = link.offsetTop - list.offsetTop - list.clientHeight / 2;
    slider.value = at;
    slider.setAttribute('aria-valuetext', title + ': ' + positions[at].querySelector('b').textContent);
    output.textContent = title;
    for (const b of stepper.querySelectorAll('[data-by], [data-to]')) {
      b.disabled = b.dataset.by === '-1' || b.dataset.to === 'first' ? at === 0 : b.dataset.to !== 'play' && at === last;
    }
    button('play').textContent = playing ? '❚❚' : '▶';
    button('play').setAttribute('aria-label', playing ? 'Stop' : 'Play the moves');
  }

  function go(to) {
    at = Math.min(Math.max(to, 0), last);
    show();
    clearTimeout(late); // browsers limit how often the address changes
    late = setTimeout(() => {
      const address = new URL(location.href);
      address.searchParams.set('move', at);
      history.replaceState(history.state, '', address);
    }, 100);
  }

  function stop() {
    clearInterval(playing);
    playing = 0;
  }

  function play() {
    if (playing) { stop(); return show(); }
    playing = setInterval(() => { if (at + 1 >= last) stop(); go(at + 1); }, 700);
    go(at === last ? 0 : at);
  }

  function step(to) { stop(); go(to); }

  stepper.addEventListener('click', (e) => {
    const b = e.target.closest('button');
    if (!b) return;
    if (b.dataset.by) return step(at + Number(b.dataset.by));
    ({ first: () => step(0), last: () => step(last), play })[b.dataset.to]();
  });
  slider.addEventListener('input', () => step(Number(slider.value)));
  links.forEach((link, i) => link.addEventListener('click', (e) => {
    if (e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    step(i + 1);
  }));
  document.addEventListener('keydown', (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.shiftKey || e.target.closest('input, select, textarea, pre, .scroll')) return;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    step(to);
  });
  stepper.hidden = false;
  show();
})();
