/** The contract of supervisors for units of systemd: run as the Core's own unit in the box of the warden. */
import { after, describe } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { appSupervisorContract } from '../../contracts/app-supervisor.ts';
import { openUnits } from './units.ts';

after(leakCheck());
describe('supervisor-systemd', () => appSupervisorContract(openUnits));
