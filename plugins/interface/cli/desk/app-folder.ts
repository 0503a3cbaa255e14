import { readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseYaml, type YamlPath } from '@device-core/plugin-api/inside/yaml';
import { usage } from '@device-core/plugin-api/program';

export interface Claim {
  readonly id: string;
  readonly reason: string;
  readonly optional?: boolean;
  /** TCP ports of a host; 443 if absent. */
  readonly ports?: readonly number[];
}

interface WrittenFunction {
  readonly name: string;
  readonly inputs?: Readonly<Record<string, string>>;
  readonly idempotent?: boolean;
  readonly examples?: readonly unknown[];
}

/** The folder of an app as its author wrote it. Nothing of it is believed: what is wrong with it the Core says. */
export class AppFolder {
  readonly path: string;
  readonly manifestFile: string;
  /** As it is written there. */
  readonly id: string;
  readonly claims: readonly Claim[];
  readonly functions: readonly WrittenFunction[];
  readonly stopTimeoutMs: number;
  readonly memoryMaxMB: number | undefined;
  readonly #line: (path: YamlPath) => number;

  /** Throws a Failure where there is no app.yaml. */
  constructor(folder: string) {
    this.path = resolve(folder);
    this.manifestFile = join(this.path, 'app.yaml');
    if (!statSync(this.path, { throwIfNoEntry: false })?.isDirectory()) throw usage(`there is no folder ${folder}`);
    let text: string;
    try {
      text = readFileSync(this.manifestFile, 'utf8');
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code;
      throw usage(`${folder} is not the folder of an app: cannot read its app.yaml: ${reason}`, 'devicectl app new ID');
    }
    const { value, line } = parseYaml(text);
    this.#line = line;
    const written = record(value);
    this.id = typeof written.id === 'string' && written.id !== '' ? written.id : basename(this.path);
    this.claims = list(written.capabilities).filter(({ id }) => typeof id === 'string') as unknown as Claim[];
    const functions = list(written.functions).filter(({ name }) => typeof name === 'string');
    this.functions = functions as unknown as WrittenFunction[];
    this.stopTimeoutMs = number(record(written.lifecycle).stopTimeoutMs) ?? 3_000;
    this.memoryMaxMB = number(record(written.resources).memoryMaxMB);
  }

  /** `app.yaml:12` */
  place(path: YamlPath): string {
    return `app.yaml:${this.#line(path)}`;
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(record) : [];
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
