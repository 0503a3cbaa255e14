/** Removes files of `<state>/update` that no order names any more: blobs of another image, uploads, half of a look. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { UpdateState } from '@device-core/plugin-api/inside/services/updates';
import { sweep } from './download.ts';
import { blobsOf, keptImage } from './fetching.ts';
import type { Parts } from './parts.ts';
import type { UpdateRecord, Wanted } from './record.ts';
import type { Uploads } from './uploads.ts';

/** From here it is fetched, or goes on being fetched after a new look: `failed` too, so that nothing travels twice. */
const FETCHED: readonly UpdateState[] = ['available', 'downloading', 'verifying', 'failed'];

/** The image whose blobs are still needed. */
export function fetchedImage({ state, before, wanted }: UpdateRecord): Wanted | undefined {
  return FETCHED.includes(state === 'checking' ? (before ?? state) : state) ? wanted : undefined;
}

/** While nothing else writes there. Throws the codes of a disk. */
export async function tidy(parts: Parts, uploads: Uploads): Promise<void> {
  const { journal, folder } = parts;
  // The newer Core knows what it was about.
  if (journal.newer) return;
  const wanted = fetchedImage(journal.record);
  const image = wanted && (await keptImage(parts, wanted.image));
  // Without its list nobody can say which of them are its own: the next download does.
  if (!wanted || image) await sweep(blobsOf(parts), new Set(image?.files.map(({ sha256 }) => sha256)));
  await rm(join(folder, 'new'), { recursive: true, force: true });
  await uploads.sweep(wanted?.source);
}
