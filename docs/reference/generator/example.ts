import type { Example } from './examples/recorded.ts';
import { fence } from './markdown.ts';

const WIDTH = 110;

/** What the page of an operation shows of the request and the answer that were recorded. */
export function exampleOf(operation: string, example: Example | undefined): readonly string[] {
  if (!example) return [`No example is recorded for ${operation}: run "npm run docs -- --examples".`];
  const { method, path, body, app, status, answer } = example;
  const asked = `${method} ${path}`;
  const events = Array.isArray(answer) ? answer.join('\n') : undefined;
  return [
    app ? 'Request of the app `com.example.agenda`:' : 'Request:',
    fence('http', body === undefined ? asked : `${asked}\n\n${pretty(body)}`),
    events === undefined ? `Answer, ${status}:` : 'An event of the stream:',
    events === undefined ? fence('json', pretty(answer)) : fence('text', events),
  ];
}

/** JSON that breaks a line only where it is too long. */
export function pretty(value: unknown, indent = ''): string {
  const flat = oneLine(value);
  if (indent.length + flat.length <= WIDTH || typeof value !== 'object' || value === null) return flat;
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    return `[\n${value.map((item) => `${deeper}${pretty(item, deeper)}`).join(',\n')}\n${indent}]`;
  }
  const members = Object.entries(value).map(([name, member]) => `${deeper}"${name}": ${pretty(member, deeper)}`);
  return `{\n${members.join(',\n')}\n${indent}}`;
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${oneLine(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}
