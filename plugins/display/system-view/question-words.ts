/** Words of the panel about a question. An app's words stand in quotation marks. Pure. */
import type { PromptItem } from '@device-core/plugin-api/services/prompts';

/** `2:32 PM` or `14:32`, as the locale has it and the other clocks of the screen. */
export function timeOf(ms: number, locale: string, timeZone: string): string {
  return new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit', timeZone }).format(ms);
}

/** Parts that the sentence leaves out: the scope in the id of a capability, and its params. */
export function detailOf({ capability, params }: PromptItem, sentence: string): string | undefined {
  const scope = capability.includes(':') ? capability.slice(capability.indexOf(':') + 1) : undefined;
  const more = Object.entries(params ?? {}).flatMap(([name, value]) => {
    const values = [value].flat().map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
    return sentence.includes(values.join(', ')) ? [] : [`${name} ${values.join(', ')}`];
  });
  const parts = [...(scope === undefined || sentence.includes(scope) ? [] : [scope]), ...more];
  return parts.length > 0 ? parts.join(', ') : undefined;
}

/** Foreign words, in quotation marks that they cannot close: inside there are none. */
export function quotedWords(text: string): string {
  return `“${text.replace(/[“”„«»"]/g, '’')}”`;
}
