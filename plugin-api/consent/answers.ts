/** The list of kept answers about one app. Pure. */
import type { Consent } from '../services/prompts.ts';
import { portsOf } from './claim.ts';

/** An app that asks for 64 capabilities with every version comes this far in four. */
const MOST = 256;

/**
 * The former answers and then the new ones. A new one replaces the former about the same capability, of a host for the ports that it names. Beyond
 * 256 the oldest yes goes first, which is asked again then.
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

/** What of an answer still stands beside a newer one about the same capability. */
function without(former: Consent, newer: Consent): readonly Consent[] {
  const gone = portsOf(newer.params);
  const ports = portsOf(former.params);
  if (gone === undefined) return [];
  // It spoke of every port: the newer one, which stands behind it, takes some of them out.
  if (ports === undefined) return [former];
  const left = ports.filter((port) => !gone.includes(port));
  return left.length > 0 ? [{ ...former, params: { ...former.params, ports: left } }] : [];
}
