/** Job that brings the wanted image into the other slot: fetch what is missing, hand it to the slots, sweep. */
import { CoreError } from '@device-core/plugin-api';
import { sweep } from './download.ts';
import { blobsOf, fetchAll, keptImage, needSlots, sourceAt } from './fetching.ts';
import type { Parts } from './parts.ts';
import type { Source } from './repository.ts';
import type { UpdateFacts } from './update-facts.ts';

export async function downloadImage(parts: Parts, facts: UpdateFacts, signal: AbortSignal): Promise<void> {
  const { journal } = parts;
  const { wanted } = journal.record;
  const image = wanted && (await keptImage(parts, wanted.image));
  if (!wanted || !image) return await journal.move('fail', { reason: 'its list is not there any more: check again' });
  await journal.move('download');
  const slots = needSlots(parts, 'download the update');
  const missing = await facts.inspect('download the update');
  const source = await sourceOf(parts, wanted.kind, wanted.source);
  await fetchAll(parts, { source, compressed: facts.compressed, missing, signal });
  await journal.move('downloaded');
  await slots.stage(parts.folder, { signal, progress: ({ done, of }) => journal.progress(done, of) });
  signal.throwIfAborted();
  await sweep(blobsOf(parts), new Set());
  await journal.move('staged', { ...(journal.record.order === 'download' && { order: undefined }) });
}

async function sourceOf(parts: Parts, kind: Source['kind'], path: string): Promise<Source> {
  if (kind !== 'repository') return sourceAt(path);
  const source = await parts.repository();
  if (source) return source;
  throw new CoreError('REPOSITORY_FAILED', { url: path, reason: 'no repository is configured any more' });
}
