// SPDX-License-Identifier: MIT
import type { Timings } from '../api/types';

/** Tokens per second, as the server measured them. The first generated token belongs to the prompt's forward. */
export function tokensPerSecond(timings: Timings | undefined): { prompt?: number; decode?: number } {
  const rate = (tokens: number | undefined, ms: number | undefined) =>
    tokens && ms && ms > 0 ? (1000 * tokens) / ms : undefined;
  return {
    prompt: rate(timings?.prompt_n, timings?.prompt_ms),
    decode: rate(timings?.predicted_n, timings?.predicted_ms),
  };
}

/** The same for an answer that is still arriving: pieces after the first, per second since the first. */
export function liveSpeed(pieces: number, firstPiece: number | undefined, now: number): number | undefined {
  if (firstPiece === undefined || pieces < 2 || now - firstPiece < 300) return undefined;
  return (1000 * (pieces - 1)) / (now - firstPiece);
}
