// SPDX-License-Identifier: MIT
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const program = process.env['LANNER'] ?? `${root}build/release/lanner`;

/** The policy that lanner serve sends with the page. */
export const kPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A tool that the tale models know, as the settings take it. */
export const kWeather = JSON.stringify([{
  type: 'function',
  function: {
    name: 'get_weather', description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
  },
}]);

/** Whether the program is there. One that LANNER names must be. */
export function canServe(): boolean {
  if (process.env['LANNER'] === undefined && !existsSync(program)) return false;
  const tried = spawnSync(program, ['serve', '--help']);
  if (tried.status !== 0) throw new Error(`${program} serve --help failed: ${tried.error?.message ?? String(tried.stderr)}`);
  return true;
}

/** A running lanner serve. */
export interface Served {
  address: string;
  stop(): void;
  /** Ends it at once, as a crash would; resolves when it is gone. */
  kill(): Promise<void>;
}

/** Runs lanner serve with a model of models/, on a free port unless `options` name one, until it is ready. */
export async function serve(model: string, ...options: string[]): Promise<Served> {
  const port = options.includes('--port') ? [] : ['--port', '0'];
  const child = spawn(program, ['serve', `${root}models/${model}`, ...port, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  const gone = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  let said = '';
  const address = await new Promise<string>((resolve, reject) => {
    const read = (bytes: Buffer) => {
      said += bytes.toString();
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (found) resolve(`${found[0]}/`);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('exit', () => reject(new Error(`lanner serve ended: ${said}`)));
  });
  while ((await fetch(`${address}health`)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
  return {
    address,
    stop: () => void child.kill(),
    kill: () => {
      child.kill('SIGKILL');
      return gone;
    },
  };
}
