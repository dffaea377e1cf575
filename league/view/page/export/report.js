// A report works without this script: it filters the matches, unfolds rounds, and opens what a link leads to.
(() => {
  const rounds = [...document.querySelectorAll('details.round')];
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) if (at instanceof HTMLDetailsElement) at.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener('hashchange', reveal);
  if (location.hash) reveal();
  addEventListener('beforeprint', () => document.querySelectorAll('details.fold').forEach((part) => { part.open = true; }));
  const tools = document.querySelector('.tools');
  if (!tools) return;
  tools.hidden = false;
  document.getElementById('unfold').addEventListener('click', () => rounds.forEach((round) => { round.open = true; }));
  document.getElementById('only').addEventListener('change', (event) => {
    const id = event.target.value;
    for (const round of rounds) {
      let some = false;
      for (const match of round.querySelectorAll('li[data-match]')) {
        match.hidden = id !== '' && ![...match.querySelectorAll('.pair .id')].some((shown) => shown.textContent === id);
        some ||= !match.hidden;
      }
      round.hidden = !some;
      if (id !== '') round.open = true;
    }
  });
  addEventListener('beforeprint', () => { if (rounds.length <= 40) rounds.forEach((round) => { round.open = true; }); });
})();
