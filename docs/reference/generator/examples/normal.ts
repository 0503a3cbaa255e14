/** Answers as the pages show them: times and ids are always the same ones, long members are cut. */

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const TIME_MS = Date.UTC(2026, 0, 2, 12);
const LONG = 120;
const KEPT = 60;
const ITEMS = 2;
const MEMBERS = 16;
const LEFT_OUT = '...';

/** Members that count, measure or name a process: no two Cores agree in them. */
const VARYING =
  /^(pid|seq|revision|sid|bootId|hash|stalls|unattributed|utilization|transfers|inFlight|transactions|transactionsPerSecond|received|readings|count|from|to|\w+Ms|\w+Us|\w+Seconds|\w+MiB|\w+Percent)$/;

export interface Places {
  /** Text of this machine -> what the page shows. */
  readonly replaced: readonly (readonly [text: string, shown: string])[];
}

export interface Cut {
  readonly depth?: number | undefined;
  readonly most?: number | undefined;
}

/** What the page shows of an answer. */
export function shown(value: unknown, places: Places, { depth = 6, most = MEMBERS }: Cut = {}): unknown {
  if (typeof value === 'string') return text(value, places.replaced);
  if (typeof value === 'number') return value > 1.6e12 && value < 2.5e12 ? TIME_MS : Math.round(value * 1000) / 1000;
  if (typeof value !== 'object' || value === null) return value;
  const inner = (member: unknown) => shown(member, places, { depth: depth - 1, most });
  if (Array.isArray(value)) {
    if (depth === 0 && value.length > 0) return LEFT_OUT;
    const items = value.slice(0, ITEMS).map(inner);
    return value.length > ITEMS ? [...items, LEFT_OUT] : items;
  }
  const members = Object.entries(value);
  if (depth === 0 && members.length > 0) return LEFT_OUT;
  const kept = members.slice(0, most).map(([name, member]) => [text(name, places.replaced), inner(member)]);
  return Object.fromEntries(members.length > most ? [...kept, [LEFT_OUT, LEFT_OUT]] : kept);
}

function text(value: string, replaced: Places['replaced']): string {
  if (ISO.test(value)) return new Date(TIME_MS).toISOString();
  let said = value.replace(UUID, '018f3c5e-7a10-7c3e-9b1d-2f4a6c8e0b12');
  for (const [from, to] of replaced) said = said.replaceAll(from, to);
  return said.length > LONG ? `${said.slice(0, KEPT)}${LEFT_OUT}` : said;
}

/** Where two answers differ by more than what always varies: paths of the members. */
export function differences(
  recorded: unknown,
  real: unknown,
  varies: readonly string[] = [],
  path = '',
): readonly string[] {
  const name = path.split('.').at(-1)!;
  if (varies.includes(name)) return [];
  if (typeof recorded !== typeof real || Array.isArray(recorded) !== Array.isArray(real)) return [path];
  if (typeof recorded !== 'object' || recorded === null || real === null) {
    return recorded === real || VARYING.test(name) ? [] : [path];
  }
  const names = new Set([...Object.keys(recorded), ...Object.keys(real as object)]);
  return [...names].flatMap((member) => {
    const [one, other] = [recorded, real].map((value) => (value as Record<string, unknown>)[member]);
    // An index of a list says nothing: its items are called as the list is.
    return differences(one, other, varies, Array.isArray(recorded) ? path : `${path}.${member}`);
  });
}
