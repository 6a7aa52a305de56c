// SPDX-License-Identifier: MIT
import type { ChatRequest, WireMessage } from '../api/types';
import { withAttachments } from './attachments';
import { parseExtra, parseTools, type ChatSettings } from './settings';
import type { MessageNode } from './tree';

function wireMessage(node: MessageNode): WireMessage {
  if (node.role === 'tool')
    return { role: 'tool', content: node.content, tool_call_id: node.toolCallId ?? '', name: node.toolName ?? '' };
  if (node.role === 'user') return { role: 'user', content: withAttachments(node.content, node.attachments) };
  const message: WireMessage = { role: 'assistant', content: node.content };
  if (node.reasoning) message.reasoning_content = node.reasoning;
  if (node.toolCalls?.length) {
    if (node.content === '') message.content = null;
    message.tool_calls = node.toolCalls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    }));
  }
  return message;
}

/** An answer that failed before its first character says nothing the model should read. */
function hasText(node: MessageNode): boolean {
  return node.role !== 'assistant' || node.content !== '' || !!node.reasoning || !!node.toolCalls?.length;
}

/** The request that asks for what follows `path`. `model`: empty = the one that is served. */
export function chatRequest(path: MessageNode[], settings: ChatSettings, model: string): ChatRequest {
  const messages = path.filter(hasText).map(wireMessage);
  if (settings.system.trim() !== '') messages.unshift({ role: 'system', content: settings.system });
  const request: ChatRequest = { messages };
  if (model) request['model'] = model;
  for (const [name, value] of Object.entries(settings.sampling)) if (value !== undefined) request[name] = value;
  if (settings.thinking !== 'default') request['reasoning_effort'] = settings.thinking;
  if (settings.thinkingBudget !== undefined && settings.thinking !== 'none')
    request['thinking_budget'] = settings.thinkingBudget;
  if (settings.stop.length > 0) request['stop'] = settings.stop;
  const { tools } = parseTools(settings.tools);
  if (tools.length > 0) request['tools'] = tools;
  return { ...request, ...parseExtra(settings.extra).fields, messages };
}

/** The request that goes on with the last message of `path`, an answer that was cut. */
export function continuationRequest(path: MessageNode[], settings: ChatSettings, model: string): ChatRequest {
  return { ...chatRequest(path, settings, model), continue_final_message: true, add_generation_prompt: false };
}
