/** A page that an installed plugin declares beside an operation: a list, one row, a button with a question, a form. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../fixtures/eventually.ts';
import { Packages } from '../fixtures/packages.ts';
import { noBrowser } from './browser.ts';
import { confirm } from './confirming.ts';
import { barriers, Device, picture, settled, sideways } from './harness.ts';

after(leakCheck());

const NAME = '<b>Tea</b> \u202e';
const CODE = `
const PAGE = {
  title: { en: 'Chimes', de: 'Glocken' },
  lead: 'Rings when it is time.',
  rows: 'chimes',
  columns: ['name', ['Rang', '{at:ago}', 'never'], ['Mood', '{mood:badge}']],
  levels: { loud: 'warn' },
  marks: [{ text: 'new', level: 'okay', only: { at: [null] } }],
  notes: ['{count} chimes'],
  empty: 'No chime is left.',
  after: ['plugin.chime.**'],
  detail: 'chime.one',
  actions: [
    { operation: 'chime.rename', label: 'Rename {name}', text: 'Rename', fields: [{ name: 'name', label: 'Name' }], done: '{name} it is' },
    { operation: 'chime.remove', label: 'Remove {name}', text: 'Remove', kind: 'danger', ask: { text: 'It rings no more.' }, only: { mood: ['loud'] } },
  ],
};
const ONE = { columns: ['name', ['Rang', '{at:when}', 'never']], tables: [{ title: 'Parts', rows: 'parts', columns: ['part'] }] };
const ANY = { type: 'object', additionalProperties: true };
const object = (...names) => ({ type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string', minLength: 2 }])), required: names });
export const plugin = {
  requires: { operations: { kind: 'service', id: 'operations', version: '1.0.0' } },
  async setup(host, { operations }) {
    let chimes = [{ id: 'tea', name: ${JSON.stringify(NAME)}, at: 1000, mood: 'loud' }, { id: 'bread', name: 'Bread', mood: 'soft' }];
    const find = (id) => chimes.find((one) => one.id === id);
    const changed = () => host.bus.publish('plugin.chime.changed', {});
    const rows = [
      { name: 'chime.list', params: object(), page: PAGE, rest: { method: 'GET', path: '/chime' }, run: async () => ({ chimes, count: chimes.length }) },
      { name: 'chime.one', params: object('id'), page: ONE, rest: { method: 'GET', path: '/chime/:id' }, run: async ({ id }) => ({ ...find(id), parts: [{ part: 'bell' }] }) },
      { name: 'chime.rename', params: object('id', 'name'), rest: { method: 'PUT', path: '/chime/:id' }, run: async ({ id, name }) => { find(id).name = name; changed(); return {}; } },
      { name: 'chime.remove', params: object('id'), rest: { method: 'DELETE', path: '/chime/:id' }, run: async ({ id }) => { chimes = chimes.filter((one) => one.id !== id); changed(); return {}; } },
    ];
    for (const row of rows) host.scope.use(row.name, await operations.add({ summary: 's', result: ANY, errors: [], ...row }));
  },
};
`;

describe('a page that an installed plugin declares beside an operation', { skip: noBrowser }, () => {
  const packages = new Packages();
  let device: Device;
  before(async () => {
    device = await Device.start();
    const manifest = ['requires: { operations: ^1.0.0 }', 'publishes: [plugin.chime.**]'];
    const source = packages.folder({ id: 'chime', manifest, code: CODE });
    const install = (more: object) => device.core.ask('/plugins/install', { unix: true, body: { source, ...more } });
    const asked = await install({});
    const done = asked.status < 300 ? asked : await install({ accept: asked.body.details.digest });
    assert.ok(done.status < 300, done.text);
    const there = async () => (await device.core.ask('/chime', { unix: true })).status === 200;
    await eventually(there, 'the operation of the plugin', { ms: 30_000, every: 100 });
  });
  after(async () => {
    await device[Symbol.asyncDispose]();
    packages[Symbol.dispose]();
  });
  const chimes = async () =>
    (await device.core.ask('/chime', { unix: true })).body.chimes as { readonly name: string }[];

  test('is in the menu, draws its rows as text, and says whose it is', async () => {
    await using opened = await device.open();
    const { page } = opened;
    await page.getByRole('link', { name: 'Chimes' }).click();
    await page.getByRole('heading', { level: 1, name: 'Chimes' }).waitFor();
    await page.getByText(/brought by the plugin chime/).waitFor();
    await page.getByRole('link', { name: '<b>Tea</b> \\u202e' }).waitFor();
    const bread = page.getByRole('row', { name: /Bread/ });
    assert.match((await bread.textContent()) ?? '', /Breadnewneversoft/);
    assert.equal(await bread.getByRole('button', { name: /^Remove/ }).count(), 0);
    await page.getByText('2 chimes').waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'guest-page');
    await bread.getByRole('link').click();
    await page.getByRole('region', { name: 'Parts' }).getByText('bell').waitFor();
    await page.getByRole('link', { name: 'Back to the list' }).click();
    await page.getByText('2 chimes').waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await settled(page);
    assert.equal(await sideways(page), 0);
  });

  test('acts when the reader presses and agrees, and keeps what was typed when it is refused', async () => {
    await using opened = await device.open({ at: 'extra/chime/chime.list' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Rename Bread' }).click();
    const dialog = page.getByRole('dialog', { name: 'Rename Bread' });
    const field = dialog.getByRole('textbox', { name: 'Name' });
    assert.equal(await field.inputValue(), 'Bread');
    await field.fill('x');
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await dialog.getByRole('alert').waitFor();
    assert.equal(await field.inputValue(), 'x');
    await field.fill('Rolls');
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await page.getByText('Rolls it is').waitFor();
    await page.getByRole('button', { name: 'Remove <b>Tea</b>' }).click();
    await page.getByRole('dialog').getByText('It rings no more.').waitFor();
    assert.equal((await chimes()).length, 2);
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('1 chimes').waitFor();
    assert.deepEqual(
      (await chimes()).map(({ name }) => name),
      ['Rolls'],
    );
  });

  test('shows a viewer everything, and lets it press nothing', async () => {
    await using opened = await device.open({ at: 'extra/chime/chime.list', role: 'viewer', locale: 'de-DE' });
    const { page } = opened;
    await page.getByRole('heading', { level: 1, name: 'Glocken' }).waitFor();
    const buttons = page.getByRole('table').getByRole('button', { name: /^Rename/ });
    await buttons.first().waitFor();
    assert.equal(await buttons.first().isDisabled(), true);
  });

  test('is gone with its plugin, which is removed where installed plugins are listed', async () => {
    await using opened = await device.open({ at: 'plugins?view=installed' });
    const { page } = opened;
    const row = page.getByRole('region', { name: 'Installed here' }).getByRole('row', { name: /chime/ });
    await row.getByRole('link', { name: 'chime' }).waitFor();
    await page.getByRole('link', { name: 'Chimes' }).waitFor();
    await row.getByRole('button', { name: 'Remove chime?' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove chime?' });
    await dialog.getByText('its files are removed').waitFor();
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
    await confirm(device, page);
    await page.getByText('Nothing was installed on this device.').waitFor();
    await page.getByRole('link', { name: 'Chimes' }).waitFor({ state: 'detached' });
  });
});
