/** Installed plugins, as the Core lists them. */
import { cell, Failure, type ProgramAnswer, type ProgramClient } from '@device-core/plugin-api/program';

/** The Core answers when the plugin runs, or what it replaced runs again. */
export const CHANGE_TIMEOUT_MS = 185_000;

export interface Installed {
  readonly id: string;
  readonly version: string;
  readonly state: 'probation' | 'good';
  readonly probationEndsAt?: number;
  readonly isolation: string;
  readonly lastGood?: { readonly version: string };
}

interface RolledBack {
  readonly id: string;
  readonly version: string;
  readonly reason: string;
}

export interface Listing {
  readonly plugins: readonly Installed[];
  readonly rolledBack: readonly RolledBack[];
}

/** Empty where there is no plugin-store, or the caller may not know. */
export async function installedPlugins(client: ProgramClient): Promise<Listing> {
  const answer = await unlessMissing(client.get('/plugins/installed'));
  return { plugins: [], rolledBack: [], ...answer?.body };
}

/** Undefined where the Core has no plugin-store. */
export async function unlessMissing(answer: Promise<ProgramAnswer>): Promise<ProgramAnswer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Failure && ['METHOD_NOT_FOUND', 'CAPABILITY_DENIED'].includes(error.code)) return undefined;
    throw error;
  }
}

/** Remarks on installed plugins, by id. */
export function storeRemarks({ plugins, rolledBack }: Listing): ReadonlyMap<string, string> {
  const remarks = new Map<string, string>();
  for (const { id, state, probationEndsAt = 0 } of plugins) {
    const left = Math.max(0, Math.ceil((probationEndsAt - Date.now()) / 1000));
    remarks.set(id, state === 'good' ? 'installed' : `on probation${left > 0 ? ` for ${left} s more` : ''}`);
  }
  for (const { id, version, reason } of rolledBack) {
    const now = remarks.get(id);
    remarks.set(id, `${now ? `${now}; ` : ''}${version} was rolled back: ${cell(reason)}`);
  }
  return remarks;
}
