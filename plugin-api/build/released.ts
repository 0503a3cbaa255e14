/** The last release: `.changes/released.json`, written by the release script alone, and the API report of it beside. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiReport, parseReport } from './report.ts';

export const RELEASED_FILE = '.changes/released.json';
export const RELEASED_REPORT = '.changes/released-plugin-api.md';

export interface Released {
  /** Version of the Core; null before the first release. */
  readonly core: string | null;
  readonly 'plugin-api': { readonly version: string /** SHA-256 of the report. */; readonly report: string } | null;
}

export function readReleased(checkout: string): Released {
  return JSON.parse(readFileSync(join(checkout, RELEASED_FILE), 'utf8'));
}

/** The report of the last release; undefined before the first one. Throws where the file is not the one that was released. */
export function releasedReport(checkout: string): { readonly version: string; readonly report: ApiReport } | undefined {
  const released = readReleased(checkout)['plugin-api'];
  if (released === null) return undefined;
  const page = readFileSync(join(checkout, RELEASED_REPORT), 'utf8');
  if (hashOf(page) !== released.report)
    throw new Error(`${RELEASED_REPORT} is not the report of plugin-api ${released.version}: its hash differs`);
  return { version: released.version, report: parseReport(page) };
}

export function hashOf(page: string): string {
  return createHash('sha256').update(page).digest('hex');
}
