/** Views of the page that one device shows one after the other: a half of them, so that two processes run at a time. Costs a device and a browser. */
import { after } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import './views/logs.ts';
import './views/search.ts';
import './views/plugins.ts';
import './views/telemetry.ts';
import './views/sessions.ts';

after(leakCheck());
