/**
 * Writer of slots and boot record as root, for the Core, which is not. It takes only files from lists that it verified
 * itself, and chooses the slot that starts (docs/adr/0127). systemd starts it with its socket; it ends after a minute
 * without a request.
 *
 *   node main.ts SERVICE
 */
import { lstatSync } from 'node:fs';
import { createServer } from 'node:net';
import { SlotWriter, slotRequests } from '@device-core/plugin-api/inside/slot-files';
import { machineOf } from './machine.ts';
import { serve } from './serve.ts';

const service = process.argv[2] ?? '';
if (!/^[a-z][a-z0-9-]{0,30}$/.test(service)) throw new Error('which service?');
// The system guards the socket: it must belong to one user alone, and that user is the Core.
const { uid, mode } = lstatSync(`/run/${service}-slots.sock`);
if (uid === 0 || (mode & 0o177) !== 0) throw new Error('its socket is not that of one user alone');
const system = `/var/lib/${service}-system`;
/** Folders of fetched images of the Core, and of images from a package. */
const sources = [`/var/lib/${service}/`, `/usr/share/${service}/`];
const writer = new SlotWriter({ system, boot: `/run/${service}-boot` }, (folder) =>
  sources.some((source) => folder.startsWith(source)),
);
await serve(createServer().listen({ fd: 3 }), slotRequests(writer, machineOf(system)));
process.exit();
