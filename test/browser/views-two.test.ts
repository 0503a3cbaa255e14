/** Views of the page that one device shows one after the other: a half of them, so that two processes run at a time. Costs a device and a browser. */
import { after } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import './views/bridge.ts';
import './views/flags.ts';
import './views/staying.ts';
import './views/updates.ts';
import './views/boot.ts';
import './views/secrets.ts';

after(leakCheck());
