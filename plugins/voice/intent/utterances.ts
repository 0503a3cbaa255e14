/** The `utterances` of a function as a definition: slots are inputs, and each has the type that its input declares. */
import { CoreError, maybe } from '@device-core/plugin-api';
import type { FunctionEntry } from '@device-core/plugin-api/services/functions';
import type { SlotType } from '@device-core/plugin-api/services/intents';
import { type Compiled, compileDefinition, usesOf } from './definition.ts';
import { type InlineType, TemplateError } from './template.ts';

/** Fault of utterances, for the author of the app. */
export class UtteranceError extends Error {}

type Converter = (text: string) => string | number | boolean | undefined;

const CONVERTERS: Readonly<Record<string, Converter>> = {
  string: (text) => text,
  int: (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : undefined),
  number: (text) => (/^-?\d{1,15}(\.\d+)?$/.test(text) ? Number(text) : undefined),
  bool: (text) => ({ true: true, false: false })[text],
};

/** Undefined where the function has no utterances. Throws UtteranceError. */
export function compileUtterances(app: string, entry: FunctionEntry, language: string): Compiled | undefined {
  const { name, utterances = [], inputs = {}, description, idempotent } = entry;
  if (utterances.length === 0) return undefined;
  const typeOf = (input: string) => (Object.hasOwn(inputs, input) ? inputs[input]!.replace(/\?$/, '') : undefined);
  const definition = {
    id: `${app}.${name}`,
    title: (description ?? name).slice(0, 200),
    language,
    sentences: utterances,
    ...maybe({ idempotent }),
    // A plain slot takes any words, which only a string can be.
    slots: Object.fromEntries(
      Object.keys(inputs)
        .filter((input) => typeOf(input) === 'string')
        .map((input) => [input, { kind: 'open' } as const]),
    ),
  };
  const inline = (slot: string, type: InlineType, at: number): SlotType => typed(slot, typeOf(slot), type, at);
  try {
    const compiled = compileDefinition(definition, inline);
    const required = Object.entries(inputs).filter(([, type]) => !type.endsWith('?'));
    usesOf(compiled).forEach(({ source, always, ever }, index) => {
      const where = `utterance ${index + 1} "${source.slice(0, 80)}"`;
      for (const slot of ever)
        if (typeOf(slot) === undefined) throw new UtteranceError(`${where}: slot {${slot}} is not an input`);
      for (const [input] of required)
        if (!always.has(input))
          throw new UtteranceError(`${where}: it can be said without {${input}}, which is a required input`);
    });
    return compiled;
  } catch (thrown) {
    if (!(thrown instanceof CoreError) || thrown.code !== 'PARAMS_INVALID') throw thrown;
    throw new UtteranceError(told(String(thrown.details.reason), inputs), { cause: thrown });
  }
}

/** "There is no slot" of the templates, in the words of functions. */
function told(reason: string, inputs: Readonly<Record<string, string>>): string {
  const text = reason.replace(/^sentence /, 'utterance ');
  const slot = /there is no slot (\S+)$/.exec(text)?.[1];
  if (slot === undefined) return text;
  const type = Object.hasOwn(inputs, slot) ? inputs[slot]!.replace(/\?$/, '') : undefined;
  return text.replace(
    /there is no slot \S+$/,
    type === undefined ? `slot {${slot}} is not an input` : needs(slot, type),
  );
}

function needs(slot: string, type: string): string {
  if (type === 'int' || type === 'number') return `${type} input {${slot}} needs a range, like {${slot}:1..60}`;
  if (type === 'bool') return `bool input {${slot}} needs words for both, like {${slot}:on=true|off=false}`;
  return `an input of type ${type} cannot be spoken`;
}

function typed(slot: string, type: string | undefined, inline: InlineType, at: number): SlotType {
  if (type === undefined) throw new TemplateError(at, `slot {${slot}} is not an input`);
  const convert = CONVERTERS[type];
  if (!convert) throw new TemplateError(at, needs(slot, type));
  if (inline.kind === 'values') {
    const values = inline.values.map((value) => {
      const out = convert(value.out);
      if (out === undefined) throw new TemplateError(at, `"${value.out.slice(0, 40)}" of {${slot}} is no ${type}`);
      return { in: value.in, out };
    });
    return { kind: 'list', values };
  }
  if (type !== 'int' && type !== 'number')
    throw new TemplateError(at, `{${slot}} is a ${type}: a range is for int and number`);
  const { from, to, step } = inline;
  return { kind: type, from, to, ...maybe({ step }) };
}
