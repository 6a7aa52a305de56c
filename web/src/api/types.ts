// SPDX-License-Identifier: MIT
// What the server's routes take and answer, as far as the page uses it.

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text; incomplete while it streams. */
  arguments: string;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details?: { cached_tokens?: number };
  completion_tokens_details?: {
    reasoning_tokens?: number;
    accepted_prediction_tokens?: number;
    rejected_prediction_tokens?: number;
  };
}

export interface Timings {
  queue_ms?: number;
  prompt_n?: number;
  prompt_ms?: number;
  predicted_n?: number;
  predicted_ms?: number;
  draft_n?: number;
  draft_accepted?: number;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface ModelInfo {
  id: string;
  created?: number;
  owned_by?: string;
  context_window?: number;
  max_output_tokens?: number;
  modalities?: { input?: string[]; output?: string[] };
  reasoning?: boolean;
  tools?: boolean;
  adapters?: string[];
  quantization?: unknown;
  family?: string;
  parent?: string;
}

export interface WireMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | null;
  reasoning_content?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
  name?: string;
}

export type ChatRequest = Record<string, unknown> & { messages: WireMessage[] };
