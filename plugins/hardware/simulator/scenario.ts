/** Scenario files: text in, steps with their lines out, and back. Pure. */

import { CoreError, nearest } from '@device-core/plugin-api';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import { SCHEMA_WORDS } from '@device-core/plugin-api/inside/manifest-check';
import { parseYaml, schemaProblems, type YamlPath } from '@device-core/plugin-api/inside/yaml';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import type { Ajv } from 'ajv';
import type { Control } from './controls.ts';
import { SCENARIO_INVALID } from './scenario-errors.ts';
import { MOST_BYTES, MOST_MS, MOST_STEPS, SCENARIO_SCHEMA } from './scenario-schema.ts';

const ajv = packageLater<typeof import('ajv')>('ajv', import.meta.url);

type Params = Readonly<Record<string, unknown>>;

export interface Expectation {
  readonly event: string;
  readonly payload?: Params;
  readonly withinMs?: number;
}

export interface Step {
  /** Absent: it only waits for what it expects. */
  readonly do?: string;
  readonly params?: Params;
  readonly after?: number;
  readonly at?: number;
  readonly expect?: Expectation;
  readonly note?: string;
}

export interface Scenario {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly steps: readonly Step[];
}

/** One that was read: the line of each step counts from 1. */
export interface ReadScenario extends Scenario {
  readonly lines: readonly number[];
  readonly text: string;
}

type Check = (value: unknown) => { readonly path: YamlPath; readonly reason: string } | undefined;

/** Reads and checks scenarios against the controls that there are. */
export class ScenarioReader {
  readonly #controls: ReadonlyMap<string, Control>;
  readonly #checks = new Map<string, Check>();
  #ajv: Ajv | undefined;

  constructor(controls: readonly Control[]) {
    this.#controls = new Map(controls.filter(({ reads }) => !reads).map((one) => [`sim.${one.id}`, one]));
  }

  /** Throws SCENARIO_INVALID, which names the line. */
  read(text: string, scenario = 'of this text'): ReadScenario {
    const fail = (line: number, reason: string): never => {
      throw new CoreError(SCENARIO_INVALID, { scenario, line, reason });
    };
    if (text.length > MOST_BYTES) fail(1, `it has more than ${MOST_BYTES} characters`);
    // Before it is parsed, which would take as long as it has steps.
    if ((text.match(/\b(?:do|expect)["']?\s*:/g)?.length ?? 0) > 2 * MOST_STEPS)
      fail(1, `it has more than ${MOST_STEPS} steps`);
    const { value, errors, line } = parseYaml(text);
    if (errors[0]) fail(errors[0].line, errors[0].message);
    const problem = this.#check('', SCENARIO_SCHEMA)(value);
    if (problem) fail(line(problem.path), `${problem.path.join('.') || 'the file'} ${problem.reason}`);
    const found = value as Scenario;
    for (const [index, step] of found.steps.entries()) {
      const wrong = this.#wrong(step);
      if (wrong) fail(line(['steps', index, ...wrong.path]), `step ${index + 1}: ${wrong.reason}`);
    }
    if (lengthOf(found.steps) > MOST_MS) fail(1, `it takes longer than ${MOST_MS} ms`);
    return { ...found, lines: found.steps.map((_, index) => line(['steps', index])), text };
  }

  #wrong({ do: name, params = {} }: Step): { readonly path: YamlPath; readonly reason: string } | undefined {
    if (name === undefined) return undefined;
    const control = this.#controls.get(name);
    if (!control) {
      const near = nearest(name, this.#controls.keys());
      return {
        path: ['do'],
        reason: `there is no control ${name}${near === undefined ? '' : `; did you mean ${near}?`}`,
      };
    }
    const { params: properties, required } = control;
    const schema = { type: 'object', additionalProperties: false, properties, required };
    const problem = this.#check(name, schema)(params);
    const path: YamlPath = ['params', ...(problem?.path ?? [])];
    return problem && { path, reason: `${path.join('.')} of ${name} ${problem.reason}` };
  }

  #check(name: string, schema: JsonSchema): Check {
    const known = this.#checks.get(name);
    if (known) return known;
    // Without the schema of schemas, which costs more than all of these.
    this.#ajv ??= new (ajv().Ajv)({
      strict: false,
      meta: false,
      validateSchema: false,
      code: { optimize: false },
      keywords: SCHEMA_WORDS,
    });
    const validate = this.#ajv.compile(schema);
    const check: Check = (value) => {
      const [first] = validate(value) ? [] : schemaProblems(validate.errors);
      // The one `not` of the schema, of which ajv says no more than that.
      return first?.keyword === 'not' ? { ...first, reason: 'has both at and after: take one of them away' } : first;
    };
    this.#checks.set(name, check);
    return check;
  }
}

/** Milliseconds until its last step begins, at the earliest. */
export function lengthOf(steps: readonly Step[]): number {
  let end = 0;
  for (const { at, after = 0 } of steps) end = at === undefined ? end + after : Math.max(end, at);
  return end;
}

/** The same scenario as a file: a step in each line. */
export function printScenario({ name, title, description, steps }: Scenario): string {
  const head = [
    ...['scenario: 1', `name: ${name}`],
    ...(title === undefined ? [] : [`title: ${JSON.stringify(title)}`]),
    ...(description === undefined ? [] : [`description: ${JSON.stringify(description)}`]),
    'steps:',
  ];
  return `${[...head, ...steps.map((step) => `  - ${flow(step)}`)].join('\n')}\n`;
}

const PLAIN = /^(?:[a-z][A-Za-z0-9]*|sim\.[a-z]+)$/;
/** YAML would take these for something else. */
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return members.length === 0
      ? '{}'
      : `{ ${members.map(([key, member]) => `${plain(key)}: ${flow(member)}`).join(', ')} }`;
  }
  return typeof value === 'string' ? plain(value) : JSON.stringify(value);
}

const plain = (text: string): string => (PLAIN.test(text) && !WORDS.test(text) ? text : JSON.stringify(text));
