/** The examples as they were recorded: a line of JSON for each operation, so that a change of one shows as one. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('../../examples.jsonl', import.meta.url));

/** One operation as it was asked and answered. */
export interface Example {
  readonly method: string;
  readonly path: string;
  /** An app asked, not the operator. */
  readonly app?: true;
  readonly body?: unknown;
  readonly status: number;
  /** The answer is a stream of server-sent events, and `answer` the fields of one of them. */
  readonly stream?: true;
  readonly answer: unknown;
}
export type Examples = Readonly<Record<string, Example>>;

export function readExamples(): Examples {
  if (!existsSync(FILE)) return {};
  const lines = readFileSync(FILE, 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => Object.entries(JSON.parse(line) as Examples)[0]!));
}

export function writeExamples(examples: Examples): void {
  const lines = Object.entries(examples).map(([name, example]) => `${JSON.stringify({ [name]: example })}\n`);
  writeFileSync(FILE, lines.join(''));
}
