/** The list of kept answers about one app. Pure. */
import type { Consent } from '../services/consents.ts';
import { type Asking, declaredBy, grantOf, portsOf } from './claim.ts';

/** An app that asks for 64 capabilities with every version comes this far in four. */
const MOST = 256;

/**
 * The former answers and then the new ones. A new one replaces the former about the same capability, of a host for the
 * ports that it names. Beyond 256 the oldest yes goes first, which is asked again then.
 */
export function mergeAnswers(former: readonly Consent[], answers: readonly Consent[]): readonly Consent[] {
  const merged = answers.reduce<readonly Consent[]>(
    (list, answer) => [
      ...list.flatMap((one) => (one.capability === answer.capability ? without(one, answer) : [one])),
      answer,
    ],
    former,
  );
  if (merged.length <= MOST) return merged;
  const yes = merged.flatMap((one, index) => (one.allowed ? [index] : []));
  const no = merged.flatMap((one, index) => (one.allowed ? [] : [index]));
  const dropped = new Set([...yes, ...no].slice(0, merged.length - MOST));
  return merged.filter((_, index) => !dropped.has(index));
}

/** Rest of an answer that still stands beside a newer one about the same capability. */
function without(former: Consent, newer: Consent): readonly Consent[] {
  const gone = portsOf(newer.params);
  const ports = portsOf(former.params);
  if (gone === undefined) return [];
  // It spoke of every port: the newer one, which stands behind it, takes some of them out.
  if (ports === undefined) return [former];
  const left = ports.filter((port) => !gone.includes(port));
  return left.length > 0 ? [{ ...former, params: { ...former.params, ports: left } }] : [];
}

/** Answers about those of the capabilities that the app declares. A yes holds for the ports that it names now, a no for all. */
export function answersAbout(
  app: Asking,
  capabilities: readonly string[],
  said: Pick<Consent, 'allowed' | 'by' | 'at'>,
): readonly Consent[] {
  return declaredBy(app)
    .filter(({ capability }) => capabilities.includes(capability))
    .map(({ capability, wants }) => {
      const { ports } = grantOf(capability, wants);
      return { capability, ...(ports && said.allowed ? { params: { ports } } : {}), ...said, version: app.version };
    });
}
