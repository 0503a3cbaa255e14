import { type Capabilities, maybe } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { IntentMatch } from '@device-core/plugin-api/services/intents';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { SpeechGrammar } from '@device-core/plugin-api/services/speech';
import type { AppIntents, LeftOut } from './app-intents.ts';
import type { Catalogue } from './catalogue.ts';
import { RULES, readingsOf, type Tried } from './readings.ts';
import type { Unspoken, UnspokenSentences } from './unspoken.ts';

const TEXT: JsonSchema = { type: 'string' };
const LANGUAGE: JsonSchema = {
  type: 'string',
  pattern: '^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}$',
  description: 'BCP 47, like en; that of the device if absent.',
};
const PLAN: JsonSchema = exactly(
  {
    intent: TEXT,
    title: TEXT,
    slots: { type: 'object' },
    text: TEXT,
    mayGoOn: { type: 'boolean', description: 'Longer sentences of another meaning begin with this one.' },
    byNumber: { type: 'boolean', description: 'They add numbers alone.' },
    idempotent: { type: 'boolean', description: 'Twice does no more than once.' },
  },
  ['intent', 'title', 'slots', 'text', 'mayGoOn'],
);
const READING: JsonSchema = exactly(
  {
    intent: TEXT,
    title: TEXT,
    owner: TEXT,
    sentence: { type: 'string', description: 'As its author wrote it.' },
    slots: { type: 'object' },
    distance: { type: 'number' },
    changes: { type: 'array', items: TEXT, description: 'How the text differs from the sentence.' },
    readAs: { type: 'string', description: 'The text without its courtesy, where that fitted.' },
    unspoken: { type: 'array', items: TEXT, description: 'Words that the speech engine cannot hear.' },
    refused: exactly({ rule: { enum: RULES }, reason: TEXT }),
  },
  ['intent', 'title', 'owner', 'sentence', 'slots', 'distance', 'changes'],
);

interface Language {
  readonly language?: string;
}

interface ListResult {
  readonly intents: Awaited<ReturnType<Catalogue['list']>>;
  readonly leftOut: readonly LeftOut[];
  readonly unspoken: readonly Unspoken[];
}

export interface IntentParts {
  readonly catalogue: Catalogue;
  readonly apps: AppIntents;
  readonly unspoken: UnspokenSentences;
  readonly capabilities: Capabilities;
  readonly language: string;
}

export function intentOperations(parts: IntentParts): readonly Operation<never, unknown>[] {
  const { catalogue, apps, unspoken, capabilities, language } = parts;
  const list: Operation<Language, ListResult> = {
    name: 'intents.list',
    summary: 'List what can be said now, with an example each',
    description:
      '`leftOut` names functions whose utterances are not used, with the reason. `unspoken` names words without a pronunciation: sentences that need one are matched as text and never heard. An app sees its own, a holder of `audio` sees all.',
    params: exactly({ language: LANGUAGE }, []),
    result: exactly({
      intents: { type: 'array', items: exactly({ id: TEXT, title: TEXT, owner: TEXT, example: TEXT }) },
      leftOut: { type: 'array', items: exactly({ app: TEXT, function: TEXT, reason: TEXT }) },
      unspoken: { type: 'array', items: exactly({ intent: TEXT, owner: TEXT, words: { type: 'array', items: TEXT } }) },
    }),
    cli: {
      columns: [['INTENT', '{id}'], 'example', 'owner', 'title'],
      empty: 'nothing can be said now',
    },
    rest: { method: 'GET', path: '/intents' },
    errors: [],
    async run(params, { caller }) {
      const everything = capabilities.holds(caller, 'audio');
      const owns = (app: string) => everything || (caller.kind === 'app' && `app.${caller.id}` === app);
      const leftOut = apps.leftOut.filter(({ app }) => owns(`app.${app}`));
      const lost = (await unspoken.list()).filter(({ owner }) => owns(owner));
      return { intents: await catalogue.list(params), leftOut, unspoken: lost };
    },
  };
  const match: Operation<Language & { readonly text: string }, IntentMatch> = {
    name: 'intents.match',
    summary: 'Tell what a text means, without doing it',
    params: exactly({ text: { type: 'string', minLength: 1, maxLength: 500 }, language: LANGUAGE }, ['text']),
    result: exactly(
      {
        outcome: { enum: ['plan', 'ambiguous', 'none'] },
        plan: PLAN,
        candidates: { type: 'array', items: PLAN },
        reason: TEXT,
      },
      ['outcome'],
    ),
    capability: 'audio',
    rest: { method: 'POST', path: '/intents/match' },
    errors: [],
    run: ({ text, language: asked = language }) => catalogue.match(text, { language: asked }),
  };
  const tries: Operation<Language & { readonly text: string; readonly most?: number }, Tried> = {
    name: 'intents.try',
    summary: 'Tell why a text means what it means: its nearest readings, and what bars each of them',
    description:
      'Nothing is done. `distance` counts words by which the text differs from a sentence, `margin` those by which the next intent is off.',
    params: exactly(
      {
        text: { type: 'string', minLength: 1, maxLength: 500 },
        language: LANGUAGE,
        most: { type: 'integer', minimum: 1, maximum: 8, default: 2, description: 'readings' },
      },
      ['text'],
    ),
    result: exactly(
      {
        outcome: { enum: ['plan', 'ambiguous', 'none'] },
        language: TEXT,
        readings: { type: 'array', items: READING },
        margin: { type: 'number' },
        reason: { type: 'string', description: 'Why nothing would be done.' },
        partial: { type: 'boolean', description: 'There are more sentences than were looked at.' },
      },
      ['outcome', 'language', 'readings'],
    ),
    capability: 'audio',
    rest: { method: 'POST', path: '/intents/try' },
    errors: [],
    run: async ({ text, language: asked = language, most }) =>
      readingsOf(catalogue, text, { language: asked, ...maybe({ most }), unspoken: await unspoken.list() }),
  };
  const grammar: Operation<Language, { readonly grammar?: SpeechGrammar }> = {
    name: 'intents.grammar',
    summary: 'The grammar that recognisers get (JSGF)',
    description: 'No `grammar` where nothing can be said in the language.',
    params: exactly({ language: LANGUAGE }, []),
    result: exactly(
      { grammar: exactly({ id: TEXT, language: TEXT, jsgf: TEXT, words: { type: 'array', items: TEXT } }) },
      [],
    ),
    capability: 'audio',
    cli: { columns: ['grammar.jsgf'], empty: 'nothing can be said now' },
    rest: { method: 'GET', path: '/intents/grammar' },
    errors: [],
    async run({ language: asked = language }) {
      const made = await catalogue.grammar(asked);
      return made ? { grammar: made } : {};
    },
  };
  return [list, match, tries, grammar] as readonly Operation<never, unknown>[];
}
