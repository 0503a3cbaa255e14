import type { Example } from './examples/recorded.ts';
import { fence } from './markdown.ts';

const WIDTH = 120;

/** What the page of an operation shows of the request and the answer that were recorded. */
export function exampleOf(operation: string, example: Example | undefined): readonly string[] {
  if (!example) return [`No example is recorded for ${operation}: run "node docs/reference/generate.ts --examples".`];
  const { method, path, body, app, status, answer, stream } = example;
  const asked = `${method} ${path}`;
  return [
    app ? 'Request of the app `com.example.agenda`:' : 'Request:',
    fence('http', body === undefined ? asked : `${asked}\n\n${pretty(body)}`),
    ...(stream
      ? ['An event of the stream:', fence('text', eventText(answer as object))]
      : [`Answer, ${status}:`, fence('json', pretty(answer))]),
  ];
}

/** A server-sent event as it stands on the wire. */
function eventText(fields: object): string {
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${text(value)}`)
    .join('\n');
}

/** JSON that breaks a line only where it is too long, as the formatter of the tree wants it. `name` stands before the value. */
export function pretty(value: unknown, indent = '', name = ''): string {
  const flat = `${name}${oneLine(value)}`;
  // A comma may follow.
  if (indent.length + flat.length + 1 <= WIDTH || typeof value !== 'object' || value === null) return flat;
  const deeper = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((item) => pretty(item, deeper))
    : Object.entries(value).map(([member, inner]) => pretty(inner, deeper, `${JSON.stringify(member)}: `));
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${name}${open}\n${lines.map((line) => `${deeper}${line}`).join(',\n')}\n${indent}${close}`;
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${oneLine(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}
