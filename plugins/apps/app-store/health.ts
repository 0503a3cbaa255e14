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
  state.report(report, Object.keys(installed.apps).length, fault);
  for (const [id, { version, reason }] of Object.entries(installed.rolledBack))
    report.warn('APP_ROLLED_BACK', `app ${id} ${version} failed its probation: ${reason}`);
  if (signatures !== 'warn' || trust.length === 0) return;
  for (const [id, { version, signer }] of Object.entries(installed.apps))
    if (signer === undefined) report.warn('SIGNATURE_INVALID', `no trusted key signed app ${id} ${version}`);
}
