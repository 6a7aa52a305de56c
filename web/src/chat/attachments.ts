// SPDX-License-Identifier: MIT
import type { Attachment } from './tree';

/** Larger files exceed what a model can read anyway. */
export const kLargestFile = 1_000_000;

/** The fence that no line of `text` can close. */
export function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), (run) => run[0].length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** What the model reads: the files, then what the user wrote. */
export function withAttachments(text: string, attachments: Attachment[] | undefined): string {
  const files = (attachments ?? []).map((file) => `File ${file.name}:\n${fenced(file.text.replace(/\n$/, ''), '')}`);
  return [...files, text].filter((part) => part !== '').join('\n\n');
}

/** Reads a text file. Throws Error with what is wrong with it. */
export async function readAttachment(file: File): Promise<Attachment> {
  if (file.size > kLargestFile) throw new Error(`${file.name} is larger than 1 MB.`);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    if (text.includes('\0')) throw new Error('binary');
    return { name: file.name, text };
  } catch {
    throw new Error(`${file.name} is not a text file.`);
  }
}
