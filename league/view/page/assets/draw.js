// Recomputes the draw of a match. Web Crypto is absent on plain HTTP, so sha256.min.js hashes.
"use strict";

(function (root) {
  const text = new TextEncoder();

  // secret returns the 32 bytes of 64 hexadecimal digits; null for any other text. An entropy
  // that was not given is zeros.
  function secret(hex) {
    if (!/^[0-9a-f]{64}$/.test(hex)) return null;
    return hex.match(/../g).map((pair) => parseInt(pair, 16));
  }

  // prefixed is the length of a text in two bytes, big-endian, and then the text.
  function prefixed(value) {
    const bytes = text.encode(value);
    return [bytes.length >> 8, bytes.length & 255, ...bytes];
  }

  // commitment is SHA-256 of the label, the match and the nonce, in hexadecimal.
  function commitment(d) {
    const nonce = secret(d.nonce);
    if (!nonce) return null;
    return root.sha256([
      ...text.encode("evenodd-draw-v1"),
      ...prefixed(d.league), ...prefixed(d.match), ...prefixed(d.attempt), ...prefixed(d.referee),
      ...nonce,
    ]);
  }

  // number is drawn from 1 to 10: the first byte below 250 of a hash decides.
  function number(d) {
    const zeros = "0".repeat(64);
    const parts = [d.nonce, d.entropyA || zeros, d.entropyB || zeros].map(secret);
    if (parts.includes(null)) return null;
    const start = [...text.encode("evenodd-number-v1"), ...parts.flat()];
    for (let i = 0; ; i++) {
      const hash = root.sha256.array([...start, i >>> 24, (i >>> 16) & 255, (i >>> 8) & 255, i & 255]);
      const byte = hash.find((x) => x < 250);
      if (byte !== undefined) return (byte % 10) + 1;
    }
  }

  root.drawCheck = { commitment, number };
  if (!root.document) return;

  // verdict shows whether a step holds.
  function verdict(id, holds, found) {
    const place = document.getElementById(id);
    if (!place) return;
    place.className = holds ? "verdict holds" : "verdict fails";
    place.textContent = holds ? "✓ recomputed in this browser: " + found : "✗ this browser computes " + (found === null ? "nothing: a value is not valid" : found);
  }

  const draw = document.getElementById("draw");
  if (draw && root.sha256) {
    const d = draw.dataset;
    const found = commitment(d);
    verdict("draw-commitment", found !== null && found === d.commitment, found);
    if (d.number) {
      const drawn = number(d);
      verdict("draw-number", drawn !== null && String(drawn) === d.number, drawn);
    }
  }
})(globalThis);
