// SPDX-License-Identifier: MIT

/** How much of the context the shown messages take. */
export function ContextMeter({ used, limit }: { used?: number; limit?: number }) {
  if (!limit) return null;
  const share = Math.min(1, (used ?? 0) / limit);
  const label = `Context: ${used ?? 0} of ${limit} tokens`;
  return (
    <span class={`meter ${share > 0.9 ? 'full' : ''}`} title={label}>
      <meter min={0} max={limit} high={0.9 * limit} value={used ?? 0} aria-label={label} />
      <span aria-hidden="true">
        {short(used ?? 0)} / {short(limit)}
      </span>
    </span>
  );
}

function short(tokens: number): string {
  return tokens < 10_000 ? String(tokens) : `${Math.round(tokens / 1024)}k`;
}
