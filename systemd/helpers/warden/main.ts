/**
 * The warden makes, starts and ends the units of guests as root, for the Core, which is not. It takes specifications, never text, and checks them against a
 * file of root's (docs/adr/0077). systemd starts `node main.ts SERVICE` with its socket; the warden ends after a minute without a request.
 */
import { lstatSync } from 'node:fs';
import { createServer } from 'node:net';
import { Refused, readConfig } from './config.ts';
import { Profiles } from './profiles.ts';
import { serve } from './serve.ts';
import { UnitFiles } from './unit-files.ts';
import { wardenOf } from './warden.ts';

const service = process.argv[2] ?? '';
const config = readConfig(`/etc/${service}/warden.json`);
if (config.service !== service) throw new Refused(`its configuration is that of ${config.service}`);
// The system guards the socket: it must belong to one user alone, and that user is the Core.
const { uid: core, mode } = lstatSync(`/run/${service}-warden.sock`);
if (core === 0 || (mode & 0o177) !== 0) throw new Refused('its socket is not that of one user alone');
const files = new UnitFiles(undefined, undefined, new Profiles(`/run/${service}-profiles`));
const parts = { config, core, files, bus: '/run/dbus/system_bus_socket' };
await serve(createServer().listen({ fd: 3 }), wardenOf(parts));
process.exit();
