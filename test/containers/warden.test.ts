/** The warden as it is installed, under a systemd of its own. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';
import { ask, placedApp, wardenBox } from '../fixtures/warden-box.ts';

const TELLS = `import { readFileSync, writeFileSync, readdirSync } from 'node:fs';
const token = readFileSync(process.env.CREDENTIALS_DIRECTORY + '/token', 'utf8');
writeFileSync(process.env.HOME + '/told', JSON.stringify({ uid: process.getuid(), token, others: readdirSync('/run/device/apps') }));
setInterval(() => {}, 1000);`;

suite('the warden', { skip: WITHOUT_CONTAINERS }, () => {
  test('makes a user and a unit of a specification, starts it, limits it, ends it, and goes itself', async () => {
    await using box = await wardenBox();
    const spec = await placedApp(box, 'agenda', 40_001, TELLS);
    const name = spec.name;
    assert.deepEqual(
      await ask(box, [
        { verb: 'put', spec },
        { verb: 'start', name },
      ]),
      [{ ok: true }, { ok: true }],
    );
    const told = () => box.output(`cat ${spec.data}/told`).then(JSON.parse, () => undefined);
    assert.deepEqual(await eventually(told, 'what the app found'), {
      uid: 40_001,
      token: 'token-1',
      others: ['agenda'],
    });
    assert.equal(await box.output('systemctl is-active app-agenda'), 'active\n');
  });

  test('serves the Core alone, is root with one right alone, and gives away nothing of others', async () => {
    await using box = await wardenBox();
    const spec = await placedApp(box, 'agenda', 40_001, TELLS);
    const { name, data = '' } = spec;
    assert.deepEqual(await ask(box, [{ verb: 'list' }], 'stranger'), [{ error: 'EACCES' }]);
    const refused = async (request: object, reason: RegExp) => {
      const [answer] = (await ask(box, [request])) as readonly { readonly refused?: string }[];
      assert.match(answer?.refused ?? JSON.stringify(answer), reason);
    };
    await refused({ verb: 'put', spec: { ...spec, uid: 0 } }, /user/);
    await refused({ verb: 'start', name: 'dbus' }, /no guest/);
    await refused({ verb: 'start', name: 'device-warden' }, /no guest/);
    assert.deepEqual(await ask(box, [{ verb: 'put', spec }]), [{ ok: true }]);

    const caps = await box.output('grep -h ^Cap /proc/$(systemctl show -P MainPID device-warden)/status');
    const chown = /^Cap(Eff|Prm|Bnd):\s+0{15}1$/;
    assert.deepEqual(
      caps
        .trim()
        .split('\n')
        .filter((line) => !chown.test(line))
        .map((line) => line.replace(/\s+/, ' ')),
      ['CapInh: 0000000000000000', 'CapAmb: 0000000000000000'],
    );

    const owners = () =>
      box.output('stat -c "%u %n" /etc /etc/passwd /etc/shadow /run/dbus/system_bus_socket /var/cache');
    const before = await owners();
    const tricks: readonly (readonly [script: string, reason: RegExp])[] = [
      [`mv ${data} ${data}.old && ln -s /etc ${data}`, /leads through a link/],
      [`rm ${data} && ln -s /etc/passwd ${data}`, /leads through a link/],
      [
        `rm ${data} && mkdir ${data} && ln -s /etc/shadow ${data}/x && mv ${data}/../cache ${data}/../c && ln -s /var/cache ${data}/../cache`,
        /leads through a link/,
      ],
      [
        `rm ${data}/../cache && mv ${data}/../c ${data}/../cache && cd ${data}/.. && mv ../com.example.agenda ../was && ln -s /var ../com.example.agenda`,
        /leads through a link/,
      ],
    ];
    for (const [script, reason] of tricks) {
      await box.output(script, { user: 'device' });
      await refused({ verb: 'start', name }, reason);
      assert.equal(await owners(), before);
    }
    await box.output('cd /var/lib/device/apps && rm com.example.agenda && mv was com.example.agenda', {
      user: 'device',
    });

    // It dies in the middle of its work, and is there again for the next request.
    const asking = ask(
      box,
      Array.from({ length: 20 }, () => ({ verb: 'list' })),
    );
    await box.output('systemctl kill -s KILL device-warden');
    const answers = (await asking) as readonly { readonly ok?: unknown; readonly error?: string }[];
    assert.ok(answers.every(({ ok, error }) => ok !== undefined || error !== undefined));
    assert.deepEqual(await ask(box, [{ verb: 'start', name }]), [{ ok: true }]);
    await eventually(async () => (await box.run(`test -s ${data}/told`)).status === 0, 'the guest runs');
    assert.equal(await box.output(`stat -c %u ${data}`), '40001\n');
    assert.equal((await box.run(`cat ${data}/told`, { user: 'device' })).status, 1, 'the Core does not read it');

    assert.deepEqual(await ask(box, [{ verb: 'drop', name }, { verb: 'list' }]), [{ ok: true }, { ok: [] }]);
    assert.equal(await box.output('ls /run/userdb; ls /run/systemd/system | grep ^app- || true'), '');
  });
});
