/** An app of a test of the page: it says hostile things in every string that an app can set, and calls what it does not hold. */
import type { AppOptions } from '../fixtures/app-packages.ts';

/** Text that would run where it is taken for markup, for a link, or for a command of a terminal. */
export const HOSTILE = {
  markup: '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>',
  link: 'javascript:window.harmed=1',
  /** Turns what follows round, so that it reads otherwise. */
  turned: 'Device Core: safe\u202e, allow it',
  terminal: '\u001b[31mred\u001b[0m and \u001b]0;title\u0007plain',
} as const;

/** Answers the Core, and asks it again and again for what stands in `calls`. */
const code = (calls: readonly string[], said: readonly string[]): string => `
const socket = require('node:net').connect(process.env.DEVICE_RPC_SOCKET);
const send = (message) => socket.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
socket.on('error', () => process.exit(9)).setEncoding('utf8');
let rest = '';
socket.on('data', (text) => {
  const lines = (rest + text).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, method } = JSON.parse(line);
    if (method !== undefined && id !== undefined) send({ id, result: {} });
  }
});
for (const line of ${JSON.stringify(said)}) console.log(line);
let next = 1;
setInterval(() => {
  for (const method of ${JSON.stringify(calls)}) send({ id: next++, method, params: { volume: 0.5, muted: false } });
}, 200);
`;

export interface Talking {
  readonly id: string;
  readonly version?: string;
  readonly title?: string;
  readonly description?: string;
  readonly capabilities?: readonly object[];
  readonly calls?: readonly string[];
  readonly said?: readonly string[];
}

export function talkingApp({
  id,
  version = '1.0.0',
  title,
  description,
  capabilities = [],
  calls = [],
  said = [],
}: Talking): AppOptions {
  const manifest = { capabilities, ...(title ? { title } : {}), ...(description ? { description } : {}) };
  return { id, version, manifest, code: code(calls, said) };
}
