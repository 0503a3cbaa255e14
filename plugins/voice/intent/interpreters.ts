/** Others who are asked what a sentence means that is none of ours, and what they may answer. */
import { CoreError, type Scope } from '@device-core/plugin-api';
import type {
  IntentInterpreter,
  IntentMatch,
  InterpreterDescription,
  SlotValue,
} from '@device-core/plugin-api/services/intents';
import type { Row } from './catalogue.ts';
import { usesOf } from './definition.ts';
import type { Node, Slot } from './tree.ts';
import { baseLanguage, wordsOf } from './words.ts';

const ID = /^[a-z][a-z0-9-]{0,31}$/;
const MOST = 16;
const MAX_TITLE = 200;
const MAX_TEXT = 500;
const MAX_SLOTS = 64;
/** An interpreter that does not listen to its signal is not waited for. */
const ANSWER_MS = 15_000;

interface Known {
  readonly description: InterpreterDescription;
  readonly interpreter: IntentInterpreter;
}

export class Interpreters {
  readonly #scope: Scope;
  readonly #rowOf: (intent: string) => Row | undefined;
  readonly #known = new Map<string, Known>();

  constructor(scope: Scope, rowOf: (intent: string) => Row | undefined) {
    this.#scope = scope;
    this.#rowOf = rowOf;
  }

  add({ id, title, languages, stage }: InterpreterDescription, interpreter: IntentInterpreter): AsyncDisposable {
    const other = this.#known.get(id);
    const reason =
      (!ID.test(id) && `its id must match ${ID.source}`) ||
      ((title === '' || title.length > MAX_TITLE) && `its title must have 1 to ${MAX_TITLE} characters`) ||
      (stage !== 'local' && stage !== 'cloud' && 'its stage must be local or cloud') ||
      (other && 'there is one of this id') ||
      (this.#known.size >= MOST && `there are ${MOST} already`);
    if (reason) throw new CoreError('PARAMS_INVALID', { where: `interpreter ${String(id).slice(0, 80)}`, reason });
    const known = { description: { id, title, languages: [...languages], stage }, interpreter };
    this.#known.set(id, known);
    return {
      [Symbol.asyncDispose]: async () => {
        if (this.#known.get(id) === known) this.#known.delete(id);
      },
    };
  }

  list(): readonly InterpreterDescription[] {
    return [...this.#known.values()].map(({ description }) => description);
  }

  async interpret(text: string, id: string, language: string, signal: AbortSignal): Promise<IntentMatch> {
    const known = this.#known.get(id);
    if (!known) throw new CoreError('ENGINE_MISSING', { kind: 'intent', reason: `there is no interpreter ${id}` });
    if (text.length > MAX_TEXT) return none(`the text has more than ${MAX_TEXT} characters`);
    if (wordsOf(text).length === 0) return none('there are no words');
    const answer = await this.#ask(known, text, language, signal);
    if (answer === undefined) return none(`${id} does not know what it means`);
    const row = this.#rowOf(answer.intent);
    if (!row?.awake || row.compiled.language !== baseLanguage(language))
      return none(`${id} takes it for ${String(answer.intent).slice(0, 100)}, which is no intent of now`);
    const slots = slotsFor(row, answer.slots);
    if (typeof slots === 'string') return none(`${id} takes it for ${answer.intent}, but ${slots}`);
    const { id: intent, title } = row.compiled.definition;
    return { outcome: 'plan', plan: { intent, title, slots, text, mayGoOn: false } };
  }

  async #ask({ description: { id }, interpreter }: Known, text: string, language: string, signal: AbortSignal) {
    const work = (stop: AbortSignal) => interpreter.interpret(text, { language, signal: stop });
    return this.#scope.within(`interpreter ${id}`, ANSWER_MS, work, { signal });
  }
}

/** Values as the sentences would have set them, or why they could not. */
function slotsFor({ compiled }: Row, given: Readonly<Record<string, SlotValue>>): Record<string, SlotValue> | string {
  const names = Object.keys(given);
  if (names.length > MAX_SLOTS) return `it has more than ${MAX_SLOTS} slots`;
  const fits = usesOf(compiled).some(
    ({ always, ever }) =>
      names.every((name) => ever.has(name)) && [...always].every((name) => Object.hasOwn(given, name)),
  );
  if (!fits) return `no sentence sets just ${names.length > 0 ? names.join(', ').slice(0, 200) : 'nothing'}`;
  const known = new Map<string, Slot[]>();
  for (const { node } of compiled.sentences) collect(node, known);
  const slots: Record<string, SlotValue> = {};
  for (const [name, value] of Object.entries(given)) {
    const read = known
      .get(name)
      ?.map((slot) => valueFor(slot, value))
      .find((one) => one !== undefined);
    if (read === undefined) return `${JSON.stringify(value)?.slice(0, 100)} is no value of ${name}`;
    slots[name] = read;
  }
  return slots;
}

function collect(node: Node, known: Map<string, Slot[]>): void {
  if (node.kind === 'slot') known.set(node.name, [...(known.get(node.name) ?? []), node.slot]);
  else if (node.kind !== 'word') for (const part of node.of) collect(part, known);
}

/** A value as it is, or the words for one. */
function valueFor({ type, read }: Slot, value: unknown): SlotValue | undefined {
  if (type.kind === 'open')
    return typeof value === 'string' && value.trim() !== '' ? value.slice(0, MAX_TEXT) : undefined;
  if (type.kind === 'list') {
    const own = type.values.find(({ out }) => out === value);
    if (own) return own.out;
  }
  if (typeof value === 'string') return read(wordsOf(value));
  if (typeof value !== 'number' || type.kind === 'list' || !Number.isFinite(value)) return undefined;
  if (value < type.from || value > type.to || (type.kind === 'int' && !Number.isInteger(value))) return undefined;
  const steps = type.step === undefined ? 0 : (value - type.from) / type.step;
  return Math.abs(steps - Math.round(steps)) < 1e-9 ? value : undefined;
}

function none(reason: string): IntentMatch {
  return { outcome: 'none', reason };
}
