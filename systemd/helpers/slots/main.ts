/**
 * Writes slots and boot record as root, for the Core, which is not. It believes nothing: it takes files from lists that it verified itself, and says which
 * slot starts (docs/adr/0127). Started by systemd with its socket, and gone when nobody has asked for a minute.
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
// Who may connect is the system's to keep: the socket must be one user's alone, and that user is the Core.
const { uid, mode } = lstatSync(`/run/${service}-slots.sock`);
if (uid === 0 || (mode & 0o177) !== 0) throw new Error('its socket is not that of one user alone');
const system = `/var/lib/${service}-system`;
/** Where the Core puts what it fetched, and where a package puts an image. */
const sources = [`/var/lib/${service}/`, `/usr/share/${service}/`];
const writer = new SlotWriter({ system, boot: `/run/${service}-boot` }, (folder) =>
  sources.some((source) => folder.startsWith(source)),
);
await serve(createServer().listen({ fd: 3 }), slotRequests(writer, machineOf(system)));
process.exit();
