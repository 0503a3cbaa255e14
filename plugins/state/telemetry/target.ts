/** Target of telemetry: the address and the headers of a SKU, with references to secrets. */
import { isSecretRef, reasonOf, type Secret, type SecretRef } from '@device-core/plugin-api';
import type { Secrets } from '@device-core/plugin-api/services/secrets';

export type Text = string | SecretRef;

export interface TargetSettings {
  readonly endpoint?: Text;
  readonly headers: Readonly<Record<string, Text>>;
}

/** Throws an Error whose message is a reason for people. It never holds a secret. */
export function checkedUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Error('the endpoint is no address');
  }
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback))
    throw new Error('the endpoint has to be https; http is for this device itself alone');
  if (url.username !== '' || url.password !== '')
    throw new Error('the endpoint holds a name or a password; say it in headers, as a reference to a secret');
  if (url.search !== '' || url.hash !== '') throw new Error('the endpoint has a query or a fragment');
  return url;
}

/** `https://collector.example/base` and `v1/metrics`, as the exporters of OpenTelemetry put them together. */
export function signalUrl(base: URL, signal: 'metrics' | 'logs'): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/${signal}`;
  return url;
}

/** Host and port, as the ledger has it. */
export function receiver({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}

/** Read anew for each push: one that was rotated is taken up at once. Rejects with the codes of `secrets`, or an Error without it. */
export async function textOf(text: Text, secrets: Secrets | undefined): Promise<string> {
  if (!isSecretRef(text)) return text;
  if (!secrets) throw new Error(`no plugin keeps secrets, and ${text.secret} is one`);
  const secret: Secret = await secrets.get(text);
  return await secret.reveal();
}

/** Characters that no header value may have: https://www.rfc-editor.org/rfc/rfc9110#name-field-values. */
const NO_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

/** Reveals the headers. Rejects with an Error that names the header, and never its value. */
export async function revealedHeaders(
  headers: TargetSettings['headers'],
  secrets: Secrets | undefined,
): Promise<Record<string, string>> {
  const entries = Object.entries(headers).map(async ([name, given]) => {
    const text = await textOf(given, secrets).catch((error) => {
      throw new Error(`header ${name}: ${reasonOf(error)}`, { cause: error });
    });
    if (!NO_HEADER.test(text)) return [name, text] as const;
    const holds = 'holds a character that no header may have';
    if (!isSecretRef(given)) throw new Error(`header ${name}: it ${holds}`);
    throw new Error(`header ${name}: secret ${given.secret} ${holds}; devicectl secret set ${given.secret}`);
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** With the names of secrets in their place: for people. */
export function shownHeaders(headers: TargetSettings['headers']): Readonly<Record<string, string>> {
  const shown = (text: Text) => (isSecretRef(text) ? `[secret ${text.secret}]` : text);
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, shown(text)]));
}
