/** What the panel says itself of a question. What an app says stands in quotation marks. Pure. */
import type { PromptItem } from '@device-core/plugin-api';

/** `2:32 PM` or `14:32`, as the locale has it and the other clocks of the screen. */
export function timeOf(ms: number, locale: string, timeZone: string): string {
  return new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit', timeZone }).format(ms);
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

export function capital(text: string): string {
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}
