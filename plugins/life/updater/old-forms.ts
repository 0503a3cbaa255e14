import { CoreError, reasonOf } from '@device-core/plugin-api';
import { dropForms } from '@device-core/plugin-api/durable';
import type { SlotsStatus } from '@device-core/plugin-api/inside/services/slots';
import type { Parts } from './parts.ts';

/**
 * Removes what former images kept in forms that neither image writes: at a start with two good ones, for then nobody
 * goes back to an image that reads them. Never rejects; whatever is not known keeps its file.
 */
export async function dropOldForms({ device, services, log }: Parts, { slots }: SlotsStatus): Promise<void> {
  if (slots.some(({ state }) => state !== 'good')) return;
  try {
    const images = await services.slots?.stateForms();
    if (images === undefined || images.length < 2) return;
    const files = await dropForms(device.paths.var, images);
    if (files.length > 0) log.info({ files }, 'state in a form that no image here writes is removed');
  } catch (error) {
    // RAUC does not know our lists: there old forms stay.
    if (error instanceof CoreError && error.code === 'SLOTS_UNAVAILABLE') return;
    log.warn({ reason: reasonOf(error) }, 'state in old forms stays');
  }
}
