import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Network } from '@device-core/plugin-api/services/network';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';

const CAPABILITY = 'system.network';
const TEXT: JsonSchema = { type: 'string' };
const SHARE: JsonSchema = { type: 'number', minimum: 0, maximum: 1 };
const SSID: JsonSchema = { type: 'string', minLength: 1, maxLength: 32, description: 'name of the network' };
const LINK: JsonSchema = {
  type: 'object',
  required: ['name', 'type', 'up', 'addresses'],
  properties: {
    name: TEXT,
    type: { enum: ['ethernet', 'wifi', 'mobile', 'other'] },
    up: { type: 'boolean' },
    addresses: { type: 'array', items: TEXT },
    ssid: { ...TEXT, description: 'of a Wi-Fi' },
    signal: SHARE,
  },
};
const STATUS = exactly(
  {
    provider: { ...TEXT, description: '`networkmanager`, `rtnetlink` or `sim`' },
    state: { enum: ['online', 'local', 'offline'], description: '`local`: its own network and no way beyond' },
    type: { enum: ['ethernet', 'wifi', 'mobile', 'none'] },
    metered: { type: 'boolean', description: 'what is sent costs money' },
    links: { type: 'array', items: LINK },
    wifi: { type: 'boolean', description: 'networks can be listed and joined here' },
    reason: { ...TEXT, description: 'why they cannot' },
  },
  ['provider', 'state', 'type', 'metered', 'links', 'wifi'],
);
const WIFI: JsonSchema = {
  type: 'object',
  required: ['ssid', 'signal', 'security', 'known', 'joined'],
  properties: {
    ssid: TEXT,
    signal: SHARE,
    security: { enum: ['open', 'wpa', 'wpa3', 'enterprise', 'wep'] },
    known: { type: 'boolean', description: 'the device has its passphrase' },
    joined: { type: 'boolean' },
  },
};
const ERRORS = ['UNAVAILABLE', 'TIMEOUT', 'BUSY'] as const;
const LONG_MS = 90_000;

interface Join {
  readonly ssid: string;
  readonly passphrase?: string;
}

export function networkOperations(network: Network): readonly Operation<never, unknown>[] {
  const rows: readonly Operation<never, unknown>[] = [
    {
      name: 'network.status',
      summary: 'Reach of the network, and its links',
      capability: CAPABILITY,
      params: exactly({}),
      result: STATUS,
      rest: { method: 'GET', path: '/network' },
      cli: {
        aliases: ['network'],
        columns: ['name', 'type', 'up', 'addresses', 'ssid', 'signal'],
      },
      errors: ERRORS,
      run: () => network.status(),
    },
    {
      name: 'network.wifi',
      summary: 'Wi-Fi networks in reach, the strongest first',
      capability: CAPABILITY,
      params: exactly({}),
      result: exactly({ networks: { type: 'array', items: WIFI } }, ['networks']),
      rest: { method: 'GET', path: '/network/wifi' },
      cli: { columns: ['ssid', 'signal', 'security', 'known', 'joined'], empty: 'no network is in reach' },
      errors: ERRORS,
      timeoutMs: 30_000,
      run: async () => ({ networks: await network.networks() }),
    },
    {
      name: 'network.join',
      sensitive: { act: 'join the network {ssid}' },
      summary: 'Join a Wi-Fi network',
      description:
        'A network that the device knows needs no passphrase. The system keeps it, never the Core; it stands in no log. On the command line it is ' +
        'read from standard input: `devicectl network join NAME < FILE`.',
      capability: CAPABILITY,
      params: exactly(
        { ssid: SSID, passphrase: { type: 'string', maxLength: 64, description: 'absent or empty: none' } },
        ['ssid'],
      ),
      result: exactly({}),
      rest: { method: 'POST', path: '/network/wifi/join' },
      cli: { flags: { passphrase: [] }, stdin: 'passphrase', done: 'joined {ssid}', progress: 'joining' },
      errors: [...ERRORS, 'NETWORK_REFUSED'],
      timeoutMs: LONG_MS,
      async run({ ssid, passphrase }: Join) {
        const given = passphrase?.replace(/\r?\n$/, '');
        await network.join(ssid, given);
        return {};
      },
    } satisfies Operation<Join, object> as Operation<never, unknown>,
    {
      name: 'network.forget',
      sensitive: { act: 'forget the network {ssid}' },
      summary: 'Forget a Wi-Fi network and its passphrase',
      capability: CAPABILITY,
      params: exactly({ ssid: SSID }, ['ssid']),
      result: exactly({}),
      rest: { method: 'POST', path: '/network/wifi/forget' },
      cli: { done: 'forgot {ssid}' },
      errors: [...ERRORS, 'NETWORK_REFUSED'],
      timeoutMs: 30_000,
      async run({ ssid }: Join) {
        await network.forget(ssid);
        return {};
      },
    } satisfies Operation<Join, object> as Operation<never, unknown>,
  ];
  return rows;
}
