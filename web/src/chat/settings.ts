// SPDX-License-Identifier: MIT

/** A number field of the request; undefined = the server's default. */
export interface Sampling {
  temperature?: number;
  top_p?: number;
  top_k?: number;
  min_p?: number;
  repetition_penalty?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  max_tokens?: number;
  seed?: number;
}

export type Thinking = 'default' | 'none' | 'low' | 'medium' | 'high';

/** What a conversation asks of the model, apart from its messages. */
export interface ChatSettings {
  system: string;
  sampling: Sampling;
  thinking: Thinking;
  /** Tokens a thought may take; undefined = no limit. */
  thinkingBudget?: number;
  /** Strings that end an answer. */
  stop: string[];
  /** JSON text: an array of function tools; empty = none. */
  tools: string;
  /** JSON text: an object whose fields are added to the request; empty = none. */
  extra: string;
}

export const kDefaultSettings: ChatSettings = {
  system: '',
  sampling: {},
  thinking: 'default',
  stop: [],
  tools: '',
  extra: '',
};

export interface SamplingField {
  name: keyof Sampling;
  label: string;
  hint: string;
  min: number;
  max: number;
  step: number;
  /** false: a number field without a slider. */
  slider: boolean;
}

export const kSamplingFields: SamplingField[] = [
  { name: 'temperature', label: 'Temperature', hint: '0 always takes the likeliest token', min: 0, max: 2, step: 0.05, slider: true },
  { name: 'top_p', label: 'Top P', hint: 'smallest set of tokens with this share of the probability', min: 0, max: 1, step: 0.01, slider: true },
  { name: 'top_k', label: 'Top K', hint: 'this many likeliest tokens; 0 = all', min: 0, max: 200, step: 1, slider: true },
  { name: 'min_p', label: 'Min P', hint: 'at least this share of the likeliest token', min: 0, max: 1, step: 0.01, slider: true },
  { name: 'repetition_penalty', label: 'Repetition penalty', hint: '1 = off', min: 0.5, max: 2, step: 0.01, slider: true },
  { name: 'presence_penalty', label: 'Presence penalty', hint: '0 = off', min: -2, max: 2, step: 0.05, slider: true },
  { name: 'frequency_penalty', label: 'Frequency penalty', hint: '0 = off', min: -2, max: 2, step: 0.05, slider: true },
  { name: 'max_tokens', label: 'Longest answer, tokens', hint: 'empty = what fits', min: 1, max: 1_000_000, step: 1, slider: false },
  { name: 'seed', label: 'Seed', hint: 'empty = a new one each time', min: 0, max: Number.MAX_SAFE_INTEGER, step: 1, slider: false },
];

/** The tools as JSON, or what is wrong with their text. */
export function parseTools(text: string): { tools: unknown[]; problem?: string } {
  if (text.trim() === '') return { tools: [] };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { tools: [], problem: (error as Error).message };
  }
  const list = Array.isArray(value) ? value : [value];
  for (const [index, tool] of list.entries()) {
    const fn = (tool as { function?: { name?: unknown } } | null)?.function;
    if (typeof fn?.name !== 'string')
      return { tools: [], problem: `tool ${index + 1} needs {"type": "function", "function": {"name": ...}}` };
  }
  return { tools: list };
}

/** Further request fields as JSON, or what is wrong with their text. */
export function parseExtra(text: string): { fields: Record<string, unknown>; problem?: string } {
  if (text.trim() === '') return { fields: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { fields: {}, problem: 'an object is needed, such as {"min_tokens": 10}' };
    return { fields: value as Record<string, unknown> };
  } catch (error) {
    return { fields: {}, problem: (error as Error).message };
  }
}
