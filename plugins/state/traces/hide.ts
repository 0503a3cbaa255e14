/** Known secrets are removed from a span's texts, before it is cut and kept. */
import type { SecretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import type { Span } from '@device-core/plugin-api/tracing';

const WITHHELD = 'withheld';

/** All texts are withheld if the scan fails; times, ids and codes stay. */
export async function hidden(spans: readonly Span[], scan: SecretScan | undefined): Promise<readonly Span[]> {
  if (!scan) return spans;
  const texts = new Set<string>();
  for (const span of spans) eachText(span, (text) => texts.add(text));
  if (texts.size === 0) return spans;
  const all = [...texts];
  let shown: readonly string[];
  try {
    shown = await scan.hide(all);
  } catch {
    shown = [];
  }
  const known = new Map(all.map((text, at) => [text, shown[at] ?? WITHHELD]));
  return spans.map((span) => replaced(span, (text) => known.get(text) ?? WITHHELD));
}

/** Walks the texts of a span; one from another plugin may have any shape. */
function eachText(span: Span, look: (text: string) => void): void {
  const { name, error, attributes } = Object(span) as Partial<Span>;
  for (const text of [name, error, ...Object.entries(Object(attributes)).flat()])
    if (typeof text === 'string') look(text);
}

function replaced(span: Span, to: (text: string) => string): Span {
  const { name, error, attributes } = Object(span) as Partial<Span>;
  const either = (value: unknown) => (typeof value === 'string' ? to(value) : value);
  const entries = Object.entries(Object(attributes)).map(([key, value]) => [to(key), either(value)]);
  return {
    ...span,
    ...(typeof name === 'string' && { name: to(name) }),
    ...(typeof error === 'string' && { error: to(error) }),
    ...(entries.length > 0 && { attributes: Object.fromEntries(entries) }),
  };
}
