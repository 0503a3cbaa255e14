import type { Grants } from '@device-core/plugin-api/inside/services/grants';

/** A crash seldom follows from more. */
const MOST = 3;

/**
 * Refusals of an app since a moment (milliseconds since the Unix epoch), as the end of a reason; empty without
 * refusals.
 */
export async function refusalsSince(grants: Grants, app: string, since: number): Promise<string> {
  const refused = (await grants.refusals()).filter(
    ({ caller, ts }) => caller.kind === 'app' && caller.id === app && ts >= since,
  );
  const hints = new Map(refused.map(({ capability, hint }) => [capability, hint]));
  const told = [...hints].slice(0, MOST).map(([capability, hint]) => `${capability} (${hint})`);
  return told.length === 0 ? '' : `it was refused ${told.join(', ')}`;
}
