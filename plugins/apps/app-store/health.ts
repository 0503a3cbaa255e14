import { isStorageTrouble } from '@device-core/plugin-api/durable';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { StoreConfig } from './outcome.ts';
import type { PackageStore } from './store.ts';

/** `fault`: what could not be done at the start. */
export function reportHealth(
  report: HealthReport,
  { state, installed }: PackageStore,
  { signatures, trust }: StoreConfig,
  fault: string | undefined,
): void {
  const { trouble, problem, newer } = state;
  const count = Object.keys(installed.apps).length;
  if (fault !== undefined) report.add('app-store', { status: 'error', code: 'STATE_UNWRITABLE', message: fault });
  else if (trouble && !isStorageTrouble(trouble))
    report.add('app-store', { status: 'error', code: trouble.code, message: trouble.message });
  else report.add('app-store', { status: 'okay', message: `${count} apps installed on this device` });
  if (newer) report.warn('STATE_NEWER', `${problem?.message}; what was installed does not run`);
  else if (problem)
    report.warn(
      'STATE_CORRUPT',
      `${problem.message}; ${count > 0 ? 'its last good copy is used' : 'no app that was installed is known any more'}`,
    );
  for (const [id, { version, reason }] of Object.entries(installed.rolledBack))
    report.warn('APP_ROLLED_BACK', `app ${id} ${version} failed its probation: ${reason}`);
  if (signatures !== 'warn' || trust.length === 0) return;
  for (const [id, { version, signer }] of Object.entries(installed.apps))
    if (signer === undefined) report.warn('SIGNATURE_INVALID', `no trusted key signed app ${id} ${version}`);
}
