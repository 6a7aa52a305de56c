// SPDX-License-Identifier: MIT
// Starts `lanner serve` on a free port.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/// With a tale model; LANNER names the program.
export const serve = (model, options = []) =>
  start(process.env.LANNER ?? path.join(root, 'build', 'release', 'lanner'), path.join(root, 'models', model), options);

/// Resolves when the server is ready.
export async function start(program, folder, options = [], env = process.env) {
  const child = spawn(program, ['serve', folder, '--port', '0', ...options], { stdio: ['ignore', 'ignore', 'pipe'], env });
  let log = '';
  const url = await new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`the server did not start: ${log}`)), 60_000);
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${log}`)));
    child.stderr.on('data', (bytes) => {
      log += bytes;
      const place = /listening on (\S+)/.exec(log);
      if (!place || !/ is ready\n/.test(log)) return;
      clearTimeout(limit);
      resolve(place[1]);
    });
  });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid,
    ended,
    log: () => log,
    kill: (signal) => child.kill(signal),
    stop: async () => {
      child.kill('SIGTERM');
      return ended;
    },
  };
}
