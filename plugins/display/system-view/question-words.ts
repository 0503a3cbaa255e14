/** What the panel says itself of a question. What an app says stands in quotation marks. Pure. */
import type { Prompt, PromptItem } from '@device-core/plugin-api';

export interface QuestionWords {
  readonly asks: string;
  readonly yes: string;
  readonly no: string;
}

const WORDS: Readonly<Record<Prompt['kind'], QuestionWords>> = {
  consent: { asks: 'asks for your permission', yes: 'Allow', no: 'Refuse' },
  confirm: { asks: 'asks you to confirm', yes: 'Confirm', no: 'Cancel' },
  update: { asks: 'can be updated', yes: 'Update', no: 'Not now' },
};

export function wordsOf({ kind }: Pick<Prompt, 'kind'>): QuestionWords {
  return WORDS[kind];
}

/** `14:32`, as the other clocks of the screen. */
export function timeOf(ms: number, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone }).format(ms);
}

/** What the capability alone does not say: hosts with their ports, nodes, handles. Its scope stands in its id. */
export function detailOf({ capability, params }: PromptItem): string | undefined {
  const scope = capability.includes(':') ? capability.slice(capability.indexOf(':') + 1) : undefined;
  const more = Object.entries(params ?? {}).map(
    ([name, value]) =>
      `${name} ${[value]
        .flat()
        .map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
        .join(', ')}`,
  );
  const parts = [...(scope === undefined ? [] : [scope]), ...more];
  return parts.length > 0 ? parts.join(', ') : undefined;
}
