// The legend of the chart shows and hides lines. Pages and reports have this script.
'use strict';
(() => {
  const chosen = new Map(); // by the reader, by player

  function apply() {
    for (const button of document.querySelectorAll('[data-line]')) {
      const id = button.dataset.line, shown = chosen.has(id) ? chosen.get(id) : button.getAttribute('aria-pressed') === 'true';
      button.setAttribute('aria-pressed', shown);
      document.getElementById('line-' + id).toggleAttribute('hidden', !shown);
    }
  }
  document.addEventListener('click', (e) => {
    const button = e.target.closest('[data-line]');
    if (!button) return;
    chosen.set(button.dataset.line, button.getAttribute('aria-pressed') !== 'true');
    apply();
  });
  addEventListener('refreshed', apply); // an update has put the chart into the page
})();
