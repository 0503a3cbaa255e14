import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import type { AppLaunch } from '@device-core/plugin-api/inside/services/identity';
import { leakCheck } from '@device-core/plugin-api/testing';
import { appSupervisorContract, BEHAVIOURS } from '../../contracts/app-supervisor.ts';
import { FakeSupervisor } from '../../fixtures/fake-supervisor.ts';
import { shellSpec } from '../../fixtures/guest-spec.ts';
import { WITHOUT_BWRAP, withoutWalls } from '../../fixtures/walls.ts';
import { openSupervisor } from './fixture.ts';

after(leakCheck());

describe('supervisor-process, with bubblewrap', { skip: WITHOUT_BWRAP }, () => {
  appSupervisorContract(() => openSupervisor('bubblewrap'));
});

describe('supervisor-process, with bubblewrap and a way to named hosts', { skip: WITHOUT_BWRAP }, () => {
  appSupervisorContract(async () => {
    const bench = await openSupervisor('bubblewrap');
    return {
      ...bench,
      async spec(name, script) {
        const spec = await bench.spec(name, script);
        const hosts = [{ host: 'api.test', ports: [443] }];
        return { ...spec, network: 'hosts', hosts, wayOut: join(spec.run, 'egress.sock') };
      },
    };
  });
});

const WITHOUT_USERS = WITHOUT_BWRAP || (process.geteuid?.() !== 0 && 'only root gives a guest a user of its own');
describe('supervisor-process as root, each guest with a user of its own', { skip: WITHOUT_USERS }, () => {
  appSupervisorContract(() => openSupervisor('bubblewrap', { uid: 40_001 }));
});

describe('supervisor-process, with bare namespaces', { skip: withoutWalls('namespaces') }, () => {
  appSupervisorContract(() => openSupervisor('namespaces'));
});

describe('supervisor-process, without walls', () => {
  appSupervisorContract(() => openSupervisor('none'));
});

describe('the supervisor that tests play with', () => {
  appSupervisorContract(async () => {
    const root = mkdtempSync(join(tmpdir(), 'fake-'));
    const launched: AppLaunch[] = [];
    return {
      launched,
      pretends: true,
      supervisor: new FakeSupervisor({
        enforced: { mac: 'none' },
        launched: (launch) => void launched.push(launch),
        play: (guest) => BEHAVIOURS.find(({ script }) => script === guest.spec.args[1])?.play(guest),
      }),
      spec: (name, script) => shellSpec(root, name, script),
      impossible: { mac: 'kernel' },
      [Symbol.asyncDispose]: async () => rmSync(root, { recursive: true, force: true }),
    };
  });
});
